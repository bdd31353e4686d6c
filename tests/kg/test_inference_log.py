"""Where a triple was inferred: dictionaries in small logs, sorted arrays in large ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.reasoning.log import InferenceLog

TERM = st.one_of(st.integers(0, 5), st.integers(2**31 - 6, 2**31 - 1))
"""Few terms, so that triples share some; the highest ids too, whose keys fill 63 bits."""
TRIPLE = st.tuples(TERM, TERM, TERM)


@given(st.lists(TRIPLE, unique=True, max_size=60), st.lists(TRIPLE, max_size=20))
@settings(deadline=None)
def test_arrays_find_the_places_that_dictionaries_find(inferred, others):
    small, large = InferenceLog(), InferenceLog(small=0)
    for place, (s, p, o) in enumerate(inferred):
        for log in (small, large):
            log.append((s, p, o, 1, place))
    for place, triple in enumerate(inferred):
        assert small.place(triple) == large.place(triple) == place
        assert large.at(place) == (*triple, 1, place)
    for triple in others:
        expected = inferred.index(triple) if triple in inferred else None
        assert small.place(triple) == large.place(triple) == expected


def test_the_threshold_chooses_the_search():
    for entries, arrays in ((2, False), (3, True)):
        log = InferenceLog(small=2)
        for n in range(entries):
            log.append((n, 0, n, 1, 0))
        assert log.place((1, 0, 1)) == 1
        assert bool(log._arrays) is arrays
        assert bool(log._places) is not arrays
