"""How the offline agent goes through a graph: linking, reading, choosing paths, telling them."""
