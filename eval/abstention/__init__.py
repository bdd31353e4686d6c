"""Abstention: systems answer proved cards, and the metrics show whether they know when not to."""
