"""The configuration of a run, read from YAML."""
