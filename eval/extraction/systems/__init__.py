"""The extractors of a run."""
