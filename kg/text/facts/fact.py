"""The fact: two phrases and their relation, with the words of a chunk that state it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines, write_jsonl_atomic
from kg.base.plain_text import clean_text
from kg.words.normaliser import normalise_phrase, repair_text

MAX_FACTS: Final = 5_000_000
"""Maximum number of facts in a file."""
MAX_FIELD_LENGTH: Final = 1_000
"""Maximum number of characters of subject, relation and object."""
MAX_QUOTE_LENGTH: Final = 5_000


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a chunk. Unknown keys are ignored."""

    chunk_id: str
    """Id of the chunk that states it."""
    subject: str
    relation: str
    object: str
    quote: str = ""
    """Words of the chunk that state it; empty if they are not known."""

    @property
    def key(self) -> str:
        """Identifies the fact, however its quote is found."""
        parts = (self.subject, self.relation, self.object, self.chunk_id)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def phrases(self) -> tuple[str, str]:
        """The normal forms of subject and object; empty for a phrase without words."""
        return normalise_phrase(self.subject), normalise_phrase(self.object)

    @property
    def text(self) -> str:
        """Subject, relation and object as one text, by which questions are compared with it."""
        return " ".join(filter(None, (self.subject, self.relation, self.object)))


def read_facts(path: Path | str, texts: Mapping[str, str]) -> list[Fact]:
    """Reads facts about some chunks.

    Args:
        path: a JSONL file.
        texts: chunk id → text.

    Returns:
        The facts in the order of the file; at least one.

    Raises:
        MissingFileError: there is no such file.
        RecordError: a line is not a fact, or its chunk does not exist or does not contain the
            quote; or there are no facts or too many.
    """
    decode = msgspec.json.Decoder(Fact).decode
    facts: list[Fact] = []
    folded_texts: dict[str, str] = {}
    for number, fact in iter_decoded_lines(path, "fact", decode):
        where = f"{path}:{number}"
        if len(facts) == MAX_FACTS:
            raise RecordError(f"more than {MAX_FACTS:,} facts", where=where, hint="Split the file.")
        if fact.chunk_id not in texts:
            raise RecordError(
                f"the run has no chunk {clean_text(fact.chunk_id, 100)!r}",
                where=where,
                hint="Facts belong to the run whose chunks they name.",
            )
        if problem := _find_problem(fact):
            raise RecordError(
                f"not a valid fact: {problem}", where=where, hint="See `epoche schema fact`."
            )
        if fact.quote:
            if fact.chunk_id not in folded_texts:
                folded_texts[fact.chunk_id] = repair_text(texts[fact.chunk_id]).casefold()
            if repair_text(fact.quote).casefold() not in folded_texts[fact.chunk_id]:
                raise RecordError(
                    f"the quote {clean_text(fact.quote, 60)!r} does not occur in the chunk "
                    f"{clean_text(fact.chunk_id, 100)!r}",
                    where=where,
                    hint="Copy the words of the chunk, or leave the quote empty.",
                )
        facts.append(fact)
    if not facts:
        raise RecordError("the file contains no fact", where=str(path), hint="Check the file.")
    return facts


def write_facts(path: Path | str, facts: Iterable[Fact]) -> int:
    """Writes one fact per line, atomically, and returns their number.

    Raises:
        WriteError: the file cannot be written.
    """
    return write_jsonl_atomic(path, facts)


def _find_problem(fact: Fact) -> str:
    """Returns what is wrong with a fact, in one clause; empty if it is valid."""
    for name in ("subject", "relation", "object"):
        if len(getattr(fact, name)) > MAX_FIELD_LENGTH:
            return f"its {name} has more than {MAX_FIELD_LENGTH:,} characters"
    if len(fact.quote) > MAX_QUOTE_LENGTH:
        return f"its quote has more than {MAX_QUOTE_LENGTH:,} characters"
    for name, phrase in zip(("subject", "object"), fact.phrases, strict=True):
        if not phrase:
            return f"its {name} has no words"
    return ""
