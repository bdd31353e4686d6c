"""The concept graph of a text: concepts, linked by how often they occur together."""
