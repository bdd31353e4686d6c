"""Finds facts in lines such as "Default: 16", which say something of the section they stand in.

Documentation states little in sentences that repeat a relation, but much in such lines and in
tables: the default of each setting, the category of each element, the version that added it. The
relation is known without a parser, and so are subject and object. All the same, a line may be about
something else than its section, so in doubt it is left out:

* The label is a noun ("Category", "Doctree Element") or a participle and a preposition ("Added
  in"), and five or more sections have it.
* A section has it once, outside lists, and its heading is a name. If other sections have the same
  name, such as those of a copy, all state the same.
* The value is a name, a number or a word of code, not a list, a sentence, or a "yes".

Dates of versions ("Release date: 9 April 2022" below "NetworkX 2.8") are left out, since they
follow the numbers. The values of tables are the same, see ``table_values``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kg.base.plain_text import list_words
from kg.text.canonical.program_names import FILE_ENDINGS
from kg.text.chunks import HEADING_SEPARATOR, Chunk
from kg.text.facts.domain import read_value
from kg.text.facts.evidence import normalise_mention
from kg.text.facts.fact import Fact
from kg.text.facts.table_values import Table, find_tables, iter_named_rows, iter_section_rows
from kg.text.facts.topics import IS_A, TOPIC, iter_topic_facts
from kg.text.sections.headings import remove_number
from kg.words.label_grammar import parse_label
from kg.words.normaliser import FUNCTION_WORDS

MIN_SECTIONS: Final = 5
"""Number of sections that must have a label; a rarer one may be any word before a colon."""
MAX_VALUE_WORDS: Final = 5
MAX_HEADING_WORDS: Final = 6
MAX_CHARS: Final = 60
_LINE: Final = re.compile(
    r"(?P<label>[A-Z][^\W_]*(?:[ -][^\W_]+){0,3})(?:: \|?)[ \t]*(?P<value>\S.*)"
)
_VERSION_LINE: Final = re.compile(
    r"(?P<label>[A-Z]\w+ (?:in|since))(?: version)?:? (?P<value>v?\d+(?:\.\d+)+)\.?"
)
_VERSION_NAME: Final = re.compile(r"(?:\S.* )?v?\d+(?:\.\d+)+\S*")
_QUOTES: Final = re.compile(r"[\"'“”‘’`]+")
_NUMBER: Final = re.compile(r"[+-]?\d[\d,.]*")
# Lists, explanations, placeholders and signs of version control are no plain values.
_NO_VALUE: Final = re.compile(r"[,;:()\[\]{}=|$…?!]|\.\.|\. |://|@|<[^>]* ")
_NO_VALUES: Final = frozenset(
    list_words(
        "yes no none na n/a tbd unknown various see varies any all version release today date"
    )
)
_NO_HEADING: Final = re.compile(
    r"[?!:;,…]|^\w+ing |^(?:how|what|why|when|where)\b|\bchanges\b", re.IGNORECASE
)
_FORM_HEADINGS: Final = frozenset(
    list_words(
        """abstract appendix arguments attributes background configuration contents default
        defaults description details example examples features general installation introduction
        limitations miscellaneous note notes options other overview parameters properties
        purpose reference remarks requirements returns settings status summary syntax usage
        value values"""
    )
)
"""Headings that say what form a section has, and not what it is about."""
_IDENTIFIER: Final = re.compile(r"[_.(]|^-|[a-z][A-Z]|[A-Z][A-Z]+[a-z]")
# Ranges ("0..3"), paths, patterns and options of one letter, which commands use for other things.
_NO_LISTED_NAME: Final = re.compile(r"^\W*\d|\.\.|[/<>*]|^-\w$")
_ARGUMENTS: Final = re.compile(r"\(.*\)$")
_NO_LABELS: Final = frozenset(
    list_words(
        """caution example guide hint important link name note reference see summary syntax tip
        title todo tutorial usage warning"""
    )
)
"""Labels of remarks and of links to other sections."""


class _Line(NamedTuple):
    """A line of a section that looks like a label and a value."""

    label: str
    value: str
    is_first: bool
    """Whether it stands directly below the heading."""
    chunk_id: str
    quote: str


def find_labelled_values(chunks: Sequence[Chunk]) -> list[Fact]:
    """Finds the facts of all chunks, in the order of the text.

    Args:
        chunks: the chunks; ``section`` and ``section_id`` of their metadata are used. Chunks
            without a section have no facts.
    """
    headings, lines = _collect_lines(chunks)
    names = {section_id: normalise_mention(heading) for section_id, heading in headings.items()}
    candidates: list[tuple[str, Fact]] = []
    for section_id, found in lines.items():
        if not _is_subject(headings[section_id]):
            continue
        labels = Counter(line.label.casefold() for line in found)
        for line in found:
            if labels[line.label.casefold()] == 1:
                candidates += _read_line(headings[section_id], line)
    tables = find_tables(chunks)
    for chunk, relation, value, quote in iter_section_rows(tables):
        heading = headings.get(str(chunk.metadata.get("section_id")), "")
        if _is_subject(heading):
            candidates += _make_fact(heading, relation, value, chunk.id, quote)
    stated = list(_select_consistent_facts(candidates, Counter(names.values())))
    candidates = stated + _find_named_rows(tables, stated)
    # A setting named "binary" is not the type of others.
    values = {(relation, normalise_mention(fact.object)) for relation, fact in candidates}
    candidates = [
        (relation, fact)
        for relation, fact in candidates
        if (relation, normalise_mention(fact.subject)) not in values
    ]
    subjects = Counter(relation for relation, _ in candidates)
    frequent = [pair for pair in candidates if subjects[pair[0]] >= MIN_SECTIONS]
    # Values of another sort than most, such as a number among words, could not be compared.
    n_numbers = Counter(relation for relation, fact in frequent if _is_number(fact))
    facts = [
        fact
        for relation, fact in frequent
        if _is_number(fact) == (2 * n_numbers[relation] > subjects[relation])
    ]
    described = {fact.subject for fact in facts if fact.relation != IS_A}
    facts = [fact for fact in facts if fact.subject in described]
    return [*_list_topics(chunks, facts), *facts]


def _list_topics(chunks: Sequence[Chunk], facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yields what headings state of the subjects of facts, if these are headings.

    A name that sections of several documents have is described in none of them alone.
    """
    titles: dict[str, set[str]] = defaultdict(set)
    for chunk in chunks:
        path = chunk.headings.split(HEADING_SEPARATOR)
        titles[normalise_mention(remove_number(path[-1]))].add(path[0])
    first_chunks = {fact.subject: fact.chunk_id for fact in reversed(facts)}
    subjects_by_chunk = {chunk_id: subject for subject, chunk_id in first_chunks.items()}
    for chunk in chunks:
        subject = subjects_by_chunk.get(chunk.id)
        if subject is not None and subject == remove_number(str(chunk.metadata.get("section"))):
            for fact in iter_topic_facts(subject, chunk):
                if fact.object == TOPIC or len(titles[normalise_mention(subject)]) == 1:
                    yield fact


