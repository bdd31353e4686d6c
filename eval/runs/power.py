"""Plans the number of items of a comparison from the dispersion in runs."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass

from eval.metrics.comparison import Comparison
from eval.metrics.measurement import Measurement
from eval.metrics.runs.pairs import choose_pairs
from eval.stats.paired_tests import mcnemar_minimum_effect, minimum_detectable_effect
from eval.stats.power import compute_cards_needed
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
        for title, error, tested_share in self._iter_standard_errors():
            found = True
            n_planned = n or runs.n_items
            detectable = factor * error * math.sqrt(runs.n_items / n_planned)
            if tested_share:
                n_tested = round(n_planned * tested_share)
                floor = mcnemar_minimum_effect(n_tested, self.alpha, self.power)
                detectable = max(detectable, floor or math.inf)
            yield f"{title}, standard error {error:.4g} on {runs.n_items:,} {runs.noun}s:"
            found_text = f"differences from {detectable:.3g}"
            if math.isinf(detectable):
                found_text = "no difference"
            yield f"  {n_planned:,} {runs.noun}s detect {found_text}"
            if effect is not None:
                needed = math.ceil(runs.n_items * (factor * error / effect) ** 2)
                if tested_share:
                    one_sided = compute_cards_needed(
                        effect, effect, alpha=self.alpha, power=self.power
                    )
                    needed = max(needed, math.ceil(one_sided / tested_share))
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

    def _iter_standard_errors(self) -> Iterator[tuple[str, float, float]]:
        """Yields the standard errors of differences, each with a title.

        The third value is the share of the items that McNemar's test is about; 0 for another test.
        """
        runs = self.measurement.runs
        if len(runs.systems) > 1 and runs.metrics[self.metric].is_compared:
            for pair in self.measurement.compare(choose_pairs(runs), [self.metric]):
                if error := self._find_difference_error(pair):
                    title = f"{clean_text(pair.candidate)} − {clean_text(pair.baseline)}"
                    tested_share = pair.n / runs.n_items if pair.discordant else 0.0
                    yield f"{self.metric}, {title}", error, tested_share
            return
        for name in runs.names:
            error = self._estimate_standard_error(name)
            if error:
                # Two systems on the same items usually agree more than chance, and then have a
                # smaller standard error.
                yield (
                    f"{self.metric}, two systems as variable as {clean_text(name)} and independent",
                    math.sqrt(2) * error,
                    0.0,
                )

    def _find_difference_error(self, pair: Comparison) -> float | None:
        """Returns the standard error of a difference; None if nothing tells it.

        The effect that a comparison states is a fixed multiple of it, unless it is the smallest
        that McNemar's test could detect. Then the error follows from the interval.
        """
        effect = pair.minimum_detectable_effect
        floor = mcnemar_minimum_effect(pair.n) if pair.discordant else None
        if effect and effect > (floor or 0.0) * (1 + 1e-9):
            return effect / (minimum_detectable_effect(1.0) or math.nan)
        if not effect or pair.low is None or pair.high is None:
            return None
        quantile = normal_quantile(0.5 + self.measurement.plan.confidence / 2)
        return (pair.high - pair.low) / (2 * quantile)

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
