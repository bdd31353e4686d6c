"""Knowledge graphs, their labels and shapes, the licence oracle, and the shipped domains."""
