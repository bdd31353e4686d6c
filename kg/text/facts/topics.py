"""Facts that headings state: what is the topic of a section, and in which document.

They tell things apart that a text says nothing else of, and a heading is their whole proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kg.text.chunks import HEADING_SEPARATOR, Chunk
from kg.text.facts.evidence import normalise_mention
from kg.text.facts.fact import Fact
from kg.text.sections.headings import remove_number

TOPIC: Final = "topic"
"""The kind of what a section is named after."""
IS_A: Final = "is a"
_DESCRIBED_IN: Final = "is described in"


def iter_topic_facts(subject: str, chunk: Chunk) -> Iterator[Fact]:
    """Yields what the headings of a chunk state of its topic.

    Args:
        subject: the last heading, without its number.
        chunk: the chunk.
    """
    yield Fact(chunk_id=chunk.id, subject=subject, relation=IS_A, object=TOPIC, quote=subject)
    first, separator, _ = chunk.headings.partition(HEADING_SEPARATOR)
    title = remove_number(first)
    if separator and not _share_words(subject, title):
        yield Fact(
            chunk_id=chunk.id,
            subject=subject,
            relation=_DESCRIBED_IN,
            object=title,
            quote=chunk.headings,
        )


def quote_headings(fact: Fact, headings: str) -> str:
    """Returns the heading, or all headings, if they state a fact; else an empty text.

    Args:
        fact: the fact; only those of ``iter_topic_facts`` can be stated by headings.
        headings: the headings above a passage, see ``Chunk.headings``.
    """
    parts = headings.split(HEADING_SEPARATOR)
    if fact.subject != remove_number(parts[-1]):
        return ""
    if fact.relation == IS_A and fact.object == TOPIC:
        return fact.subject
    is_title = len(parts) > 1 and fact.object == remove_number(parts[0])
    return headings if fact.relation == _DESCRIBED_IN and is_title else ""


def _share_words(one: str, other: str) -> bool:
    return not set(normalise_mention(one).split()).isdisjoint(normalise_mention(other).split())
