"""Domains that ship with Epoché: a graph, its shapes and its templates, one folder each."""
