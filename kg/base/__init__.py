"""Shared foundations: errors with exit codes, crash-safe file writing, console output."""
