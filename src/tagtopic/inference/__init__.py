"""Arrays in, arrays out: the Numba kernels of the E- and M-step, their readable NumPy twins, prior updates."""
