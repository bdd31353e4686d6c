"""The table and the lookup: every keyword in it, nothing in a chain, live nodes only."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.embedding.embedder import Embedder
from kg.embedding.lexical import lexical_embedder
from kg.text.canonical.canonicalise import canonicalise
from kg.text.canonical.lookup import CanonicalLookup
from kg.text.canonical.table import CanonicalTable
from kg.text.canonical.verdicts import VerdictError, check_sets
from kg.text.canonical.verifier import RuleVerifier, Synonyms
from kg.text.normaliser import normalise

KEYWORDS = {
    "Write-Ahead Logging": 4,
    "write-ahead logging": 2,
    "WAL": 9,
    "B+-trees": 3,
    "B-tree": 2,
    "2NF": 1,
    "3NF": 1,
    "third normal form": 5,
    "data base": 1,
    "optimisation": 1,
    "optimization": 2,
    "database": 7,
    "concurrency control": 1,
    "…": 8,
}


def table_of(**changes: int) -> CanonicalTable:
    return canonicalise({**KEYWORDS, **changes}, lexical_embedder(), RuleVerifier())


class Told:
    """A verifier that says what it is told, whatever it is asked."""

    name, failed = "told", 0

    def __init__(self, *sets: Synonyms) -> None:
        self.sets = list(sets)
        self.asked: list[list[str]] = []

    def params(self) -> dict[str, object]:
        return {}

    def verify(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        self.asked = [list(group) for group in groups]
        return [self.sets for _ in groups]


def test_capitals_and_plurals_find_their_concept() -> None:
    # Bug 2: a table keyed by normal forms, looked up raw.
    table = table_of()
    for spelling in ("WAL", "wal", "WRITE-AHEAD LOGGING", "Write ahead loggings"):
        assert table.resolve(spelling) == "write ahead logging"
    assert table.resolve("B + -Tree") == "b+ tree"
    assert table.resolve("Third Normal Forms") == table.resolve("3NF") == "third normal form"
    assert table.labels["write ahead logging"] == "Write-Ahead Logging"


def test_who_stands_alone_is_in_the_table_too() -> None:
    # Bug 3: a list of merged keywords alone lets a live node be mapped to another.
    table = table_of()
    for keyword in KEYWORDS:
        assert (table.resolve(keyword) is not None) == bool(normalise(keyword))
    assert {"concurrency control", "2nf", "b tree", "b+ tree"} <= set(table.concepts)
    nothing_said = canonicalise(KEYWORDS, lexical_embedder(), Told(), by_index=False)
    assert set(nothing_said.concepts) == {normalise(keyword) for keyword in KEYWORDS} - {""}
    lookup = CanonicalLookup(nothing_said, lexical_embedder(), nothing_said.concepts)
    for concept in nothing_said.concepts:
        assert lookup.resolve(concept) == concept


GROUP = ("lock", "locks held", "latch")


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ([("lock", ("lock", "table"))], "'table' is not of the group"),
        ([("", ("lock", "latch"))], "'' is not among"),
        ([("locking", ("lock", "latch"))], "'locking' is not among"),
        ([("lock", ())], "'lock' is not among"),
        ([("lock", ("lock", "latch", "latch"))], "'latch' is named twice"),
        (
            [("lock", ("lock", "latch")), ("latch", ("latch", "locks held"))],
            "'latch' is named twice",
        ),
    ],
)
def test_a_verdict_that_cannot_be_applied_is_refused(sets: list[Synonyms], says: str) -> None:
    # Bug 4: replies of a model that were taken as they came.
    with pytest.raises(VerdictError, match=says):
        check_sets(GROUP, sets)
    flat = Embedder(lambda texts: np.ones((len(texts), 2), np.float32), "flat")
    with pytest.raises(VerdictError, match=says):
        canonicalise(dict.fromkeys(GROUP, 1), flat, Told(*sets))


@pytest.mark.parametrize(
    ("forms", "labels", "says"),
    [
        ({"a": "b", "b": "c", "c": "c"}, {"c": "c"}, "does not stand for itself"),
        ({"a": "b"}, {"b": "b"}, "does not stand for itself"),
        ({"": ""}, {"": ""}, "no normal form"),
        ({"Trees": "Trees"}, {"Trees": "Trees"}, "no normal form"),
        ({"a": "a"}, {}, "labels"),
        ({"a": "a"}, {"a": "a", "b": "b"}, "labels"),
        ({"a": "a"}, {"a": "b"}, "not a spelling"),
    ],
)
def test_a_table_that_contradicts_itself_is_not_read(
    forms: dict[str, str], labels: dict[str, str], says: str
) -> None:
    written = msgspec.json.encode({"forms": forms, "labels": labels})
    with pytest.raises(msgspec.ValidationError, match=says):
        msgspec.json.decode(written, type=CanonicalTable)
    with pytest.raises(ValueError, match=says):
        CanonicalTable(forms, labels)


def test_a_table_is_what_it_was_when_read_again() -> None:
    table = table_of()
    again = msgspec.json.decode(msgspec.json.encode(table), type=CanonicalTable)
    assert again == table
    assert list(again.canonical_keywords()) == [again.labels[c] for c in sorted(again.labels)]


@given(st.permutations(sorted(KEYWORDS)))
def test_the_order_of_keywords_decides_nothing(order: list[str]) -> None:
    table = canonicalise({k: KEYWORDS[k] for k in order}, lexical_embedder(), RuleVerifier())
    assert msgspec.json.encode(table) == msgspec.json.encode(table_of())


@given(st.dictionaries(st.text(max_size=12), st.integers(1, 9), max_size=25))
def test_resolving_twice_is_resolving_once(frequencies: dict[str, int]) -> None:
    table = canonicalise(frequencies, lexical_embedder(), RuleVerifier())
    lookup = CanonicalLookup(table, lexical_embedder(), table.concepts)
    for keyword in frequencies:
        once = table.resolve(keyword)
        assert (once is None) == (not normalise(keyword))
        if once is not None:
            assert table.resolve(once) == once
            assert lookup.resolve(keyword) == lookup.resolve(once) == once


def test_acronyms_reach_the_verifier_although_no_vector_is_near() -> None:
    asked = Told()
    canonicalise(KEYWORDS, lexical_embedder(), asked)
    assert ["WAL", "Write-Ahead Logging"] in asked.asked
    assert ["third normal form", "3NF"] in [sorted(g, key=len)[::-1][:2] for g in asked.asked]
    assert ["optimization", "optimisation"] in asked.asked
    canonicalise(KEYWORDS, lexical_embedder(), asked, by_index=False)
    assert ["WAL", "Write-Ahead Logging"] not in asked.asked
    # Groups stay groups: nobody is in two, and none is larger than allowed.
    canonicalise(KEYWORDS, lexical_embedder(), asked, max_group_size=2)
    members = [keyword for group in asked.asked for keyword in group]
    assert len(members) == len(set(members))
    assert max(map(len, asked.asked)) == 2


def counted(calls: list[list[str]]) -> Embedder:
    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        calls.append(list(texts))
        return lexical_embedder().encode(texts)

    return Embedder(encode, "counted")


def test_a_lookup_names_live_nodes_only() -> None:
    table = table_of()
    live = set(table.concepts) - {"database"}
    lookup = CanonicalLookup(table, lexical_embedder(), live)
    assert lookup.resolve("Data Base") is None
    assert lookup.resolve("WAL") == "write ahead logging"
    assert lookup.resolve("concurency control") == "concurrency control"
    assert (
        CanonicalLookup(table, lexical_embedder(), live - {"concurrency control"}).resolve(
            "concurency control"
        )
        is None
    )
    assert CanonicalLookup(table, lexical_embedder(), ()).resolve("WAL") is None


def test_a_live_node_means_itself_even_where_the_table_says_otherwise() -> None:
    table = CanonicalTable({"wal": "log", "log": "log"}, {"log": "log"})
    lookup = CanonicalLookup(table, lexical_embedder(), {"wal", "log"})
    assert lookup.resolve_many(["WAL", "logs"]) == ["wal", "log"]


def test_the_nearest_concept_is_not_taken_where_a_rule_refutes_it() -> None:
    table = canonicalise(
        {"normal form 2": 1, "B-tree index": 1}, lexical_embedder(), RuleVerifier()
    )
    lookup = CanonicalLookup(table, lexical_embedder(), table.concepts, fallback_threshold=0.5)
    assert lookup.resolve("normal form 3") is None
    assert lookup.resolve("B+-tree index") is None
    assert lookup.resolve("B-tree indexe") == "b tree index"


def test_many_keywords_are_embedded_in_one_call() -> None:
    calls: list[list[str]] = []
    table = table_of()
    lookup = CanonicalLookup(table, counted(calls), table.concepts)
    known = lookup.resolve_many(["WAL", "3NF", ""])
    assert known == ["write ahead logging", "third normal form", None]
    assert calls == []
    asked = ["concurency control", "Concurency Controls", "databse", "zebra"]
    found = lookup.resolve_many(asked)
    assert len(calls) == 2  # the asked, and once the concepts
    assert found == [lookup.resolve(keyword) for keyword in asked]
    assert found[0] == found[1] == "concurrency control"
    assert found[3] is None


def test_vectors_that_are_known_are_not_made_again() -> None:
    table, calls = table_of(), list[list[str]]()
    vectors = lexical_embedder().encode(table.canonical_keywords())
    live = table.concepts[1:]
    given_them = CanonicalLookup(table, counted(calls), live, vectors=vectors)
    assert given_them.resolve("concurency control") == "concurrency control"
    assert [len(call) for call in calls] == [1]
    with pytest.raises(ValueError, match="vectors"):
        CanonicalLookup(table, counted(calls), live, vectors=vectors[1:])
