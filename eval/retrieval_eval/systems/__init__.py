"""The retrievers of an evaluation."""
