"""Statistics independent of the metrics: intervals, tests and power for counts and values."""
