"""The commands that are about data, configurations and servers, not about a run."""
