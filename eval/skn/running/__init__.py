"""A run: its samples, searches, rows and anchors, in a folder that survives anything."""
