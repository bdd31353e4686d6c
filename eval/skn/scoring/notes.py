"""Writes the notes of a report, which a reader needs before quoting its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.metrics.comparison import Comparison
from eval.skn.scoring.record import Outcomes, PipelineReport
from eval.skn.scoring.sample_counts import MeasurementPlan
from eval.stats.bootstrap import RESAMPLES
from kg.base.plain_text import clean_text

FEW_SAMPLES = 30
"""With fewer samples a test can detect only large differences."""


def list_notes(
    pipelines: Mapping[str, PipelineReport],
    comparisons: Sequence[Comparison],
    categories: Mapping[str, int],
    answerable: int,
    plan: MeasurementPlan,
) -> Iterator[str]:
    """Yields the notes of a report.

    Args:
        pipelines: the reports by pipeline.
        comparisons: comparisons of pairs of pipelines.
        categories: number of samples by category.
        answerable: number of samples that have an answer.
        plan: settings of the measurement.
    """
    total = sum(categories.values())
    if plan.same_judge:
        yield (
            "The same model answered and judged: its verdicts may favour its own answers, and its "
            "errors as a judge are correlated with its errors as an answerer."
        )
    is_tested = any(comparison.p is not None for comparison in comparisons)
    yield from _note_small_samples(categories, total, answerable, is_tested=is_tested)
    for name, report in pipelines.items():
        yield from _note_failures(
            clean_text(name), report.outcomes, is_judged=name not in plan.unjudged
        )
    yield from _note_ceilings(pipelines)
    yield from _note_calibration(pipelines)
    yield from _note_missing_intervals(pipelines)
    yield from _note_text_abstentions(pipelines)
    yield from _note_detectable_effect(comparisons)
    if plan.resamples < RESAMPLES:
        yield f"Only {plan.resamples} resamples: the limits of intervals are imprecise."


def list_published_notes(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    """Yields the notes on the numbers by the published definitions, next to the report."""
    yield (
        "The keys next to this report follow the published definitions: an unreadable judgement "
        "of accuracy counts as wrong, of hallucination as none, of groundedness as 0; abstention "
        "is recognised by 31 substrings; tokens are a quarter of the characters. This report "
        "itself does not follow them."
    )
    for name, report in pipelines.items():
        accuracy = report.metrics["accuracy"]
        if accuracy.value in (0.0, 1.0) and accuracy.low is not None and accuracy.high is not None:
            value = f"{accuracy.value:.0f}"
            yield (
                f"{clean_text(name)}: the published interval of accuracy is [{value}, {value}], "
                f"which claims certainty from {accuracy.n} samples; the Wilson interval is "
                f"[{accuracy.low:.3f}, {accuracy.high:.3f}]."
            )


def _note_small_samples(
    categories: Mapping[str, int], total: int, answerable: int, *, is_tested: bool
) -> Iterator[str]:
    if total < FEW_SAMPLES:
        ending = ", whatever its p-value." if is_tested else "."
        yield f"Only {total} samples: treat every number as a hint{ending}"
    small_categories = [
        clean_text(name) for name, count in categories.items() if count < FEW_SAMPLES
    ]
    if small_categories and len(categories) > 1:
        yield (
            f"Fewer than {FEW_SAMPLES} samples in {', '.join(small_categories)}: treat numbers by "
            "category as hints; none of them is tested."
        )
    unanswerable = total - answerable
    if 0 < unanswerable < FEW_SAMPLES:
        yield f"The abstention metrics are based on only {unanswerable} unanswerable samples."


def _note_failures(name: str, outcomes: Outcomes, *, is_judged: bool) -> Iterator[str]:
    failed = outcomes.invalid + outcomes.error
    if failed:
        # Predictions that were made elsewhere, and foreign systems, name no stage.
        stages = {clean_text(stage): count for stage, count in outcomes.stages.items()}
        n_unnamed = stages.pop("", 0)
        parts = [f"{count} at {stage}" for stage, count in stages.items()]
        if parts and n_unnamed:
            parts.append(f"{n_unnamed} without a stage")
        places = f" ({', '.join(parts)})" if parts else ""
        yield (
            f"{name}: {outcomes.invalid} INVALID and {outcomes.error} ERROR of {outcomes.rows} "
            f"rows{places}. They do not count as abstentions; the bounds show their largest "
            "effect."
        )
    if outcomes.unjudged and is_judged:
        yield (
            f"{name}: {outcomes.unjudged} answers have a missing verdict. The values exclude them; "
            "the bounds include them."
        )


def _note_ceilings(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    for description, extreme in (("every answerable sample right", 1.0), ("none right", 0.0)):
        extremes = [
            (clean_text(name), report.metrics["accuracy"])
            for name, report in pipelines.items()
            # If rows failed, the bounds differ, and the samples are not the reason for the value.
            if report.metrics["accuracy"].worst == report.metrics["accuracy"].best == extreme
        ]
        if not extremes:
            continue
        names = ", ".join(name for name, _ in extremes)
        estimate = extremes[0][1]
        yield (
            f"{names}: {description}. The samples are too {'easy' if extreme else 'hard'} to "
            f"distinguish pipelines; {estimate.n} of them only show that accuracy is within "
            f"[{estimate.low:.3f}, {estimate.high:.3f}]."
        )


def _note_calibration(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    expected: list[str] = []
    significant: list[str] = []
    for name, report in pipelines.items():
        calibration = report.calibration
        if calibration is None or calibration.ece.value is None:
            continue
        chance = calibration.ece_expected
        expected.append(
            f"{clean_text(name)} {chance.mean:.2f} and {chance.high:.2f} (here "
            f"{calibration.ece.value:.2f})"
        )
        if calibration.ece.value > chance.high:
            significant.append(clean_text(name))
    if expected:
        yield (
            "Even a perfectly calibrated system with these confidences has an ECE above 0 by "
            f"chance. Its mean and 95th percentile are: {'; '.join(expected)}. "
            + (
                f"Larger than by chance: {', '.join(significant)}."
                if significant
                else "None is larger than by chance."
            )
        )


def _note_missing_intervals(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    """Yields notes on metrics without a bootstrap interval, grouped by method and pipelines."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    metrics = dict.fromkeys(metric for report in pipelines.values() for metric in report.metrics)
    for metric in metrics:
        for method in ("wilson-edge", "none"):
            names = tuple(
                name
                for name, report in pipelines.items()
                if report.metrics[metric].value is not None
                and report.metrics[metric].method == method
            )
            if names:
                groups.setdefault((method, names), []).append(metric)
    for (method, names), group in groups.items():
        subject = (
            "every pipeline" if len(names) == len(pipelines) else ", ".join(map(clean_text, names))
        )
        yield (
            f"{', '.join(group)} of {subject}: the resamples do not vary, or too many have no "
            "value. "
            + (
                "A bootstrap interval would have zero width, so the Wilson interval over the "
                "samples with a value is given."
                if method == "wilson-edge"
                else "No interval can be computed; this does not mean that the value is certain."
            )
        )


