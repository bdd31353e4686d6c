"""Talking to language models: one client's parts, from the address of a server to a typed reply."""
