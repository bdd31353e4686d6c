"""The commands of the retrieval benchmark."""
