"""Prompts and reply types for building a graph from text, in the form of ``eval.model.prompts``."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from eval.model.prompts import DATA_ONLY, Prompt

MAX_TRIPLES = 40
"""Maximum number of triples per chunk."""


class FoundKeywords(msgspec.Struct, frozen=True):
    """The keywords of one passage."""

    keywords: Annotated[
        tuple[str, ...],
        Meta(description="Terms exactly as they stand in the passage, most important first."),
    ]


class SynonymSet(msgspec.Struct, frozen=True):
    """Keywords of one group that mean the same."""

    canonical: Annotated[str, Meta(description="The member that names the concept best.")]
    members: Annotated[tuple[str, ...], Meta(description="All of them, the canonical included.")]


class GroupVerdict(msgspec.Struct, frozen=True):
    """What became of one group."""

    group_id: Annotated[int, Meta(description="The group's number as given.")]
    synonym_groups: tuple[SynonymSet, ...]
    standalone: Annotated[tuple[str, ...], Meta(description="Keywords without a synonym.")]


class Verdicts(msgspec.Struct, frozen=True):
    """The verdicts on all groups of one request."""

    groups: tuple[GroupVerdict, ...]


class FoundTriple(msgspec.Struct, frozen=True):
    """One statement of a passage."""

    subject: Annotated[str, Meta(description="A name as it stands in the passage.")]
    predicate: Annotated[
        str, Meta(description="One of the listed relations, by its name; or else a verb phrase.")
    ]
    object: Annotated[str, Meta(description="A name or value as it stands in the passage.")]
    quote: Annotated[
        str, Meta(description="The words of the passage that state it, copied letter by letter.")
    ]


class FoundTriples(msgspec.Struct, frozen=True):
    """The statements of one passage."""

    triples: tuple[FoundTriple, ...]


KEYWORDS = Prompt(
    name="keywords",
    version=1,
    system=f"""\
You find the keywords of a passage from a document: the terms an index at the end of a book would \
list for it. Take each term exactly as it stands in the passage, in one to five words; invent \
none, and leave out words that any text could hold. Give at most as many as <limit> says.

{DATA_ONLY}""",
    blocks=("limit", "section", "passage"),
)

SYNONYMS = Prompt(
    name="synonyms",
    version=1,
    system=f"""\
You are given groups of keywords that look alike. For each group say which of its keywords are \
true synonyms: interchangeable in any sentence without changing what it says, such as a term and \
its acronym, or two spellings. Terms that are merely related, broader, narrower or opposite are no \
synonyms: "2NF" and "3NF", "lock" and "deadlock", "B-tree" and "B+-tree" stay apart. Use only \
keywords of the group, each at most once, letter by letter. Each line of <groups> is one group: \
its number, then its keywords as a JSON list.

{DATA_ONLY}""",
    blocks=("groups",),
)

TRIPLES = Prompt(
    name="triples",
    version=2,
    system=f"""\
You read statements off a passage from a document. A statement is a subject, one of the relations \
listed in <relations> and an object. Take only what the passage itself states, not what follows \
from it or what you know besides. Name subject and object as the passage does, and copy as the \
quote the words that state it, letter by letter. A passage that states none has none.

{DATA_ONLY}""",
    blocks=("relations", "section", "passage"),
)

FACTS = Prompt(
    name="facts",
    version=1,
    system=f"""\
You read statements off a passage from a document. A statement is a subject, a predicate and an \
object. Take only what the passage itself states, not what follows from it or what you know \
besides. Name subject and object as the passage does, in few words: a person, place, date, thing \
or term, no pronoun and no clause. The predicate is a short verb phrase. Copy as the quote the \
words that state it, letter by letter. A passage that states none has none.

{DATA_ONLY}""",
    blocks=("section", "passage"),
)

PROMPTS = (KEYWORDS, SYNONYMS, TRIPLES, FACTS)
"""All prompts, for documentation and tests."""
