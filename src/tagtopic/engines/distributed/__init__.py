"""What any cluster needs: blocks in scratch folders, tasks over them, and the distributed updates of pi."""

from __future__ import annotations

import os
from pathlib import Path


def _cache_kernels_in_scratch() -> None:
    """On an executor that may not write beside the package, let Numba cache where it may; before Numba is loaded."""
    scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    beside = Path(__file__).resolve().parent.parent.parent / "inference"
    if scratch and not os.access(beside, os.W_OK):
        os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(scratch) / "tagtopic-kernels"))


_cache_kernels_in_scratch()
