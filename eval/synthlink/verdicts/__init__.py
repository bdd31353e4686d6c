"""Verdicts of judges on claims: their record, their effect on scores, and their reliability."""
