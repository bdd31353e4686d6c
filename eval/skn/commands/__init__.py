"""The three commands of the notation: ``epoche skn parse``, ``format`` and ``validate``."""
