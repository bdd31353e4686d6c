"""Abstention metrics of graded answers to any questions: right, wrong, abstained or unusable."""
