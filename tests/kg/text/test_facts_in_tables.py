"""Tests of facts in the rows of tables, and of the proof of these."""

from __future__ import annotations

import pytest

from kg.text.chunks import Chunk
from kg.text.facts.evidence import SourcePassage
from kg.text.facts.fact import Fact
from kg.text.facts.labelled_values import find_labelled_values
from kg.text.facts.quotes import QuoteChecker

NAMES = ("max_items", "log_file", "use_cache", "worker_pool", "beat_sync")
ROWS = "\n".join(f"{name} | classic | The setting." for name in NAMES)


def make_chunk(heading: str, body: str) -> Chunk:
    metadata = {"section": heading, "section_id": f"d#{heading}", "section_path": [heading]}
    return Chunk(f"d#{heading}", f"{heading}\n\n{body}", metadata)


def list_values(*chunks: Chunk) -> list[tuple[str, str, str]]:
    return [
        (fact.subject, fact.relation, fact.object)
        for fact in find_labelled_values(chunks)
        if not fact.relation.startswith("is ")
    ]


def make_fact(subject: str, relation: str, value: str, quote: str, chunk_id: str = "p") -> Fact:
    return Fact(chunk_id=chunk_id, subject=subject, relation=relation, object=value, quote=quote)


def test_tables_of_one_row_say_something_of_their_section() -> None:
    table = "type | default | mandatory\ninteger | 601 | no"
    chunks = [make_chunk(name, f"{table}\n\nThe port.") for name in NAMES]
    assert list_values(*chunks) == [
        (name, relation, value)
        for name in NAMES
        for relation, value in (("has the type", "integer"), ("has the default", "601"))
    ]
    assert list_values(*chunks[1:]) == []
    # Lists of arguments, some of which have one.
    longer = [make_chunk(f"{name}_2", f"{table}\nstring | a | no") for name in NAMES]
    assert list_values(*chunks, *longer) == []


def test_tables_say_something_of_the_identifiers_in_their_first_column() -> None:
    chunk = make_chunk("Settings", f"Setting | Default | Description\n{ROWS}")
    assert list_values(chunk) == [(name, "has the default", "classic") for name in NAMES]
    facts = find_labelled_values([chunk])
    kinds = [(fact.subject, fact.object) for fact in facts if fact.relation == "is a"]
    assert kinds == [(name, "setting") for name in NAMES]
    assert {fact.relation for fact in facts} == {"is a", "has the default"}


@pytest.mark.parametrize(
    "table",
    [
        ROWS,  # without a header
        f"Setting | Default (see below) | Description\n{ROWS}",
        "Word | Default\n" + "\n".join(f"{name} | classic" for name in ("a", "b", "c", "d", "e")),
        "Bytes | Default\n" + "\n".join(f"{number}..9 | classic" for number in range(5)),
        "Setting | Example\n" + "\n".join(f"{name} | classic" for name in NAMES),
        "Setting | Default\n" + "\n".join(f"{name} | a | b" for name in NAMES),
    ],
)
def test_tables_in_doubt_state_nothing(table: str) -> None:
    assert list_values(make_chunk("Settings", table)) == []


def test_tables_that_go_on_from_another_chunk_have_no_header() -> None:
    text = f"Setting | Default | Description\n{ROWS}"
    metadata = {"section": "Settings", "section_id": "d#settings"}
    assert list_values(Chunk("d#settings/2", text, metadata)) == []


def test_tables_must_agree_with_each_other_and_with_sections() -> None:
    first = make_chunk("Settings", f"Setting | Default | Description\n{ROWS}")
    second = make_chunk("More", f"Setting | Default | Description\n{ROWS}\nmax_items | other | A")
    assert [subject for subject, _, _ in list_values(first, second)] == []
    many = [f"more_{name}" for name in NAMES]
    rows = "\n".join(f"{name} | classic | The setting." for name in (*NAMES, *many))
    third = make_chunk("All", f"Setting | Default | Description\n{rows}\nmax_items | other | A")
    assert [subject for subject, _, _ in list_values(third)] == [*NAMES[1:], *many]