def _note_text_abstentions(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    counts_by_name = {
        clean_text(name): report.outcomes.abstention_read["text"]
        for name, report in pipelines.items()
        if report.outcomes.abstention_read.get("text")
    }
    if counts_by_name:
        counts = ", ".join(f"{count} of {name}" for name, count in counts_by_name.items())
        yield (
            f"Replies without a field for abstention were classified by their wording: "
            f"{counts}. docs/reference/skn.md gives the error rate of this method."
        )


def _note_detectable_effect(comparisons: Sequence[Comparison]) -> Iterator[str]:
    largest_effect = max(
        (
            difference.minimum_detectable_effect
            for difference in comparisons
            if difference.metric == "accuracy" and difference.minimum_detectable_effect is not None
        ),
        default=None,
    )
    if largest_effect is not None:
        yield (
            f"In at least one comparison the minimum detectable effect on accuracy is "
            f"{largest_effect:.3f}: a smaller true difference is missed in more than 20 % of runs."
        )
    tested = {comparison.metric for comparison in comparisons if comparison.p is not None}
    if tested:
        order = ": accuracy is the primary metric, the others are exploratory"
        yield (
            "p-values are adjusted by Holm's method over the pairs of each metric, not over the "
            f"metrics{order if 'accuracy' in tested else ''}."
        )
