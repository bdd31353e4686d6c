"""The page of a graph: what to show of it, where everything stands, and the HTML around it."""
