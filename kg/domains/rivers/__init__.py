"""The rivers domain: source tables, the script that checks them and writes the graph, and the graph."""
