"""The section of a run of SKN against JSON in a report."""
