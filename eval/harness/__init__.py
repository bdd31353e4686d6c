"""Runs items × repeats × systems and keeps the rows safe, independently of the benchmark.

``journal`` stores the rows, ``row_layout`` defines which rows a run has and their order,
``workers`` asks many questions at once, ``totals`` adds up tokens and costs, ``progress`` prints
the progress of the run, and ``resume`` loads the journal of an interrupted run.
"""
