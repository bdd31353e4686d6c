"""Finds the violations that a claim adds."""
