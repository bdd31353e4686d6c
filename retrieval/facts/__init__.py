"""Retrieves passages by the facts that they state."""
