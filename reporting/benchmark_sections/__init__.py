"""Sections of the report that show other benchmarks, each also a page of its own."""
