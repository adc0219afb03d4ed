"""A digest of everything in a corpus, the same on every machine."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.mapped import release
from tagtopic.corpus.names import Names

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus

BLOCK = 1 << 22  # elements hashed at a time: a memory-mapped corpus never has to be in memory


def of(corpus: "Corpus") -> str:
    """The digest, in hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    counts, tags = corpus.counts, corpus.tags
    digest.update(f"{len(corpus)} {corpus.n_words} {corpus.n_tags} {counts.nnz} {tags.nnz}\n".encode())
    vocabularies = [Names.of(corpus.words), Names.of(corpus.tag_names)]
    arrays = [array for names in (*vocabularies, corpus.ids) for array in (names.offsets, names.data)]
    arrays += [matrix.indptr.astype(np.int64, copy=False) for matrix in (counts, tags)]
    arrays += [counts.indices, counts.data, tags.indices]
    for array in arrays:
        for start in range(0, len(array), BLOCK):
            block = array[start : start + BLOCK]
            digest.update(block.astype(block.dtype.newbyteorder("<"), copy=False).data)
            release(block)
    return digest.hexdigest()
