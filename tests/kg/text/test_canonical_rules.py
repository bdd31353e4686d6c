"""The rules on synonyms, against pairs labelled by hand; half of them were never looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.text.canonical.rules import judge, refuted
from kg.text.canonical.verdicts import check_sets
from kg.text.canonical.verifier import RuleVerifier, SynonymVerifier

FILE = Path(__file__).parents[2] / "data" / "keyword_pairs.jsonl"
PAIRS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def of_split(split: str) -> list[dict[str, Any]]:
    return [pair for pair in PAIRS if pair["split"] == split]


def rates(pairs: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Pairs rightly found, found, and to be found."""
    found = [pair for pair in pairs if judge(pair["a"], pair["b"]).same]
    return (
        sum(pair["synonym"] for pair in found),
        len(found),
        sum(pair["synonym"] for pair in pairs),
    )


def test_the_pairs_are_many_distinct_and_half_held_out() -> None:
    assert len({frozenset((pair["a"], pair["b"])) for pair in PAIRS}) == len(PAIRS) >= 300
    held = of_split("held-out")
    assert abs(2 * len(held) - len(PAIRS)) <= 16
    for split in (held, of_split("develop")):
        assert 80 <= sum(pair["synonym"] for pair in split) <= len(split) - 80


@pytest.mark.parametrize(
    ("split", "precise", "found"), [("develop", 0.95, 0.8), ("held-out", 0.9, 0.8)]
)
def test_precision_and_recall(
    split: str, precise: float, found: float, record_property: Callable[[str, object], None]
) -> None:
    right, said, wanted = rates(of_split(split))
    table = (
        f"synonyms by rule, {split}: precision {right}/{said} = {right / said:.3f}, "
        f"recall {right}/{wanted} = {right / wanted:.3f}"
    )
    record_property("figures", table)
    assert right / said >= precise, table
    assert right / wanted >= found, table


@pytest.mark.parametrize("pair", of_split("develop"), ids=lambda pair: f"{pair['a']}={pair['b']}")
def test_order_decides_nothing(pair: dict[str, Any]) -> None:
    assert judge(pair["a"], pair["b"]) == judge(pair["b"], pair["a"])


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_judged(one: str, other: str) -> None:
    assert judge(one, other) == judge(other, one)
    assert not (judge(one, other).same and refuted(one, other))


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
    assert judge(one, other) == (False, rule)
    assert refuted(one, other)


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
    assert judge(one, other) == (True, rule)


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
def test_no_evidence_is_no_synonym(one: str, other: str) -> None:
    assert not judge(one, other).same


def test_the_verifier_makes_sets_without_a_vetoed_pair() -> None:
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
    (sets,) = verifier.verify([group])
    assert sets == [("two-phase locking", ("two-phase locking", "two phase lockings", "2PL"))]
    assert verifier.failed == 0


def test_an_acronym_of_two_things_is_neither() -> None:
    verify = RuleVerifier().verify
    assert verify(
        [["DBA", "database administrator", "database administrators", "data bank access"]]
    ) == [[("database administrator", ("database administrator", "database administrators"))]]
    assert verify([["DBA", "database administrator"]]) == [
        [("database administrator", ("database administrator", "DBA"))]
    ]


def test_a_link_in_the_middle_joins_both_ends() -> None:
    ends = ["locking manager of files", "file lock manager"]
    assert not judge(*ends).same
    (sets,) = RuleVerifier().verify([[*ends, "file locking manager"]])
    assert sets == [(ends[0], (ends[0], "file locking manager", ends[1]))]


@given(st.lists(st.sampled_from([p[k] for p in PAIRS for k in "ab"]), unique=True, max_size=30))
def test_sets_can_always_be_applied(group: list[str]) -> None:
    (sets,) = RuleVerifier().verify([group])
    check_sets(group, sets)
    for _, members in sets:
        assert not any(refuted(one, other) for one in members for other in members)
