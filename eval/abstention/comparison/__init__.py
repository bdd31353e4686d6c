"""Compares systems on the same cards."""
