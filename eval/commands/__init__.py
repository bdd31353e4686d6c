"""The commands that serve all benchmarks."""
