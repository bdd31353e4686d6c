"""JSON Schemas: followed, checked, flattened into fields, and weighed by how much they ask for."""
