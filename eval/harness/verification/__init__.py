"""Computes the rows of a finished run again and lists what differs."""
