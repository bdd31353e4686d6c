"""Rates how difficult a question is, from the subgraph that it touches."""
