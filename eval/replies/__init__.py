"""Classifies a model's free-text reply as YES, NO, UNKNOWN or INVALID (cannot be read)."""
