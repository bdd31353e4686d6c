"""Verifies an answer's claims against what the evaluator holds, never against what it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from eval.synthlink.corrected.steps import in_order, numbers_agree
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import Saying, asked_words, asks, common, saying, sentences
from eval.synthlink.question import Question

if TYPE_CHECKING:
    from eval.guard.stream import Guard

Verdict = Literal["licensed", "contradicted", "unknown"]


class Judged(msgspec.Struct, frozen=True):
    """One claim of an answer."""

    text: str
    verdict: Verdict
    by: Literal["graph", "facts", "nothing"]
    """What decided."""


class _Graph(NamedTuple):
    """What the graph says of a sentence."""

    contradicted: bool = False
    licensed: bool = False
    open: bool = False
    """Whether a part of it could not be decided."""


def judge_claims(
    answer: str, question: Question, guard: Guard | None, bar: Thresholds
) -> tuple[Judged, ...]:
    """The claims of an answer, each licensed, contradicted or unknown.

    A claim is a sentence that says something beyond the question's words and asks nothing; said
    again in the same words, however arranged, it is the same claim. First the graph is asked, by
    the reader and the licence oracle of the stream guard, about each of its clauses: one that is
    contradicted makes the claim so; it is licensed where all that is read is. Only then are words
    held against the step facts and the expected answer: a claim is licensed whose words stand, in
    order, in one piece of evidence; with other numbers or another negation it is contradicted.

    Args:
        answer: the answer. Its ``sources_verified`` play no part.
        question: whose facts and expected answer are the evidence.
        guard: of the catalogue's graph; None for none.
        bar: what counts as said.

    Returns:
        In the order of the answer; empty where it claims nothing.
    """
    asked = asked_words(question.question)
    evidence = _evidence(question)
    held_words = asked.union(*(piece.words for piece in evidence))
    found: list[Judged] = []
    seen: set[frozenset[str]] = set()
    cut = sentences(answer)
    events = _by_sentence(answer, [start for start, _ in cut], guard)
    for (_, text), graph in zip(cut, events, strict=True):
        claim = saying(text)
        key = frozenset(claim.words)
        if key <= asked or key in seen or asks(text):
            continue
        seen.add(key)
        verdict, by = _verdict(claim, evidence, asked, graph, bar, apart=not key & held_words)
        found.append(Judged(text.strip(), verdict, by))
    return tuple(found)


def _verdict(
    claim: Saying,
    evidence: list[Saying],
    asked: frozenset[str],
    graph: _Graph,
    bar: Thresholds,
    *,
    apart: bool,
) -> tuple[Verdict, Literal["graph", "facts", "nothing"]]:
    """The verdict on one claim; one that has no word of the matter is unknown, true or not."""
    if apart:
        return "unknown", "nothing"
    if graph.contradicted:
        return "contradicted", "graph"
    if graph.licensed and not graph.open:
        return "licensed", "graph"
    own = [word for word in claim.words if word not in asked]
    against = False
    for piece in evidence:
        # Half of the claim's own words, not of all: the question's stand in every fact.
        beyond = [word for word in piece.words if word not in asked]
        if common(own, beyond) < max(1.0, bar.coverage * len(own)):
            continue
        if not in_order(claim.words, piece.words, bar):
            continue
        if claim.negated == piece.negated and numbers_agree(claim, piece):
            return "licensed", "facts"
        against = True
    return ("contradicted", "facts") if against else ("unknown", "nothing")


def _evidence(question: Question) -> list[Saying]:
    """Facts and sentences of the expected answer, and the answers as wholes."""
    texts = [step.fact for step in question.steps if step.fact]
    for answer in (question.answer, *question.aliases):
        texts += [text for _, text in sentences(answer)]
        texts.append(answer)
    return [saying(text) for text in dict.fromkeys(texts)]


def _by_sentence(answer: str, starts: list[int], guard: Guard | None) -> list[_Graph]:
    """What the graph says of each sentence, read in one go so that "it" can be understood."""
    found = [_Graph() for _ in starts]
    if guard is None or not starts:
        return found
    for event in guard.events([answer]):
        at = sum(start <= event.start for start in starts) - 1
        if at < 0:
            continue
        before = found[at]
        found[at] = _Graph(
            before.contradicted or event.kind == "contradicted",
            before.licensed or event.kind == "licensed",
            before.open or event.kind in ("unknown", "ambiguous", "unread"),
        )
    return found
