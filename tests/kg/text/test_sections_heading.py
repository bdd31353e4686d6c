"""Tests that section numbers are read only from the start of a heading."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.sections.headings import MAX_NUMBER_PARTS, make_section_key, parse_heading


@pytest.mark.parametrize(
    ("heading", "parts", "number", "title"),
    [
        ("3.2 Title", ("3", "2"), "3.2", "Title"),
        ("## 3.2 Title", ("3", "2"), "3.2", "Title"),
        ("**3.2** Title", ("3", "2"), "3.2", "Title"),
        ("3.2. Title", ("3", "2"), "3.2", "Title"),
        ("3.2 – Title", ("3", "2"), "3.2", "Title"),
        ("03 Title", ("3",), "03", "Title"),
        ("3.2", ("3", "2"), "3.2", ""),
        ("Chapter 3", ("3",), "3", ""),
        ("Chapter 3: Relations", ("3",), "3", "Relations"),
        ("CHAPTER THREE", ("3",), "THREE", ""),
        ("Chapter IV", ("4",), "IV", ""),
        ("IV. Results", ("4",), "IV", "Results"),
        ("xxxix. lower case", None, "", ""),
        ("Kapitel 2 Sperren", ("2",), "2", "Sperren"),
        ("Section 14.3  B + -Tree Index Files", ("14", "3"), "14.3", "B + -Tree Index Files"),
        ("Sec. 4 Locks", ("4",), "4", "Locks"),
        ("§ 4.2", ("4", "2"), "4.2", ""),
        ("§4.2 Locks", ("4", "2"), "4.2", "Locks"),
        ("Appendix A", ("A",), "A", ""),
        ("Appendix C Proofs", ("C",), "C", "Proofs"),
        ("Appendix A.1", ("A", "1"), "A.1", ""),
        ("A.1 Proofs", ("A", "1"), "A.1", "Proofs"),
        ("Appendix 1", ("appendix", "1"), "1", ""),
        ("Part II Systems", ("part", "2"), "II", "Systems"),
    ],
)
def test_heading_labels_are_parsed(
    heading: str, parts: tuple[str, ...] | None, number: str, title: str
) -> None:
    label = parse_heading(heading)
    if parts is None:
        assert label is None
    else:
        assert label is not None
        assert (label.parts, label.number, label.title) == (parts, number, title)


@pytest.mark.parametrize(
    "heading",
    [
        "SQL-92",
        "The SQL-92 standard",
        "Section on SQL-92",
        "2PL protocols",
        "Section 2PL",
        "3NF",
        "4NF and 5NF",
        "1999",
        "2024 in review",
        "v2.0 changes",
        "Version 2.0",
        "Python 3.11",
        "1.2.0 - 2024-05-01",
        "1.2.0 (2024-05-01)",
        "3-way merging",
        "10,000 rows",
        "1/2 of it",
        "50% faster",
        "3.14159 and more",
        "V. cholerae",
        "C. elegans",
        "A title",
        "Section C",
        "Chapter mix",
        "Parted 3",
        "Part of speech",
        "Partial orders",
        "Unit testing",
        "Chapter on 3",
        "Appendix",
        "Overview",
        "",
        "#",
    ],
)
def test_other_headings_have_no_number(heading: str) -> None:
    assert parse_heading(heading) is None


heading_numbers = st.lists(st.integers(0, 999), min_size=1, max_size=MAX_NUMBER_PARTS)


@settings(deadline=None)
@given(heading_numbers, st.sampled_from(["", "Chapter ", "Section ", "§", "§ ", "### "]))
def test_every_dotted_number_is_read(parts: list[int], prefix: str) -> None:
    dotted_number = ".".join(map(str, parts))
    label = parse_heading(f"{prefix}{dotted_number} On Locks")
    assert label is not None
    assert label.parts == tuple(map(str, parts))
    assert (label.number, label.title) == (dotted_number, "On Locks")


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_heading_can_be_parsed(heading: str) -> None:
    label = parse_heading(heading)
    if label is not None:
        assert label.parts
        assert label.number in heading.replace("**", "").replace("__", "")
    assert make_section_key(heading)


def test_very_long_headings_are_handled_quickly() -> None:
    assert parse_heading("1." * 100_000) is None
    assert parse_heading("Chapter " * 100_000) is None
    assert parse_heading(".".join("1" * (MAX_NUMBER_PARTS + 1))) is None
    assert len(make_section_key("word " * 5_000)) <= 80


def test_section_keys_are_numbers_or_slugs() -> None:
    assert make_section_key("7.3 B+-tree index files") == "7.3"
    assert make_section_key("Appendix A.1 Proofs") == "A.1"
    assert make_section_key("Further Reading") == "further-reading"
    assert make_section_key("C#") == "c-sharp"
    assert make_section_key("") == "start"
