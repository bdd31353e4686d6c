"""Counts what an extraction keeps of its text, sentence by sentence."""
