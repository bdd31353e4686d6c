"""Lets a stream of model text through clause by clause, each claim licensed before it appears."""
