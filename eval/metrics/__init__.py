"""Metrics, comparisons and gates, the same for all benchmarks."""
