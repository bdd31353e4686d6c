"""Reads predictions made elsewhere, and writes runs from them."""
