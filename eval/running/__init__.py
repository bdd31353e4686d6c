"""Running anything: questions × systems → rows that survive whatever happens to the run.

Nothing here knows what is asked. ``journal`` keeps the rows, ``places`` says which there are and in
which order they end, ``workers`` asks many at once, ``totals`` counts what the calls cost and
``progress`` shows it.
"""
