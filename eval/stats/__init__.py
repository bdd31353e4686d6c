"""Intervals and tests, blind to what is measured: counts go in, bounds and p-values come out."""
