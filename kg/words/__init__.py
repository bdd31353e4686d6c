"""Renders a graph in English: labels, templates, facts, questions, rules and proofs."""
