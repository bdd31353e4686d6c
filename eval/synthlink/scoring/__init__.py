"""Scores predictions in the literal and the corrected mode."""
