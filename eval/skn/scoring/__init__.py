"""Scores the rows of a run: metrics, intervals, bounds and paired differences."""
