"""Reads and checks the replies of models."""
