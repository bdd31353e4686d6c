"""The corrected scores: what the five measures are meant to say, and cannot be had by tricks."""
