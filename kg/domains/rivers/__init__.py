"""The rivers domain: source tables, the script that checks them, and the graph it writes."""
