"""What the folder of a run of SKN against JSON shows."""
