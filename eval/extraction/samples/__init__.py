"""Samples: what one is, and reading them from files, folders and hubs to the letter."""
