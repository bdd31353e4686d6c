"""Runs systems under test on cards and other benchmarks, and computes their metrics."""
