"""SKN against JSON: the notation, the extraction formats that are compared, and their benchmark.

The public modules are ``notation`` (parses and serialises SKN), ``pipelines`` (the formats),
``extractors`` and ``agent`` (the two steps that call a model), ``metrics`` and ``benchmark`` (the
whole run). They use the packages ``grammar``, ``formats``, ``retention`` and ``judges``,
``scoring`` and ``published``; in this order, each imports only those before it. ``card_rules``
answers cards by rules. ``description`` describes the
benchmark to ``eval.harness``, which asks the pipelines and judges. ``commands`` contains the
commands that work on SKN files.
"""
