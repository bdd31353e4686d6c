"""SKN against JSON: the notation, the extraction formats that are compared, and their benchmark.

Start at the faces: ``notation`` (read and write SKN), ``pipelines`` (the formats), ``extractors``
and ``agent`` (the two steps a model takes), ``metrics`` and ``benchmark`` (the whole run).
Behind them, each room importing only those before it: ``grammar``, ``formats``, ``rules`` and
``judges``, ``running``, ``scoring``, ``published``; ``commands`` works on files of SKN.
"""
