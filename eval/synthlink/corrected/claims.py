"""Verifies an answer's claims against what the evaluator holds, never against what it brings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from eval.synthlink.corrected.evidence import Piece, SourcePages, pieces
from eval.synthlink.corrected.prose import is_prose, least, signs
from eval.synthlink.corrected.steps import in_order, numbers_agree
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import (
    Saying,
    asked_words,
    asks,
    bare_words,
    common,
    names,
    saying,
    sentences,
    to_the_letter,
)
from eval.synthlink.measures import By, Judged, Verdict
from eval.synthlink.question import Question
from kg.text.normaliser import normalise

if TYPE_CHECKING:
    from eval.guard.stream import Guard


class _Graph(NamedTuple):
    """What the graph says of a sentence."""

    contradicted: bool = False
    licensed: bool = False
    open: bool = False
    """Whether a part of it could not be decided."""


def judge_claims(
    answer: str,
    question: Question,
    guard: Guard | None,
    bar: Thresholds,
    pages: SourcePages | None = None,
) -> tuple[Judged, ...]:
    """The claims of an answer, each licensed, contradicted or unknown.

    A claim is a sentence that says something beyond the question's words and asks nothing; said
    again in the same words, however arranged, it is the same claim. First the graph is asked, by
    the reader and the licence oracle of the stream guard, about each of its clauses: one that is
    contradicted makes the claim so; it is licensed where all that is read is. Only then are words
    held against the step facts and the expected answer: a claim is licensed whose words stand, in
    order, in one piece of evidence, a word that is no keyword among them; with other numbers or
    another negation than a fact's it is contradicted. A sentence of a page licenses a claim only
    if it, or the page's title, has all the claim's names and numbers. A claim that shares no word
    with question and evidence is unknown, true or not.

    Args:
        answer: the answer. Its ``sources_verified`` play no part.
        question: whose facts and expected answer are the evidence.
        guard: of the catalogue's graph; None for none.
        bar: what counts as said.
        pages: of a corpus that has the sources; None for none.

    Returns:
        In the order of the answer; empty where it claims nothing.
    """
    held = _Held(pieces(question, pages), asked_words(question.question), bare_words(question), bar)
    known = held.asked.union(*(one.told.words for one in held.pieces if one.held == "facts"))
    told = to_the_letter(question)
    found: list[Judged] = []
    whole, enough = signs(answer), least(question, bar)
    seen: set[frozenset[str]] = set()
    cut = sentences(answer)
    events = _by_sentence(answer, [start for start, _ in cut], guard)
    for (_, text), graph in zip(cut, events, strict=True):
        claim = saying(text)
        key = frozenset(claim.words)
        if key <= held.asked or key in seen or asks(text):
            continue
        seen.add(key)
        verdict: Verdict = "unknown"
        by: By = "nothing"
        # What the graph knows of another matter is no evidence here.
        if key & known and graph.contradicted:
            verdict, by = "contradicted", "graph"
        elif key & known and graph.licensed and not graph.open:
            verdict, by = "licensed", "graph"
        elif normalise(text) in told or is_prose(text, whole, enough):
            # What the graph could read is a sentence, and so is evidence said again to the letter;
            # other words may be a list of keywords.
            verdict, by = _by_words(claim, names(text) - held.asked, held)
        found.append(Judged(text.strip(), verdict, by))
    return tuple(found)


class _Held(NamedTuple):
    """What claims are held against."""

    pieces: Sequence[Piece]
    asked: frozenset[str]
    bare: frozenset[str]
    bar: Thresholds


def _by_words(claim: Saying, named: frozenset[str], held: _Held) -> tuple[Verdict, By]:
    """The verdict of the first piece that licenses a claim, or of a fact that contradicts it."""
    own = [word for word in claim.words if word not in held.asked]
    against = False
    for one in held.pieces:
        told = one.told
        # Half of the claim's own words, not of all: the question's stand in every fact.
        beyond = [word for word in told.words if word not in held.asked]
        if common(own, beyond) < max(1.0, held.bar.coverage * len(own)):
            continue
        # Names in common tell what a claim is about, and not that it is so.
        if held.bare.issuperset({*own} & {*beyond}) and not held.bare.issuperset(beyond):
            continue
        if not in_order(claim.words, told.words, held.bar):
            continue
        if one.held == "pages":
            if claim.negated == told.negated and named <= one.about.union(told.words):
                return "licensed", "pages"
            continue
        same = claim.negated == told.negated or (not one.single and not claim.negated)
        if same and numbers_agree(claim, told):
            return "licensed", "facts"
        against = against or one.single
    return ("contradicted", "facts") if against else ("unknown", "nothing")


def _by_sentence(answer: str, starts: list[int], guard: Guard | None) -> list[_Graph]:
    """What the graph says of each sentence, read in one go so that "it" can be understood."""
    found = [_Graph() for _ in starts]
    if guard is None or not starts:
        return found
    for event in guard.events([answer]):
        at = bisect_right(starts, event.start) - 1
        if at < 0:
            continue
        before = found[at]
        found[at] = _Graph(
            before.contradicted or event.kind == "contradicted",
            before.licensed or event.kind == "licensed",
            before.open or event.kind in ("unknown", "ambiguous", "unread"),
        )
    return found
