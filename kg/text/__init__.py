"""Text on its way to a graph: documents, chunks, keywords, canonical forms, concepts, sections."""
