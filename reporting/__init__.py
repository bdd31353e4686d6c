"""The report and its exports."""
