"""Systems under test that ship with Epoché: one module each, registered by name."""
