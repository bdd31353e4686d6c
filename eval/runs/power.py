"""Plans the number of items of a comparison from the dispersion in runs."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass

from eval.metrics.measurement import Measurement
from eval.metrics.runs.pairs import choose_pairs
from eval.stats.paired_tests import minimum_detectable_effect
from kg.base.errors import RecordError, SettingError
from kg.base.plain_text import clean_text
from kg.base.proportions import normal_quantile


@dataclass(frozen=True, kw_only=True)
class DispersionPlan:
    """Plans from a standard error that was observed, and that shrinks with the square root of n.

    Attributes:
        measurement: the runs.
        metric: name of the metric.
        alpha: two-sided level of each test.
        power: probability of detecting the difference.
    """

    measurement: Measurement
    metric: str
    alpha: float
    power: float

    def __post_init__(self) -> None:
        metrics = self.measurement.runs.metrics
        if self.metric not in metrics:
            similar = difflib.get_close_matches(self.metric, metrics, n=3)
            suggestion = f"Similar: {', '.join(similar)}. " if similar else ""
            raise SettingError(
                f"no metric {self.metric!r}",
                where="--metric",
                hint=f"{suggestion}One of {', '.join(metrics)}.",
            )

    def render(
        self, effect: float | None, n: int | None, half_width: float | None
    ) -> Iterator[str]:
        """Yields the plan, line by line.

        Args:
            effect: true difference to be detected; ``None`` for none.
            n: number of items; by default that of the runs.
            half_width: half-width of the interval of one system; ``None`` for none.

        Raises:
            RecordError: the runs do not tell how much the metric varies.
        """
        runs = self.measurement.runs
        factor = normal_quantile(1 - self.alpha / 2) + normal_quantile(self.power)
        found = False
        for title, error in self._iter_standard_errors():
            found = True
            n_planned = n or runs.n_items
            detectable = factor * error * math.sqrt(runs.n_items / n_planned)
            yield f"{title}, standard error {error:.4g} on {runs.n_items:,} {runs.noun}s:"
            yield f"  {n_planned:,} {runs.noun}s detect differences from {detectable:.3g}"
            if effect is not None:
                needed = math.ceil(runs.n_items * (factor * error / effect) ** 2)
                yield f"  a difference of {effect:g} needs {needed:,} {runs.noun}s"
        if not found:
            raise RecordError(
                f"these runs do not tell how much {self.metric} varies",
                where=", ".join(runs.names),
                hint="Give a run with more items, or another --metric.",
            )
        if half_width is not None:
            yield from self._render_half_width(half_width)
        yield f"(alpha {self.alpha:.4g}, power {self.power:g}, normal approximation)"

    def _iter_standard_errors(self) -> Iterator[tuple[str, float]]:
        """Yields the standard errors of differences, each with a title."""
        runs = self.measurement.runs
        if len(runs.systems) > 1 and runs.metrics[self.metric].is_compared:
            # The effect that a comparison states is a fixed multiple of its standard error.
            unit = minimum_detectable_effect(1.0) or math.nan
            for pair in self.measurement.compare(choose_pairs(runs), [self.metric]):
                if pair.minimum_detectable_effect:
                    title = f"{clean_text(pair.candidate)} − {clean_text(pair.baseline)}"
                    yield f"{self.metric}, {title}", pair.minimum_detectable_effect / unit
            return
        for name in runs.names:
            error = self._estimate_standard_error(name)
            if error:
                # Two systems on the same items usually agree more than chance, and then have a
                # smaller standard error.
                yield (
                    f"{self.metric}, two systems as variable as {clean_text(name)} and independent",
                    math.sqrt(2) * error,
                )

    def _estimate_standard_error(self, name: str) -> float | None:
        """Returns the standard error of a system's metric; None if nothing tells it.

        For a metric that is not resampled, such as a proportion, it follows from the interval.
        """
        estimate = self.measurement.estimates(name)[self.metric]
        if estimate.std is not None or estimate.low is None or estimate.high is None:
            return estimate.std
        quantile = normal_quantile(0.5 + self.measurement.plan.confidence / 2)
        return (estimate.high - estimate.low) / (2 * quantile)

    def _render_half_width(self, half_width: float) -> Iterator[str]:
        runs, confidence = self.measurement.runs, self.measurement.plan.confidence
        quantile = normal_quantile(0.5 + confidence / 2)
        for name in runs.names:
            error = self._estimate_standard_error(name)
            if error:
                needed = math.ceil(runs.n_items * (quantile * error / half_width) ** 2)
                yield (
                    f"{self.metric} of {clean_text(name)} to ± {half_width:g} ({confidence:.0%}): "
                    f"{needed:,} {runs.noun}s"
                )
