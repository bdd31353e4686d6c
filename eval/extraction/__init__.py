"""Structured extraction: text and a JSON Schema in, JSON out, measured field by field.

Start at the faces: ``scoring`` (one reply against what was expected), ``aggregate`` (rows to a
report), ``comparing`` (several systems), ``run_extraction`` and ``outputs`` (a whole run). ``row``
and ``record`` say what a run and its report hold. Behind them, each room importing only those
before it: ``schemas``, ``matchers``, ``samples``, ``verdicts``, ``measuring``, ``baseline``,
``running``, ``own``; ``commands`` works on data, configurations and servers.
"""
