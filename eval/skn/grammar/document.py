"""The content of an SKN block as typed records, which accept only what the notation can express."""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeAlias

import msgspec

from eval.skn.grammar.lexical import SURROGATE

Level: TypeAlias = Literal["low", "medium", "high"]
Priority: TypeAlias = Literal["!", ".", "~"]
"""``!`` critical and stated, ``.`` supporting detail, ``~`` uncertain or inferred."""
Section: TypeAlias = Literal["causal", "gaps", "risk"]
"""The optional sections of a block."""
UnitFloat: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""A finite number from 0 to 1."""
NonBlankText: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""Text that is not blank."""

LEVELS: tuple[Level, ...] = ("low", "medium", "high")
PRIORITIES: tuple[Priority, ...] = ("!", ".", "~")
SECTIONS: tuple[Section, ...] = ("causal", "gaps", "risk")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The source of the facts.

    Attributes:
        domain: the kind of place, in a word or a few.
        fresh: how recent the source is.
        reliability: how reliable the source is, 0 to 1.

    Raises:
        ValueError: the notation cannot express a value; all classes of this module raise this.
    """

    domain: NonBlankText
    fresh: Level
    reliability: UnitFloat

    def __post_init__(self) -> None:
        _check_text_field(self, "domain")
        _check_choice(self, "fresh", LEVELS)
        _check_unit(self, "reliability")


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim of the source, with how much it matters and how well it is supported (0 to 1)."""

    priority: Priority
    text: NonBlankText
    confidence: UnitFloat

    def __post_init__(self) -> None:
        _check_choice(self, "priority", PRIORITIES)
        _check_text_field(self, "text")
        _check_unit(self, "confidence")


class CausalLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cause and its effect; ``strength`` is between 0 and 1."""

    cause: NonBlankText
    effect: NonBlankText
    strength: UnitFloat

    def __post_init__(self) -> None:
        _check_text_field(self, "cause")
        _check_text_field(self, "effect")
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
    gaps: tuple[NonBlankText, ...] | None = None
    risk: Risk | None = None

    def __post_init__(self) -> None:
        for gap in self.gaps or ():
            check_text(gap, "gap")


def drop_sections(document: Document, *sections: Section) -> Document:
    """Returns a copy of ``document`` in which these sections are absent."""
    absent = dict.fromkeys(sections)
    return msgspec.structs.replace(document, **absent)


def check_text(text: object, name: str) -> None:
    """Checks that a value is text, is not blank, and can be written as UTF-8.

    Raises:
        ValueError: it is not; the message names the field, ``name``.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be text with something in it")
    if SURROGATE.search(text):
        raise ValueError(f"{name} holds half a character (a lone surrogate)")


def _check_text_field(record: msgspec.Struct, name: str) -> None:
    check_text(getattr(record, name), name)


def _check_choice(record: msgspec.Struct, name: str, choices: tuple[str, ...]) -> None:
    if getattr(record, name) not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}")


def _check_unit(record: msgspec.Struct, name: str) -> None:
    """Checks that a field is a number from 0 to 1, and normalises it."""
    value = getattr(record, name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1")
    # Equal documents must serialise to the same text, but 1 and 1.0, 0.0 and -0.0 print
    # differently. Adding 0.0 turns -0.0 into 0.0.
    msgspec.structs.force_setattr(record, name, float(value) + 0.0)
