"""Exports a run as RDF: a SKOS thesaurus with shapes and wording, ready for card generation."""
