"""JSON Schema: reference graph, validation, flattening into fields, and complexity."""
