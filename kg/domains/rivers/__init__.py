"""The rivers domain: source tables, their checks, and the script that builds the graph."""
