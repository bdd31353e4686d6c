"""The published benchmark's own shapes and definitions: wide rows, keys and formulas."""
