"""Corpora that every installation has: planted truth, and the documentation of installed packages."""
