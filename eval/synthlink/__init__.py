"""SynthLink: multi-hop questions, systems that answer them, and scores of the answers.

A module imports only modules listed before it. The catalogue: ``question``, ``catalog``; the
answers to be scored: ``predictions``; the scores of one answer: ``metrics``, ``corrected``,
``literal_scores``, and ``verdicts`` (the judges' verdicts on its claims); the scores of a file:
``record``, ``scores``, ``comparison``, ``tables``, and the output folder written by
``file_scorer``; systems: ``agents``, ``running``; models that judge claims: ``judges``.
"""
