"""Builds the sections of reports on runs of structured extraction."""
