"""Judges of answers: is it right, what of it is made up, how well do the sources bear it."""
