"""The pipelines that are compared: extractors and agent."""
