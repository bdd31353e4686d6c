"""The form of each pipeline's extraction: prompts, writing and parsing."""
