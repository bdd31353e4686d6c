"""Calls a model server: requests, retries, limits and capabilities."""
