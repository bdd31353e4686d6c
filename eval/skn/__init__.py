"""SKN against JSON: the notation, the extraction formats that are compared, and their benchmark.

The public modules are ``notation`` (parses and serialises SKN), ``pipelines`` (the formats),
``extractors`` and ``agent`` (the two steps a model takes), ``metrics`` and ``benchmark`` (the
whole run). They use these packages, each of which imports only those before it: ``grammar``,
``formats``, ``rules`` and ``judges``, ``running``, ``scoring``, ``published``. ``commands`` holds
the commands that work on SKN files.
"""
