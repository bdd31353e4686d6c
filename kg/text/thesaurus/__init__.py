"""A run as RDF: a SKOS thesaurus with its shapes and words, ready to make cards from."""
