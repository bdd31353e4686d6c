"""Conditions on metrics, and what became of them: the judgement behind ``epoche gate``.

A condition is written ``[SYSTEM:]METRIC[.END]OP NUMBER``: ``FAR-NE<=0.05``, ``rag:LA>=0.9``,
``FAR-NE.high<=0.08``. Without an end it is about the value itself; ``low`` and ``high`` are the
ends of its interval, ``worst`` and ``best`` its bounds over unreadable replies. A number that is
not there fulfils nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.metrics.abstention import SYSTEM_METRICS
from eval.metrics.further import CONFIDENCE_METRICS, SELF_CONSISTENCY, further_metrics
from eval.metrics.record import MetricValue, PairedComparison, SystemReport
from eval.stats.paired import ALPHA, holm
from kg.base.errors import SettingError, SystemNotFoundError
from kg.words.plain_text import plain

SYNTAX = "[SYSTEM:]METRIC[.low|.high|.worst|.best] <=|>=|<|> NUMBER"

GATED = (*SYSTEM_METRICS, *CONFIDENCE_METRICS, SELF_CONSISTENCY)
"""Everything a condition may be about."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
# The selector is greedy: names of systems hold colons themselves (``raw:openai/gpt-4o``), and
# metrics do not.
_CONDITION = re.compile(
    r"(?:(?P<system>.+):)?\s*(?P<metric>[A-Za-z][A-Za-z0-9_-]*)(?:\.(?P<end>[a-z]+))?"
    r"\s*(?P<operator><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*",
    re.DOTALL,
)
End = Literal["", "low", "high", "worst", "best"]
_ENDS: tuple[End, ...] = ("", "low", "high", "worst", "best")


@dataclass(frozen=True)
class Condition:
    """One condition as the user wrote it.

    Attributes:
        text: the whole.
        selector: which systems; empty for all.
        metric: one of ``GATED``.
        end: which number of the metric.
        operator: how it must stand to ``limit``.
        limit: on the metric's own scale.
    """

    text: str
    selector: str
    metric: str
    end: End
    operator: str
    limit: float

    def holds(self, number: float) -> bool:
        """Whether ``number`` fulfils it."""
        return _OPERATORS[self.operator](number, self.limit)


@dataclass(frozen=True)
class Check:
    """One thing that was judged.

    Attributes:
        system: whose number.
        name: the condition, or the metric that must not have become worse.
        passed: the judgement.
        said: the evidence, in one line.
        regression: whether a baseline was involved.
    """

    system: str
    name: str
    passed: bool
    said: str
    regression: bool = False


