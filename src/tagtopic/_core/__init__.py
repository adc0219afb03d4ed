"""Helpers without domain knowledge: compiled kernels, threads, files, progress bars, optional imports."""
