"""Retrievers over passages, and the conversion of graphs to passages."""
