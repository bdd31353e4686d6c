"""A run: an agent's trail to every question, in a folder that survives anything."""
