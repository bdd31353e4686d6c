"""The comparison in words: a sentence a pair, and a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from eval.comparing.comparison import ComparisonReport, SharedCards
from eval.metrics.record import PairedComparison
from eval.stats.paired import ALPHA
from kg.words.plain_text import listing, plain

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#|~&!])")


def verdict(one: PairedComparison, alpha: float = ALPHA) -> str:
    """One comparison as a sentence: who is better by what, or that the data cannot tell."""
    a, b = plain(one.a), plain(one.b)
    if one.difference is None or one.low is None or one.high is None:
        nobody = [n for n, v in ((a, one.value_a), (b, one.value_b)) if v is None]
        return f"{one.metric}: no value for {' and '.join(nobody)}, so there is nothing to compare."
    interval = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
    p = "" if one.p_holm is None else f", Holm-adjusted p {show_p(one.p_holm)}"
    found = f"{a} less {b} is {interval}{p}"
    if one.better is not None:
        return f"{one.metric}: {plain(one.better)} is better; {found}."
    if one.p_holm is not None and one.p_holm < alpha:
        if one.low > 0 or one.high < 0:
            return f"{one.metric}: they differ; {found}. Neither direction is better."
        return (
            f"{one.metric}: the data cannot tell; {found}. The test that takes cards as "
            "independent finds a difference, the bootstrap of whole clusters does not."
        )
    text = f"{one.metric}: the data cannot tell; {found}."
    if one.minimum_detectable_effect is not None:
        text += f" A true difference of {one.minimum_detectable_effect:.3f} would be found 4 times"
        text += " in 5."
    return text


def shared_cards(shared: SharedCards) -> list[str]:
    """Which cards are compared, and what was left out and why, as sentences."""
    said = [f"All systems answered {shared.n:,} cards; only these are compared."]
    if shared.left_out:
        why = [f"{plain(one.system)} lacks {one.cards:,} ({one.why})" for one in shared.lacking]
        said.append(
            f"{shared.left_out:,} {_cards(shared.left_out)} are left out, since not every system "
            f"answered them: {'; '.join(why)}."
        )
    parts = [f"{count:,} {kind} {_cards(count)}" for kind, count in shared.apart.items()]
    if parts:
        said.append(
            f"Of the shared cards, {listing(parts)} are sets of their own and enter no number here."
        )
    return said


def _cards(count: int) -> str:
    return "card" if count == 1 else "cards"


SPOKEN_AT_MOST = 100
"""With more comparisons than this, the console counts them instead of telling each."""


def spoken(report: ComparisonReport) -> Iterator[str]:
    """The comparison for a console: a sentence each, or how many of each metric were told apart."""
    policies = dict.fromkeys(one.policy for one in report.comparisons)
    found: dict[tuple[str, str], list[PairedComparison]] = {}
    for one in report.comparisons:
        found.setdefault((one.policy, one.metric), []).append(one)
    for (policy, metric), pairs in found.items():
        prefix = f"{policy}: " if len(policies) > 1 else ""
        if len(report.comparisons) <= SPOKEN_AT_MOST:
            yield from (prefix + verdict(one) for one in pairs)
            continue
        named = sum(one.better is not None for one in pairs)
        yield f"{prefix}{metric}: one is better in {named} of {len(pairs)} pairs."


def show_p(p: float) -> str:
    """A p-value for reading: three decimals, or ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def markdown(report: ComparisonReport) -> str:
    """The whole comparison as one Markdown page; names in it are text, never markup."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ComparisonReport) -> Iterator[str]:
    yield "# Comparison of systems on the same cards"
    yield ""
    yield " ".join(_escape(line, 2000) for line in shared_cards(report.shared))
    yield ""
    yield (
        f"{report.n_cards} cards in {report.n_clusters} clusters, card set `{report.cards}`; "
        f"{report.confidence:.0%} intervals by {report.resamples} resamples of whole clusters, "
        f"seed {report.seed}. A difference is the first system's value less the second's. The "
        f"data tell two systems apart where the Holm-adjusted p is below {report.alpha:g} *and* "
        "the interval of the difference leaves out 0."
    )
    policies = dict.fromkeys(one.policy for one in report.comparisons)
    for policy in policies:
        under = [one for one in report.comparisons if one.policy == policy]
        for metric in dict.fromkeys(one.metric for one in under):
            yield from ("", f"## {metric}, policy {policy}", "")
            yield from _table((one for one in under if one.metric == metric), report.alpha)
    if report.notes:
        yield from ("", "## Notes", "")
        yield from (f"- {_escape(note, 1000)}" for note in report.notes)


def _outcome(one: PairedComparison, alpha: float) -> str:
    """The last cell of a row: who is better, in the terms of ``verdict``."""
    if one.better is not None:
        return _escape(one.better)
    if one.difference is None or one.low is None or one.high is None:
        return "–"
    told = one.p_holm is not None and one.p_holm < alpha and (one.low > 0 or one.high < 0)
    return "they differ" if told else "cannot tell"


def _table(rows: Iterable[PairedComparison], alpha: float) -> Iterator[str]:
    yield "| first | second | difference | test | p | p (Holm) | only first / only second counts | effect size d | smallest effect found | better |"  # noqa: E501 - one Markdown row
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in rows:
        interval = "–"
        if one.difference is not None and one.low is not None and one.high is not None:
            interval = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
        counts = one.discordant
        effect = one.minimum_detectable_effect
        cells = (
            f"{_escape(one.a)} ({_number(one.value_a)})",
            f"{_escape(one.b)} ({_number(one.value_b)})",
            interval,
            one.test,
            "–" if one.p is None else show_p(one.p),
            "–" if one.p_holm is None else show_p(one.p_holm),
            "–" if counts is None else f"{counts.only_a} / {counts.only_b}",
            "–" if one.cohens_d is None else f"{one.cohens_d:+.2f}",
            "–" if effect is None else f"{effect:.3f}",
            _outcome(one, alpha),
        )
        yield f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _escape(text: str, limit: int = 200) -> str:
    return _MARKUP.sub(r"\\\1", plain(text, limit))
