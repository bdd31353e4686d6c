"""SynthLink: multi-hop questions, and scores of their answers that mean something.

Each room imports only those before it. The catalogue: ``question``, ``catalog``; what is scored:
``predictions``; one answer: ``measures``, ``corrected``, ``literal``, and ``verdicts``, what judges
said of its claims; a whole file: ``record``, ``scores``, ``comparing``, ``tables``, and the folder
that ``scoring_files`` fills; a system: ``agents``, ``running``; models that judge: ``judging``.
"""
