"""What an SKN block says, as typed values; no such value can hold what the notation cannot say."""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeAlias

import msgspec

from eval.skn.grammar.lexical import SURROGATE

Level: TypeAlias = Literal["low", "medium", "high"]
Priority: TypeAlias = Literal["!", ".", "~"]
"""``!`` critical and stated, ``.`` supporting detail, ``~`` uncertain or inferred."""
Section: TypeAlias = Literal["causal", "gaps", "risk"]
"""The sections that a block may lack."""
Unit: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""A finite number from 0 to 1."""
Words: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text with something to read in it."""

LEVELS: tuple[Level, ...] = ("low", "medium", "high")
PRIORITIES: tuple[Priority, ...] = ("!", ".", "~")
SECTIONS: tuple[Section, ...] = ("causal", "gaps", "risk")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the facts come from.

    Attributes:
        domain: the kind of place, in a word or a few.
        fresh: how recent it is.
        reliability: how far it can be trusted, 0 to 1.

    Raises:
        ValueError: a value the notation cannot say; so do all classes here.
    """

    domain: Words
    fresh: Level
    reliability: Unit

    def __post_init__(self) -> None:
        _check_words(self, "domain")
        _check_choice(self, "fresh", LEVELS)
        _check_unit(self, "reliability")


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim of the source, with how much it matters and how well it is supported (0 to 1)."""

    priority: Priority
    text: Words
    confidence: Unit

    def __post_init__(self) -> None:
        _check_choice(self, "priority", PRIORITIES)
        _check_words(self, "text")
        _check_unit(self, "confidence")


class CausalLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that brings about another, as strongly as ``strength`` says (0 to 1)."""

    cause: Words
    effect: Words
    strength: Unit

    def __post_init__(self) -> None:
        _check_words(self, "cause")
        _check_words(self, "effect")
        _check_unit(self, "strength")


class Risk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the source may mislead, and how much it may leave out."""

    misdirection: Level
    missing_context: Level

    def __post_init__(self) -> None:
        _check_choice(self, "misdirection", LEVELS)
        _check_choice(self, "missing_context", LEVELS)


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One SKN block.

    Of the sections that may lack, ``None`` is a section that is not there and ``()`` one that is
    there and empty; both survive every way through the notation and typed JSON.
    """

    source: Source
    facts: tuple[Fact, ...]
    causal: tuple[CausalLink, ...] | None = None
    gaps: tuple[Words, ...] | None = None
    risk: Risk | None = None

    def __post_init__(self) -> None:
        for gap in self.gaps or ():
            check_words(gap, "gap")


def without(document: Document, *sections: Section) -> Document:
    """``document`` with these sections not there at all."""
    absent = dict.fromkeys(sections)
    return msgspec.structs.replace(document, **absent)


def check_words(text: object, name: str) -> None:
    """Refuses what is no text, has nothing to read in it, or cannot be written as UTF-8.

    Raises:
        ValueError: which of these, about the field called ``name``.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be text with something in it")
    if SURROGATE.search(text):
        raise ValueError(f"{name} holds half a character (a lone surrogate)")


def _check_words(record: msgspec.Struct, name: str) -> None:
    check_words(getattr(record, name), name)


def _check_choice(record: msgspec.Struct, name: str, choices: tuple[str, ...]) -> None:
    if getattr(record, name) not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}")


def _check_unit(record: msgspec.Struct, name: str) -> None:
    """Refuses what is no number from 0 to 1, and lets equal numbers be written alike."""
    value = getattr(record, name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1")
    # 1 and 1.0, 0.0 and -0.0 are equal, so they have to become the same text.
    msgspec.structs.force_setattr(record, name, float(value) + 0.0)
