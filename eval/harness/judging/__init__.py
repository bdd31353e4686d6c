"""Asks judges about replies and claims."""
