"""Cards about what is a kind of what, or a concept below which."""
