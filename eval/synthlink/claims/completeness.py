"""Finds which facts of the steps an answer states, contradicts or leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from eval.synthlink.claims.claim_decider import ClaimDecider, Stated, split_fact
from eval.synthlink.claims.graph_reader import ask_graph
from eval.synthlink.claims.splitter import ClaimText
from eval.synthlink.claims.words import get_content, is_same, split_text
from eval.synthlink.items import Step
from eval.synthlink.metrics import JudgedStep
from eval.synthlink.sentences import list_expected_facts

if TYPE_CHECKING:
    from eval.guard.stream import Guard
    from eval.synthlink.items import Question, Triple


def judge_steps(
    answer: str,
    claims: Sequence[ClaimText],
    question: Question,
    decider: ClaimDecider,
    guard: Guard | None = None,
) -> tuple[JudgedStep, ...]:
    """Decides which facts an answer states, where no model is needed for it.

    A fact is stated if claims of the answer say all of it, or all triples of its step, as the
    graph's reader or the rules on causes, makers and years read them. It is
    contradicted if a claim denies or reverses it, or has another number. It is missing if the
    answer is English and has none of the words that any right answer contains (the step's
    keywords), except in lists, which state nothing. All other facts are unjudged.

    Args:
        answer: the answer.
        claims: the claims of the answer.
        question: the question.
        decider: the evidence on the question.
        guard: stream guard of the catalogue's graph; None for none.

    Returns:
        A verdict for each step with a fact, in order; for each sentence of the expected answer if
        the catalogue states no facts.
    """
    found = [decider.find_stated(claim) for claim in claims]
    found.append(Stated(triples=frozenset(_iter_licensed(claims, question, guard))))
    if any(claim.is_list for claim in claims):
        answer = " ".join(claim.text for claim in claims if not claim.is_list)
    return tuple(
        _judge_step(number, step, answer, found, decider)
        for number, step in _iter_expected_steps(question)
    )


def _iter_licensed(
    claims: Sequence[ClaimText], question: Question, guard: Guard | None
) -> Iterator[Triple]:
    """Yields the triples that the graph's reader finds in claims, and the graph licenses."""
    if guard is None:
        return
    triples = {tuple(map(_get_local_name, triple)): triple for triple in question.triples}
    certain = [claim for claim in claims if not claim.is_list and not claim.is_retracted]
    texts = [text for claim in certain for text in (claim.plain, claim.sentence)]
    for text in dict.fromkeys(texts):
        finding = ask_graph(text, guard)
        for read in finding.claims:
            names = tuple(map(_get_local_name, (read.subj, read.pred, read.obj)))
            if names in triples:
                yield triples[names]


def _get_local_name(term: str) -> str:
    """Returns the end of an IRI or prefixed name, or the text of a literal."""
    if term.startswith('"'):
        return term[1:].partition('"')[0]
    return re.split(r"[/#:]", term)[-1]


def _iter_expected_steps(question: Question) -> Iterator[tuple[int, Step]]:
    """Yields the steps with a fact; without any, one for each sentence of the expected answer."""
    for number, fact in list_expected_facts(question).items():
        step = question.steps[number - 1] if number <= len(question.steps) else None
        yield number, step if step is not None and step.fact else Step("", fact)


def _judge_step(
    number: int, step: Step, answer: str, found: Sequence[Stated], decider: ClaimDecider
) -> JudgedStep:
    clauses, triples = set(split_fact(step.fact)), set(step.triples)
    wrong = clauses & set().union(*(one.wrong for one in found))
    wrong_triples = triples & set().union(*(one.wrong_triples for one in found))
    if wrong or wrong_triples:
        return JudgedStep(number, "contradicted", "facts" if wrong else "graph")
    if clauses and clauses <= set().union(*(one.facts for one in found)):
        return JudgedStep(number, "stated", "facts")
    if triples and triples <= set().union(*(one.triples for one in found)):
        return JudgedStep(number, "stated", "graph")
    if _lacks_keywords(step, answer, decider):
        return JudgedStep(number, "missing", "facts")
    return JudgedStep(number, "unjudged", "nothing")


def _lacks_keywords(step: Step, answer: str, decider: ClaimDecider) -> bool:
    """Returns whether an answer has no word of any keyword.

    An answer that is not surely English may have all of them in translation.
    """
    said = split_text(answer)
    keywords = [
        word
        for keyword in step.keywords
        for word in get_content(split_text(f"… {keyword}", german=False))
    ]
    if not keywords or (said and not decider.known.is_english(answer)):
        return False
    return not any(is_same(word, other) for word in keywords for other in said)
