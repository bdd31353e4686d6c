"""Merges the shards of a run."""
