"""Recorded searches, in the forms of this and of the published benchmark."""