def test_rows_prove_what_they_say_and_nothing_else() -> None:
    text = f"Settings\n\nSetting | Default | Mandatory\nmax_items | 16 | no\n{ROWS}"
    passage = SourcePassage("p", text, "Guide › Settings")
    quote = "Setting | Default | Mandatory max_items | 16 | no"
    facts = [
        make_fact("max_items", "has the default", "16", quote),
        make_fact("log_file", "has the default", "classic", "log_file | classic | The setting."),
        make_fact("log_file", "is a", "setting", "log_file | classic | The setting."),
        make_fact("log_file", "has the default", "16", "log_file | classic | The setting."),
        make_fact("log_file", "has the default", "16", quote),
        make_fact("max_items", "has the type", "16", quote),
        make_fact("Guide", "has the default", "16", quote),
        # The heading is the subject of no row among several.
        make_fact("Settings", "has the default", "16", quote),
        make_fact("Settings", "is a", "setting", quote),
    ]
    stated = list(QuoteChecker(facts, [passage]).iter_quoted_facts(facts))
    assert stated == facts[:3]


def test_single_rows_prove_values_of_their_section_but_not_its_kind() -> None:
    table = "Setting | Default\nmax_items | 16"
    quote = "Setting | Default max_items | 16"
    passages = [
        SourcePassage("p", f"Text.\n\n{table}\n\nText.", "Guide › Settings"),
        # May have more rows in the next passage of its section.
        SourcePassage("q", f"Text.\n\n{table}", "Guide › Sizes"),
        SourcePassage("q/2", "log_file | 32\n\nText.", "Guide › Sizes"),
        SourcePassage("r", f"Text.\n\n{table}", "Guide › Limits"),
    ]
    stated = [
        make_fact("Settings", "has the default", "16", quote, "p"),
        make_fact("Limits", "has the default", "16", quote, "r"),
    ]
    others = [
        make_fact("Settings", "is a", "setting", quote, "p"),
        make_fact("Sizes", "has the default", "16", quote, "q"),
    ]
    checker = QuoteChecker([*stated, *others], passages)
    assert list(checker.iter_quoted_facts([*stated, *others])) == stated


def make_parts(heading: str, *texts: str) -> list[Chunk]:
    """Makes the chunks of one section."""
    first = make_chunk(heading, texts[0])
    rest = enumerate(texts[1:], 2)
    return [first, *(Chunk(f"{first.id}/{n}", text, first.metadata) for n, text in rest)]


def test_tables_cut_after_their_first_row_are_not_of_one_row() -> None:
    table = "type | default\ninteger | 601"
    whole = [make_chunk(f"name_{number}", f"{table}\n\nThe port.") for number in range(40)]
    rows = "\n".join(f"integer | {number}" for number in range(19))
    cut = make_parts("cut_name", f"Text.\n\n{table}", f"{rows}\n\nText.")
    values = list_values(*whole, *cut)
    assert len(values) == 80
    assert "cut_name" not in {subject for subject, _, _ in values}
    # The next chunk repeats the end of the one before it, and shows how the table goes on.
    longer = make_parts("cut_name", f"Text.\n\n{table}", f"Text.\n\n{table}\n{rows}\n\nText.")
    assert list_values(*whole, *longer) == values
    single = make_parts("cut_name", f"Text.\n\n{table}", f"Text.\n\n{table}\n\nMore.")
    assert ("cut_name", "has the default", "601") in list_values(*whole, *single)
    assert ("cut_name", "has the default", "601") in list_values(*whole, *single[:1])


def test_the_longest_copy_of_a_table_is_read() -> None:
    header = "Setting | Default"
    rows = [f"{name} | classic" for name in NAMES]
    start, whole = "\n".join([header, *rows[:2]]), "\n".join([header, *rows])
    parts = make_parts("Settings", f"Text.\n\n{start}", f"Text.\n\n{whole}\n\nText.")
    assert list_values(*parts) == [(name, "has the default", "classic") for name in NAMES]


def test_the_last_cell_before_a_cut_is_not_read() -> None:
    start = "Setting | Type | Default\n" + "\n".join(f"{n} | text | classic" for n in NAMES)
    parts = make_parts("Settings", f"{start}\nlast_name | text | modern.", "Before 2.0: classic.")
    values = list_values(*parts)
    assert ("last_name", "has the type", "text") in values
    assert ("worker_pool", "has the default", "classic") in values
    assert ("last_name", "has the default", "modern") not in values
