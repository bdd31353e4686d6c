"""The published benchmark's own formats and definitions: wide rows, keys and formulas."""