def _select_consistent_facts(
    candidates: Sequence[tuple[str, Fact]], n_sections: Counter[str]
) -> Iterator[tuple[str, Fact]]:
    """Yields the first of the facts that all sections of a name state, such as copies of a page.

    Args:
        candidates: relations and facts.
        n_sections: normal form of a heading → number of sections with it.
    """
    stated: dict[tuple[str, str], list[tuple[str, Fact]]] = defaultdict(list)
    for pair in candidates:
        stated[normalise_mention(pair[1].subject), pair[0]].append(pair)
    for (name, _), pairs in stated.items():
        values = {normalise_mention(fact.object) for _, fact in pairs}
        if len(values) == 1 and len(pairs) == n_sections[name]:
            yield pairs[0]


def _collect_lines(chunks: Sequence[Chunk]) -> tuple[dict[str, str], dict[str, list[_Line]]]:
    """Returns the heading of each section, and its lines with labels."""
    headings: dict[str, str] = {}
    lines: dict[str, list[_Line]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for chunk in chunks:
        heading = str(chunk.metadata.get("section") or "")
        section_id = str(chunk.metadata.get("section_id") or "")
        if not heading or not section_id:
            continue
        headings[section_id] = remove_number(heading)
        for line in _iter_lines(chunk, heading):
            # Chunks of one section overlap.
            if (section_id, line.quote) not in seen:
                seen.add((section_id, line.quote))
                lines[section_id].append(line)
    return headings, lines


def _iter_lines(chunk: Chunk, heading: str) -> Iterator[_Line]:
    texts = [text.rstrip() for text in chunk.prose.split("\n")]
    first = next((number for number, text in enumerate(texts) if number and text), 0)
    for number, text in enumerate(texts):
        match = _VERSION_LINE.fullmatch(text) or _LINE.fullmatch(text)
        following = texts[number + 1] if number + 1 < len(texts) else ""
        if match:
            # A line that goes on has no whole value.
            goes_on = following[:1].islower() or following[:1].isspace()
            is_first = number == first and texts[0].strip() == heading.strip()
            value = "" if goes_on else match["value"]
            yield _Line(match["label"], value, is_first, chunk.id, text)


def _is_subject(heading: str) -> bool:
    """Returns whether a heading is the name of a thing, as far as its form tells."""
    return (
        1 < len(heading) <= MAX_CHARS
        and len(heading.split()) <= MAX_HEADING_WORDS
        and heading.casefold() not in _FORM_HEADINGS
        and not _NO_HEADING.search(_ARGUMENTS.sub("", heading))
    )


def _is_identifier(heading: str) -> bool:
    """Returns whether a heading is a name of a program, such as ``max_length`` or ``--quiet``."""
    return (
        len(heading.split()) == 1
        and _IDENTIFIER.search(heading) is not None
        and heading.rpartition(".")[2].casefold() not in FILE_ENDINGS
    )


def _is_listed_name(cell: str) -> bool:
    """Returns whether the first cell of a row is a name that means one thing in all tables."""
    return _is_identifier(cell) and not _NO_LISTED_NAME.search(cell)


def _read_line(subject: str, line: _Line) -> Iterator[tuple[str, Fact]]:
    """Yields the relation and the fact of a line; none if it is in doubt."""
    relation = _word_relation(line.label)
    # "Added in 2.0" may be about the support for what is described, or about a part of the section.
    is_of_section = not relation.startswith("was ") or (line.is_first and _is_identifier(subject))
    if relation and is_of_section:
        yield from _make_fact(subject, relation, line.value, line.chunk_id, line.quote)


def _find_named_rows(
    tables: Sequence[tuple[Chunk, Table]], stated: Sequence[tuple[str, Fact]]
) -> list[tuple[str, Fact]]:
    """Finds what rows of tables say of identifiers, if all say the same and no line says it."""
    known = {(normalise_mention(fact.subject), relation) for relation, fact in stated}
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    candidates: list[tuple[str, Fact]] = []
    for chunk, subject, relation, value, quote in iter_named_rows(tables, _is_listed_name):
        values[normalise_mention(subject), relation].add(value)
        candidates += _make_fact(subject, relation, value, chunk.id, quote)
    found: dict[tuple[str, str], tuple[str, Fact]] = {}
    for relation, fact in candidates:
        key = (normalise_mention(fact.subject), relation)
        if key not in known and len(values[key]) == 1:
            found.setdefault(key, (relation, fact))
    return list(found.values())


def _make_fact(
    subject: str, relation: str, value: str, chunk_id: str, quote: str
) -> Iterator[tuple[str, Fact]]:
    """Yields the relation and the fact, if the value is one."""
    value = _QUOTES.sub("", value.rstrip(".")).strip()
    if not _is_value(value):
        return
    if _VERSION_NAME.fullmatch(subject) and read_value(value).datatype in ("date", "gYear"):
        return  # Dates of versions follow their numbers, so that each tells of others.
    form, name = normalise_mention(value), normalise_mention(subject)
    if f" {form} " in f" {name} " or f" {name} " in f" {form} ":
        return  # "Image" has the element "<image>": the name says it already.
    yield (
        relation,
        Fact(chunk_id=chunk_id, subject=subject, relation=relation, object=value, quote=quote),
    )


def _word_relation(label: str) -> str:
    """Words a label as a relation: "has the default", "was added in"; empty if it is no such."""
    parsed = parse_label(label)
    if parsed.kind == "noun" and _NO_LABELS.isdisjoint(parsed.words.split()):
        return f"has the {parsed.words}"
    if parsed.kind == "copula" and parsed.auxiliary != "has":
        return f"was {parsed.words}"
    return parsed.words if parsed.kind == "verb" and " " not in parsed.words else ""


def _is_value(value: str) -> bool:
    words = value.casefold().split()
    return (
        0 < len(words) <= MAX_VALUE_WORDS
        and len(value) <= MAX_CHARS
        and any(char.isalnum() for char in value)
        and not _NO_VALUE.search(value)
        and value not in ("none", "no", "yes")
        and not (len(words) == 1 and words[0] in _NO_VALUES and value != "None")
        and not any(word in FUNCTION_WORDS and word != "of" for word in words[:-1])
        and words[0] not in ("no", "not", "see", "same")
    )


def _is_number(fact: Fact) -> bool:
    return _NUMBER.fullmatch(fact.object) is not None
