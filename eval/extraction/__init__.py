"""Structured extraction: systems fill a JSON Schema from a text and are scored field by field.

Start with ``scorer`` (scores one reply), ``aggregate`` (rows to a report), ``comparison`` (several
systems), ``run_extraction`` and ``outputs`` (a whole run). ``row`` and ``record`` define what a run
and its report hold. The packages below them, each importing only those named before it:
``schemas``, ``matchers``, ``samples``, ``verdicts``, ``metrics``, ``baseline``, ``running``,
``toolkit``. ``commands`` has the commands for data, configurations and servers.
"""
