"""Answers the five questions with which a buyer reads a report, in a sentence or two each.

Which system is best, by how much and is it sure, when does it fail, does it read or remember, and
what did it cost? Every number is copied from the metrics, or is a share of counts in its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cards.generation.kinds import NEAR_MISS_PREFIX
from eval.abstention.manifest import RunManifest
from eval.abstention.metrics.definitions import SKILL, choose_ranking_metric
from eval.abstention.metrics.record import CardComparison, GroupReport, SystemReport, Table
from eval.abstention.result import PREDS
from eval.blocks.charts import DotChart, NamedEstimate
from eval.blocks.glossary import RANKING_NAMES
from eval.blocks.text_format import (
    ChartEstimate,
    format_name,
    format_number,
    format_p_value,
    format_percent,
    shorten_names,
    shorten_text,
    to_chart_estimate,
)
from eval.stats.paired_tests import ALPHA, compute_newcombe_p
from kg.base.plain_text import join_first, join_list
from kg.base.proportions import wilson_interval
from kg.claims import GOLD_OF_LABEL, LABELS
from reporting.card_report.memory_text import describe_memory
from reporting.card_report.report_view import ReportView, format_count, is_licensed
from reporting.card_report.usage import UsageTally, describe_cost
from reporting.outcomes import Outcome, classify_answer

QUESTIONS = {
    "best": "Which is best?",
    "difference": "By how much, and is it sure?",
    "failures": "When does it fail?",
    "memory": "Does it read or remember?",
    "cost": "What did it cost?",
}
"""Key in the exports → question, in the order in which they are answered."""

_MAX_NAME_LENGTH = 26
_MAX_NAMED_SYSTEMS = 3
_MAX_CHARTED_SYSTEMS = 8
_MIN_KIND_SIZE = 10
"""Minimum number of cards of a kind of which a share is quoted."""
_LABEL_NAMES = {"E": "entailed", "C": "contradictory", "U": "unknown"}
_FALSE_WORDS = {"YES": "calls {} of {} claims true", "NO": "calls {} of {} claims false"}
_WORST_WORDS: dict[tuple[Outcome, ...], str] = {
    ("wrong",): "most often wrong",
    ("held", "none"): "most often without an answer",
}


class BuyerAnswer(NamedTuple):
    """One of the five questions, and what the results say to it."""

    key: str
    question: str
    text: str


class BuyerAnswers:
    """Words the answers, for the systems that were not shown the claims if there are any."""

    def __init__(
        self,
        view: ReportView,
        usage: Mapping[str, UsageTally],
        manifests: Sequence[RunManifest] = (),
    ) -> None:
        self.view = view
        self.systems = view.policy.systems
        others = [name for name in view.systems if not self.systems[name].oracle]
        self.competitors = others or view.systems
        # Systems may have very long names, and the first screen must not consist of them.
        shown = {name: format_name(name) for name in view.systems}
        short_names = shorten_names(shown.values(), _MAX_NAME_LENGTH)
        self.names = {name: short_names[text] for name, text in shown.items()}
        self.usage = usage
        self.manifests = manifests
        self.ranking = choose_ranking_metric(
            {key for name in self.competitors for key in self.systems[name].metrics}
        )
        pairs = (
            pair
            for pair in view.report.comparisons
            if (pair.policy, pair.metric) == (view.main_policy, self.ranking)
        )
        self._pairs = {frozenset((pair.candidate, pair.baseline)): pair for pair in pairs}

    def list_answers(self) -> list[BuyerAnswer]:
        """Lists the answers in the order of ``QUESTIONS``; none if no system was measured."""
        if not self.competitors:
            return []
        texts = {
            "best": self._describe_best(),
            "difference": self._describe_difference(),
            "failures": self._describe_failures(),
            "memory": describe_memory(
                {self.names[name]: self.systems[name] for name in self.competitors}
            ),
            "cost": describe_cost(
                self.usage, {name: self.names[name] for name in self.view.systems}, self.manifests
            ),
        }
        return [BuyerAnswer(key, question, texts[key]) for key, question in QUESTIONS.items()]

    def build_chart(self) -> DotChart:
        """Builds the chart of the ranking metric: one row per system, without the controls."""
        rows = tuple(
            NamedEstimate(
                format_name(name) + (" (oracle)" if self.systems[name].oracle else ""),
                False,
                self._get_value(name),
            )
            for name in self.view.systems[:_MAX_CHARTED_SYSTEMS]
        )
        ends = [end for row in rows for end in (row.estimate.value, row.estimate.low) if end]
        return DotChart(rows, low=-1.0 if min(ends, default=0.0) < 0 else 0.0)

    @property
    def chart_title(self) -> str:
        """What the chart shows."""
        noun = "Skill" if self.ranking == SKILL else "Accuracy"
        n_others = len(self.view.systems) - _MAX_CHARTED_SYSTEMS
        return f"{noun} of the first {_MAX_CHARTED_SYSTEMS} systems" if n_others > 0 else noun

    @property
    def scale(self) -> str:
        """What the ends of the scale of the ranking metric mean."""
        if self.ranking == SKILL:
            return "1 is perfect, always answering UNKNOWN scores 0"
        return "the share of right answers"

    def _get_value(self, name: str) -> ChartEstimate:
        return to_chart_estimate(self.systems[name].metrics.get(self.ranking))

    def _get_pair(self, first: str, second: str) -> CardComparison | None:
        return self._pairs.get(frozenset((first, second)))

    @property
    def example_title(self) -> str:
        """What the example shows: a better system only where a test finds one."""
        systems = self.view.list_competitors()[:2]
        pair = self._get_pair(*systems) if len(systems) == 2 else None
        is_sure = pair is not None and pair.better is not None
        return "One card, two answers" if is_sure else "One card on which they differ"

    # -- which is best --------------------------------------------------------------------------

    def _list_leaders(self) -> list[str]:
        """Lists the first system, and those from which no paired test tells it apart."""
        first, *others = self.competitors
        pairs = {name: self._get_pair(first, name) for name in others}
        return [first, *(n for n, pair in pairs.items() if pair is None or pair.better is None)]

    def _is_tested(self, first: str, second: str) -> bool:
        pair = self._get_pair(first, second)
        return pair is not None and pair.p is not None

    def _join_values(self, systems: Sequence[str]) -> str:
        values = [f"{self.names[name]} {self._get_value(name).text}" for name in systems]
        return join_first(values, _MAX_NAMED_SYSTEMS - 1)

    def _describe_best(self) -> str:
        leaders = [name for name in self._list_leaders() if self._get_value(name).value is not None]
        if not leaders:
            return f"No system has a value of {self.ranking}."
        name = self.names[leaders[0]]
        value = self._describe_value(leaders[0])
        text = f"{value}: {self.scale}"
        tied = [other for other in leaders[1:] if self._is_tested(leaders[0], other)]
        untested = [other for other in leaders[1:] if other not in tied]
        if tied:
            text = f"{value}, not surely ahead of {self._join_values(tied)}: {self.scale}"
        elif len(self.competitors) == 1:
            text = f"{value}, the only system compared: {self.scale}"
        if untested:
            text += f". No test could be done against {self._join_values(untested)}"
        low, high = self._get_value(leaders[0]).low, self._get_value(leaders[0]).high
        if self.ranking == SKILL and low is not None and high is not None and low <= 0:
            text += (
                f". The interval of {name} includes 0, so it may be no better than a system that "
                "never answers"
                if high >= 0
                else f". The whole interval of {name} is below 0: it is worse than a system that "
                "never answers"
            )
        if self.systems[leaders[0]].oracle:
            text += f". {name} is an oracle: it is shown the claim itself"
        elif is_licensed(leaders[0]):
            text += (
                f". {name} checks its answers with the graph that proves the labels, so its YES "
                "and NO are right by construction"
            )
        return f"{text}."

    def _describe_value(self, name: str) -> str:
        value = self._get_value(name)
        interval = ""
        if value.low is not None and value.high is not None:
            interval = f" ({format_number(value.low)} to {format_number(value.high)})"
        return f"{self.names[name]} with {self._noun} {value.text}{interval}"

    @property
    def _noun(self) -> str:
        return RANKING_NAMES[self.ranking]

    # -- by how much ----------------------------------------------------------------------------

    def _describe_difference(self) -> str:
        first, *others = self.competitors
        if not others:
            return self._describe_lead_over_controls(first)
        leaders = self._list_leaders()
        rivals = [others[0]]
        # Where the lead over the next one is not sure, the first one that is surely worse follows.
        rivals += [name for name in others if name not in leaders][:1] if len(leaders) > 1 else []
        return " ".join(self._describe_pair(first, rival) for rival in rivals)

    def _describe_pair(self, first: str, second: str) -> str:
        pair = self._get_pair(first, second)
        if pair is None or pair.difference is None:
            return (
                f"Whether {self.names[first]} is better than {self.names[second]} is not known: "
                "there is no paired test of the two."
            )
        difference, low, high = pair.difference, pair.low, pair.high
        if pair.candidate != first:
            difference = -difference
            low, high = (None if high is None else -high), (None if low is None else -low)
        text = f"{self.names[first]} has {self._describe_size(difference)} {self.names[second]}"
        if low is not None and high is not None:
            text += f" (difference {format_number(low)} to {format_number(high)})"
        p_value = pair.p if pair.p_holm is None else pair.p_holm
        if p_value is None:
            return f"{text}; not sure, since no test is possible on these cards."
        p_text = format_p_value(p_value)
        p_text = f"p < {p_text[1:]}" if p_text.startswith("<") else f"p = {p_text}"
        if pair.better is None and p_value < ALPHA:
            return f"{text}; not sure: a paired test has {p_text}, but the interval includes 0."
        return f"{text}; {'sure' if pair.better else 'not sure'} by a paired test, {p_text}."

    def _describe_size(self, difference: float) -> str:
        """Says how much more or less it is, up to the name of the other system."""
        if not difference:
            return f"the same {self._noun} as"
        words = "more" if difference > 0 else "less"
        return f"{format_number(abs(difference))} {words} {self._noun} than"

    def _describe_lead_over_controls(self, name: str) -> str:
        """Compares the only system with the best control, which needs no test: it is a constant."""
        value = self._get_value(name)
        controls = {
            control: found
            for control, system in self.view.policy.controls.items()
            if (found := to_chart_estimate(system.metrics.get(self.ranking)).value) is not None
        }
        if value.value is None or not controls:
            return "There is nothing to compare it with."
        best = max(controls, key=lambda control: controls[control])
        difference = value.value - controls[best]
        text = (
            f"{self.names[name]} has {self._describe_size(difference)} "
            f"{format_name(best)}, a control that ignores the question"
        )
        if value.low is None or value.high is None:
            return f"{text}; no interval is known."
        is_sure = value.low > controls[best] or value.high < controls[best]
        verb = "excludes" if is_sure else "includes"
        return (
            f"{text}; {'sure' if is_sure else 'not sure'}, since the interval of "
            f"{self.names[name]} ({format_number(value.low)} to {format_number(value.high)}) "
            f"{verb} the control's {format_number(controls[best])}."
        )

    # -- when does it fail ----------------------------------------------------------------------

    def _describe_failures(self) -> str:
        return " ".join(
            f"{self.names[name]} {_describe_failures_of(self.systems[name])}."
            for name in self.competitors[:2]
        )


def _describe_failures_of(system: SystemReport) -> str:
    """Says what a system gets wrong most often, without its name."""
    unit = "replies" if system.repeats > 1 else "cards"
    phrases = _list_failures(system.table)
    if not phrases:
        total = sum(sum(row.values()) for row in system.table.values())
        phrases = [f"never fails on the {format_count(total)} {unit}"]
    worst = _describe_worst_kind({**system.per_kind, **system.faithfulness}, unit, system.repeats)
    if not worst:
        return join_list(phrases)
    return f"{join_list(phrases)}; {worst}"


def _list_failures(table: Table) -> list[str]:
    """Lists the most frequent false answer, and the most frequent other failure."""
    false_answers: list[tuple[float, str]] = []
    others: list[tuple[float, str]] = []
    unusable, total = 0.0, 0.0
    for label in LABELS:
        row = table.get(label, {})
        n = sum(row.values())
        total += n
        unusable += row.get("INVALID", 0) + row.get("ERROR", 0)
        for pred in PREDS:
            outcome = classify_answer(GOLD_OF_LABEL[label], pred)
            if outcome not in ("wrong", "held") or not row.get(pred):
                continue
            share = format_percent(row[pred] / n)
            if outcome == "wrong":
                words = _FALSE_WORDS[pred].format(share, _LABEL_NAMES[label])
                false_answers.append((row[pred] / n, words))
            else:
                words = f"says UNKNOWN to {share} of {_LABEL_NAMES[label]} claims"
                others.append((row[pred] / n, words))
    if unusable:
        words = f"gives no usable reply to {format_percent(unusable / total)} of cards"
        others.append((unusable / total, words))
    # Of equal shares the first in the order of the labels counts.
    first_of_each = [
        max(group, key=lambda item: item[0]) for group in (false_answers, others) if group
    ]
    return [words for _, words in first_of_each]


def _describe_worst_kind(kinds: Mapping[str, GroupReport], unit: str, repeats: int) -> str:
    """Names the kind of card that surely fails most often: by false answers, or else others.

    Kinds are ranked by the lower end of Wilson's interval, since the share of a small kind may be
    the greatest by chance. The first is named if a test tells it from all others of its labels
    together, after Bonferroni's correction for the number of kinds: kinds of one label fail more
    often than others of a system that fails on this label at random.
    """
    large = {
        name: kind for name, kind in kinds.items() if kind.n_cards >= _MIN_KIND_SIZE and kind.table
    }
    if len(large) < 2:
        return ""
    for outcomes, words in _WORST_WORDS.items():
        counts = {name: _count_outcomes(kind.table, outcomes) for name, kind in large.items()}
        worst = max(counts, key=lambda name: wilson_interval(*counts[name])[0])
        failed, total = counts[worst]
        # Several replies to a card count as one.
        own = failed / repeats, total / repeats
        others = _count_others(large, worst, outcomes, repeats)
        is_most = own[0] / own[1] > others[0] / others[1]
        if is_most and len(large) * compute_newcombe_p(own, others) < ALPHA:
            name = shorten_text(format_name(worst.removeprefix(NEAR_MISS_PREFIX)), 40) or "unnamed"
            noun = "near-misses" if worst.startswith(NEAR_MISS_PREFIX) else unit
            return (
                f"{words} on {noun} of kind {name} ({format_count(failed)} of "
                f"{format_count(total)})"
            )
    return ""


def _count_others(
    kinds: Mapping[str, GroupReport], name: str, outcomes: Sequence[Outcome], repeats: int
) -> tuple[float, float]:
    """Counts as ``_count_outcomes`` does over the other kinds: cards of the same labels, if any."""
    tables = [kind.table for other, kind in kinds.items() if other != name]
    labels = [label for label in LABELS if sum(kinds[name].table.get(label, {}).values())]
    same: list[Table] = [{label: table.get(label, {}) for label in labels} for table in tables]
    for group in (same, tables):
        counts = [_count_outcomes(table, outcomes) for table in group]
        failed, total = (sum(numbers) / repeats for numbers in zip(*counts, strict=True))
        if total:
            break
    return failed, total


def _count_outcomes(table: Table, outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Counts the replies with some outcomes, and all replies."""
    failed, total = 0.0, 0.0
    for label in LABELS:
        row = table.get(label, {})
        for pred in PREDS:
            n = row.get(pred, 0)
            total += n
            if classify_answer(GOLD_OF_LABEL[label], pred) in outcomes:
                failed += n
    return failed, total
