"""Code for models as judges that all benchmarks share."""
