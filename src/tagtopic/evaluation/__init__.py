"""Numbers from a model and a corpus."""
