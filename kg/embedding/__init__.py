"""Embedding models and cross-encoders, identified by the hash of their weights."""
