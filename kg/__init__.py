"""Knowledge graphs, labels, SHACL shapes, the licence oracle and the shipped domains."""
