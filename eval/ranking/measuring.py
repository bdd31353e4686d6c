"""From rankings to the report: every measure, difference and ablation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eval.ranking.differences import Pair, compare
from eval.ranking.measures import HEADLINE, MEASURES
from eval.ranking.questions import KINDS, Question
from eval.ranking.rankings import DEPTH, Rankings
from eval.ranking.record import (
    ALL,
    Ablation,
    Corpus,
    Difference,
    QuestionSet,
    RetrievalReport,
    Tuning,
)
from eval.ranking.samples import Samples
from eval.stats.intervals import RESAMPLES, SEED, Draws, tidy
from kg.base.provenance import package_version
from kg.text.normaliser import content_words
from retrieval.protocol import Passage

FEW_QUESTIONS = 30
"""Fewer questions of a kind tell little apart."""


@dataclass(frozen=True)
class Plan:
    """How questions are resampled.

    Attributes:
        resamples: bootstrap resamples.
        seed: of the resamples and of the random signs.
        confidence: coverage intervals aim at.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    confidence: float = 0.95


def measure(
    questions: Sequence[Question],
    retrievers: Mapping[str, Rankings],
    *,
    baselines: Sequence[str],
    corpus: Corpus,
    asked: QuestionSet,
    plan: Plan,
    ablations: Sequence[tuple[Ablation, Rankings]] = (),
    tuning: Mapping[str, Tuning] | None = None,
    depth: int = DEPTH,
) -> RetrievalReport:
    """Measures retrievers and holds each against every baseline.

    Args:
        questions: what was asked.
        retrievers: their rankings by name, baselines among them.
        baselines: names; each is held against the baselines before it, too.
        corpus: what was searched, for the record.
        asked: what was asked, for the record.
        plan: resamples, seed, confidence.
        ablations: what is compared, and the rankings of the second of each.
        tuning: how things were tuned, by name, for the record.
        depth: chunks taken of each ranking, for the record.
    """
    variants = {one.name: one for _, one in ablations if one.name not in retrievers}
    draws = Draws(len(questions), plan.resamples, plan.seed)
    samples = Samples(questions, {**retrievers, **variants}, draws, plan.confidence)
    compared = compare(samples, list(_pairs(retrievers, baselines)))
    ablated = compare(samples, [(one.first, one.second) for one, _ in ablations])
    version = package_version()
    return RetrievalReport(
        version=version,
        signature=(
            f"{HEADLINE}|questions:{asked.sha256[:12]}|split:{asked.split}|"
            f"run:{corpus.run[:12]}|depth:{depth}|boot:{plan.resamples}|seed:{plan.seed}|"
            f"conf:{plan.confidence:g}|v:{version}"
        ),
        corpus=corpus,
        questions=asked,
        depth=depth,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        measures=MEASURES,
        baselines=tuple(baselines),
        retrievers={name: samples.measured(name) for name in retrievers},
        comparisons=compared,
        variants={name: samples.measured(name) for name in variants},
        ablations=tuple(one for one, _ in ablations),
        ablation_comparisons=ablated,
        tuning=dict(tuning or {}),
        notes=tuple(_notes(asked, compared, plan)),
    )


def _pairs(retrievers: Mapping[str, Rankings], baselines: Sequence[str]) -> Iterator[Pair]:
    """Each retriever with each baseline, baselines with those before them."""
    for name in retrievers:
        earlier = baselines[: baselines.index(name)] if name in baselines else baselines
        yield from ((name, baseline) for baseline in earlier)


def question_set(
    questions: Sequence[Question], passages: Sequence[Passage], sha256: str, split: str
) -> QuestionSet:
    """What was asked, and how many of its words its gold already holds.

    Args:
        questions: those measured.
        passages: the corpus; holds every gold chunk.
        sha256: of the file.
        split: ``dev``, ``test`` or ``all``.
    """
    counts = Counter(question.kind for question in questions)
    texts = {passage.id: passage.text for passage in passages}
    shares: dict[str, list[float]] = {}
    for question in questions:
        asked = set(content_words(question.question))
        if question.gold and asked:
            held = {word for one in question.gold for word in content_words(texts[one])}
            shares.setdefault(question.kind, []).append(len(asked & held) / len(asked))
    return QuestionSet(
        sha256=sha256,
        split=split,
        n=len(questions),
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        overlap={
            kind: tidy(sum(shares[kind]) / len(shares[kind])) for kind in KINDS if kind in shares
        },
    )


def _notes(asked: QuestionSet, compared: Sequence[Difference], plan: Plan) -> Iterator[str]:
    """What a reader must know before quoting a number."""
    few = [kind for kind, count in asked.kinds.items() if count < FEW_QUESTIONS]
    if few:
        yield (
            f"Fewer than {FEW_QUESTIONS} questions of the kinds {', '.join(few)}: "
            "differences by kind are hints."
        )
    if asked.split != "test":
        yield "Not the test questions alone: what was chosen by looking at the others looks better."
    widest = max(
        (
            one.smallest_found
            for one in compared
            if one.measure == HEADLINE and one.group == ALL and one.smallest_found is not None
        ),
        default=None,
    )
    if widest is not None:
        yield (
            f"True differences in {HEADLINE} below {widest:.3f} would be missed more than once in "
            "five in at least one comparison."
        )
    if plan.resamples < RESAMPLES:
        yield f"Only {plan.resamples} resamples: the ends of intervals are rough."
