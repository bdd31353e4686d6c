"""Metrics of cards: reading the rows, counting outcomes, computing and recording metrics."""
