"""Computes the metrics of a run with intervals, breakdowns, grades and a recommendation."""
