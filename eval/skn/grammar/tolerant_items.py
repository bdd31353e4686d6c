"""Parses facts, causal links, gaps, sources and risks as models write them, each from its line.

Each result lists its losses: one clause for every detail that was dropped or guessed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple, cast

from eval.skn.grammar.document import CausalLink, Fact, Priority, Risk, Source
from eval.skn.grammar.tolerant_values import (
    GUESSED_LEVEL,
    GUESSED_SCORE,
    ScoreSplit,
    parse_level,
    parse_score,
    split_score,
    unquote_text,
)

_BULLET = re.compile(r"(?:[-*•–—]|\d{1,3}[.)])\s+")
_SIGN = re.compile(r"(?:\*\*|`)?([!.~！。～∼])(?:\*\*|`)?(?!\.)\s*")
_PLAIN_SIGN = {"！": "!", "。": ".", "～": "~", "∼": "~"}
_LOOKS_LIKE_FACT = re.compile(r"\s*(?:[-*•]\s+)?[!.~]\s*[\"“]")
_GAP_SIGN = re.compile(r"(?:[-*•–—?]|\d{1,3}[.)])(?:\s+|$)")
_SPACED_ARROW = re.compile(r"\s(?:-{1,2}>|={1,2}>|[→⇒⟶➔➜])\s")
_ARROW = re.compile(r"-{1,2}>|={1,2}>|[→⇒⟶➔➜]")
_QUOTATION = re.compile(r'(?<!\S)"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\\?$)')
"""A quotation at the start of a word. It may lack its end, which keeps the search linear: without
that alternative, every unclosed quote would make it scan the rest of the text again."""
_SOURCE_KEY = re.compile(r"\b(domain|fresh(?:ness)?|reliability)\s*[:=]", re.IGNORECASE)
_RISK_KEY = re.compile(r"\b(misdirection|missing[ _-]?context)\s*[:=]", re.IGNORECASE)
_SEPARATORS = " \t|,;"
_NO_SCORE = f"no score that can be read: {GUESSED_SCORE} is a guess"
_UNCLEAR_SCORE = "a score that is no number from 0 to 1: what it means is a guess"


GUESSED_SOURCE = Source("unknown", GUESSED_LEVEL, GUESSED_SCORE)
"""Used if there is no ``@src``; always reported as a guess."""


class ParsedItems(NamedTuple):
    """The items parsed from a line.

    Attributes:
        items: the items; empty if none could be parsed.
        losses: the dropped or guessed details, one clause each.
    """

    items: tuple[Fact | CausalLink | str, ...]
    losses: tuple[str, ...] = ()


def looks_like_fact(line: str) -> bool:
    """Returns whether a line is a fact in any section: a priority and a quotation."""
    return _LOOKS_LIKE_FACT.match(line) is not None


def is_open_quotation(line: str) -> bool:
    """Returns whether a line opens a fact's quotation and does not close it."""
    found = _LOOKS_LIKE_FACT.match(line)
    return found is not None and '"' not in line[found.end() :] and found[0].endswith('"')


def parse_fact(line: str) -> ParsedItems:
    """Parses a fact: a priority, text with or without quotes, and a score in any form."""
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
            return ParsedItems((), ("no fact: the line is left out",))
        losses.append("no priority: . is a guess")
    words = unquote_text(split.text)
    if not words.text.strip():
        return ParsedItems((), ("a fact without words is left out",))
    losses += _list_score_losses(split)
    losses += [words.loss] if words.loss else []
    return ParsedItems((Fact(priority, words.text, _get_score_or_guess(split)),), tuple(losses))


def parse_links(line: str) -> ParsedItems:
    """Parses a causal link, or a chain ``a -> b -> c``, whose links share its strength."""
    body = line.strip()
    bullet = _BULLET.match(body)
    if bullet:
        body = body[bullet.end() :]
    split = split_score(body, parenthesised=True)
    losses = _list_score_losses(split)
    terms = _split_terms(split.text, _SPACED_ARROW)
    if len(terms) > 1 and any(len(_split_terms(term, _ARROW)) > 1 for term in terms):
        losses.append("arrows with and without spaces: which of them part is a guess")
    if len(terms) == 1:
        terms = _split_terms(split.text, _ARROW)
    read = [unquote_text(term) for term in terms]
    if len(terms) < 2 or not all(words.text.strip() for words in read):
        return ParsedItems((), ("no cause and effect: the line is left out",))
    if len(terms) > 2:
        losses.append("a chain of causes: what its strength is about is a guess")
    losses += [words.loss for words in read if words.loss]
    strength = _get_score_or_guess(split)
    pairs = pairwise(read)
    return ParsedItems(
        tuple(CausalLink(cause.text, effect.text, strength) for cause, effect in pairs),
        tuple(losses),
    )


