"""Tests of facts in lines such as "Default: 16", of the proof of these, and of their command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kg.base.errors import EmptyGraphError
from kg.text.chunks import Chunk
from kg.text.collect_facts import main
from kg.text.facts.domain import build_fact_domain
from kg.text.facts.evidence import SourcePassage
from kg.text.facts.fact import Fact
from kg.text.facts.labelled_values import find_labelled_values
from kg.text.facts.quotes import QuoteChecker

NAMES = ("max_items", "log_file", "use_cache", "worker_pool", "beat_sync")


def make_chunk(name: str, body: str, path: Sequence[str] = ()) -> Chunk:
    section_id = f"d{len(path)}#{name}"
    headings = [*path, name]
    metadata = {"section": name, "section_id": section_id, "section_path": headings}
    return Chunk(section_id, f"{name}\n\n{body}", metadata)


def list_values(*bodies: str, names: Sequence[str] = NAMES) -> list[tuple[str, str, str]]:
    """Finds the facts of sections with these bodies; the last one is that of all others, too."""
    bodies = (*bodies, *[bodies[-1]] * (len(names) - len(bodies)))
    chunks = [make_chunk(name, body) for name, body in zip(names, bodies, strict=True)]
    return [
        (fact.subject, fact.relation, fact.object)
        for fact in find_labelled_values(chunks)
        if fact.relation not in ("is a", "is described in")
    ]


def test_lines_with_a_label_say_something_of_their_section() -> None:
    assert list_values("Default: None\n\nThe number of items.", "Default: classic.")[:2] == [
        ("max_items", "has the default", "None"),
        ("log_file", "has the default", "classic"),
    ]


def test_dates_of_versions_are_left_out() -> None:
    """They follow the numbers, so that the date of one version tells of others."""
    versions = [f"Zebra {number}.0" for number in range(1, 6)]
    assert list_values("Release date: 9 April 2022", names=versions) == []
    assert len(list_values("Codename: atlas", names=versions)) == 5
    assert len(list_values("Release date: 9 April 2022", names=NAMES)) == 5


def test_labels_of_few_sections_are_any_words_before_a_colon() -> None:
    assert list_values("Default: None", names=NAMES[:4]) == []


@pytest.mark.parametrize(
    "line",
    [
        *("Default: see below", "Default: None (use the other)", "Default: a, b", "Default: none"),
        *(
            "Default: Not set",
            "Default: a\n  b",
            "Default: |version|",
            "Default: whatever is in the file",
            "Note: classic",
        ),
        *("See also: classic", "- Default: classic", "  Default: classic", "Lazy: yes"),
        *(
            "Runs: classic\nRuns: solo",
            "Default: max_items log_file use_cache worker_pool beat_sync",
        ),
    ],
)
def test_lines_in_doubt_state_nothing(line: str) -> None:
    assert list_values(line) == []


@pytest.mark.parametrize(
    ("name", "is_stated"),
    [
        *(("max_pages", True), ("Max pages", True), ("Options", False), ("Using pages", False)),
        *(("What pages do", False), ("Pages, and more", False), ("get(key, default)", True)),
    ],
)
def test_headings_of_facts_are_names(name: str, is_stated: bool) -> None:
    found = list_values("Default: classic", names=(*NAMES, name))
    assert ((name, "has the default", "classic") in found) == is_stated


@pytest.mark.parametrize(
    ("name", "is_stated"),
    [("max_pages", True), ("readPages", True), ("Signatures", False), ("pyproject.toml", False)],
)
def test_versions_are_those_of_identifiers(name: str, is_stated: bool) -> None:
    found = list_values("Added in 5.4.\n\nText.", names=(*NAMES, name))
    assert ((name, "was added in", "5.4") in found) == is_stated
    assert list_values("Text.\n\nAdded in 5.4.") == []


def test_numbers_and_words_are_not_compared() -> None:
    found = list_values("Default: 16", "Default: classic")
    assert [value for *_, value in found] == ["classic"] * 4


def test_subjects_are_no_values_of_others() -> None:
    names = ("binary", *NAMES)
    assert [name for name, _, _ in list_values("Type: string", "Type: binary", names=names)] == [
        *NAMES
    ]


def test_sections_of_one_name_must_agree() -> None:
    chunks = [make_chunk(name, "Default: classic") for name in NAMES]
    copies = [make_chunk(name, "Default: classic", ["All"]) for name in NAMES]
    assert len(find_labelled_values([*chunks, *copies])) == 10
    other = make_chunk("max_items", "Default: solo", ["All"])
    subjects = {fact.subject for fact in find_labelled_values([*chunks, other])}
    assert subjects == set()  # four sections are too few
    more = make_chunk("queue_type", "Default: classic")
    assert "max_items" not in {
        fact.subject for fact in find_labelled_values([*chunks, other, more])
    }


def test_names_that_several_documents_describe_are_described_in_none() -> None:
    chunks = [make_chunk(name, "Default: classic", ["Settings"]) for name in NAMES]
    other = make_chunk("max_items", "Default: classic", ["Other settings", "Numbers"])
    described = [
        f.subject for f in find_labelled_values([*chunks, other]) if "described" in f.relation
    ]
    assert described == list(NAMES[1:])


def test_headings_state_topics_and_documents() -> None:
    chunks = [make_chunk(name, "Default: classic", ["User guide"]) for name in NAMES]
    facts = find_labelled_values(chunks)
    passages = [SourcePassage(chunk.id, chunk.prose, chunk.headings) for chunk in chunks]
    checker = QuoteChecker(facts, passages)
    quoted = {
        fact.relation: fact.quote
        for fact in checker.iter_quoted_facts(facts)
        if fact.subject == "log_file"
    }
    assert quoted == {
        "is a": "log_file",
        "is described in": "User guide › log_file",
        "has the default": "Default: classic",
    }
    wrong = [
        Fact(chunk_id=chunks[0].id, subject="log_file", relation="is a", object="topic", quote=""),
        Fact(
            chunk_id=chunks[0].id,
            subject="max_items",
            relation="is described in",
            object="Other guide",
            quote="",
        ),
    ]
    assert list(checker.iter_quoted_facts(wrong)) == []


def test_versions_are_no_decimal_numbers() -> None:
    versions = ("5.1", "5.10", "5.2", "5.3", "5.4")
    facts = [
        Fact(chunk_id="", subject=name, relation="was added in", object=version, quote="")
        for name, version in zip(NAMES, versions, strict=True)
    ]
    ntriples = build_fact_domain(facts).ntriples
    assert "decimal" not in ntriples
    assert '"5.10"' in ntriples


def test_command_writes_facts_for_kg_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [make_chunk(name, "Default: classic", ["User guide"]) for name in NAMES]

    class Run:
        def __init__(self, chunks: Sequence[Chunk]) -> None:
            self.chunks = chunks

    monkeypatch.setattr("kg.text.run.folder.open_run", lambda _: Run(chunks))
    main(tmp_path, tmp_path / "facts.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    assert len(rows) == 15
    assert rows[-1]["quote"] == "Default: classic"
    monkeypatch.setattr("kg.text.run.folder.open_run", lambda _: Run(chunks[:2]))
    with pytest.raises(EmptyGraphError, match="Default: 16"):
        main(tmp_path, tmp_path / "facts.jsonl")
