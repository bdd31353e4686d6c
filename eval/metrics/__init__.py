"""From result files to metrics: what was read, the outcome table, the metrics, their record."""
