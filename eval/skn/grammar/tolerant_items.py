"""Facts, causal links, gaps, sources and risks as models write them, each from a line of its own.

What is read is returned with what it cost: a clause for everything that was dropped or guessed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple, cast

from eval.skn.grammar.document import CausalLink, Fact, Priority, Risk, Source
from eval.skn.grammar.tolerant_values import (
    GUESSED_LEVEL,
    GUESSED_SCORE,
    Split,
    level_of,
    score_of,
    split_score,
    words_of,
)

_BULLET = re.compile(r"(?:[-*•–—]|\d{1,3}[.)])\s+")
_SIGN = re.compile(r"(?:\*\*|`)?([!.~！。～∼])(?:\*\*|`)?(?!\.)\s*")
_PLAIN_SIGN = {"！": "!", "。": ".", "～": "~", "∼": "~"}
_LOOKS_LIKE_FACT = re.compile(r"\s*(?:[-*•]\s+)?[!.~]\s*[\"“]")
_GAP_SIGN = re.compile(r"(?:[-*•–—?]|\d{1,3}[.)])(?:\s+|$)")
_SPACED_ARROW = re.compile(r"\s(?:-{1,2}>|={1,2}>|[→⇒⟶➔➜])\s")
_ARROW = re.compile(r"-{1,2}>|={1,2}>|[→⇒⟶➔➜]")
_QUOTATION = re.compile(r'(?<!\S)"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\\?$)')
"""One that starts a word; it may lack its end, so that looking for it never starts over."""
_SOURCE_KEY = re.compile(r"\b(domain|fresh(?:ness)?|reliability)\s*[:=]", re.IGNORECASE)
_RISK_KEY = re.compile(r"\b(misdirection|missing[ _-]?context)\s*[:=]", re.IGNORECASE)
_SEPARATORS = " \t|,;"
_NO_SCORE = f"no score that can be read: {GUESSED_SCORE} is a guess"
_GUESSED_SCORE = "a score that is no number from 0 to 1: what it means is a guess"


GUESSED_SOURCE = Source("unknown", GUESSED_LEVEL, GUESSED_SCORE)
"""Stands where there is no ``@src``; always said to be a guess."""


class Read(NamedTuple):
    """What a line gave.

    Attributes:
        items: what was read; empty when nothing could be.
        losses: what was dropped or guessed for it, a clause each.
    """

    items: tuple[Fact | CausalLink | str, ...]
    losses: tuple[str, ...] = ()


def looks_like_fact(line: str) -> bool:
    """Whether a line is a fact wherever it stands: a priority and a quotation."""
    return _LOOKS_LIKE_FACT.match(line) is not None


def goes_on(line: str) -> bool:
    """Whether a line opens a fact's quotation and does not close it."""
    found = _LOOKS_LIKE_FACT.match(line)
    return found is not None and '"' not in line[found.end() :] and found[0].endswith('"')


def fact_of(line: str) -> Read:
    """A fact: a priority, words with or without quotes, and a score in some form."""
    body = line.strip()
    losses: list[str] = []
    bullet = _BULLET.match(body)
    if bullet:
        body = body[bullet.end() :]
    sign = _SIGN.match(body)
    if sign:
        priority = cast(Priority, _PLAIN_SIGN.get(sign[1], sign[1]))
        body = body[sign.end() :]
    else:
        priority = "."
    split = split_score(body)
    quoted = body[:1] in ('"', "“")
    if sign is None:
        if split.score is None and not quoted:
            return Read((), ("no fact: the line is left out",))
        losses.append("no priority: . is a guess")
    words = words_of(split.words)
    if not words.text.strip():
        return Read((), ("a fact without words is left out",))
    losses += _score_losses(split)
    losses += [words.loss] if words.loss else []
    return Read((Fact(priority, words.text, _number(split)),), tuple(losses))


def links_of(line: str) -> Read:
    """A causal link, or the links of a chain ``a -> b -> c``, which share its strength."""
    body = line.strip()
    bullet = _BULLET.match(body)
    if bullet:
        body = body[bullet.end() :]
    split = split_score(body, parenthesised=True)
    losses = _score_losses(split)
    terms = _terms(split.words, _SPACED_ARROW)
    if len(terms) > 1 and any(len(_terms(term, _ARROW)) > 1 for term in terms):
        losses.append("arrows with and without spaces: which of them part is a guess")
    if len(terms) == 1:
        terms = _terms(split.words, _ARROW)
    read = [words_of(term) for term in terms]
    if len(terms) < 2 or not all(words.text.strip() for words in read):
        return Read((), ("no cause and effect: the line is left out",))
    if len(terms) > 2:
        losses.append("a chain of causes: what its strength is about is a guess")
    losses += [words.loss for words in read if words.loss]
    strength = _number(split)
    pairs = pairwise(read)
    return Read(
        tuple(CausalLink(cause.text, effect.text, strength) for cause, effect in pairs),
        tuple(losses),
    )


