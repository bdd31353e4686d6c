"""Builds the report of a retrieval evaluation: metrics, differences, ablations and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from eval.retrieval_eval.differences import Pair, compare_retrievers
from eval.retrieval_eval.items import RetrievalItem
from eval.retrieval_eval.manifest import RetrievalManifest
from eval.retrieval_eval.metrics import HEADLINE_METRIC, METRIC_NAMES
from eval.retrieval_eval.question_scores import QuestionScores, RetrieverScores
from eval.retrieval_eval.questions import KINDS
from eval.retrieval_eval.record import (
    ALL_QUESTIONS,
    QuestionSet,
    RetrievalReport,
    RetrieverComparison,
)
from eval.retrieval_eval.row import RetrievalRow
from eval.stats.bootstrap import RESAMPLES, ClusterResamples, round_significant
from kg.base.provenance import package_version

MIN_QUESTIONS_PER_KIND = 30
"""Minimum number of questions of a kind; with fewer, differences by kind are unreliable."""


def build_report(
    manifest: RetrievalManifest, items: Sequence[RetrievalItem], rows: Iterable[RetrievalRow]
) -> RetrievalReport:
    """Evaluates the retrievers of a run and compares each with every baseline.

    Args:
        manifest: the manifest of the run.
        items: the questions that were asked; at least one.
        rows: the rows of the run.
    """
    rows_by_system: dict[str, list[RetrievalRow]] = {name: [] for name in manifest.systems}
    for row in rows:
        rows_by_system[row.system].append(row)
    retrievers = [name for name in manifest.systems if name not in manifest.variants]
    kinds = {item.id: item.kind for item in items}
    plan = manifest.resampling
    scores = QuestionScores(
        list(kinds.values()),
        {
            name: RetrieverScores.from_rows(name, system_rows, kinds)
            for name, system_rows in rows_by_system.items()
        },
        ClusterResamples(len(items), plan.resamples, plan.seed),
        plan.confidence,
    )
    baselines = manifest.measuring.baselines
    comparisons = compare_retrievers(scores, list(_pair_with_baselines(retrievers, baselines)))
    ablation_comparisons = compare_retrievers(
        scores, [(ablation.candidate, ablation.baseline) for ablation in manifest.ablations]
    )
    questions = describe_questions(manifest, items)
    return RetrievalReport(
        version=package_version(),
        signature=_build_signature(manifest),
        corpus=manifest.corpus,
        questions=questions,
        depth=manifest.depth,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        measures=METRIC_NAMES,
        baselines=baselines,
        retrievers={
            name: scores.build_record(name, manifest.retrievers[name]) for name in retrievers
        },
        comparisons=comparisons,
        variants={
            name: scores.build_record(name, manifest.retrievers[name]) for name in manifest.variants
        },
        ablations=manifest.ablations,
        ablation_comparisons=ablation_comparisons,
        tuning=manifest.tuning,
        notes=(
            *_write_run_notes(manifest, rows_by_system),
            *_write_notes(questions, comparisons, plan.resamples),
        ),
    )


def _build_signature(manifest: RetrievalManifest) -> str:
    """Returns what a number of the report depends on, in one line."""
    limit = "" if manifest.limit is None else f"limit:{manifest.limit}|"
    shard = "" if manifest.shard is None else f"shard:{manifest.shard}|"
    repeats = "" if manifest.repeats == 1 else f"repeats:{manifest.repeats}|"
    return (
        f"{HEADLINE_METRIC}|questions:{manifest.questions_sha256[:12]}|split:{manifest.split}|"
        f"{limit}{shard}{repeats}run:{manifest.corpus.run[:12]}|depth:{manifest.depth}|"
        f"boot:{manifest.measuring.resamples}|seed:{manifest.seed}|"
        f"conf:{manifest.measuring.confidence:g}|v:{package_version()}"
    )


def _pair_with_baselines(retrievers: Sequence[str], baselines: Sequence[str]) -> Iterator[Pair]:
    """Yields each retriever with each baseline, and each baseline with those before it."""
    for name in retrievers:
        earlier = baselines[: baselines.index(name)] if name in baselines else baselines
        yield from ((name, baseline) for baseline in earlier)


def describe_questions(manifest: RetrievalManifest, items: Sequence[RetrievalItem]) -> QuestionSet:
    """Describes the questions, with the share of their words that occur in their gold chunks."""
    counts = Counter(item.kind for item in items)
    shares: dict[str, list[float]] = {}
    for item in items:
        if item.overlap is not None:
            shares.setdefault(item.kind, []).append(item.overlap)
    return QuestionSet(
        sha256=manifest.questions_sha256,
        split=manifest.split,
        n=len(items),
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        overlap={
            kind: round_significant(sum(shares[kind]) / len(shares[kind]))
            for kind in KINDS
            if kind in shares
        },
    )


def _write_run_notes(
    manifest: RetrievalManifest, rows_by_system: dict[str, list[RetrievalRow]]
) -> Iterator[str]:
    """Yields what is missing or special in the run."""
    if manifest.status != "complete":
        yield "The run was interrupted: a question without a ranking counts as nothing found."
    for name, rows in rows_by_system.items():
        failed = Counter(row.outcome for row in rows if row.outcome != "OK")
        if failed:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(failed.items()))
            yield (
                f"{name} gave no ranking for some questions ({counts}); they count as nothing "
                "found."
            )
    if manifest.repeats > 1:
        yield (
            f"Each question was asked {manifest.repeats} times; its values are means over these."
        )


def _write_notes(
    questions_record: QuestionSet, comparisons: Sequence[RetrieverComparison], n_resamples: int
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
    if n_resamples < RESAMPLES:
        yield f"Only {n_resamples} resamples: the limits of intervals are imprecise."
