"""Systems under test: the protocol, the registry, and asking them."""
