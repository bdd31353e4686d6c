"""The synonym rules against manually labelled pairs, half of which were held out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.text.canonical.rules import is_refuted, judge_pair
from kg.text.canonical.verdicts import check_synonym_sets
from kg.text.canonical.verifier import RuleVerifier, SynonymVerifier

FILE = Path(__file__).parents[2] / "data" / "keyword_pairs.jsonl"
PAIRS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def pairs_of_split(split: str) -> list[dict[str, Any]]:
    return [pair for pair in PAIRS if pair["split"] == split]


def count_found_pairs(pairs: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Numbers of correctly found pairs, found pairs, and labelled synonyms."""
    found = [pair for pair in pairs if judge_pair(pair["a"], pair["b"]).is_synonym]
    return (
        sum(pair["synonym"] for pair in found),
        len(found),
        sum(pair["synonym"] for pair in pairs),
    )


def test_labelled_pairs_are_distinct_and_half_held_out() -> None:
    assert len({frozenset((pair["a"], pair["b"])) for pair in PAIRS}) == len(PAIRS) >= 300
    held = pairs_of_split("held-out")
    assert abs(2 * len(held) - len(PAIRS)) <= 16
    for split in (held, pairs_of_split("develop")):
        assert 80 <= sum(pair["synonym"] for pair in split) <= len(split) - 80


@pytest.mark.parametrize(
    ("split", "precise", "found"), [("develop", 0.95, 0.8), ("held-out", 0.9, 0.8)]
)
def test_precision_and_recall(
    split: str, precise: float, found: float, record_property: Callable[[str, object], None]
) -> None:
    right, said, wanted = count_found_pairs(pairs_of_split(split))
    table = (
        f"synonyms by rule, {split}: precision {right}/{said} = {right / said:.3f}, "
        f"recall {right}/{wanted} = {right / wanted:.3f}"
    )
    record_property("figures", table)
    assert right / said >= precise, table
    assert right / wanted >= found, table


@pytest.mark.parametrize(
    "pair", pairs_of_split("develop"), ids=lambda pair: f"{pair['a']}={pair['b']}"
)
def test_judgement_is_symmetric(pair: dict[str, Any]) -> None:
    assert judge_pair(pair["a"], pair["b"]) == judge_pair(pair["b"], pair["a"])


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_judged(one: str, other: str) -> None:
    assert judge_pair(one, other) == judge_pair(other, one)
    assert not (judge_pair(one, other).is_synonym and is_refuted(one, other))


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("2NF", "3NF", "number"),
        ("SQL-92", "SQL", "number"),
        ("strict 2PL", "2PL", "modifier"),
        ("B-tree", "B+ tree", "letter"),
        ("C", "C++", "letter"),
        ("2PL", "2PC", "code"),
        ("sparse index", "dense index", "contrast"),
        ("not recoverable schedules", "recoverable schedules always", "negation"),
        ("metadata store", "data store", "prefix"),
    ],
)
def test_vetoes(one: str, other: str, rule: str) -> None:
    assert judge_pair(one, other) == (False, rule)
    assert is_refuted(one, other)


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("2PL", "two-phase locking", "acronym"),
        ("WAL protocol", "write-ahead logging protocol", "acronym"),
        ("write-ahead logging (WAL)", "write-ahead logging", "acronym"),
        ("index", "indices", "lemma"),
        ("query optimiser", "query optimizer", "lemma"),
        ("data base", "database", "spacing"),
        ("isolation level", "level of isolation", "order"),
        ("locking protocol", "lock protocol", "inflection"),
        ("concurency control", "concurrency control", "typing"),
    ],
)
def test_evidence(one: str, other: str, rule: str) -> None:
    assert judge_pair(one, other) == (True, rule)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("log", "lag"),
        ("latch", "latches on"),
        ("wal", "wide area link"),
        ("MRU", "manager runs"),
        ("live", "life"),
        ("", ""),
        ("a", "the"),
    ],
)
def test_pairs_without_evidence_are_no_synonyms(one: str, other: str) -> None:
    assert not judge_pair(one, other).is_synonym


def test_verifier_sets_contain_no_vetoed_pair() -> None:
    group = [
        "two-phase locking",
        "2PL",
        "strict 2PL",
        "two phase lockings",
        "3PL",
        "two-phase lock",
    ]
    verifier = RuleVerifier()
    assert isinstance(verifier, SynonymVerifier)
    (sets,) = verifier.verify_groups([group])
    assert sets == [("two-phase locking", ("two-phase locking", "two phase lockings", "2PL"))]
    assert verifier.failed == 0


def test_ambiguous_acronym_joins_no_set() -> None:
    verify = RuleVerifier().verify_groups
    assert verify(
        [["DBA", "database administrator", "database administrators", "data bank access"]]
    ) == [[("database administrator", ("database administrator", "database administrators"))]]
    assert verify([["DBA", "database administrator"]]) == [
        [("database administrator", ("database administrator", "DBA"))]
    ]


def test_synonym_of_two_terms_joins_them() -> None:
    ends = ["locking manager of files", "file lock manager"]
    assert not judge_pair(*ends).is_synonym
    (sets,) = RuleVerifier().verify_groups([[*ends, "file locking manager"]])
    assert sets == [(ends[0], (ends[0], "file locking manager", ends[1]))]


@given(st.lists(st.sampled_from([p[k] for p in PAIRS for k in "ab"]), unique=True, max_size=30))
def test_sets_can_always_be_applied(group: list[str]) -> None:
    (sets,) = RuleVerifier().verify_groups([group])
    check_synonym_sets(group, sets)
    for _, members in sets:
        assert not any(is_refuted(one, other) for one in members for other in members)
