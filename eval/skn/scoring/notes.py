"""What a reader must know before quoting a number, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.skn.scoring.record import Difference, Outcomes, PipelineReport
from eval.skn.scoring.resampling import Plan
from eval.stats.intervals import RESAMPLES
from kg.words.plain_text import plain

FEW_SAMPLES = 30
"""Fewer samples tell little apart, whatever the test."""


def notes(
    pipelines: Mapping[str, PipelineReport],
    comparisons: Sequence[Difference],
    categories: Mapping[str, int],
    answerable: int,
    plan: Plan,
) -> Iterator[str]:
    """The notes of a report.

    Args:
        pipelines: what was measured.
        comparisons: what was compared.
        categories: samples by category.
        answerable: samples that have an answer.
        plan: how it was measured.
    """
    total = sum(categories.values())
    if plan.same_judge:
        yield (
            "The model that answered also judged: its verdicts favour its own answers, and its "
            "mistakes as a judge go with its mistakes as an answerer."
        )
    yield from _small(categories, total, answerable)
    for name, one in pipelines.items():
        yield from _failures(plain(name), one.outcomes)
    yield from _ceilings(pipelines)
    yield from _calibration(pipelines)
    yield from _no_spread(pipelines)
    yield from _by_text(pipelines)
    yield from _unfindable(comparisons)
    if plan.resamples < RESAMPLES:
        yield f"Only {plan.resamples} resamples: the ends of intervals are rough."


def published_notes(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    """What to know of numbers by the published definitions, which stand beside the report."""
    yield (
        "The keys beside this report follow the published definitions: an unreadable judgement of "
        "accuracy counts as wrong, of hallucination as none, of groundedness as 0; abstention is "
        "read by 31 substrings; tokens are a quarter of the characters. This report does not."
    )
    for name, one in pipelines.items():
        value = one.metrics["accuracy"]
        if value.value in (0.0, 1.0) and value.low is not None and value.high is not None:
            end = f"{value.value:.0f}"
            yield (
                f"{plain(name)}: the published interval of accuracy is [{end}, {end}], which "
                f"claims certainty from {value.n} samples; Wilson's is "
                f"[{value.low:.3f}, {value.high:.3f}]."
            )


def _small(categories: Mapping[str, int], total: int, answerable: int) -> Iterator[str]:
    if total < FEW_SAMPLES:
        yield f"Only {total} samples: every number here is a hint, whatever its p."
    few = [plain(name) for name, count in categories.items() if count < FEW_SAMPLES]
    if few and len(categories) > 1:
        yield (
            f"Fewer than {FEW_SAMPLES} samples in {', '.join(few)}: numbers by category are hints, "
            "and none is tested."
        )
    unanswerable = total - answerable
    if 0 < unanswerable < FEW_SAMPLES:
        yield f"What is said of abstention rests on {unanswerable} unanswerable samples."


def _failures(name: str, ended: Outcomes) -> Iterator[str]:
    failed = ended.invalid + ended.error
    if failed:
        where = ", ".join(f"{count} at {plain(stage)}" for stage, count in ended.stages.items())
        yield (
            f"{name}: {ended.invalid} INVALID and {ended.error} ERROR of {ended.rows} rows "
            f"({where}). They are not abstentions; the bounds say what they could have changed."
        )
    if ended.unjudged:
        yield (
            f"{name}: {ended.unjudged} answers lack a verdict that is due. They are left out of "
            "the values and are in the bounds."
        )


def _ceilings(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    for words, end in (("every answerable sample right", 1.0), ("none right", 0.0)):
        found = [
            (plain(name), one.metrics["accuracy"])
            for name, one in pipelines.items()
            # Where rows failed, it is not the samples that were too hard.
            if one.metrics["accuracy"].worst == one.metrics["accuracy"].best == end
        ]
        if not found:
            continue
        names = ", ".join(name for name, _ in found)
        value = found[0][1]
        yield (
            f"{names}: {words}. The samples are too {'easy' if end else 'hard'} to tell more; "
            f"{value.n} of them show no more than an accuracy within "
            f"[{value.low:.3f}, {value.high:.3f}]."
        )


def _calibration(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    shown: list[str] = []
    beyond: list[str] = []
    for name, one in pipelines.items():
        found = one.calibration
        if found is None or found.ece.value is None:
            continue
        chance = found.ece_expected
        shown.append(
            f"{plain(name)} {chance.mean:.2f} to {chance.high:.2f} (here {found.ece.value:.2f})"
        )
        if found.ece.value > chance.high:
            beyond.append(plain(name))
    if shown:
        yield (
            "A perfectly calibrated system with these confidences shows an ECE above 0 by chance "
            f"alone, on average to at most in 95 of 100 runs: {'; '.join(shown)}. "
            + (f"Beyond chance: {', '.join(beyond)}." if beyond else "None is beyond chance.")
        )


def _no_spread(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    """Where an interval from the resamples would have no width, metrics of the same ones as one."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    metrics = dict.fromkeys(metric for one in pipelines.values() for metric in one.metrics)
    for metric in metrics:
        for method in ("wilson-edge", "none"):
            names = tuple(
                name
                for name, one in pipelines.items()
                if one.metrics[metric].value is not None and one.metrics[metric].method == method
            )
            if names:
                found.setdefault((method, names), []).append(metric)
    for (method, names), of in found.items():
        whose = "every pipeline" if len(names) == len(pipelines) else ", ".join(map(plain, names))
        yield (
            f"{', '.join(of)} of {whose}: the resamples do not vary, or too many have no value. "
            + (
                "A bootstrap interval would claim certainty; shown is Wilson's, over the samples "
                "that take part."
                if method == "wilson-edge"
                else "There is no interval, which is not certainty."
            )
        )


def _by_text(pipelines: Mapping[str, PipelineReport]) -> Iterator[str]:
    found = {
        plain(name): one.outcomes.abstention_read["text"]
        for name, one in pipelines.items()
        if one.outcomes.abstention_read.get("text")
    }
    if found:
        counts = ", ".join(f"{count} of {name}" for name, count in found.items())
        yield (
            f"Replies without a field that says whether they abstain were read by their words: "
            f"{counts}. docs/metrics.md says how often that reading errs."
        )


def _unfindable(comparisons: Sequence[Difference]) -> Iterator[str]:
    widest = max(
        (
            one.smallest_found
            for one in comparisons
            if one.metric == "accuracy" and one.smallest_found is not None
        ),
        default=None,
    )
    if widest is not None:
        yield (
            f"True differences in accuracy below {widest:.3f} would be missed more than once in "
            "five in at least one comparison."
        )
    if comparisons:
        yield (
            "p is adjusted by Holm over the pairs of each metric, not over the metrics: accuracy "
            "is the one that was asked about, the others are looked at besides."
        )
