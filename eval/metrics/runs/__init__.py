"""Metrics and comparisons of run folders of any benchmark."""
