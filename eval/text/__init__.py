"""Builds runs from documents: the commands, and the build steps that call a model."""
