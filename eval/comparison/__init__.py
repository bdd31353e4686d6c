"""Compares systems with each other, and checks metrics against limits and a baseline.

``pairs`` computes the differences of each pair of systems, ``report`` collects all pairs in one
record, and ``text`` renders it as sentences and Markdown. ``gate`` checks conditions on metrics and
regressions against a baseline, and ``junit`` writes the outcome for CI.
"""
