"""Tests of the canonical table and its lookup.

Every keyword is in the table, every concept is mapped to itself, and the lookup returns only
concepts that are nodes of the graph ("live").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.embedding.embedder import Embedder
from kg.embedding.lexical import make_lexical_embedder
from kg.text.canonical.canonicalisation import canonicalise_keywords
from kg.text.canonical.lookup import CanonicalLookup
from kg.text.canonical.table import CanonicalTable
from kg.text.canonical.verdicts import VerdictError, check_synonym_sets
from kg.text.canonical.verifier import RuleVerifier, Synonyms
from kg.words.normaliser import normalise_phrase

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


DEFINITIONS = {
    "wal": frozenset({"write ahead logging"}),
    "3nf": frozenset({"third normal form"}),
}


def build_table(**changes: int) -> CanonicalTable:
    return canonicalise_keywords(
        {**KEYWORDS, **changes},
        make_lexical_embedder(),
        RuleVerifier(),
        definitions=DEFINITIONS,
    )


class FixedVerifier:
    """A verifier that returns the given sets for every group."""

    name, failed = "told", 0

    def __init__(self, *sets: Synonyms) -> None:
        self.sets = list(sets)
        self.groups: list[list[str]] = []

    def params(self) -> dict[str, object]:
        return {}

    def verify_groups(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        self.groups = [list(group) for group in groups]
        return [self.sets for _ in groups]


def test_capitals_and_plurals_find_their_concept() -> None:
    # Regression test: the keys of the table were normal forms, but raw keywords were looked up.
    table = build_table()
    for spelling in ("WAL", "wal", "WRITE-AHEAD LOGGING", "Write ahead loggings"):
        # The acronym is the commoner name.
        assert table.resolve_keyword(spelling) == "wal"
    assert table.resolve_keyword("B + -Tree") == "b+ tree"
    assert (
        table.resolve_keyword("Third Normal Forms")
        == table.resolve_keyword("3NF")
        == "third normal form"
    )
    assert table.labels["wal"] == "WAL"


def test_keywords_without_synonyms_are_in_the_table() -> None:
    # Regression test: if the table had only merged keywords, the lookup could map a concept that
    # is in the graph to another one.
    table = build_table()
    for keyword in KEYWORDS:
        assert (table.resolve_keyword(keyword) is not None) == bool(normalise_phrase(keyword))
    assert {"concurrency control", "2nf", "b tree", "b+ tree"} <= set(table.concepts)
    table_without_synonyms = canonicalise_keywords(
        KEYWORDS, make_lexical_embedder(), FixedVerifier(), index_candidates=False
    )
    assert set(table_without_synonyms.concepts) == {
        normalise_phrase(keyword) for keyword in KEYWORDS
    } - {""}
    lookup = CanonicalLookup(
        table_without_synonyms, make_lexical_embedder(), table_without_synonyms.concepts
    )
    for concept in table_without_synonyms.concepts:
        assert lookup.resolve_keyword(concept) == concept


GROUP = ("lock", "locks held", "latch")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([("lock", ("lock", "table"))], "'table' is not in the group"),
        ([("", ("lock", "latch"))], "'' is not among"),
        ([("locking", ("lock", "latch"))], "'locking' is not among"),
        ([("lock", ())], "'lock' is not among"),
        ([("lock", ("lock", "latch", "latch"))], "'latch' occurs twice"),
        (
            [("lock", ("lock", "latch")), ("latch", ("latch", "locks held"))],
            "'latch' occurs twice",
        ),
    ],
)
def test_inapplicable_verifier_sets_are_refused(sets: list[Synonyms], message: str) -> None:
    # Regression test: replies of a model were used without validation.
    with pytest.raises(VerdictError, match=message):
        check_synonym_sets(GROUP, sets)
    constant_embedder = Embedder(lambda texts: np.ones((len(texts), 2), np.float32), "flat")
    with pytest.raises(VerdictError, match=message):
        canonicalise_keywords(dict.fromkeys(GROUP, 1), constant_embedder, FixedVerifier(*sets))


@pytest.mark.parametrize(
    ("forms", "labels", "message"),
    [
        ({"a": "b", "b": "c", "c": "c"}, {"c": "c"}, "is not mapped to itself"),
        ({"a": "b"}, {"b": "b"}, "is not mapped to itself"),
        ({"": ""}, {"": ""}, "not the normal form"),
        ({"Trees": "Trees"}, {"Trees": "Trees"}, "not the normal form"),
        ({"a": "a"}, {}, "labels"),
        ({"a": "a"}, {"a": "a", "b": "b"}, "labels"),
        ({"a": "a"}, {"a": "b"}, "not a spelling"),
    ],
)
def test_inconsistent_table_is_refused(
    forms: dict[str, str], labels: dict[str, str], message: str
) -> None:
    data = msgspec.json.encode({"forms": forms, "labels": labels})
    with pytest.raises(msgspec.ValidationError, match=message):
        msgspec.json.decode(data, type=CanonicalTable)
    with pytest.raises(ValueError, match=message):
        CanonicalTable(forms, labels)


def test_table_is_unchanged_after_json() -> None:
    table = build_table()
    decoded_table = msgspec.json.decode(msgspec.json.encode(table), type=CanonicalTable)
    assert decoded_table == table
    assert list(decoded_table.list_canonical_keywords()) == [
        decoded_table.labels[c] for c in sorted(decoded_table.labels)
    ]


@given(st.permutations(sorted(KEYWORDS)))
def test_keyword_order_does_not_matter(order: list[str]) -> None:
    table = canonicalise_keywords(
        {k: KEYWORDS[k] for k in order},
        make_lexical_embedder(),
        RuleVerifier(),
        definitions=DEFINITIONS,
    )
    assert msgspec.json.encode(table) == msgspec.json.encode(build_table())


@given(st.dictionaries(st.text(max_size=12), st.integers(1, 9), max_size=25))
def test_resolving_is_idempotent(frequencies: dict[str, int]) -> None:
    table = canonicalise_keywords(frequencies, make_lexical_embedder(), RuleVerifier())
    lookup = CanonicalLookup(table, make_lexical_embedder(), table.concepts)
    for keyword in frequencies:
        concept = table.resolve_keyword(keyword)
        assert (concept is None) == (not normalise_phrase(keyword))
        if concept is not None:
            assert table.resolve_keyword(concept) == concept
            assert lookup.resolve_keyword(keyword) == lookup.resolve_keyword(concept) == concept


def test_spellings_reach_the_verifier_without_near_vectors() -> None:
    verifier = FixedVerifier()
    canonicalise_keywords(KEYWORDS, make_lexical_embedder(), verifier)
    assert ["optimization", "optimisation"] in verifier.groups
    assert not any("WAL" in group for group in verifier.groups)
    # Groups are disjoint, and none is larger than allowed.
    canonicalise_keywords(KEYWORDS, make_lexical_embedder(), verifier, max_group_size=2)
    members = [keyword for group in verifier.groups for keyword in group]
    assert len(members) == len(set(members))
    assert max(map(len, verifier.groups)) == 2


def test_only_defined_acronyms_are_merged() -> None:
    def resolve(keywords: dict[str, int], **definitions: str) -> dict[str, str | None]:
        table = canonicalise_keywords(
            keywords,
            make_lexical_embedder(),
            RuleVerifier(),
            definitions={key: frozenset({phrase}) for key, phrase in definitions.items()},
        )
        return {keyword: table.resolve_keyword(keyword) for keyword in keywords}

    keywords = {"WAL": 1, "write-ahead logging": 3, "WAL protocol": 2,
                "write-ahead logging protocol": 1, "wide area link": 1}  # fmt: skip
    assert len(set(resolve(keywords).values())) == 5
    assert resolve(keywords, wal="write ahead logging") == {
        "WAL": "write ahead logging",
        "write-ahead logging": "write ahead logging",
        "WAL protocol": "wal protocol",
        "write-ahead logging protocol": "wal protocol",
        "wide area link": "wide area link",
    }
    # The word "rest" is not the acronym REST.
    rest = {"rest": 3, "representational state transfer": 1}
    assert len(set(resolve(rest, rest="representational state transfer").values())) == 2


def make_recording_embedder(calls: list[list[str]]) -> Embedder:
    def encode_and_record(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        calls.append(list(texts))
        return make_lexical_embedder().encode(texts)

    return Embedder(encode_and_record, "counted")


def test_lookup_returns_live_nodes_only() -> None:
    table = build_table()
    live_concepts = set(table.concepts) - {"database"}
    lookup = CanonicalLookup(table, make_lexical_embedder(), live_concepts)
    assert lookup.resolve_keyword("Data Base") is None
    assert lookup.resolve_keyword("Write-ahead logging") == "wal"
    assert lookup.resolve_keyword("concurency control") == "concurrency control"
    assert (
        CanonicalLookup(
            table, make_lexical_embedder(), live_concepts - {"concurrency control"}
        ).resolve_keyword("concurency control")
        is None
    )
    assert CanonicalLookup(table, make_lexical_embedder(), ()).resolve_keyword("WAL") is None


def test_live_node_resolves_to_itself() -> None:
    table = CanonicalTable({"wal": "log", "log": "log"}, {"log": "log"})
    lookup = CanonicalLookup(table, make_lexical_embedder(), {"wal", "log"})
    assert lookup.resolve_keywords(["WAL", "logs"]) == ["wal", "log"]


def test_refuted_nearest_concept_is_not_used() -> None:
    table = canonicalise_keywords(
        {"normal form 2": 1, "B-tree index": 1}, make_lexical_embedder(), RuleVerifier()
    )
    lookup = CanonicalLookup(table, make_lexical_embedder(), table.concepts, fallback_threshold=0.5)
    assert lookup.resolve_keyword("normal form 3") is None
    assert lookup.resolve_keyword("B+-tree index") is None
    assert lookup.resolve_keyword("B-tree indexe") == "b tree index"


def test_many_keywords_are_embedded_in_one_call() -> None:
    calls: list[list[str]] = []
    table = build_table()
    lookup = CanonicalLookup(table, make_recording_embedder(calls), table.concepts)
    table_concepts = lookup.resolve_keywords(["WAL", "3NF", ""])
    assert table_concepts == ["wal", "third normal form", None]
    assert calls == []
    keywords = ["concurency control", "Concurency Controls", "databse", "zebra"]
    concepts = lookup.resolve_keywords(keywords)
    assert len(calls) == 2  # one call for the keywords, and one for the concepts
    assert concepts == [lookup.resolve_keyword(keyword) for keyword in keywords]
    assert concepts[0] == concepts[1] == "concurrency control"
    assert concepts[3] is None


def test_known_vectors_are_not_computed_again() -> None:
    table, calls = build_table(), list[list[str]]()
    vectors = make_lexical_embedder().encode(table.list_canonical_keywords())
    live_concepts = table.concepts[1:]
    lookup = CanonicalLookup(table, make_recording_embedder(calls), live_concepts, vectors=vectors)
    assert lookup.resolve_keyword("concurency control") == "concurrency control"
    assert [len(call) for call in calls] == [1]
    with pytest.raises(ValueError, match="vectors"):
        CanonicalLookup(table, make_recording_embedder(calls), live_concepts, vectors=vectors[1:])
