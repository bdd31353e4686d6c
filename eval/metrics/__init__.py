"""Metrics of result files: reading the rows, counting outcomes, computing and recording metrics."""
