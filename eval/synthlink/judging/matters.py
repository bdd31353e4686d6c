"""What is put to the judge: the claims that the graph left open, and anchors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eval.judges.drawing import drawn_by
from eval.synthlink.corrected.prose import is_prose, least, signs
from eval.synthlink.judging.showing import Shown, evidence_of
from eval.synthlink.verdicts.record import Kind
from kg.base.files import sha256_bytes, to_json_bytes
from kg.text.normaliser import content_words

if TYPE_CHECKING:
    from eval.synthlink.corrected.evidence import SourcePages
    from eval.synthlink.corrected.thresholds import Thresholds
    from eval.synthlink.measures import Judged
    from eval.synthlink.question import Question

MOST_CLAIMS: Final = 40
"""Claims of one answer that are put to a judge: an answer without end must not cost without end."""
_FOREIGN: Final = 0.5
"""Share of a fact's words from which the evidence of another question may well tell it."""


class Matter(NamedTuple):
    """One thing that is put to the judge."""

    kind: Kind
    question_id: str
    shown: Shown

    def key(self, params: dict[str, Any]) -> str:
        """What tells it from everything else: what is shown, to whom, in which way.

        Args:
            params: of the judge.
        """
        shown = self.shown
        held = [params, self.kind, self.question_id, shown.question, shown.claim, shown.evidence]
        return sha256_bytes(to_json_bytes(held))


class Answered(NamedTuple):
    """An answer with its claims, as graph and words see them."""

    question: Question
    answer: str
    claims: tuple[Judged, ...]


def matters(
    answers: Iterable[Answered],
    questions: Sequence[Question],
    pages: SourcePages | None,
    bar: Thresholds,
) -> list[Matter]:
    """What is asked about some answers: their claims, then anchors of the same questions.

    Left to words are claims beyond the fortieth of an answer, strings of keywords, and what cannot
    be shown whole.

    Args:
        answers: of all files that are scored; a claim that several make is asked about once.
        questions: the whole catalogue.
        pages: texts of the sources; None for none.
        bar: what is prose.

    Returns:
        In the order of the catalogue; what is asked about a claim depends on no other claim.
    """
    found: dict[str, dict[str, Matter]] = {}
    evidence: dict[str, tuple[str, ...]] = {}
    for question, answer, claims in answers:
        if question.id not in evidence:
            evidence[question.id] = evidence_of(question, pages)
        for claim in _open(question, answer, claims, bar):
            shown = Shown(question.question, claim.text, evidence[question.id])
            if shown.fits:
                matter = Matter("claim", question.id, shown)
                found.setdefault(question.id, {})[claim.text] = matter
    asked = [one for one in questions if one.id in found]
    claims_first = [matter for question in asked for matter in found[question.id].values()]
    others = other_facts(questions, pages) if asked else {}
    anchors = [one for question in asked for one in _anchors(question, others, pages)]
    return [*claims_first, *(one for one in anchors if one.shown.fits)]


def _open(
    question: Question, answer: str, claims: Sequence[Judged], bar: Thresholds
) -> list[Judged]:
    """Claims of one answer that a judge is asked about."""
    whole, enough = signs(answer), least(question, bar)
    found = [one for one in claims if one.by != "graph" and is_prose(one.text, whole, enough)]
    return found[:MOST_CLAIMS]


def _anchors(
    question: Question, others: Mapping[str, str], pages: SourcePages | None
) -> Iterator[Matter]:
    """Each fact of the question, and one of another.

    Where pages tell the question's facts in words of their own, a fact is not among the evidence
    by which it is judged: finding a sentence again would be no examination.
    """
    whole = evidence_of(question, pages)
    told = pages is not None and bool(pages.of(question))
    for fact in dict.fromkeys(step.fact for step in question.steps if step.fact):
        evidence = evidence_of(question, pages, without=fact) if told else whole
        yield Matter("own fact", question.id, Shown(question.question, fact, evidence))
    if question.id in others:
        shown = Shown(question.question, others[question.id], whole)
        yield Matter("other fact", question.id, shown)


def other_facts(questions: Sequence[Question], pages: SourcePages | None) -> dict[str, str]:
    """A fact of another question for each, which its own evidence does not tell.

    All stand in one ring in a drawn order, and each gets a fact of the next one that shares no
    source with it and less than half of whose words stand anywhere in its evidence.

    Args:
        questions: the whole catalogue, so that what is asked of fewer does not change it.
        pages: texts of the sources; None for none.

    Returns:
        By question id; without those for which there is none.
    """
    ring = sorted((one for one in questions if _facts(one)), key=lambda one: one.id)
    drawn_by("synthlink|anchors").shuffle(ring)
    found: dict[str, str] = {}
    for place, question in enumerate(ring):
        held = {word for text in evidence_of(question, pages) for word in content_words(text)}
        held.update(content_words(question.question))
        sources = {one.url or one.title for one in question.sources}
        for step in range(1, len(ring)):
            other = ring[(place + step) % len(ring)]
            if sources & {one.url or one.title for one in other.sources}:
                continue
            facts = _facts(other)
            fact = facts[place % len(facts)]
            said = set(content_words(fact))
            if len(said & held) < _FOREIGN * len(said):
                found[question.id] = fact
                break
    return found


def _facts(question: Question) -> list[str]:
    return [step.fact for step in question.steps if step.fact]
