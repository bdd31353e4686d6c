"""Positions of inferred triples: dictionaries in small logs, sorted arrays in large ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.reasoning.log import InferenceLog

TERM = st.one_of(st.integers(0, 5), st.integers(2**31 - 6, 2**31 - 1))
"""Few terms, so that triples share some; the highest ids too, whose keys fill 63 bits."""
TRIPLE = st.tuples(TERM, TERM, TERM)


@given(st.lists(TRIPLE, unique=True, max_size=60), st.lists(TRIPLE, max_size=20))
@settings(deadline=None)
def test_arrays_and_dictionaries_find_the_same_positions(inferred, others):
    small, large = InferenceLog(), InferenceLog(max_dictionary_entries=0)
    for place, (s, p, o) in enumerate(inferred):
        for log in (small, large):
            log.append((s, p, o, 1, place))
    for place, triple in enumerate(inferred):
        assert small.find_position(triple) == large.find_position(triple) == place
        assert large.get_entry(place) == (*triple, 1, place)
    for triple in others:
        expected = inferred.index(triple) if triple in inferred else None
        assert small.find_position(triple) == large.find_position(triple) == expected


def test_log_size_selects_the_search():
    for entries, arrays in ((2, False), (3, True)):
        log = InferenceLog(max_dictionary_entries=2)
        for n in range(entries):
            log.append((n, 0, n, 1, 0))
        assert log.find_position((1, 0, 1)) == 1
        assert bool(log._sorted_arrays) is arrays
        assert bool(log._positions) is not arrays