def gap_of(line: str) -> Read:
    """A gap: all that the line says, without its bullet and the quotes around it."""
    body = line.strip()
    sign = _GAP_SIGN.match(body)
    words = words_of(body[sign.end() :] if sign else body)
    if not words.text.strip():
        return Read((), ("a gap without words is left out",))
    return Read((words.text,), (words.loss,) if words.loss else ())


def source_of(text: str) -> tuple[Source, tuple[str, ...]]:
    """The source that the fields of ``@src`` say; what is missing is guessed.

    Args:
        text: what stands behind ``@src``, several lines joined.
    """
    before, fields, losses = _fields(text, _SOURCE_KEY)
    name = fields.get("domain", "") or before
    if "domain" in fields and before:
        losses.append("two domains: the first is left out")
    domain = words_of(name.strip("<>") if name.startswith("<") else name)
    losses += [domain.loss] if domain.loss else []
    if not domain.text.strip():
        losses.append("no domain: unknown is a guess")
    fresh, loss = level_of(fields.get("fresh", ""))
    losses += [f"freshness: {loss}"] if loss else []
    reliability = score_of(fields.get("reliability", ""))
    if reliability is None:
        losses.append(f"reliability: {_NO_SCORE}")
    elif reliability.guessed:
        losses.append(f"reliability: {_GUESSED_SCORE}")
    number = GUESSED_SCORE if reliability is None else reliability.number
    said = domain.text if domain.text.strip() else GUESSED_SOURCE.domain
    return Source(said, fresh, number), tuple(losses)


def risk_of(text: str) -> tuple[Risk, tuple[str, ...]]:
    """The risk that the fields of ``@risk`` say; what is missing is guessed."""
    before, fields, losses = _fields(text, _RISK_KEY)
    if before:
        losses.append("what stands before the first field is left out")
    misdirection, first = level_of(fields.get("misdirection", ""))
    missing_context, second = level_of(fields.get("missing_context", ""))
    losses += [f"misdirection: {first}"] if first else []
    losses += [f"missing_context: {second}"] if second else []
    return Risk(misdirection, missing_context), tuple(losses)


def _fields(text: str, keys: re.Pattern[str]) -> tuple[str, dict[str, str], list[str]]:
    """What stands before the first key, the first value of each key, and what was lost."""
    text = text.strip()
    quotation = _QUOTATION.match(text)
    start = quotation.end() if quotation and quotation["end"] else 0
    found = list(keys.finditer(text, start))
    starts = [*(key.start() for key in found), len(text)]
    before = text[: starts[0]].strip(_SEPARATORS)
    fields: dict[str, str] = {}
    losses: list[str] = []
    for key, end in zip(found, starts[1:], strict=True):
        name = re.sub("[ -]", "_", key[1].lower()).replace("freshness", "fresh")
        name = name.replace("missingcontext", "missing_context")
        value, _, rest = text[key.end() : end].strip(_SEPARATORS).partition(" | ")
        if rest:
            losses.append(f"a field behind {name} is left out")
        if fields.setdefault(name, value) != value:
            losses.append(f"{name} is said twice: the first counts")
    return before, fields, losses


def _terms(text: str, arrow: re.Pattern[str]) -> list[str]:
    """``text`` cut at arrows that do not stand in a quotation."""
    hidden = _QUOTATION.sub(
        lambda quotation: "\0" * len(quotation[0]) if quotation["end"] else quotation[0], text
    )
    terms = []
    start = 0
    for found in arrow.finditer(hidden):
        terms.append(text[start : found.start()])
        start = found.end()
    return [*terms, text[start:]]


def _number(split: Split) -> float:
    return GUESSED_SCORE if split.score is None else split.score.number


def _score_losses(split: Split) -> list[str]:
    losses = []
    if split.score is None:
        losses.append(_NO_SCORE)
    elif split.score.guessed:
        losses.append(_GUESSED_SCORE)
    if split.rest:
        losses.append("what stands beside the score is left out")
    return losses
