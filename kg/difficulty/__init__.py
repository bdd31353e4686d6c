"""How hard a question is, read off the part of a graph that it touches."""
