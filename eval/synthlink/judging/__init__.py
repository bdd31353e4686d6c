"""A model as judge of claims: only where the graph is silent, and never unexamined itself."""
