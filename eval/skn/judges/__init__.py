"""Judges of answers: whether they are correct, make up claims, and are grounded in the sources."""
