"""Tests whether the surface of cards gives their labels away."""
