"""Tests that the index behaves as a set of triples under any sequence of changes."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from kg.triples.index import MIN_SUBJECTS_FOR_REVERSE, Index
from kg.triples.rows import MAX_LIST_SIZE
from kg.triples.term_table import TermTable

SMALL = st.integers(0, 3)
TRIPLES = st.tuples(SMALL, st.integers(0, 2), st.integers(0, 14))
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "discard",
                "reverse",
                "fork",
                "add one object to many subjects",
                "add many links",
            ]
        ),
        TRIPLES,
    )
)


def check_content(index: Index, model: dict[tuple[int, int, int], None]) -> None:
    """Checks that the index has the triples of the model, whatever method looks them up."""
    assert len(index) == len(model)
    assert sorted(index.iter_triples()) == sorted(model)
    assert set(index.list_predicates()) == {p for _, p, _ in model}
    for s in range(4):
        assert sorted(index.iter_out_edges(s)) == sorted((p, o) for a, p, o in model if a == s)
    for o in range(15):
        assert sorted(index.iter_in_edges(o)) == sorted((p, s) for s, p, b in model if b == o)
    for p in range(3):
        assert index.count_triples(p) == sum(q == p for _, q, _ in model)
        assert sorted(index.iter_pairs(p)) == sorted((s, o) for s, q, o in model if q == p)
        assert index.list_pairs(p) == list(index.iter_pairs(p))
        assert set(index.get_subjects(p)) == {s for s, q, _ in model if q == p}
        for s in range(4):
            assert sorted(index.find_objects(s, p)) == sorted(
                o for a, q, o in model if (a, q) == (s, p)
            )
            for o in range(15):
                assert index.has_triple(s, p, o) == ((s, p, o) in model)
        for o in range(15):
            assert index.filter_subjects_without(p, o, range(4)) == [
                s for s in range(4) if (s, p, o) not in model
            ]
            many_subjects = range(MIN_SUBJECTS_FOR_REVERSE)
            assert index.filter_subjects_without(p, o, many_subjects) == [
                s for s in many_subjects if (s, p, o) not in model
            ]
        assert sorted(index.list_distinct_objects(p)) == sorted({o for _, q, o in model if q == p})


@settings(deadline=None, max_examples=150)
@given(CHANGES)
def test_index_is_a_set_of_triples(changes):
    index, model = Index(), {}
    forks = []
    for operation, triple in changes:
        if operation == "add":
            assert index.add_triple(*triple) == (triple not in model)
            model[triple] = None
        elif operation == "discard":
            assert index.discard_triple(*triple) == (triple in model)
            model.pop(triple, None)
        elif operation == "reverse":
            # The first search for subjects makes the index build its reverse entries.
            index.find_subjects(triple[1], triple[2])
        elif operation == "add one object to many subjects":
            subjects = index.filter_subjects_without(triple[1], triple[2], range(4))
            index.add_to_many(triple[1], triple[2], subjects)
            model.update(dict.fromkeys((s, triple[1], triple[2]) for s in subjects))
        elif operation == "add many links":
            links = [(s, o) for s in range(4) for o in {triple[0], triple[2]}]
            added = index.add_links(triple[1], links)
            assert added == [(s, o) for s, o in links if (s, triple[1], o) not in model]
            model.update(dict.fromkeys((s, triple[1], o) for s, o in links))
        else:
            # Changes continue in the fork; the index it was forked from must keep its content.
            forks.append((index, dict(model)))
            index = index.fork()
    check_content(index, model)
    for old_index, content in forks:
        check_content(old_index, content)


def test_discarding_new_triples_restores_a_long_list():
    # A subject with more than MAX_LIST_SIZE objects keeps them in another container than a list.
    index = Index()
    for o in range(MAX_LIST_SIZE):
        index.add_triple(0, 1, o)
    old_triples = list(index.iter_triples())
    index.find_subjects(1, 0)
    for o in range(100, 104):
        assert index.add_triple(0, 1, o)
    for o in range(100, 104):
        assert index.discard_triple(0, 1, o)
    assert list(index.iter_triples()) == old_triples
    assert list(index.find_subjects(1, 100)) == []
    assert list(index.find_subjects(1, 0)) == [0]


def test_order_is_insertion_order():
    index = Index()
    for o in (9, 3, 7, 1):
        index.add_triple(0, 5, o)
    index.add_triple(2, 4, 3)
    assert list(index.find_objects(0, 5)) == [9, 3, 7, 1]
    assert index.list_predicates() == [5, 4]
    assert list(index.iter_in_edges(3)) == [(5, 0), (4, 2)]


def test_empty_index_shares_terms_but_no_triples():
    terms = TermTable()
    index = Index(terms)
    a = terms.intern("http://e/a")
    index.add_triple(a, a, a)
    scratch = index.make_empty_index()
    assert scratch.terms is terms
    assert len(scratch) == 0
    assert terms.get("http://e/a") == a
    assert terms.get("http://e/b") is None
    assert terms.get_text(a) == "http://e/a"
    assert not terms.is_literal(a)
    assert terms.is_literal(terms.intern('"x"'))


@settings(deadline=None)
@given(st.lists(TRIPLES), st.sets(st.integers(0, 14)))
def test_used_nodes_are_returned_in_order(triples, nodes):
    index = Index()
    index.add_triples(triples)
    columns = [
        column for p in index.list_predicates() for column in zip(*index.iter_pairs(p), strict=True)
    ]
    mentioned_nodes = [node for column in columns for node in column]
    assert list(index.iter_used_nodes(nodes)) == [
        n for n in dict.fromkeys(mentioned_nodes) if n in nodes
    ]


def test_blank_nodes_of_a_table_are_listed():
    terms = TermTable()
    ids = [terms.intern(text) for text in ("_:b0", "http://e/a", '"_:x"', "_:b1", "_:b0")]
    assert terms.blanks == {ids[0], ids[3]}
