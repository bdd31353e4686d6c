"""The corrected scores: the five metrics as intended, as far as they can be measured."""
