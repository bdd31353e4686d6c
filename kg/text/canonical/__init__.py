"""Canonical forms: which keywords are one concept, decided once and looked up ever after.

``canonicalise`` embeds, clusters, verifies and applies; ``CanonicalTable`` is what it leaves, and
``CanonicalLookup`` finds the concept that a new keyword means.
"""
