"""Judges of answers: correctness, made-up claims, and groundedness in the sources."""
