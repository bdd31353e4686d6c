"""Splits answers into claims, and decides those that facts, graph and pages decide for certain."""
