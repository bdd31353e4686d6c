"""Embedders: texts in, vectors out, known by the hash of what they are made of."""
