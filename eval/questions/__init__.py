"""Parses questions and statements into claims about a graph, without guessing."""
