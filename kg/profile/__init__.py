"""Profiles a graph: what can be asked about it, and the rules that its data confirm."""
