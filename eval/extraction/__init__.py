"""Structured extraction: text and a JSON Schema in, JSON out, measured field by field."""
