"""The parts of the model client, from the address of a server to a typed reply."""
