"""Computes how many items a comparison needs: ``epoche power``, or this file as a script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script
from kg.base.options import AllowChanged, Confidence
from kg.base.plain_text import to_one_line

_DISCORDANT_SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of cards that only one of two systems gets right, one per line of the output."""


class CountedMetric(StrEnum):
    """The metric to be compared; it decides which cards count."""

    accuracy = "accuracy"
    far_ne = "FAR-NE"
    cvrr = "CVRR"
    la = "LA"

    @property
    def card_share(self) -> Fraction:
        """Share of the cards that the metric counts, given equally many E, C and U cards."""
        return {"accuracy": Fraction(1), "FAR-NE": Fraction(2, 3)}.get(self.value, Fraction(1, 3))


def main(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Run folders of one benchmark, or results of cards (files or folders), whose "
            "dispersion is used. Without: plan for cards.",
        ),
    ] = None,
    effect: Annotated[
        float | None, typer.Option(min=0.0001, max=1.0, help="True difference to be detected.")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, help="Available cards: which difference can they detect?"),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(min=0.0001, max=0.5, help="Estimate one system's rate to ± this much."),
    ] = None,
    discordant: Annotated[
        float,
        typer.Option(min=0.001, max=1.0, help="Share of cards only one of two systems gets right."),
    ] = 0.2,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to compare. Without runs: accuracy, FAR-NE, CVRR or LA; it decides "
            "which cards count. With runs: any of their metrics.",
            show_default="accuracy, or the first headline metric of the benchmark",
        ),
    ] = None,
    expected: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Expected rate, for --half-width and --n.")
    ] = 0.5,
    alpha: Annotated[
        float, typer.Option(min=0.0001, max=0.5, help="Two-sided significance level.")
    ] = 0.05,
    power: Annotated[
        float, typer.Option(min=0.01, max=0.9999, help="Probability of detecting the difference.")
    ] = 0.80,
    comparisons: Annotated[
        int,
        typer.Option(min=1, help="Number of comparisons; Holm's first step divides alpha by it."),
    ] = 1,
    cluster_size: Annotated[
        float, typer.Option(min=1.0, help="Cards per cluster (subject), on average.")
    ] = 1.0,
    icc: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Intra-cluster correlation of outcomes, 0 to 1.")
    ] = 0.0,
    confidence: Confidence = 0.95,
    allow_changed: AllowChanged = False,
) -> None:
    """Computes how many cards or items a comparison needs, or what difference given ones detect.

    Without runs, the plan is for the test of `epoche compare` on cards, which is the exact McNemar
    test with the same cards for both systems; give at least one of --effect, --n and --half-width.
    With runs, it uses the standard errors of their differences; with one system, that of its value.
    """
    from eval.stats.power import design_effect

    if runs:
        defaults = {"discordant": 0.2, "expected": 0.5, "cluster_size": 1.0, "icc": 0.0}
        for name, value in zip(defaults, (discordant, expected, cluster_size, icc), strict=True):
            if value != defaults[name]:
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{option} is only for plans without runs")
        _plan_for_runs(
            runs,
            metric,
            effect,
            n,
            half_width,
            alpha / comparisons,
            power,
            confidence,
            allow_changed=allow_changed,
        )
        return
    if effect is None and n is None and half_width is None:
        raise typer.BadParameter("give --effect, --n or --half-width")
    if effect is not None and effect > discordant:
        raise typer.BadParameter(
            f"--effect {effect:g} is larger than --discordant {discordant:g}; two systems cannot "
            "differ by more than the share of cards that only one of them gets right"
        )
    if metric is not None and metric not in list(CountedMetric):
        raise typer.BadParameter(
            f"no metric {metric!r} of cards; known: {', '.join(CountedMetric)}"
        )
    counted_metric = CountedMetric(metric or CountedMetric.accuracy)
    plan = _PowerPlan(
        counted_metric, alpha / comparisons, power, design_effect(cluster_size, icc), confidence
    )
    try:
        lines = [
            *(plan.render_effect_plan(effect, discordant) if effect is not None else ()),
            *(plan.render_half_width_plan(half_width, expected) if half_width is not None else ()),
            *(plan.render_detectable_effects(n, discordant, expected) if n is not None else ()),
        ]
    except ValueError as error:
        raise typer.BadParameter(f"{error}: give a larger --effect or --half-width") from error
    for line in lines:
        print_text(line)


