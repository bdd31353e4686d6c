"""The report's opening paragraph: what the numbers say, and no more than they say.

A difference between systems is only stated where the paired test on the same cards found one
after Holm's correction; where it found none, that is stated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from eval.metrics.abstention import HEADLINE
from eval.metrics.record import MetricsReport, PairedComparison, PolicyReport, SystemReport
from kg.words.plain_text import listing
from reporting.charts import number, percent
from reporting.glossary import metric_words
from reporting.view import main_policy
from reporting.visible import shown_name

_LABEL_NAMES = {"E": "entailed", "C": "contradictory", "U": "unknown"}
_COUNT_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_NAMED_AT_MOST = 6
_DECISIVE = ("licensed", "accuracy")


def verdict(report: MetricsReport, systems: Sequence[str], *, proved: bool = True) -> list[str]:
    """The sentences of the opening paragraph.

    Args:
        report: the metrics.
        systems: names of the systems that are not controls, in the order of the tables.
        proved: whether every card carries a proof of its label.
    """
    policy = report.policies[main_policy(report)]
    known = [(name, policy.systems[name]) for name in systems if name in policy.systems]
    sentences = [_opening(report, len(known), proved)]
    if known:
        sentences += _accuracy(known, proved)
        sentences += _false_answers(known)
        accuracy = [c for c in report.comparisons if (c.policy, c.metric) == _DECISIVE]
        sentences += neighbours(accuracy, [name for name, _ in known])
    return sentences


def caveats(report: MetricsReport) -> list[str]:
    """What the reader must hold against the headline numbers: metrics that a control wins."""
    return _controls(report.policies[main_policy(report)])


def _opening(report: MetricsReport, count: int, proved: bool) -> str:
    labels = listing(
        [
            f"{report.label_counts[label]:,} {name}"
            for label, name in _LABEL_NAMES.items()
            if report.label_counts.get(label)
        ]
    )
    cards = "cards with a proved answer" if proved else "cards"
    return f"{how_many(count)} answered {report.n_cards:,} {cards}: {labels}."


def how_many(systems: int) -> str:
    """A number of systems as a sentence begins with it."""
    return f"{counted_word(systems)} {'system' if systems == 1 else 'systems'}"


def counted_word(count: int) -> str:
    """A number as a sentence begins with it."""
    return _COUNT_WORDS[count] if count < len(_COUNT_WORDS) else str(count)


def _accuracy(systems: Sequence[tuple[str, SystemReport]], proved: bool) -> list[str]:
    scored = [
        (name, value.value, system.oracle)
        for name, system in systems
        if (value := system.metrics.get("accuracy")) and value.value is not None
    ]
    if not scored:
        return []
    parts = [
        f"{shown_name(name)} on {percent(value)}"
        + (" (it is shown the claim itself)" if oracle else "")
        for name, value, oracle in scored[:_NAMED_AT_MOST]
    ]
    said = f"The {'proved' if proved else 'gold'} answer was given by {listing(parts)}"
    others = len(scored) - len(parts)
    if others:
        said += "; the other system is" if others == 1 else f"; the other {others} systems are"
        said += " in the table"
    return [f"{said}."]


def _false_answers(systems: Sequence[tuple[str, SystemReport]]) -> list[str]:
    some, never = [], []
    for name, system in systems[:_NAMED_AT_MOST]:
        rate = system.metrics.get("FAR-NE")
        if rate is None or rate.value is None:
            continue
        if rate.value == 0:
            never.append(shown_name(name))
            continue
        text = f"{shown_name(name)} to {percent(rate.value)}"
        if rate.low is not None and rate.high is not None:
            text += f" ({percent(rate.low).removesuffix(' %')} to {percent(rate.high)})"
        some.append(text)
    what = "a false answer (YES to a contradiction, YES or NO to the unknown)"
    if not some:
        # Of systems further down nothing is said, so nothing may be said of all.
        who = "None" if len(systems) <= _NAMED_AT_MOST else "None of these"
        return [f"{who} gave {what}."] if never else []
    given = f"{what[0].upper()}{what[1:]} was given by {listing(some)} of those cards"
    return [f"{given}; {listing(never)} gave none." if never else f"{given}."]


def neighbours(accuracy: Sequence[PairedComparison], ranked: Sequence[str]) -> list[str]:
    """Neighbours in a ranking, as far as the paired tests on accuracy tell them apart.

    Args:
        accuracy: comparisons of accuracy under one policy.
        ranked: names of systems, by falling accuracy.
    """
    pairs = {frozenset((c.a, c.b)): c for c in accuracy}
    found, open_ = [], []
    for first, second in pairwise(ranked[: _NAMED_AT_MOST + 1]):
        pair = pairs.get(frozenset((first, second)))
        if pair is not None and pair.better is not None:
            found.append(difference(pair))
        elif pair is not None:
            open_.append(f"{shown_name(first)} from {shown_name(second)}")
    sentences = []
    if found:
        sentences.append(f"Paired tests on the same cards find {listing(found)}.")
    if open_:
        start = "They" if found else "Paired tests on the same cards"
        sentences.append(f"{start} cannot tell {listing(open_)} by accuracy.")
    return sentences


def difference(pair: PairedComparison) -> str:
    """A difference of accuracy that was found: who is better by how many points."""
    worse = pair.b if pair.better == pair.a else pair.a
    better = pair.a if worse == pair.b else pair.b
    size = points(pair.difference, pair.low, pair.high)
    return f"{shown_name(better)} more accurate than {shown_name(worse)}{size}"


def points(difference: float | None, low: float | None, high: float | None) -> str:
    """The size of a difference that was found, as in `` by 3.1 points (1.0 to 5.2)``."""
    if difference is None:
        return ""
    text = f" by {number(abs(difference) * 100, 1)} points"
    if low is not None and high is not None:
        low, high = sorted((abs(low), abs(high)))
        text += f" ({number(low * 100, 1)} to {number(high * 100, 1)})"
    return text


def _controls(policy: PolicyReport) -> list[str]:
    won = [w for w in policy.won_by_controls if w.won and w.metric in HEADLINE]
    if not won:
        return []
    parts = [f"{metric_words(w.metric).short} ({listing(w.controls)})" for w in won]
    return [
        f"A control that looks at nothing is unbeaten on {listing(parts)}: "
        f"read {'that number' if len(won) == 1 else 'those numbers'} only beside the others."
    ]
