"""Inference on plain arrays: the Numba kernels of E-step and M-step, their NumPy twins, and prior updates.

``methods`` is the table of inference methods. An E-step runs ``e_step`` (with ``cvb0`` or ``paper``) on each document;
``m_step`` sums its statistics and estimates psi and theta; ``svi`` does so by mini-batches; ``priors`` has the updates
of pi, mu and beta. ``reference`` has the readable twin of each kernel.
"""
