"""Systems on a graph that gets worse: facts dropped or replaced, and the same gold answers."""
