"""Scores the toolkit's own extractors (SKN pipelines, triple extraction) as structured extraction.

Their output is converted to JSON of one schema, scored against a gold set and written to an
ordinary run folder, so that one report can show extraction quality together with abstention.
"""
