"""Aligns and judges fields: category, type, error pattern, hallucination."""
