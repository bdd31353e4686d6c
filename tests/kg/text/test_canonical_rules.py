"""Tests the synonym rules on manually labelled pairs.

Half of the pairs were held out: the rules were developed without them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.embedding.lexical import make_lexical_embedder
from kg.text.canonical.canonicalisation import canonicalise_keywords
from kg.text.canonical.definitions import find_definitions, iter_definitions
from kg.text.canonical.program_names import find_program_names, split_groups
from kg.text.canonical.rules import is_refuted, judge_pair
from kg.text.canonical.verdicts import check_synonym_sets
from kg.text.canonical.verifier import RuleVerifier, SynonymVerifier

FILE = Path(__file__).parents[2] / "data" / "keyword_pairs.jsonl"
PAIRS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def select_pairs(split: str) -> list[dict[str, Any]]:
    return [pair for pair in PAIRS if pair["split"] == split]


def count_pairs(pairs: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Returns the numbers of correctly predicted, predicted and labelled synonym pairs."""
    predicted_pairs = [pair for pair in pairs if judge_pair(pair["a"], pair["b"]).is_synonym]
    return (
        sum(pair["synonym"] for pair in predicted_pairs),
        len(predicted_pairs),
        sum(pair["synonym"] for pair in pairs),
    )


def test_labelled_pairs_are_distinct_and_half_held_out() -> None:
    assert len({frozenset((pair["a"], pair["b"])) for pair in PAIRS}) == len(PAIRS) >= 300
    held_out_pairs = select_pairs("held-out")
    assert abs(2 * len(held_out_pairs) - len(PAIRS)) <= 16  # half of them, give or take eight
    for split in (held_out_pairs, select_pairs("develop")):
        assert 80 <= sum(pair["synonym"] for pair in split) <= len(split) - 80


@pytest.mark.parametrize(
    ("split", "min_precision", "min_recall"), [("develop", 0.95, 0.8), ("held-out", 0.9, 0.8)]
)
def test_rules_reach_the_required_precision_and_recall(
    split: str,
    min_precision: float,
    min_recall: float,
    record_property: Callable[[str, object], None],
) -> None:
    correct, predicted, labelled = count_pairs(select_pairs(split))
    table = (
        f"synonyms by rule, {split}: precision {correct}/{predicted} = {correct / predicted:.3f}, "
        f"recall {correct}/{labelled} = {correct / labelled:.3f}"
    )
    record_property("figures", table)
    assert correct / predicted >= min_precision, table
    assert correct / labelled >= min_recall, table


@pytest.mark.parametrize(
    "pair", select_pairs("develop"), ids=lambda pair: f"{pair['a']}={pair['b']}"
)
def test_judgement_is_symmetric(pair: dict[str, Any]) -> None:
    assert judge_pair(pair["a"], pair["b"]) == judge_pair(pair["b"], pair["a"])


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_judged(keyword: str, other_keyword: str) -> None:
    assert judge_pair(keyword, other_keyword) == judge_pair(other_keyword, keyword)
    assert not (
        judge_pair(keyword, other_keyword).is_synonym and is_refuted(keyword, other_keyword)
    )


