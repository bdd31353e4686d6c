"""Imports public sets of labelled questions in their published formats."""
