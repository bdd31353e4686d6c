"""Checks conditions on metrics and regressions against a baseline, for ``epoche gate``.

A condition is written ``[SYSTEM:]METRIC[.END]OP NUMBER``: ``FAR-NE<=0.05``, ``rag:LA>=0.9``,
``FAR-NE.high<=0.08``. Without ``.END``, the metric's value is compared. ``low`` and ``high`` are
the ends of its interval; ``worst`` and ``best`` are its values if all unusable replies are counted
against or for the system. A condition fails if the number is undefined.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.metrics.abstention import SYSTEM_METRICS
from eval.metrics.optional_metrics import (
    CONFIDENCE_METRICS,
    SELF_CONSISTENCY,
    collect_optional_metrics,
)
from eval.metrics.record import MetricValue, PairedComparison, SystemReport
from eval.stats.paired_tests import ALPHA, adjust_holm
from kg.base.errors import SettingError, SystemNotFoundError
from kg.words.plain_text import clean_text

SYNTAX = "[SYSTEM:]METRIC[.low|.high|.worst|.best] <=|>=|<|> NUMBER"

GATED_METRICS = (*SYSTEM_METRICS, *CONFIDENCE_METRICS, SELF_CONSISTENCY)
"""The metrics that a condition may be about."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
# Matches a condition. The system is everything before the last colon, because names of systems may
# contain colons (``raw:openai/gpt-4o``) and names of metrics do not.
_CONDITION = re.compile(
    r"(?:(?P<system>.+):)?\s*(?P<metric>[A-Za-z][A-Za-z0-9_-]*)(?:\.(?P<end>[a-z]+))?"
    r"\s*(?P<operator><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*",
    re.DOTALL,
)
End = Literal["", "low", "high", "worst", "best"]
_ENDS: tuple[End, ...] = ("", "low", "high", "worst", "best")


@dataclass(frozen=True)
class Condition:
    """A condition that the user wrote.

    Attributes:
        text: the whole condition.
        selector: the systems that the condition applies to; empty for all.
        metric: one of ``GATED_METRICS``.
        end: the number to compare: an end of the interval, a bound, or empty for the value.
        operator: the comparison with ``limit``.
        limit: the limit, on the metric's own scale.
    """

    text: str
    selector: str
    metric: str
    end: End
    operator: str
    limit: float

    def is_met_by(self, number: float) -> bool:
        """Returns whether ``number`` meets the condition."""
        return _OPERATORS[self.operator](number, self.limit)


@dataclass(frozen=True)
class Check:
    """The outcome of one check.

    Attributes:
        system: name of the system.
        name: the condition, or the metric that must not have become worse.
        passed: whether the check passed.
        evidence: the numbers that decided the check, in one line.
        regression: True for a comparison with a baseline, False for a condition.
    """

    system: str
    name: str
    passed: bool
    evidence: str
    regression: bool = False


def parse_condition(text: str) -> Condition:
    """Parses a condition.

    Raises:
        SettingError: the syntax is wrong, or the metric or end does not exist.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise SettingError(
            f"not a condition: {text!r}", where="--metric", hint=f"Write it as {SYNTAX}."
        )
    name, end = match["metric"], match["end"] or ""
    metric = next(
        (candidate for candidate in GATED_METRICS if candidate.casefold() == name.casefold()), None
    )
    if metric is None:
        raise SettingError(
            f"no metric {name!r}", where="--metric", hint=f"One of {', '.join(GATED_METRICS)}."
        )
    if end not in _ENDS:
        raise SettingError(
            f"unknown suffix {'.' + end!r} of a metric",
            where=f"--metric {text!r}",
            hint=f"One of {', '.join(_ENDS[1:])}.",
        )
    limit = float(match["number"])
    if not 0 <= limit <= 1:
        raise SettingError(
            f"limit {match['number']} is out of range: metrics lie between 0 and 1",
            where=f"--metric {text!r}",
            hint="Write five per cent as 0.05.",
        )
    return Condition(
        text=text.strip(),
        selector=(match["system"] or "").strip(),
        metric=metric,
        end=end,
        operator=match["operator"],
        limit=limit,
    )


def collect_gated_values(system: SystemReport) -> dict[str, MetricValue]:
    """Returns a system's metrics by name; metrics that were not computed have a null value."""
    undefined_values = dict.fromkeys(GATED_METRICS, MetricValue(value=None))
    return undefined_values | system.metrics | collect_optional_metrics(system)


def select_systems(
    selector: str, all_systems: Sequence[str], systems_under_test: Sequence[str]
) -> list[str]:
    """Returns the systems that a condition is about.

    Args:
        selector: a name, a name without its model (``raw`` selects ``raw:openai/gpt-4o`` and all
            its other models), or a pattern with ``*`` and ``?``. Empty for all systems except
            controls.
        all_systems: all systems with results, including controls.
        systems_under_test: all systems except controls.

    Raises:
        SystemNotFoundError: the selector matches no system.
    """
    if not selector:
        return list(systems_under_test)
    # An exact name takes precedence over a prefix, and a prefix over a pattern.
    pattern = re.escape(selector).replace(r"\*", ".*").replace(r"\?", ".")
    for is_match in (
        lambda name: name == selector,
        lambda name: name.startswith(f"{selector}:"),
        lambda name: re.fullmatch(pattern, name, re.DOTALL) is not None,
    ):
        if matching_names := [name for name in all_systems if is_match(name)]:
            return matching_names
    raise SystemNotFoundError(
        f"no system matches {selector!r}",
        where="--metric",
        hint=f"One of {', '.join(all_systems)}.",
    )


