"""Canonical forms: merges keywords that name the same concept.

``canonicalise_keywords`` embeds, clusters and verifies keywords and returns a ``CanonicalTable``;
``CanonicalLookup`` finds the concept of a new keyword.
"""
