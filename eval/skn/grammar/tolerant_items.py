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
_PRIORITY = re.compile(r"(?:\*\*|`)?([!.~！。～∼])(?:\*\*|`)?(?!\.)\s*")
_ASCII_PRIORITIES = {"！": "!", "。": ".", "～": "~", "∼": "~"}
_LOOKS_LIKE_FACT = re.compile(r"\s*(?:[-*•]\s+)?[!.~]\s*[\"“]")
_GAP_BULLET = re.compile(r"(?:[-*•–—?]|\d{1,3}[.)])(?:\s+|$)")
_SPACED_ARROW = re.compile(r"\s(?:-{1,2}>|={1,2}>|[→⇒⟶➔➜])\s")
_ARROW = re.compile(r"-{1,2}>|={1,2}>|[→⇒⟶➔➜]")
_QUOTATION = re.compile(r'(?<!\S)"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\\?$)')
"""A quotation at the start of a word, closed or up to the end of the text. Matching unclosed
quotations keeps the search linear: otherwise each unclosed quote would make it scan the rest of the
text again."""
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
    """Returns whether a line starts like a fact: with a priority and a quotation."""
    return _LOOKS_LIKE_FACT.match(line) is not None


def is_open_quotation(line: str) -> bool:
    """Returns whether a line opens a fact's quotation and does not close it."""
    match = _LOOKS_LIKE_FACT.match(line)
    return match is not None and '"' not in line[match.end() :] and match[0].endswith('"')


def parse_fact(line: str) -> ParsedItems:
    """Parses a fact: a priority, text with or without quotes, and a score in any form."""
    body = line.strip()
    losses: list[str] = []
    bullet = _BULLET.match(body)
    if bullet:
        body = body[bullet.end() :]
    priority_match = _PRIORITY.match(body)
    if priority_match:
        priority = cast(Priority, _ASCII_PRIORITIES.get(priority_match[1], priority_match[1]))
        body = body[priority_match.end() :]
    else:
        priority = "."
    split = split_score(body)
    is_quoted = body[:1] in ('"', "“")
    if priority_match is None:
        if split.score is None and not is_quoted:
            return ParsedItems((), ("no fact: the line is left out",))
        losses.append("no priority: . is a guess")
    unquoted = unquote_text(split.text)
    if not unquoted.text.strip():
        return ParsedItems((), ("a fact without words is left out",))
    losses += _list_score_losses(split)
    losses += [unquoted.loss] if unquoted.loss else []
    return ParsedItems((Fact(priority, unquoted.text, _get_score_or_guess(split)),), tuple(losses))


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
    unquoted_terms = [unquote_text(term) for term in terms]
    if len(terms) < 2 or not all(unquoted.text.strip() for unquoted in unquoted_terms):
        return ParsedItems((), ("no cause and effect: the line is left out",))
    if len(terms) > 2:
        losses.append("a chain of causes: what its strength is about is a guess")
    losses += [unquoted.loss for unquoted in unquoted_terms if unquoted.loss]
    strength = _get_score_or_guess(split)
    pairs = pairwise(unquoted_terms)
    return ParsedItems(
        tuple(CausalLink(cause.text, effect.text, strength) for cause, effect in pairs),
        tuple(losses),
    )


def parse_gap(line: str) -> ParsedItems:
    """Parses a gap: the text of the line, without its bullet and the quotes around it."""
    body = line.strip()
    bullet = _GAP_BULLET.match(body)
    unquoted = unquote_text(body[bullet.end() :] if bullet else body)
    if not unquoted.text.strip():
        return ParsedItems((), ("a gap without words is left out",))
    return ParsedItems((unquoted.text,), (unquoted.loss,) if unquoted.loss else ())


def parse_source(text: str) -> tuple[Source, tuple[str, ...]]:
    """Parses the fields of ``@src``; missing values are guessed.

    Args:
        text: the text after ``@src``, with several lines joined by `` | ``.
    """
    prefix, fields, losses = _split_fields(text, _SOURCE_KEY)
    raw_domain = fields.get("domain", "") or prefix
    if "domain" in fields and prefix:
        losses.append("two domains: the first is left out")
    domain = unquote_text(raw_domain.strip("<>") if raw_domain.startswith("<") else raw_domain)
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
    reliability_value = GUESSED_SCORE if reliability is None else reliability.value
    domain_text = domain.text if domain.text.strip() else GUESSED_SOURCE.domain
    return Source(domain_text, fresh, reliability_value), tuple(losses)


def parse_risk(text: str) -> tuple[Risk, tuple[str, ...]]:
    """Parses the fields of ``@risk``; missing values are guessed."""
    prefix, fields, losses = _split_fields(text, _RISK_KEY)
    if prefix:
        losses.append("what stands before the first field is left out")
    misdirection, misdirection_loss = parse_level(fields.get("misdirection", ""))
    missing_context, context_loss = parse_level(fields.get("missing_context", ""))
    losses += [f"misdirection: {misdirection_loss}"] if misdirection_loss else []
    losses += [f"missing_context: {context_loss}"] if context_loss else []
    return Risk(misdirection, missing_context), tuple(losses)


def _split_fields(text: str, keys: re.Pattern[str]) -> tuple[str, dict[str, str], list[str]]:
    """Returns the text before the first key, the first value of each key, and the losses."""
    text = text.strip()
    quotation = _QUOTATION.match(text)
    start = quotation.end() if quotation and quotation["end"] else 0
    matches = list(keys.finditer(text, start))
    starts = [*(key.start() for key in matches), len(text)]
    prefix = text[: starts[0]].strip(_SEPARATORS)
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
    return prefix, fields, losses


def _split_terms(text: str, arrow: re.Pattern[str]) -> list[str]:
    """Splits ``text`` at arrows that are not inside a quotation."""
    # Quotations are masked by as many NULs, so that offsets stay the same.
    masked = _QUOTATION.sub(
        lambda quotation: "\0" * len(quotation[0]) if quotation["end"] else quotation[0], text
    )
    terms = []
    start = 0
    for match in arrow.finditer(masked):
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
    if split.trailing_text:
        losses.append("what stands beside the score is left out")
    return losses
