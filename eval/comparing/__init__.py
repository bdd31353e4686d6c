"""Which of two is better, and whether a limit is kept, from measured answers.

``pairs`` computes each metric's difference, ``comparison`` puts all pairs of systems into one
record and ``words`` says it. ``gate`` holds metrics to conditions and to a baseline, ``junit``
writes what it found for CI.
"""
