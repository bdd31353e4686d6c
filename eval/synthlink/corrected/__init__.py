"""The corrected scores: the five metrics as intended, robust against answers that game them."""
