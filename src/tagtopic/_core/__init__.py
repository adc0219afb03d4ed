"""Helpers without domain knowledge: compiled kernels, hash tables, arrays and strings, threads, files, display."""
