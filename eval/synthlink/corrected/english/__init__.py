"""Whether a text is English: counts of word classes, and what they tell."""
