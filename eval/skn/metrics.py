"""Every metric of a run of SKN against JSON, under the seed's names and with ours beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eval.skn.pipelines import DEFAULT_PIPELINES, PIPELINES
from eval.skn.published.efficiency import efficiency
from eval.skn.published.judging_rows import judge_rows
from eval.skn.published.published_metrics import bootstrap_ci, published_keys
from eval.skn.published.seed_keys import seed_keys
from eval.skn.published.wide_reading import observed_wide, require_ids
from eval.skn.scoring.differences import compare
from eval.skn.scoring.measuring import pipeline_report
from eval.skn.scoring.notes import notes, published_notes
from eval.skn.scoring.observing import Observed, observed
from eval.skn.scoring.pairs import pairs_of
from eval.skn.scoring.record import Mode, SknReport
from eval.skn.scoring.resampling import Plan, Samples
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import sha256_bytes
from kg.base.provenance import package_version

if TYPE_CHECKING:
    from eval.skn.running.row import SknRow

__all__ = [
    "Plan",
    "bootstrap_ci",
    "calculate_metrics",
    "efficiency",
    "measure",
    "measure_observed",
]

MISSING = "missing"
"""Stage of a row that is not there."""


def measure(
    rows: Iterable[SknRow],
    plan: Plan | None = None,
    *,
    agreement: Any = None,
    mode: Mode = "corrected",
) -> SknReport:
    """Measures a run and holds its pipelines against each other.

    Args:
        rows: of any number of pipelines, in any order. A sample that a pipeline has no row of
            counts as a failure of it: the denominator is always every sample.
        plan: how to resample.
        agreement: of the judges, for the record.
        mode: whose definitions the keys beside the report follow, for the record.

    Raises:
        RecordError: no rows, or two rows that contradict each other about a sample.
        DuplicateIdError: two rows of one sample, pipeline and repeat.
    """
    return measure_observed([observed(row) for row in rows], plan, agreement=agreement, mode=mode)


def measure_observed(
    rows: Sequence[Observed],
    plan: Plan | None = None,
    *,
    agreement: Any = None,
    mode: Mode = "corrected",
) -> SknReport:
    """The same of what rows say, wherever it comes from.

    Raises:
        RecordError, DuplicateIdError: as ``measure``.
    """
    plan = plan or Plan()
    whole = _whole(rows)
    samples = Samples(whole, plan)
    pipelines = {name: pipeline_report(samples, name) for name in whole}
    pairs = pairs_of(list(whole))
    comparisons = compare(samples, pairs)
    first = {row.sample: row for row in next(iter(whole.values()))}
    categories = dict(sorted(Counter(row.category for row in first.values()).items()))
    answerable = sum(row.answerable for row in first.values())
    known = [[row.sample, row.category, row.answerable] for _, row in sorted(first.items())]
    digest = sha256_bytes(msgspec.json.encode(known))[:12]
    version = package_version()
    return SknReport(
        version=version,
        signature=(
            f"accuracy|samples:{digest}|n:{len(first)}|repeats:{samples.repeats}|"
            f"pipelines:{len(whole)}|boot:{plan.resamples}|seed:{plan.seed}|"
            f"conf:{plan.confidence:g}|judge:{plan.judge}|v:{version}"
        ),
        mode=mode,
        samples=digest,
        n_samples=len(first),
        n_answerable=answerable,
        repeats=samples.repeats,
        categories=categories,
        pipelines=pipelines,
        pairs=pairs,
        comparisons=comparisons,
        judges=agreement,
        same_judge=plan.same_judge,
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        notes=(
            *(published_notes(pipelines) if mode == "published" else ()),
            *notes(pipelines, comparisons, categories, answerable, plan),
        ),
    )


def calculate_metrics(
    results: list[dict[str, Any]],
    pipelines: Sequence[str] | None = None,
    model: str | None = None,
    *,
    mode: Mode = "corrected",
    plan: Plan | None = None,
) -> dict[str, Any]:
    """The published function, under its name and with its keys.

    Args:
        results: one object a sample, with ``{pipeline}_answer`` and ``{pipeline}_confidence`` (see
            ``detailed_results.json``). Answers without verdicts are judged, and the verdicts
            written into the rows, as the published function does.
        pipelines: names; null means ``json`` and ``skn``.
        model: ``provider/model`` of the judge, asked only where a verdict lacks; null means
            ``EPOCHE_JUDGE_MODEL``.
        mode: ``published`` reckons exactly as the published code does, faults and rounding
            included; ``corrected`` as ``measure`` does, where null is what cannot be had.
        plan: how to resample, in ``corrected``.

    Returns:
        Pipeline → key → value.

    Raises:
        RecordError, DuplicateIdError: as ``measure``.
        EpocheError: an answer lacks a verdict and no judge can be had.
    """
    names = list(pipelines or DEFAULT_PIPELINES)
    if mode == "corrected":
        require_ids(results)
    judge_rows(results, names, model, mode)
    if mode == "published":
        return {name: published_keys(results, name) for name in names}
    whole = _whole(list(observed_wide(results, names)))
    samples = Samples(whole, plan or Plan())
    return {name: seed_keys(pipeline_report(samples, name)) for name in names}


def _whole(rows: Sequence[Observed]) -> dict[str, list[Observed]]:
    """The rows by pipeline, those that are not there put in as failures; in a fixed order."""
    if not rows:
        raise RecordError("no rows to measure", hint="Run the benchmark first.")
    about: dict[str, Observed] = {}
    found: dict[tuple[str, str, int], Observed] = {}
    for row in rows:
        same = about.setdefault(row.sample, row)
        if (same.category, same.answerable) != (row.category, row.answerable):
            raise RecordError(
                f"two rows of sample {row.sample!r} differ in category or answerability",
                hint="Measure the rows of one run together.",
            )
        key = (row.pipeline, row.sample, row.repeat)
        if key in found:
            raise DuplicateIdError(
                f"two rows of sample {row.sample!r} on {row.pipeline!r}, repeat {row.repeat}",
                hint="Measure each run by itself.",
            )
        found[key] = row
    order = {name: place for place, name in enumerate(PIPELINES)}
    names = sorted({row.pipeline for row in rows}, key=lambda n: (order.get(n, len(order)), n))
    repeats = 1 + max(row.repeat for row in rows)
    return {
        name: [
            found.get((name, sample, repeat)) or _absent(about[sample], name, repeat)
            for sample in sorted(about)
            for repeat in range(repeats)
        ]
        for name in names
    }


def _absent(sample: Observed, pipeline: str, repeat: int) -> Observed:
    return Observed(
        sample=sample.sample,
        category=sample.category,
        answerable=sample.answerable,
        pipeline=pipeline,
        repeat=repeat,
        outcome="ERROR",
        stage=MISSING,
        to_judge=False,
    )
