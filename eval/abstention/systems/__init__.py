"""The systems under test that Epoché provides: one module each, registered by name."""
