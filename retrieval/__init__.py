"""Retrievers over passages, and the passages a graph is put into."""
