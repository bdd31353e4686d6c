"""Reads a model's free-text reply as YES, NO or UNKNOWN, or says that it cannot be read."""
