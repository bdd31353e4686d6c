"""Tests that small logs (dictionaries) and large logs (sorted arrays) find the same positions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.reasoning.log import InferenceLog

TERM = st.one_of(st.integers(0, 5), st.integers(2**31 - 6, 2**31 - 1))
"""Few terms, so that triples have some in common. The highest ids test for integer overflow."""
TRIPLE = st.tuples(TERM, TERM, TERM)


@given(st.lists(TRIPLE, unique=True, max_size=60), st.lists(TRIPLE, max_size=20))
@settings(deadline=None)
def test_arrays_and_dictionaries_find_the_same_positions(inferred, other_triples):
    # An entry is a triple, the number of its rule and a witness; here the witness is the position.
    small_log, large_log = InferenceLog(), InferenceLog(max_dictionary_entries=0)
    for position, (s, p, o) in enumerate(inferred):
        for log in (small_log, large_log):
            log.append((s, p, o, 1, position))
    for position, triple in enumerate(inferred):
        assert small_log.find_position(triple) == large_log.find_position(triple) == position
        assert large_log.get_entry(position) == (*triple, 1, position)
    for triple in other_triples:
        expected = inferred.index(triple) if triple in inferred else None
        assert small_log.find_position(triple) == large_log.find_position(triple) == expected


@given(
    st.lists(TRIPLE, max_size=30),
    st.lists(TRIPLE, max_size=30),
    st.booleans(),
    st.integers(0, 1_000),
)
@settings(deadline=None)
def test_a_fork_finds_the_last_position_in_all_entries(inferred, later, searches_first, limit):
    # Triples may repeat: what was removed may be inferred again.
    log = InferenceLog(max_dictionary_entries=limit)
    for triple in inferred:
        log.append((*triple, 1, 0))
    if searches_first:
        log.find_position((0, 0, 0))
    fork = log.fork()
    for triple in later:
        fork.find_position(triple)
        fork.resume()
        fork.append((*triple, 1, 0))
    last_positions = {triple: n for n, triple in enumerate([*inferred, *later])}
    for triple in [*inferred, *later, (0, 1, 0)]:
        assert fork.find_position(triple) == last_positions.get(triple)
    assert len(log) == len(inferred)
    assert len(fork) == len(inferred) + len(later)


def test_log_size_selects_the_search():
    for entries, uses_arrays in ((2, False), (3, True)):
        log = InferenceLog(max_dictionary_entries=2)
        for n in range(entries):
            log.append((n, 0, n, 1, 0))
        assert log.find_position((1, 0, 1)) == 1
        assert bool(log._sorted_arrays) is uses_arrays
        assert bool(log._positions) is not uses_arrays
