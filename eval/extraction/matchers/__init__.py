"""Compares the values of a field: schema nodes, and one matcher per kind of field."""