def _plan_for_runs(
    paths: Sequence[Path],
    metric: str | None,
    effect: float | None,
    n: int | None,
    half_width: float | None,
    alpha: float,
    power: float,
    confidence: float,
    *,
    allow_changed: bool,
) -> None:
    """Prints the plan that follows from the dispersion in run folders or results of cards.

    Raises:
        EpocheError: a path is neither, or the runs do not tell how much the metric varies.
    """
    from eval.abstention.run_files import find_result_files
    from eval.commands.measurement import measure_paths
    from eval.metrics.measurement import ResamplingPlan
    from eval.runs.measurement import select_run_folders
    from eval.runs.power import DispersionPlan

    folders = select_run_folders(paths, where="epoche power")
    measurement = measure_paths(
        folders or find_result_files(paths),
        ResamplingPlan(confidence=confidence),
        allow_changed=allow_changed,
    )
    for warning in measurement.runs.warnings:
        print_text(to_one_line(f"WARNING: {warning}"))
    for note in measurement.runs.notes:
        print_text(to_one_line(f"note: {note}"))
    plan = DispersionPlan(
        measurement=measurement,
        metric=metric or (measurement.runs.headline[0] if folders else CountedMetric.accuracy),
        alpha=alpha,
        power=power,
    )
    for line in plan.render(effect, n, half_width):
        print_text(line)


class _PowerPlan:
    """Computes the plans and renders them, line by line."""

    def __init__(
        self,
        metric: CountedMetric,
        alpha: float,
        power: float,
        design_effect: float,
        confidence: float,
    ) -> None:
        self.metric = metric
        self.alpha = alpha
        self.power = power
        self.design_effect = design_effect
        self.confidence = confidence

    def render_effect_plan(self, effect: float, discordant: float) -> Iterator[str]:
        """Yields the numbers of cards that detect an effect, by share of discordant cards."""
        from eval.stats.power import compute_cards_needed

        yield (
            f"To detect a true difference of {effect:g} in {self.metric} with power {self.power:g} "
            f"(exact McNemar, two-sided, alpha {self.alpha:.4g}{self._describe_design_effect()}):"
        )
        yield f"  {'only one right':>14}  {self._name_counted_cards():>14}  {'cards in all':>12}"
        larger_shares = (share for share in _DISCORDANT_SHARES if share > effect)
        shares = sorted({effect, *larger_shares, discordant})
        n_suggested = 0
        for share in shares:
            n_independent = compute_cards_needed(effect, share, alpha=self.alpha, power=self.power)
            n_counted = math.ceil(n_independent * self.design_effect)
            n_total = self._count_all_cards(n_counted)
            remark = ""
            if share == discordant:
                n_suggested, remark = n_total, "  <- --discordant"
            elif share == effect:
                remark = "  <- smallest possible"
            yield f"  {share:>14.3g}  {n_counted:>14,}  {n_total:>12,}{remark}"
        yield f"Make them: {_format_cards_command(n_suggested)}"

    def render_half_width_plan(self, width: float, expected: float) -> Iterator[str]:
        """Yields the number of cards that estimates a rate to a given half-width."""
        from eval.stats.power import compute_cards_for_half_width

        n_independent = compute_cards_for_half_width(width, expected, self.confidence)
        n_counted = math.ceil(n_independent * self.design_effect)
        yield (
            f"To estimate {self.metric} near {expected:g} to ± {width:g} (Wilson, "
            f"{self.confidence:.0%}{self._describe_design_effect()}): {n_counted:,} "
            f"{self._name_counted_cards()}, {self._count_all_cards(n_counted):,} in all."
        )
        yield f"Make them: {_format_cards_command(self._count_all_cards(n_counted))}"

    def render_detectable_effects(
        self, n: int, discordant: float, expected: float
    ) -> Iterator[str]:
        """Yields the minimum detectable effect and the interval width for n cards."""
        from eval.stats.power import compute_detectable_effect, wilson_half_width

        n_counted = math.floor(n * self.metric.card_share)
        n_independent = math.floor(n_counted / self.design_effect)
        part = "" if n_counted == n else f", {n_counted:,} of them {self._name_counted_cards()}"
        yield (
            f"With {n:,} cards{part}{self._describe_design_effect()} "
            f"(exact McNemar, alpha {self.alpha:.4g}, power {self.power:g}):"
        )
        if not n_independent:
            yield "  no difference can be detected."
            return
        for share in sorted({*_DISCORDANT_SHARES, discordant}):
            detectable = compute_detectable_effect(
                n_independent, share, alpha=self.alpha, power=self.power
            )
            result = (
                "detects no difference"
                if detectable is None
                else f"detects differences from {detectable:.3f}"
            )
            remark = "  <- --discordant" if share == discordant else ""
            yield f"  only one right on {share:<5.3g} of the cards: {result}{remark}"
        width = wilson_half_width(n_independent, expected, self.confidence)
        yield f"  {self.metric} near {expected:g} is estimated to ± {width:.3f} (Wilson)."

    def _name_counted_cards(self) -> str:
        labels = {"accuracy": "cards", "FAR-NE": "C and U cards", "CVRR": "C cards"}
        return labels.get(self.metric.value, "E cards")

    def _describe_design_effect(self) -> str:
        return "" if self.design_effect == 1 else f", design effect {self.design_effect:.3g}"

    def _count_all_cards(self, counted: int) -> int:
        """Returns the total number of cards, with equally many of each label."""
        return 3 * math.ceil(counted / self.metric.card_share / 3)


def _format_cards_command(total: int) -> str:
    return f"epoche cards --num-per-type {total // 3}"


if __name__ == "__main__":
    run_script(main)
