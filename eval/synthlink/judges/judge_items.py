"""Selects the items to judge: the unjudged claims and steps, and anchors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eval.judges.anchors import iter_ring
from eval.synthlink.judges.anchor_claims import (
    negate_fact,
    reverse_fact,
    reverse_question,
    swap_term,
)
from eval.synthlink.judges.judge_view import JudgeView, collect_evidence
from eval.synthlink.sentences import list_expected_facts
from eval.synthlink.verdicts.record import MIN_ANCHORS, TRUE_KINDS, ItemKind
from kg.base.files import sha256_bytes, to_json_bytes
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from eval.synthlink.corrected.evidence import SourcePages
    from eval.synthlink.items import Question
    from eval.synthlink.metrics import JudgedClaim, JudgedStep

MAX_CLAIMS_PER_ANSWER: Final = 40
"""Maximum number of claims of one answer that are judged, which bounds the cost of long answers."""
MAX_STEP_ANCHOR_QUESTIONS: Final = 10
"""Maximum number of questions with which a judge is tested on steps, unless too few follow."""
_MAX_SHARED_WORDS: Final = 0.5
"""Limit for anchors from other questions: the share of an anchor's words that occur in the evidence
must be below it. With more common words, the evidence could state the anchor."""


class JudgeItem(NamedTuple):
    """A claim or an anchor to be judged."""

    kind: ItemKind
    question_id: str
    view: JudgeView

    def compute_key(self, params: dict[str, Any]) -> str:
        """Computes the SHA-256 that identifies this item as judged with these settings.

        Args:
            params: settings of the judge.
        """
        view = self.view
        content = [params, self.kind, self.question_id, view.question, view.claim, view.evidence]
        return sha256_bytes(to_json_bytes(content))


class AnswerClaims(NamedTuple):
    """The claims of an answer, or of an iteration, and what it says of the expected facts."""

    question: Question
    claims: tuple[JudgedClaim, ...]
    steps: tuple[JudgedStep, ...] = ()
    answer: str = ""


def select_items_to_judge(
    answers: Iterable[AnswerClaims],
    questions: Sequence[Question],
    pages: SourcePages | None,
) -> list[JudgeItem]:
    """Selects the claims of some answers to be judged, and anchors of the same questions.

    Some claims stay unjudged: claims after the first ``MAX_CLAIMS_PER_ANSWER`` of an answer, and
    claims that do not fit into the judge's prompt together with their evidence.

    Args:
        answers: answers of all files that are scored; a claim of several answers is judged once.
        questions: the whole catalogue.
        pages: source pages used as evidence; None for none.

    Returns:
        All claims, then all anchors, each in the order of the catalogue. An item does not depend on
        which other claims there are.
    """
    items: dict[str, dict[tuple[str, str], JudgeItem]] = {}
    evidence: dict[str, tuple[str, ...]] = {}
    for question, claims, steps, answer in answers:
        if question.id not in evidence:
            evidence[question.id] = collect_evidence(question, pages)
        found = items.setdefault(question.id, {})
        open_claims = [claim for claim in claims if claim.verdict == "unjudged"]
        for claim in open_claims[:MAX_CLAIMS_PER_ANSWER]:
            view = JudgeView(question.question, claim.shown, evidence[question.id])
            found[claim.shown, ""] = JudgeItem("claim", question.id, view)
        facts = list_expected_facts(question)
        for step in steps:
            if step.verdict == "unjudged":
                fact = facts[step.number]
                view = JudgeView(question.question, fact, (answer,))
                found[fact, answer] = JudgeItem("step", question.id, view)
    judged_questions = [question for question in questions if items.get(question.id)]
    asked = [item for question in judged_questions for item in items[question.id].values()]
    if not judged_questions:
        return []
    anchors = list_anchors(judged_questions, questions, pages)
    with_steps = [
        question
        for question in judged_questions
        if any(item.kind == "step" for item in items[question.id].values())
    ]
    if with_steps:
        spaced = with_steps[:: -(-len(with_steps) // MAX_STEP_ANCHOR_QUESTIONS)]
        anchors += list_step_anchors(spaced, questions, pages)
    return [*(item for item in asked if item.view.is_within_limits), *anchors]


def list_anchors(
    tested: Sequence[Question], questions: Sequence[Question], pages: SourcePages | None
) -> list[JudgeItem]:
    """Lists the anchors of some questions of a catalogue.

    Those of more questions follow until there are ``MIN_ANCHORS`` true and as many wrong ones.
    """
    other_facts = assign_other_facts(questions, pages)
    return _list_enough(
        tested, questions, lambda question: _iter_anchors(question, other_facts, pages)
    )


def list_step_anchors(
    tested: Sequence[Question], questions: Sequence[Question], pages: SourcePages | None
) -> list[JudgeItem]:
    """Lists anchors that ask whether an answer states a fact; otherwise as ``list_anchors``."""
    other_facts = assign_other_facts(questions, pages)
    return _list_enough(
        tested,
        questions,
        lambda question: _iter_step_anchors(
            question, other_facts.get(question.id), collect_evidence(question, pages)
        ),
    )


def _list_enough(
    tested: Sequence[Question],
    questions: Sequence[Question],
    iter_anchors: Callable[[Question], Iterable[JudgeItem]],
) -> list[JudgeItem]:
    ids = {question.id for question in tested}
    others = [question for question in questions if question.id not in ids]
    anchors: list[JudgeItem] = []
    for question in (*tested, *others):
        n_true = sum(item.kind in TRUE_KINDS for item in anchors)
        if question.id not in ids and min(n_true, len(anchors) - n_true) >= MIN_ANCHORS:
            break
        anchors += (item for item in iter_anchors(question) if item.view.is_within_limits)
    return anchors


def _iter_anchors(
    question: Question, other_facts: Mapping[str, str], pages: SourcePages | None
) -> Iterator[JudgeItem]:
    """Yields an anchor for each fact of the question, and the wrong ones made from them.

    Source pages state the question's facts in other words. If there are any, a fact is therefore
    left out of its own evidence: finding the same sentence again would not test the judge.
    """
    all_evidence = collect_evidence(question, pages)
    has_pages = pages is not None and bool(pages.find_pages(question))
    facts = list_facts(question)
    for fact in facts:
        evidence = (
            collect_evidence(question, pages, excluded_fact=fact) if has_pages else all_evidence
        )
        yield JudgeItem("own fact", question.id, JudgeView(question.question, fact, evidence))
    other_fact = other_facts.get(question.id)
    wrong: list[tuple[ItemKind, str | None]] = [
        ("other fact", other_fact),
        ("negated", negate_fact(facts[0]) if facts else None),
        ("reversed", reverse_question(question) or _find_first(map(reverse_fact, facts))),
        (
            "swapped",
            _find_first(swap_term(fact, other_fact, all_evidence) for fact in facts)
            if other_fact
            else None,
        ),
    ]
    for kind, claim in wrong:
        if claim is not None:
            yield JudgeItem(kind, question.id, JudgeView(question.question, claim, all_evidence))


def _iter_step_anchors(
    question: Question, other_fact: str | None, evidence: Sequence[str]
) -> Iterator[JudgeItem]:
    """Yields each fact with an answer that states all of them, and one with answers that do not."""
    facts = list_facts(question)
    whole_answer = " ".join(facts)
    for fact in facts:
        yield JudgeItem(
            "stated step", question.id, JudgeView(question.question, fact, (whole_answer,))
        )
    wrong: list[tuple[ItemKind, Callable[[str], str | None]]] = [
        ("absent step", lambda _: other_fact),
        ("denied step", negate_fact),
        ("reversed step", reverse_fact),
        (
            "swapped step",
            lambda fact: swap_term(fact, other_fact, evidence) if other_fact else None,
        ),
    ]
    for kind, alter in wrong:
        for fact in facts:
            answer = alter(fact)
            if answer is not None:
                view = JudgeView(question.question, fact, (answer,))
                yield JudgeItem(kind, question.id, view)
                break


def _find_first(claims: Iterable[str | None]) -> str | None:
    return next((claim for claim in claims if claim is not None), None)


def assign_other_facts(questions: Sequence[Question], pages: SourcePages | None) -> dict[str, str]:
    """Assigns to each question a fact of another question that its own evidence does not state.

    Each question gets a fact of the next question in a ring (``iter_ring``) that meets two
    conditions: it has no source in common with this question, and less than half of the fact's
    words occur in this question's evidence.

    Args:
        questions: the whole catalogue, so that the facts do not depend on which questions have
            claims to judge.
        pages: source pages used as evidence; None for none.

    Returns:
        Question id → fact; questions for which there is no such fact are left out.
    """
    questions_by_id = {question.id: question for question in questions if list_facts(question)}
    facts_by_question: dict[str, str] = {}
    for index, (name, others) in enumerate(iter_ring(questions_by_id, "synthlink")):
        question = questions_by_id[name]
        evidence_words = {
            word
            for text in collect_evidence(question, pages)
            for word in extract_content_words(text)
        }
        evidence_words.update(extract_content_words(question.question))
        sources = {source.url or source.title for source in question.sources}
        for other in map(questions_by_id.__getitem__, others):
            if sources & {source.url or source.title for source in other.sources}:
                continue
            facts = list_facts(other)
            fact = facts[index % len(facts)]
            words = set(extract_content_words(fact))
            if len(words & evidence_words) < _MAX_SHARED_WORDS * len(words):
                facts_by_question[question.id] = fact
                break
    return facts_by_question


def list_facts(question: Question) -> list[str]:
    """Returns the different expected facts of a question."""
    return list(dict.fromkeys(list_expected_facts(question).values()))