def parse_gap(line: str) -> ParsedItems:
    """Parses a gap: the text of the line, without its bullet and the quotes around it."""
    body = line.strip()
    sign = _GAP_SIGN.match(body)
    words = unquote_text(body[sign.end() :] if sign else body)
    if not words.text.strip():
        return ParsedItems((), ("a gap without words is left out",))
    return ParsedItems((words.text,), (words.loss,) if words.loss else ())


def parse_source(text: str) -> tuple[Source, tuple[str, ...]]:
    """Parses the fields of ``@src``; missing values are guessed.

    Args:
        text: the text after ``@src``, with several lines joined by `` | ``.
    """
    before, fields, losses = _split_fields(text, _SOURCE_KEY)
    name = fields.get("domain", "") or before
    if "domain" in fields and before:
        losses.append("two domains: the first is left out")
    domain = unquote_text(name.strip("<>") if name.startswith("<") else name)
    losses += [domain.loss] if domain.loss else []
    if not domain.text.strip():
        losses.append("no domain: unknown is a guess")
    fresh, loss = parse_level(fields.get("fresh", ""))
    losses += [f"freshness: {loss}"] if loss else []
    reliability = parse_score(fields.get("reliability", ""))
    if reliability is None:
        losses.append(f"reliability: {_NO_SCORE}")
    elif reliability.is_guess:
        losses.append(f"reliability: {_UNCLEAR_SCORE}")
    number = GUESSED_SCORE if reliability is None else reliability.value
    domain_text = domain.text if domain.text.strip() else GUESSED_SOURCE.domain
    return Source(domain_text, fresh, number), tuple(losses)


def parse_risk(text: str) -> tuple[Risk, tuple[str, ...]]:
    """Parses the fields of ``@risk``; missing values are guessed."""
    before, fields, losses = _split_fields(text, _RISK_KEY)
    if before:
        losses.append("what stands before the first field is left out")
    misdirection, first = parse_level(fields.get("misdirection", ""))
    missing_context, second = parse_level(fields.get("missing_context", ""))
    losses += [f"misdirection: {first}"] if first else []
    losses += [f"missing_context: {second}"] if second else []
    return Risk(misdirection, missing_context), tuple(losses)


def _split_fields(text: str, keys: re.Pattern[str]) -> tuple[str, dict[str, str], list[str]]:
    """Returns the text before the first key, the first value of each key, and the losses."""
    text = text.strip()
    quotation = _QUOTATION.match(text)
    start = quotation.end() if quotation and quotation["end"] else 0
    matches = list(keys.finditer(text, start))
    starts = [*(key.start() for key in matches), len(text)]
    before = text[: starts[0]].strip(_SEPARATORS)
    fields: dict[str, str] = {}
    losses: list[str] = []
    for key, end in zip(matches, starts[1:], strict=True):
        name = re.sub("[ -]", "_", key[1].lower()).replace("freshness", "fresh")
        name = name.replace("missingcontext", "missing_context")
        value, _, remainder = text[key.end() : end].strip(_SEPARATORS).partition(" | ")
        if remainder:
            losses.append(f"a field behind {name} is left out")
        if fields.setdefault(name, value) != value:
            losses.append(f"{name} is said twice: the first counts")
    return before, fields, losses


def _split_terms(text: str, arrow: re.Pattern[str]) -> list[str]:
    """Splits ``text`` at arrows that are not inside a quotation."""
    # Quotations are masked by as many NULs, so that offsets stay the same.
    hidden = _QUOTATION.sub(
        lambda quotation: "\0" * len(quotation[0]) if quotation["end"] else quotation[0], text
    )
    terms = []
    start = 0
    for match in arrow.finditer(hidden):
        terms.append(text[start : match.start()])
        start = match.end()
    return [*terms, text[start:]]


def _get_score_or_guess(split: ScoreSplit) -> float:
    return GUESSED_SCORE if split.score is None else split.score.value


def _list_score_losses(split: ScoreSplit) -> list[str]:
    losses = []
    if split.score is None:
        losses.append(_NO_SCORE)
    elif split.score.is_guess:
        losses.append(_UNCLEAR_SCORE)
    if split.rest:
        losses.append("what stands beside the score is left out")
    return losses
