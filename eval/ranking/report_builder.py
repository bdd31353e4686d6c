"""Builds the report of a retrieval evaluation: metrics, differences, ablations and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eval.metrics.measurement import ResamplingPlan
from eval.ranking.differences import Pair, compare_retrievers
from eval.ranking.metrics import HEADLINE_METRIC, METRIC_NAMES
from eval.ranking.question_scores import QuestionScores
from eval.ranking.questions import KINDS, Question
from eval.ranking.rankings import RANKING_DEPTH, Rankings
from eval.ranking.record import (
    ALL_QUESTIONS,
    Ablation,
    Corpus,
    QuestionSet,
    RetrievalReport,
    RetrieverComparison,
    Tuning,
)
from eval.stats.bootstrap import RESAMPLES, ClusterResamples, round_significant
from kg.base.provenance import package_version
from kg.text.normaliser import extract_content_words
from retrieval.protocol import Passage

MIN_QUESTIONS_PER_KIND = 30
"""Minimum number of questions of a kind; with fewer, differences by kind are unreliable."""


def build_report(
    questions: Sequence[Question],
    retrievers: Mapping[str, Rankings],
    *,
    baselines: Sequence[str],
    corpus: Corpus,
    questions_record: QuestionSet,
    plan: ResamplingPlan,
    ablations: Sequence[tuple[Ablation, Rankings]] = (),
    tuning: Mapping[str, Tuning] | None = None,
    depth: int = RANKING_DEPTH,
) -> RetrievalReport:
    """Evaluates retrievers and compares each with every baseline.

    Args:
        questions: the questions.
        retrievers: name → rankings, including those of the baselines.
        baselines: names; each is also compared with the baselines before it.
        corpus: description of what was searched, for the report.
        questions_record: description of the questions, for the report.
        plan: resamples, seed, confidence.
        ablations: each comparison, with the rankings of its ``baseline`` side.
        tuning: name → how it was tuned, for the report.
        depth: chunks used of each ranking, for the report.
    """
    variants = {ranking.name: ranking for _, ranking in ablations if ranking.name not in retrievers}
    resamples = ClusterResamples(len(questions), plan.resamples, plan.seed)
    scores = QuestionScores.from_rankings(
        questions, {**retrievers, **variants}, resamples, plan.confidence
    )
    comparisons = compare_retrievers(scores, list(_pair_with_baselines(retrievers, baselines)))
    ablation_comparisons = compare_retrievers(
        scores, [(ablation.candidate, ablation.baseline) for ablation, _ in ablations]
    )
    version = package_version()
    return RetrievalReport(
        version=version,
        signature=(
            f"{HEADLINE_METRIC}|questions:{questions_record.sha256[:12]}|split:{questions_record.split}|"
            f"run:{corpus.run[:12]}|depth:{depth}|boot:{plan.resamples}|seed:{plan.seed}|"
            f"conf:{plan.confidence:g}|v:{version}"
        ),
        corpus=corpus,
        questions=questions_record,
        depth=depth,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        measures=METRIC_NAMES,
        baselines=tuple(baselines),
        retrievers={
            name: scores.build_record(name, rankings.params)
            for name, rankings in retrievers.items()
        },
        comparisons=comparisons,
        variants={
            name: scores.build_record(name, rankings.params) for name, rankings in variants.items()
        },
        ablations=tuple(ablation for ablation, _ in ablations),
        ablation_comparisons=ablation_comparisons,
        tuning=dict(tuning or {}),
        notes=tuple(_write_notes(questions_record, comparisons, plan)),
    )


def _pair_with_baselines(
    retrievers: Mapping[str, Rankings], baselines: Sequence[str]
) -> Iterator[Pair]:
    """Yields each retriever with each baseline, and each baseline with those before it."""
    for name in retrievers:
        earlier = baselines[: baselines.index(name)] if name in baselines else baselines
        yield from ((name, baseline) for baseline in earlier)


def describe_questions(
    questions: Sequence[Question], passages: Sequence[Passage], sha256: str, split: str
) -> QuestionSet:
    """Describes the questions, with the share of their words that occur in their gold chunks.

    Args:
        questions: the questions evaluated.
        passages: the corpus; contains every gold chunk.
        sha256: hash of the question file.
        split: ``dev``, ``test`` or ``all``.
    """
    counts = Counter(question.kind for question in questions)
    texts = {passage.id: passage.text for passage in passages}
    shares: dict[str, list[float]] = {}
    for question in questions:
        words = set(extract_content_words(question.question))
        if question.gold and words:
            gold_words = {
                word for gold_id in question.gold for word in extract_content_words(texts[gold_id])
            }
            shares.setdefault(question.kind, []).append(len(words & gold_words) / len(words))
    return QuestionSet(
        sha256=sha256,
        split=split,
        n=len(questions),
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        overlap={
            kind: round_significant(sum(shares[kind]) / len(shares[kind]))
            for kind in KINDS
            if kind in shares
        },
    )


def _write_notes(
    questions_record: QuestionSet, comparisons: Sequence[RetrieverComparison], plan: ResamplingPlan
) -> Iterator[str]:
    """Yields caveats that a reader must know before quoting a number."""
    rare_kinds = [
        kind for kind, count in questions_record.kinds.items() if count < MIN_QUESTIONS_PER_KIND
    ]
    if rare_kinds:
        yield (
            f"Fewer than {MIN_QUESTIONS_PER_KIND} questions of the kinds {', '.join(rare_kinds)}: "
            "differences by kind are only indicative."
        )
    if questions_record.split != "test":
        yield (
            "The numbers include dev questions: settings chosen on these look better than they are."
        )
    largest_effect = max(
        (
            difference.minimum_detectable_effect
            for difference in comparisons
            if difference.metric == HEADLINE_METRIC
            and difference.group == ALL_QUESTIONS
            and difference.minimum_detectable_effect is not None
        ),
        default=None,
    )
    if largest_effect is not None:
        yield (
            "At least one comparison has less than 80 % power for true differences in "
            f"{HEADLINE_METRIC} below {largest_effect:.3f}."
        )
    if plan.resamples < RESAMPLES:
        yield f"Only {plan.resamples} resamples: the limits of intervals are imprecise."
