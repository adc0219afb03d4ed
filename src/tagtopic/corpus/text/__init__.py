"""From text to words: tokenizer, stop words, phrases and the rules that are saved with a model."""
