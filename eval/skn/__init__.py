"""SKN against JSON: the notation, the extraction formats that are compared, and their benchmark."""
