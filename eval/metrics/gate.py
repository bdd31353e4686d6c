"""Checks conditions on metrics and regressions against a baseline, for ``epoche gate``.

A condition is written ``[SYSTEM:]METRIC[.END]OP NUMBER``: ``FAR-NE<=0.05``, ``rag:LA>=0.9``,
``FAR-NE.high<=0.08``. Without ``.END``, the metric's value is compared. ``low`` and ``high`` are
the ends of its interval; ``worst`` and ``best`` are its values if all unusable replies are counted
against or for the system. Where replies failed, the value and the ends are tested as they would be
if these were counted against the condition. A condition fails if the number is undefined.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eval.metrics.comparison import Comparison
from eval.metrics.gate_bounds import find_tested_number, has_failures
from eval.metrics.measurement import PolicyName, ResamplingPlan
from eval.stats.estimates import Estimate
from eval.stats.paired_tests import ALPHA, adjust_holm
from kg.base.errors import SettingError, SystemNotFoundError
from kg.base.plain_text import clean_text

SYNTAX = "[SYSTEM:]METRIC[.low|.high|.worst|.best] <=|>=|<|> NUMBER"


_MAX_SIMILAR_NAMES = 4

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
# Matches a condition. The system is everything before the last colon, because names of systems may
# contain colons (``raw:openai/gpt-4o``) and names of metrics do not.
_CONDITION = re.compile(
    r"(?:(?P<system>.+):)?\s*(?P<metric>[A-Za-z][A-Za-z0-9_@-]*(?:\.\d+)?)(?:\.(?P<end>[a-z]+))?"
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
        metric: name of a metric.
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


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """What a gate is to check.

    Attributes:
        conditions: the conditions as the user wrote them.
        runs: result files of cards, or run folders.
        baseline: earlier runs that must not be better.
        max_drop: by how much a metric may be worse than the baseline's; ``None``: fail a metric
            that is significantly worse.
        only_significant: with ``max_drop``, fail only drops that are also significant.
        max_failures: fail a system with a larger share of failed rows.
        resampling: how cards or items are resampled.
        cards: card files that result files must belong to; empty: they are not checked.
        policy: what counts as an answer to a card and as an abstention.
        without_mined: leave out the C cards whose proof rests only on rules found in the data.
        allow_changed: accept rows and cards that are not as their run left them.
    """

    conditions: tuple[str, ...]
    runs: tuple[Path, ...]
    baseline: tuple[Path, ...] = ()
    max_drop: float | None = None
    only_significant: bool = False
    max_failures: float
    resampling: ResamplingPlan
    cards: tuple[Path, ...] = ()
    policy: PolicyName = "licensed"
    without_mined: bool = False
    allow_changed: bool = False


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


def parse_condition(text: str, shares: Mapping[str, bool]) -> Condition:
    """Parses a condition.

    Args:
        text: the condition.
        shares: name of each known metric → whether its values lie in [0, 1].

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
        (candidate for candidate in shares if candidate.casefold() == name.casefold()), None
    )
    if metric is None:
        names = {candidate.casefold(): candidate for candidate in shares}
        close = difflib.get_close_matches(name.casefold(), names, n=_MAX_SIMILAR_NAMES)
        similar = [names[candidate] for candidate in close]
        suggestion = f"Similar: {', '.join(similar)}. " if similar else ""
        raise SettingError(
            f"no metric {name!r}", where="--metric", hint=f"{suggestion}One of {', '.join(shares)}."
        )
    if end not in _ENDS:
        raise SettingError(
            f"unknown suffix {'.' + end!r} of a metric",
            where=f"--metric {text!r}",
            hint=f"One of {', '.join(_ENDS[1:])}.",
        )
    limit = float(match["number"])
    if shares[metric] and not 0 <= limit <= 1:
        raise SettingError(
            f"limit {match['number']} is out of range: {metric} lies between 0 and 1",
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


def select_systems(
    selector: str,
    all_systems: Sequence[str],
    systems_under_test: Sequence[str],
    option: str = "--metric",
) -> list[str]:
    """Returns the systems that a condition is about.

    Args:
        selector: a name, a name without its model or run (``raw`` selects ``raw:openai/gpt-4o`` and
            ``raw@run2``), or a pattern with ``*`` and ``?``. Empty for all systems except
            controls.
        all_systems: all systems with results, including controls.
        systems_under_test: all systems except controls.
        option: the option that has the selector, for the message.

    Raises:
        SystemNotFoundError: the selector matches no system.
    """
    if not selector:
        return list(systems_under_test)
    # An exact name takes precedence over a prefix, and a prefix over a pattern.
    pattern = re.escape(selector).replace(r"\*", ".*").replace(r"\?", ".")
    for is_match in (
        lambda name: name == selector,
        lambda name: name.startswith((f"{selector}:", f"{selector}@")),
        lambda name: re.fullmatch(pattern, name, re.DOTALL) is not None,
    ):
        if matching_names := [name for name in all_systems if is_match(name)]:
            return matching_names
    raise SystemNotFoundError(
        f"no system matches {selector!r}",
        where=option,
        hint=f"One of {', '.join(all_systems)}.",
    )


def check_conditions(
    conditions: Sequence[Condition],
    values: Mapping[str, Mapping[str, Estimate]],
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
            estimate = values[system][condition.metric]
            failed = has_failures(values[system])
            yield _check_condition(condition, system, estimate, has_failures=failed)


def check_with_limits(
    conditions: Sequence[Condition],
    limits: Sequence[Condition],
    values: Mapping[str, Mapping[str, Estimate]],
    systems_under_test: Sequence[str],
) -> list[Check]:
    """Checks conditions, and implied limits on the failures of each checked system.

    A failed call is not a false answer, so a run of errors alone would satisfy ``FAR-NE<=0.05``.
    Implied limits are reported only where they are exceeded; a condition on the same metric
    replaces a limit.

    Args:
        conditions: the conditions; empty: the limits apply to all systems under test.
        limits: the implied limits.
        values: system → metric → value, including controls that were run.
        systems_under_test: the systems that a condition without selector is about.

    Raises:
        SystemNotFoundError: a selector matches no system.
    """
    checks = list(check_conditions(conditions, values, systems_under_test))
    checked_systems = [name for name in values if any(check.system == name for check in checks)]
    named_metrics = {condition.metric for condition in conditions}
    implied_checks = check_conditions(
        [limit for limit in limits if limit.metric not in named_metrics],
        values,
        checked_systems if conditions else systems_under_test,
    )
    return [*checks, *(check for check in implied_checks if not check.passed)]


def check_coverage(
    system: str, n_left_out: int, n_answered: int, max_failures: float, evidence: str
) -> Check:
    """Checks that a system was not spared items that the baseline answered.

    Like failed rows, they are limited by ``--max-failures``. ``evidence`` says it in words.
    """
    return Check(
        system,
        f"coverage of the baseline >= {1 - max_failures:g}",
        n_left_out <= max_failures * n_answered,
        evidence,
        regression=True,
    )


def _check_condition(
    condition: Condition, system: str, value: Estimate, *, has_failures: bool
) -> Check:
    stated = number = getattr(value, condition.end or "value")
    if has_failures:
        is_lower_limit = condition.operator.startswith(">")
        number = find_tested_number(value, condition.end, is_lower_limit=is_lower_limit)
    name = f"{condition.metric}{condition.end and '.'}{condition.end}"
    condition_text = f"{name} {condition.operator} {condition.limit:g}"
    if number is None:
        reason = value.why or "its denominator is 0"
        if value.value is not None:
            missing_part = "interval" if condition.end in ("low", "high") else "bounds"
            reason = f"{condition.metric} has no {missing_part}"
        return Check(system, condition_text, False, f"{name} is undefined: {reason}")
    evidence, details = _format_exact(number, condition.limit), []
    if number != stated:
        evidence += " with every failed or unreadable answer counted against it"
    if (condition.end or number != stated) and value.value is not None:
        details.append(f"value {value.value:.3f}")
    if value.low is not None and value.high is not None:
        details.append(f"interval {value.low:.3f} to {value.high:.3f}")
    if value.worst is not None and value.best is not None and value.worst != value.best:
        low, high = sorted((value.worst, value.best))
        details.append(f"bounds {low:.3f} to {high:.3f}")
    if value.denominator:
        details.append(f"of {value.denominator:,g}")
    if value.missing and value.worst is None:
        details.append(f"{value.missing:,} left out")
    if details:
        evidence += f" ({', '.join(details)})"
    return Check(system, condition_text, condition.is_met_by(number), evidence)


def _format_exact(number: float, limit: float) -> str:
    """Formats a number with three decimals, or as many as distinguish it from the limit."""
    for digits in range(3, 17):
        text = f"{number:.{digits}f}"
        if number == limit or float(text) != limit:
            return text
    return repr(number)


def check_regressions(
    pairs: Sequence[Comparison],
    higher_is_better: Mapping[str, bool | None],
    display_names: Mapping[str, str],
    *,
    max_drop: float | None = None,
    only_significant: bool = False,
    noun: str = "card",
) -> Iterator[Check]:
    """Checks whether systems became worse than their baselines.

    Without ``max_drop``, a check fails if the metric is significantly worse. Holm's correction
    covers all comparisons of the gate, so the whole gate raises a false alarm in at most one of
    twenty runs. With ``max_drop`` alone there is no such guarantee. Where no test was possible,
    because a metric has no value in too many resamples, the interval decides; without one, every
    drop counts as significant.

    Args:
        pairs: comparisons of systems with their baselines on the same items.
        higher_is_better: metric → whether higher is better; ``None`` for metrics without a better
            direction, which are not checked.
        display_names: name of a system in ``pairs`` → name in the checks.
        max_drop: by how much a metric may be worse, on its own scale; ``None`` for no limit.
        only_significant: with ``max_drop``, fail only if the metric is also significantly worse.
        noun: what an item is called.
    """
    comparable_pairs = [pair for pair in pairs if higher_is_better[pair.metric] is not None]
    for pair, adjusted_p in zip(
        comparable_pairs, adjust_holm([pair.p for pair in comparable_pairs]), strict=True
    ):
        system, name = display_names[pair.candidate], f"{pair.metric} no worse than the baseline's"
        if max_drop is not None:
            name += f" by more than {max_drop:g}"
            name += " (significantly)" if only_significant else ""
        if pair.difference is None:
            side_without_value = system if pair.value_candidate is None else "the baseline"
            # The check fails if only the system has no value. If the baseline has none, there is
            # nothing that could have become worse.
            lost_value = pair.value_candidate is None and pair.value_baseline is not None
            yield Check(
                system,
                name,
                not lost_value,
                f"{clean_text(side_without_value)} has no value",
                regression=True,
            )
            continue
        drop = -pair.difference if higher_is_better[pair.metric] else pair.difference
        # Without an interval, because no resample varies, the test alone decides.
        includes_zero = (
            pair.low is not None and pair.high is not None and pair.low <= 0 <= pair.high
        )
        is_significant = (
            (adjusted_p is None or adjusted_p < ALPHA) and not includes_zero and drop > 0
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
            _describe_difference(pair, adjusted_p, is_significant, noun),
            regression=True,
        )


def _describe_difference(
    comparison: Comparison, p_value: float | None, is_significant: bool, noun: str
) -> str:
    text = (
        f"{comparison.value_candidate:.3f} against {comparison.value_baseline:.3f}, difference "
        f"{comparison.difference:+.3f}"
    )
    if comparison.low is not None and comparison.high is not None:
        text += f" [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    text += ", no test was possible" if p_value is None else f", Holm-adjusted p {p_value:.3g}"
    if is_significant:
        return f"{text}: worse"
    shown = "shown to be" if p_value is None else "significantly"
    text += f" on {comparison.n:,} {noun}s: not {shown} worse"
    if comparison.minimum_detectable_effect is not None:
        text += (
            f" (a difference of {comparison.minimum_detectable_effect:.3f} would be detected with "
            "80 % power)"
        )
    return text
