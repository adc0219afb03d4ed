"""Inference on any cluster: blocks in scratch folders, tasks over them, and updates of pi."""

from __future__ import annotations

import os
from pathlib import Path


def _cache_kernels_in_scratch() -> None:
    """Let Numba cache in scratch on an executor that cannot write beside the package; call before Numba is imported."""
    scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    beside = Path(__file__).resolve().parent.parent.parent / "inference"
    if scratch and not os.access(beside, os.W_OK):
        os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(scratch) / "tagtopic-kernels"))


_cache_kernels_in_scratch()
