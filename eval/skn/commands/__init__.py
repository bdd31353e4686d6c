"""Commands of the benchmark (``run``, ``score``, ``judge``) and of its notation."""
