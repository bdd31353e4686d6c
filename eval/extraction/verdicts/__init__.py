"""From aligned fields to verdicts: category, type, error pattern, invention."""
