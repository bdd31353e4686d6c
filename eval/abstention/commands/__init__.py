"""The commands of abstention."""