def check_conditions(
    conditions: Sequence[Condition],
    values: Mapping[str, Mapping[str, MetricValue]],
    systems_under_test: Sequence[str],
) -> Iterator[Check]:
    """Checks every condition on every system it is about.

    Args:
        conditions: the conditions.
        values: system → metric → value, including controls that were run.
        systems_under_test: the systems that a condition without selector is about.

    Raises:
        SystemNotFoundError: a selector matches no system.
    """
    for condition in conditions:
        for system in select_systems(condition.selector, list(values), systems_under_test):
            yield _check_condition(condition, system, values[system][condition.metric])


def _check_condition(condition: Condition, system: str, value: MetricValue) -> Check:
    number = getattr(value, condition.end or "value")
    name = f"{condition.metric}{condition.end and '.'}{condition.end}"
    condition_text = f"{name} {condition.operator} {condition.limit:g}"
    if number is None:
        reason = _explain_null(condition.metric)
        if value.value is not None:
            missing_part = "interval" if condition.end in ("low", "high") else "bounds"
            reason = f"{condition.metric} has no {missing_part}"
        return Check(system, condition_text, False, f"{name} is undefined: {reason}")
    evidence, details = _format_exact(number, condition.limit), []
    if condition.end and value.value is not None:
        details.append(f"value {value.value:.3f}")
    if value.low is not None and value.high is not None:
        details.append(f"interval {value.low:.3f} to {value.high:.3f}")
    if value.worst is not None and value.best is not None and value.worst != value.best:
        low, high = sorted((value.worst, value.best))
        details.append(f"bounds {low:.3f} to {high:.3f}")
    if value.denominator:
        details.append(f"of {value.denominator:,g}")
    if details:
        evidence += f" ({', '.join(details)})"
    return Check(system, condition_text, condition.is_met_by(number), evidence)


def _explain_null(metric: str) -> str:
    """Explains why a metric has no value."""
    if metric in CONFIDENCE_METRICS:
        return "the system gives no confidence"
    if metric == SELF_CONSISTENCY:
        return "the run has no repeats"
    reasons = {
        "AP": "the system never abstained",
        "CVRR": "there is no usable reply to a contradictory card",
        "answer_accuracy": "the system never answered",
    }
    return f"its denominator is 0, {reasons.get(metric, 'there is no card it is about')}"


def _format_exact(number: float, limit: float) -> str:
    """Formats a number with three decimals, or as many as distinguish it from the limit."""
    for digits in range(3, 17):
        text = f"{number:.{digits}f}"
        if number == limit or float(text) != limit:
            return text
    return repr(number)


def check_regressions(
    pairs: Sequence[PairedComparison],
    higher_is_better: Mapping[str, bool | None],
    display_names: Mapping[str, str],
    *,
    max_drop: float | None = None,
    only_significant: bool = False,
) -> Iterator[Check]:
    """Checks whether systems became worse than their baselines.

    Without ``max_drop``, a check fails if the metric is significantly worse. Holm's correction
    covers all comparisons of the gate, so the whole gate raises a false alarm in at most one of
    twenty runs. With ``max_drop`` alone there is no such guarantee.

    Args:
        pairs: comparisons of a system (first) with its baseline (second), on the same cards.
        higher_is_better: metric → whether higher is better; ``None`` for metrics without a better
            direction, which are not checked.
        display_names: name of a system in ``pairs`` → name in the checks.
        max_drop: by how much a metric may be worse, on its own scale; ``None`` for no limit.
        only_significant: with ``max_drop``, fail only if the metric is also significantly worse.
    """
    comparable_pairs = [pair for pair in pairs if higher_is_better[pair.metric] is not None]
    for pair, adjusted_p in zip(
        comparable_pairs, adjust_holm([pair.p for pair in comparable_pairs]), strict=True
    ):
        system, name = display_names[pair.a], f"{pair.metric} no worse than the baseline's"
        if max_drop is not None:
            name += f" by more than {max_drop:g}"
            name += " (significantly)" if only_significant else ""
        if pair.difference is None or pair.low is None or pair.high is None:
            side_without_value = system if pair.value_a is None else "the baseline"
            # The check fails if only the system has no value. If the baseline has none, there is
            # nothing that could have become worse.
            lost_value = pair.value_a is None and pair.value_b is not None
            yield Check(
                system,
                name,
                not lost_value,
                f"{clean_text(side_without_value)} has no value",
                regression=True,
            )
            continue
        drop = -pair.difference if higher_is_better[pair.metric] else pair.difference
        excludes_zero = pair.high < 0 if higher_is_better[pair.metric] else pair.low > 0
        is_significant = (
            adjusted_p is not None and adjusted_p < ALPHA and excludes_zero and drop > 0
        )
        # 1e-9 absorbs rounding errors, so that a drop of exactly the tolerance passes.
        exceeds_max_drop = max_drop is not None and drop > max_drop + 1e-9
        has_failed = is_significant if max_drop is None else exceeds_max_drop
        if only_significant:
            has_failed = has_failed and is_significant
        yield Check(
            system,
            name,
            not has_failed,
            _describe_difference(pair, adjusted_p, is_significant),
            regression=True,
        )


def _describe_difference(
    comparison: PairedComparison, p_value: float | None, is_significant: bool
) -> str:
    text = (
        f"{comparison.value_a:.3f} against {comparison.value_b:.3f}, difference "
        f"{comparison.difference:+.3f} [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    )
    if p_value is not None:
        text += f", Holm-adjusted p {p_value:.3g}"
    if is_significant:
        return f"{text}: worse"
    text += f" on {comparison.n_cards:,} cards: not significantly worse"
    if comparison.minimum_detectable_effect is not None:
        text += (
            f" (a difference of {comparison.minimum_detectable_effect:.3f} would be detected with "
            "80 % power)"
        )
    return text
