"""Prompts, writers and parsers for the form in which each pipeline writes its extractions."""
