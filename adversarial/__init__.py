"""Near-misses: claims built to fool, each proved false or unknown."""
