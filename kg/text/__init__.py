"""Builds graphs from text: documents, chunks, keywords, canonical forms, concepts, sections."""
