"""A run: what was found in some documents, kept in one folder, and the pipeline that finds it."""
