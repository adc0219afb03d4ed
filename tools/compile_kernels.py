"""Compile the kernels once, so that test workers reuse them instead of compiling their own.

python tools/compile_kernels.py

Numba caches compiled code beside the sources, for each combination of argument types; single and double precision are
compiled in parallel processes.
"""

from __future__ import annotations

import subprocess
import sys

FIT = """
from tagtopic import TWDA
from tagtopic.explore import Explorer, views
from tagtopic.datasets import make_tagged_corpus
corpus = make_tagged_corpus(n_documents=60, n_topics=3, n_tags=5, n_words=50, random_state=0).corpus
for inference in ("map", "cvb0", "gibbs"):
    model = TWDA(3, inference=inference, dtype={dtype!r}, max_iter=3, random_state=0, progress=False).fit(corpus)
    model.transform(corpus)
    model.rank_tags(corpus[:3])
    model.perplexity(corpus[:3])
    model.predict_tags(corpus[:3])
    model.audit_tags(corpus)
    explorer = Explorer(model, corpus)
    views.document(explorer, 0)
    views.overview(explorer)
"""

if __name__ == "__main__":
    programs = [FIT.format(dtype=dtype) for dtype in ("float32", "float64")]
    running = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", program]) for program in programs]
    codes = [process.wait() for process in running]
    sys.exit(any(codes))
