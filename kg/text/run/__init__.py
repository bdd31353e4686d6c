"""Runs: folders with the chunks, keywords and concepts of documents, and the build pipeline."""
