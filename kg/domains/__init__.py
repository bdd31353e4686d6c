"""Domains that ship with the toolkit: a graph, its shapes and its words, one folder each."""
