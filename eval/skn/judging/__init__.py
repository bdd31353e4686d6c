"""Judges the replies of a run."""
