"""Makes near-misses: plausible claims, each proved false or unknown."""