def parse_condition(text: str) -> Condition:
    """Reads a condition.

    Raises:
        SettingError: it cannot be read, or names no metric or end that there is.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise SettingError(
            f"not a condition: {text!r}", where="--metric", hint=f"Write it as {SYNTAX}."
        )
    name, end = found["metric"], found["end"] or ""
    metric = next((known for known in GATED if known.casefold() == name.casefold()), None)
    if metric is None:
        raise SettingError(
            f"no metric {name!r}", where="--metric", hint=f"One of {', '.join(GATED)}."
        )
    if end not in _ENDS:
        raise SettingError(
            f"a metric has no {end!r}",
            where=f"--metric {text!r}",
            hint=f"One of {', '.join(_ENDS[1:])}.",
        )
    limit = float(found["number"])
    if not 0 <= limit <= 1:
        raise SettingError(
            f"{found['number']} is no limit: metrics lie between 0 and 1",
            where=f"--metric {text!r}",
            hint="Five per cent are 0.05.",
        )
    return Condition(
        text=text.strip(),
        selector=(found["system"] or "").strip(),
        metric=metric,
        end=end,
        operator=found["operator"],
        limit=limit,
    )


def gated_values(system: SystemReport) -> dict[str, MetricValue]:
    """What conditions can be about, by name; a metric that was not computed has no value."""
    absent = dict.fromkeys(GATED, MetricValue(value=None))
    return absent | system.metrics | further_metrics(system)


def select_systems(selector: str, everyone: Sequence[str], contenders: Sequence[str]) -> list[str]:
    """The systems a condition is about.

    Args:
        selector: a name; a name without its model, for all of its models (``raw`` for
            ``raw:openai/gpt-4o``); or a pattern with ``*`` and ``?``. Empty for all systems but
            controls.
        everyone: all that have results, controls included.
        contenders: those that are no controls.

    Raises:
        SystemNotFoundError: the selector fits none.
    """
    if not selector:
        return list(contenders)
    pattern = re.escape(selector).replace(r"\*", ".*").replace(r"\?", ".")
    for fits in (
        lambda name: name == selector,
        lambda name: name.startswith(f"{selector}:"),
        lambda name: re.fullmatch(pattern, name, re.DOTALL) is not None,
    ):
        if found := [name for name in everyone if fits(name)]:
            return found
    raise SystemNotFoundError(
        f"no system fits {selector!r}", where="--metric", hint=f"One of {', '.join(everyone)}."
    )


def check_conditions(
    conditions: Sequence[Condition],
    values: Mapping[str, Mapping[str, MetricValue]],
    contenders: Sequence[str],
) -> Iterator[Check]:
    """Judges every condition on every system it is about.

    Args:
        conditions: as they were written.
        values: system → metric → value, controls that were run included.
        contenders: systems that a condition without selector is about.

    Raises:
        SystemNotFoundError: a selector fits no system.
    """
    for condition in conditions:
        for system in select_systems(condition.selector, list(values), contenders):
            yield _judged(condition, system, values[system][condition.metric])


def _judged(condition: Condition, system: str, value: MetricValue) -> Check:
    number = getattr(value, condition.end or "value")
    name = f"{condition.metric}{condition.end and '.'}{condition.end}"
    wanted = f"{name} {condition.operator} {condition.limit:g}"
    if number is None:
        why = _why_null(condition.metric)
        if value.value is not None:
            why = "it has no interval" if condition.end in ("low", "high") else "it has no bounds"
        return Check(system, wanted, False, f"no {name}: {why}")
    said, about = _exact(number, condition.limit), []
    if condition.end and value.value is not None:
        about.append(f"value {value.value:.3f}")
    if value.low is not None and value.high is not None:
        about.append(f"interval {value.low:.3f} to {value.high:.3f}")
    if value.worst is not None and value.best is not None and value.worst != value.best:
        low, high = sorted((value.worst, value.best))
        about.append(f"bounds {low:.3f} to {high:.3f}")
    if value.denominator:
        about.append(f"of {value.denominator:,g}")
    if about:
        said += f" ({', '.join(about)})"
    return Check(system, wanted, condition.holds(number), said)


def _why_null(metric: str) -> str:
    """Why a metric has no value."""
    if metric in CONFIDENCE_METRICS:
        return "the system gives no confidence"
    if metric == SELF_CONSISTENCY:
        return "the run has no repeats"
    lacking = {
        "AP": "the system never abstained",
        "CVRR": "there is no readable reply to a contradictory card",
        "answer_accuracy": "the system never answered",
    }
    return f"nothing to divide by, {lacking.get(metric, 'there is no card it is about')}"


def _exact(number: float, limit: float) -> str:
    """A number to three decimals, or to as many as tell it from the limit."""
    for digits in range(3, 17):
        text = f"{number:.{digits}f}"
        if number == limit or float(text) != limit:
            return text
    return repr(number)


def check_regressions(
    pairs: Sequence[PairedComparison],
    better: Mapping[str, bool | None],
    shown: Mapping[str, str],
    *,
    max_drop: float | None = None,
    only_significant: bool = False,
) -> Iterator[Check]:
    """Judges whether systems became worse than their baselines.

    Holm's correction runs over everything that is judged here, so that the gate as a whole raises
    a false alarm in at most one of twenty runs (by the paired tests; a tolerance knows no chance).

    Args:
        pairs: system (first) against its baseline (second), on the same cards.
        better: metric → whether higher is better; ``None`` for metrics that only describe.
        shown: the system's own name by its name in ``pairs``.
        max_drop: by how much a metric may be worse, on its own scale. ``None``: by as much as the
            data cannot tell from chance.
        only_significant: with ``max_drop``, fail only what the data also tell from chance.
    """
    judged = [one for one in pairs if better[one.metric] is not None]
    for one, p in zip(judged, holm([one.p for one in judged]), strict=True):
        system, name = shown[one.a], f"{one.metric} no worse than the baseline's"
        if max_drop is not None:
            name += f" by more than {max_drop:g}"
            name += " (for sure)" if only_significant else ""
        if one.difference is None or one.low is None or one.high is None:
            without = system if one.value_a is None else "the baseline"
            # A value that is lost is worse than any; one the baseline never had can be no drop.
            lost = one.value_a is None and one.value_b is not None
            yield Check(system, name, not lost, f"{plain(without)} has no value", regression=True)
            continue
        drop = -one.difference if better[one.metric] else one.difference
        beyond = one.high < 0 if better[one.metric] else one.low > 0
        significant = p is not None and p < ALPHA and beyond and drop > 0
        # Differences are tidied to nine digits; a drop of exactly the tolerance is tolerated.
        too_much = max_drop is not None and drop > max_drop + 1e-9
        failed = significant if max_drop is None else too_much
        if only_significant:
            failed = failed and significant
        yield Check(system, name, not failed, _evidence(one, p, significant), regression=True)


def _evidence(one: PairedComparison, p: float | None, significant: bool) -> str:
    said = (
        f"{one.value_a:.3f} against {one.value_b:.3f}, difference {one.difference:+.3f} "
        f"[{one.low:+.3f}, {one.high:+.3f}]"
    )
    if p is not None:
        said += f", Holm-adjusted p {p:.3g}"
    if significant:
        return f"{said}: worse"
    said += f" on {one.n_cards:,} cards: not shown to be worse"
    if one.minimum_detectable_effect is not None:
        said += (
            f" (a difference of {one.minimum_detectable_effect:.3f} would be found 4 times in 5)"
        )
    return said
