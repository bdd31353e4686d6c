"""Loads triples and stores them in an index."""
