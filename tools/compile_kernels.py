"""Compile the kernels once, so that test workers find them instead of each compiling its own.

python tools/compile_kernels.py

Numba keeps compiled code beside the sources, for each kind of argument: single and double precision are compiled in
a process each.
"""

from __future__ import annotations

import subprocess
import sys

LEARN = """
from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
corpus = make_tagged_corpus(n_documents=60, n_topics=3, n_tags=5, n_words=50, random_state=0).corpus
model = TWDA(3, dtype={dtype!r}, max_iter=3, random_state=0, progress=False).fit(corpus)
model.transform(corpus)
model.audit_tags(corpus)
"""

if __name__ == "__main__":
    programs = [LEARN.format(dtype=dtype) for dtype in ("float32", "float64")]
    running = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", program]) for program in programs]
    codes = [process.wait() for process in running]
    sys.exit(any(codes))
