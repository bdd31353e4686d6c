"""Measures, compares and describes finished runs of any benchmark."""
