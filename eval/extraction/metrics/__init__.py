"""Metrics of a run: sums by sample, metrics with intervals, breakdowns, grades, recommendation."""
