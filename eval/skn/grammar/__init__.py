"""The notation's grammar: what a document says, strict and tolerant reading, and typed JSON."""
