"""Inference on a Spark cluster."""

import tagtopic.engines.distributed  # noqa: F401  sets the kernels' cache directory on executors, before Numba is loaded
