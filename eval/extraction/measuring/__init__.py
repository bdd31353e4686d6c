"""From rows to a report: sums by sample, metrics with intervals, breakdowns, grades, reasons."""
