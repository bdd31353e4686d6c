"""Says how many cards a question needs: ``epoche power``, or this file as a script."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

import typer

from kg.base.console import run_script, say
from kg.base.options import Confidence

_SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)


class CountedMetric(StrEnum):
    """The metric to be compared, which decides what part of the cards counts."""

    accuracy = "accuracy"
    far_ne = "FAR-NE"
    cvrr = "CVRR"
    la = "LA"

    @property
    def part(self) -> Fraction:
        """Share of a set with equally many E, C and U cards that the metric is about."""
        return {"accuracy": Fraction(1), "FAR-NE": Fraction(2, 3)}.get(self.value, Fraction(1, 3))


def main(
    effect: Annotated[
        float | None, typer.Option(min=0.0001, max=1.0, help="True difference to be found.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="Cards there are: what difference they find.")
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(min=0.0001, max=0.5, help="Know one system's rate to ± this much."),
    ] = None,
    discordant: Annotated[
        float,
        typer.Option(min=0.001, max=1.0, help="Share of cards only one of two systems gets right."),
    ] = 0.2,
    metric: Annotated[
        CountedMetric, typer.Option(help="Metric compared: which part of the cards counts.")
    ] = CountedMetric.accuracy,
    expected: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Rate expected, for --half-width and --n.")
    ] = 0.5,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Two-sided level.")] = 0.05,
    power: Annotated[
        float, typer.Option(min=0.01, max=0.9999, help="Chance of finding the difference.")
    ] = 0.80,
    comparisons: Annotated[
        int, typer.Option(min=1, help="Pairs compared: Holm's first step is alpha over these.")
    ] = 1,
    cluster_size: Annotated[
        float, typer.Option(min=1.0, help="Cards per cluster (subject), on average.")
    ] = 1.0,
    icc: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How alike outcomes in a cluster are, 0 to 1.")
    ] = 0.0,
    confidence: Confidence = 0.95,
) -> None:
    """Says how many cards a comparison needs, or what those you have can show.

    Plans for what `epoche compare` does: both systems on the same cards, exact McNemar. Needs one
    of --effect, --n and --half-width; several may be asked at once.
    """
    from eval.stats.power import design_effect

    if effect is None and n is None and half_width is None:
        raise typer.BadParameter("give --effect, --n or --half-width")
    if effect is not None and effect > discordant:
        raise typer.BadParameter(
            f"a difference of {effect:g} needs at least so large a share of --discordant cards"
        )
    plan = _Plan(metric, alpha / comparisons, power, design_effect(cluster_size, icc), confidence)
    try:
        lines = [
            *(plan.to_find(effect, discordant) if effect is not None else ()),
            *(plan.to_know(half_width, expected) if half_width is not None else ()),
            *(plan.found_by(n, discordant, expected) if n is not None else ()),
        ]
    except ValueError as error:
        raise typer.BadParameter(f"{error}: ask for something larger") from error
    for line in lines:
        say(line)


class _Plan:
    """The answers, line by line."""

    def __init__(
        self, metric: CountedMetric, alpha: float, power: float, inflated: float, confidence: float
    ) -> None:
        self.metric = metric
        self.alpha = alpha
        self.power = power
        self.inflated = inflated
        self.confidence = confidence

    def to_find(self, effect: float, discordant: float) -> Iterator[str]:
        """The cards on which an effect is found."""
        from eval.stats.power import cards_needed

        yield (
            f"To find a true difference of {effect:g} in {self.metric} with power {self.power:g} "
            f"(exact McNemar, two-sided, alpha {self.alpha:.4g}{self._clustered()}):"
        )
        yield f"  {'only one right':>14}  {self._counted():>14}  {'cards in all':>12}"
        shares = sorted({effect, *(share for share in _SHARES if share > effect), discordant})
        chosen = 0
        for share in shares:
            needed = cards_needed(effect, share, alpha=self.alpha, power=self.power)
            counted = math.ceil(needed * self.inflated)
            total = self._total(counted)
            mark = ""
            if share == discordant:
                chosen, mark = total, "  <- --discordant"
            elif share == effect:
                mark = "  at the very least"
            yield f"  {share:>14.3g}  {counted:>14,}  {total:>12,}{mark}"
        yield f"Make them: {_command(chosen)}"

    def to_know(self, width: float, expected: float) -> Iterator[str]:
        """The cards on which a rate is known well enough."""
        from eval.stats.power import cards_for_half_width

        alone = cards_for_half_width(width, expected, self.confidence)
        counted = math.ceil(alone * self.inflated)
        yield (
            f"To know {self.metric} near {expected:g} to ± {width:g} (Wilson, "
            f"{self.confidence:.0%}{self._clustered()}): {counted:,} {self._counted()}, "
            f"{self._total(counted):,} in all."
        )
        yield f"Make them: {_command(self._total(counted))}"

    def found_by(self, n: int, discordant: float, expected: float) -> Iterator[str]:
        """What can be told from so many cards."""
        from eval.stats.power import effect_found, half_width

        counted = math.floor(n * self.metric.part)
        independent = math.floor(counted / self.inflated)
        part = "" if counted == n else f", {counted:,} of them {self._counted()}"
        yield (
            f"With {n:,} cards{part}{self._clustered()} "
            f"(exact McNemar, alpha {self.alpha:.4g}, power {self.power:g}):"
        )
        if not independent:
            yield "  nothing can be found."
            return
        for share in sorted({*_SHARES, discordant}):
            found = effect_found(independent, share, alpha=self.alpha, power=self.power)
            smallest = (
                "no difference is found" if found is None else f"differences from {found:.3f}"
            )
            mark = "  <- --discordant" if share == discordant else ""
            yield f"  only one right on {share:<5.3g} {smallest}{mark}"
        width = half_width(independent, expected, self.confidence)
        yield f"  {self.metric} near {expected:g} is known to ± {width:.3f} (Wilson)."

    def _counted(self) -> str:
        labels = {"accuracy": "cards", "FAR-NE": "C and U cards", "CVRR": "C cards"}
        return labels.get(self.metric.value, "E cards")

    def _clustered(self) -> str:
        return "" if self.inflated == 1 else f", design effect {self.inflated:.3g}"

    def _total(self, counted: int) -> int:
        """Cards in all, equally many of each label."""
        return 3 * math.ceil(counted / self.metric.part / 3)


def _command(total: int) -> str:
    return f"epoche cards --num-per-type {total // 3}"


if __name__ == "__main__":
    run_script(main)
