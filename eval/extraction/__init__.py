"""Structured extraction: systems fill a JSON Schema from a text and are scored field by field.

Start with ``scorer`` (scores one reply), ``aggregate`` (computes a report from rows),
``comparison`` (compares systems), ``run_extraction`` and ``outputs`` (a whole run). ``row`` and
``record`` define the contents of a run and its report. The packages are, each importing only those
named before it: ``schemas``, ``matchers``, ``samples``, ``verdicts``, ``metrics``, ``blocks`` (the
section of a report), ``own_extractors``, ``commands``.
"""
