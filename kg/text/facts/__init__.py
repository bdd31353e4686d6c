"""Facts that documents state: triples of phrases, with the words and the chunk that state them."""
