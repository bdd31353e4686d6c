"""Concepts of a text and how they are linked: which keywords occur together, and how surely."""