@pytest.mark.parametrize(
    ("keyword", "other_keyword", "rule"),
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
def test_vetoed_pairs_are_refuted_by_the_named_rule(
    keyword: str, other_keyword: str, rule: str
) -> None:
    assert judge_pair(keyword, other_keyword) == (False, rule)
    assert is_refuted(keyword, other_keyword)


@pytest.mark.parametrize(
    ("keyword", "other_keyword", "rule"),
    [
        ("2PL", "two-phase locking", "acronym"),
        ("HTML page", "HTMLpage", "spacing"),
        ("WEBIDL", "Web IDL", "spacing"),
        ("avatarID", "avatar ID", "spacing"),
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
def test_synonyms_are_found_by_the_named_rule(keyword: str, other_keyword: str, rule: str) -> None:
    assert judge_pair(keyword, other_keyword) == (True, rule)


@pytest.mark.parametrize(
    ("keyword", "other_keyword"),
    [
        ("log", "lag"),
        ("latch", "latches on"),
        ("wal", "wide area link"),
        ("MRU", "manager runs"),
        ("live", "life"),
        ("PYTHONWARNINGS", "Python warnings"),
        ("USERID", "user ID"),
        ("SSHConnection", "SSH connection"),
        ("IPv4Address", "IPv4 address"),
        ("TCP servers", "TCPServer"),
        ("version of Twisted", "Twisted VERSION"),
        ("Buildbot REST", "rest of Buildbot"),
        ("AuthnProviderAlias", "AuthzProviderAlias"),
        ("CGIDScriptTimeout Directive", "CGIScriptTimeout Directive"),
        ("", ""),
        ("a", "the"),
    ],
)
def test_pairs_without_evidence_are_not_synonyms(keyword: str, other_keyword: str) -> None:
    assert not judge_pair(keyword, other_keyword).is_synonym


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
    assert sets == [("two-phase locking", ("two-phase locking", "two phase lockings"))]
    assert verifier.failed == 0


def test_acronym_joins_no_set_by_its_letters() -> None:
    assert judge_pair("DBA", "database administrator").is_synonym
    verify = RuleVerifier().verify_groups
    assert verify([["DBA", "DBAs", "database administrator", "database administrators"]]) == [
        [
            ("DBA", ("DBA", "DBAs")),
            ("database administrator", ("database administrator", "database administrators")),
        ]
    ]


DEFINITIONS = [
    ("We use write-ahead logging (WAL).", ("WAL", "write-ahead logging")),
    ("Two-phase locking (2PL) is used.", ("2PL", "Two-phase locking")),
    ("RDF (Resource Description Framework) is", ("RDF", "Resource Description Framework")),
    ("known as SSL (Secure Sockets Layer)", ("SSL", "Secure Sockets Layer")),
    ("the Secure Sockets Layer (SSL)", ("SSL", "Secure Sockets Layer")),
    ("the Python Package Index (PyPI)", ("PyPI", "Python Package Index")),
    ("see the database management systems (DBMSs)", ("DBMSs", "database management systems")),
    ("the “Internationalized Resource Identifiers” (IRIs)",
     ("IRIs", "Internationalized Resource Identifiers")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "definition"), DEFINITIONS)
def test_definitions_of_acronyms_are_found(text: str, definition: tuple[str, str]) -> None:
    assert list(iter_definitions(text)) == [definition]


@pytest.mark.parametrize(
    "text",
    [
        "Removed features of RDF, introduction includes IRI.",
        "the lock manager runs (MRU)",
        "Call the function (it returns None) and (1) wait.",
        "read the manual. Otherwise log (WAL)",
        "a table (see SQL and the query language)",
        "HTTP (used by the browser)",
    ],
)
def test_other_parentheses_define_nothing(text: str) -> None:
    assert list(iter_definitions(text)) == []


def test_acronym_with_two_meanings_is_ambiguous() -> None:
    texts = ["database administrator (DBA)", "data bank access (DBA)"]
    assert find_definitions(texts) == {}
    assert find_definitions([*texts[:1] * 4, "database administrators (DBAs)", *texts[1:]]) == {
        "dba": frozenset({"database administrator"})
    }


def test_ids_are_identifiers() -> None:
    assert find_definitions(["the current Internet Drafts (IDs)"]) == {}
    assert find_definitions(["the current Internet Draft (ID)"]) == {}


@given(st.text(alphabet="aAbBsS (),.-2\n", max_size=80))
def test_definitions_occur_in_the_text(text: str) -> None:
    for acronym, phrase in iter_definitions(text):
        assert acronym in text
        assert phrase in text


def test_synonym_of_two_terms_joins_them() -> None:
    terms = ["locking manager of files", "file lock manager"]
    assert not judge_pair(*terms).is_synonym
    (sets,) = RuleVerifier().verify_groups([[*terms, "file locking manager"]])
    assert sets == [(terms[0], (terms[0], "file locking manager", terms[1]))]


KEYWORDS = [keyword for pair in PAIRS for keyword in (pair["a"], pair["b"])]


@given(st.lists(st.sampled_from(KEYWORDS), unique=True, max_size=30))
def test_verifier_sets_are_always_valid(group: list[str]) -> None:
    (sets,) = RuleVerifier().verify_groups([group])
    check_synonym_sets(group, sets)
    for _, members in sets:
        assert not any(
            is_refuted(keyword, other_keyword) for keyword in members for other_keyword in members
        )


PROGRAM_TEXTS = [
    "Subclass unittest.TestCase, or call unittest.main().",
    "unittest.mock replaces objects. Write unit tests with unittest or without unittest.",
    "See filesystem.md, filesystem.txt and filesystem.md: a filesystem is a file system.",
    "Docs are at readthedocs.org, that is https://readthedocs.io/ and https://readthedocs.com/.",
]


def test_words_with_members_name_programs() -> None:
    assert find_program_names(PROGRAM_TEXTS) == {"unittest"}
    assert find_program_names([*PROGRAM_TEXTS, "unittest " * 5]) == frozenset()


def test_program_names_are_no_candidates_of_other_words() -> None:
    labels = ["unit tests", "unittest", "unittests", "file system", "filesystem"]
    groups = [[0, 1, 2], [3, 4]]
    assert split_groups(labels, groups, {"unittest"}) == [[0], [1, 2], [3, 4]]
    frequencies = dict.fromkeys(labels, 1)
    embedder = make_lexical_embedder()
    tables = [
        canonicalise_keywords(frequencies, embedder, RuleVerifier(), program_names=names)
        for names in (frozenset[str](), frozenset({"unittest"}))
    ]
    assert [len(table.concepts) for table in tables] == [2, 3]
    assert tables[1].resolve_keyword("unit test") != tables[1].resolve_keyword("unittest")


@pytest.mark.parametrize(
    ("keyword", "other_keyword", "is_synonym"),
    [
        ("event.target", "EventTarget", False),
        ("py.test", "pytest", True),
        ("line number", "number of lines", False),
        ("isolation level", "level of isolation", True),
        ("URL type", "Types of URLs", True),
        ("keys of APIs", "API key", True),
        ("Buildbot RESTs", "rest of Buildbot", False),
    ],
)
def test_members_and_counts(keyword: str, other_keyword: str, is_synonym: bool) -> None:
    for pair in [(keyword, other_keyword), (other_keyword, keyword)]:
        assert judge_pair(*pair).is_synonym == is_synonym
