"""Samples, and reading them from files, folders and the hub."""
