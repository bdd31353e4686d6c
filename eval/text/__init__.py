"""From documents to a run: the command that builds it, and the steps a model can take in it."""
