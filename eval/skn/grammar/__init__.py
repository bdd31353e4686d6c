"""The grammar of SKN: the typed document, a strict and a tolerant parser, and typed JSON."""
