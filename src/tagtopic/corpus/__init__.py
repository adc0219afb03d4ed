"""Documents in: the immutable Corpus, its readers, tokens and on-disk form."""
