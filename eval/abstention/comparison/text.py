"""Renders a comparison as text: one sentence per pair, and a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from eval.abstention.comparison.report import ComparisonReport, SharedCards
from eval.abstention.metrics.console import describe_blind_spots
from eval.abstention.metrics.definitions import ALL_THREE, SKILL
from eval.abstention.metrics.record import CardComparison
from eval.blocks.glossary import describe_metric
from eval.metrics.number_text import format_p_value
from eval.stats.paired_tests import ALPHA
from kg.base.plain_text import clean_text, join_list

# Matches the characters that Markdown or HTML could interpret.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#|~&!])")


def describe_comparison(comparison: CardComparison, alpha: float = ALPHA) -> str:
    """Describes one comparison in a sentence: which system is better, or that none is.

    The difference is written as ``candidate − baseline = +0.128 [+0.061, +0.190]``.
    """
    candidate, baseline = clean_text(comparison.candidate), clean_text(comparison.baseline)
    if comparison.difference is None or comparison.low is None or comparison.high is None:
        systems_without_value = [
            name
            for name, value in (
                (candidate, comparison.value_candidate),
                (baseline, comparison.value_baseline),
            )
            if value is None
        ]
        return (
            f"{comparison.metric}: no value for {' and '.join(systems_without_value)}, so there "
            "is nothing to compare."
        )
    interval = f"{comparison.difference:+.3f} [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    p_text = (
        ""
        if comparison.p_holm is None
        else f", Holm-adjusted p {format_p_value(comparison.p_holm)}"
    )
    result_text = f"{candidate} − {baseline} = {interval}{p_text}"
    if comparison.better is not None:
        return f"{comparison.metric}: {clean_text(comparison.better)} is better; {result_text}."
    if comparison.p_holm is not None and comparison.p_holm < alpha:
        if comparison.low > 0 or comparison.high < 0:
            return f"{comparison.metric}: they differ; {result_text}. Neither direction is better."
        reason = "The test finds a difference, but the interval includes 0."
        if comparison.test not in ("cluster-bootstrap", "sign-flip"):
            reason = (
                "The test that assumes independent cards finds a difference, the bootstrap of "
                "whole clusters or triplets does not."
            )
        return f"{comparison.metric}: no significant difference; {result_text}. {reason}"
    if comparison.p_holm is None:
        return f"{comparison.metric}: no test is possible; {result_text}."
    text = f"{comparison.metric}: no significant difference; {result_text}."
    if comparison.minimum_detectable_effect is not None:
        effect = f"{comparison.minimum_detectable_effect:.3f}"
        text += f" A true difference of {effect} would be detected with 80 % power."
    return text


def describe_shared_cards(shared: SharedCards) -> list[str]:
    """Describes in sentences which cards are compared, and which are left out and why."""
    sentences = [f"All systems answered {shared.n:,} cards; only these are compared."]
    if shared.left_out:
        reasons = [
            f"{clean_text(missing.system)} has no answer to {missing.cards:,} ({missing.why})"
            for missing in shared.lacking
        ]
        sentences.append(
            f"{shared.left_out:,} {_card_noun(shared.left_out)} are left out, since not every "
            f"system answered them: {'; '.join(reasons)}."
        )
    set_counts = [f"{count:,} {kind} {_card_noun(count)}" for kind, count in shared.apart.items()]
    if set_counts:
        sentences.append(
            f"Of the shared cards, {join_list(set_counts)} are separate sets and are not compared "
            "here."
        )
    return sentences


def _card_noun(count: int) -> str:
    return "card" if count == 1 else "cards"


MAX_SENTENCES = 100
"""With more comparisons than this, the console shows counts instead of a sentence for each."""


def render_sentences(report: ComparisonReport) -> Iterator[str]:
    """Renders the comparison for the console: one sentence per pair, or counts per metric.

    What a metric leaves out is said last.
    """
    policies = dict.fromkeys(pair.policy for pair in report.comparisons)
    by_metric: dict[tuple[str, str], list[CardComparison]] = {}
    for pair in report.comparisons:
        by_metric.setdefault((pair.policy, pair.metric), []).append(pair)
    for (policy, metric), pairs in by_metric.items():
        prefix = f"{policy}: " if len(policies) > 1 else ""
        if len(report.comparisons) <= MAX_SENTENCES:
            yield from (prefix + describe_comparison(pair) for pair in pairs)
            continue
        n_better = sum(pair.better is not None for pair in pairs)
        yield f"{prefix}{metric}: one is better in {n_better} of {len(pairs)} pairs."
    yield from describe_blind_spots(dict.fromkeys(metric for _, metric in by_metric))


GAP_METRICS = (SKILL, ALL_THREE, "accuracy")
"""The metrics whose loss on paraphrases the console shows; the files have all."""


def render_paraphrase_gaps(report: ComparisonReport) -> Iterator[str]:
    """Renders for the console what each system loses on paraphrases, a sentence per metric."""
    policies = dict.fromkeys(pair.policy for pair in report.comparisons)
    for pair in report.comparisons:
        if pair.metric not in GAP_METRICS or pair.difference is None:
            continue
        prefix = f"{pair.policy}: " if len(policies) > 1 else ""
        interval = "" if pair.low is None else f" [{pair.low:+.3f}, {pair.high:+.3f}]"
        p_text = "" if pair.p_holm is None else f", Holm-adjusted p {format_p_value(pair.p_holm)}"
        yield (
            f"{prefix}{pair.metric}: {clean_text(pair.baseline)} has "
            f"{_format_number(pair.value_baseline)} on the cards and "
            f"{_format_number(pair.value_candidate)} on their paraphrases, "
            f"{pair.difference:+.3f}{interval}{p_text} ({pair.test})."
        )


def render_markdown(report: ComparisonReport) -> str:
    """Renders the whole comparison as one Markdown page; markup in names is escaped."""
    return "\n".join(_render_lines(report)) + "\n"


def _render_lines(report: ComparisonReport) -> Iterator[str]:
    yield "# Comparison of systems on the same cards"
    yield ""
    for warning in report.warnings:
        yield from (f"> **Warning:** {_escape_markup(warning, 1000)}", "")
    yield " ".join(_escape_markup(line, 2000) for line in describe_shared_cards(report.shared))
    yield ""
    yield (
        f"{report.n_cards} cards in {report.n_clusters} clusters, card set `{report.cards}`; "
        f"{report.confidence:.0%} intervals by {report.resamples} resamples of whole clusters"
        f"{_name_triplets(report)}, seed {report.seed}. difference = candidate − baseline. A "
        "difference is significant where "
        f"the Holm-adjusted p is below {report.alpha:g} *and* the interval of the difference "
        "excludes 0."
    )
    policies = dict.fromkeys(pair.policy for pair in report.comparisons)
    for policy in policies:
        policy_pairs = [pair for pair in report.comparisons if pair.policy == policy]
        for metric in dict.fromkeys(pair.metric for pair in policy_pairs):
            yield from ("", f"## {metric}, policy {policy}", "")
            if blind_spot := describe_metric(metric).blind_spot:
                yield from (blind_spot, "")
            yield from _render_table(
                (pair for pair in policy_pairs if pair.metric == metric), report.alpha
            )
    if report.notes:
        yield from ("", "## Notes", "")
        yield from (f"- {_escape_markup(note, 1000)}" for note in report.notes)


def _name_triplets(report: ComparisonReport) -> str:
    """Says that triplets were resampled, too; cards that have some are compared on all-three."""
    has_triplets = any(pair.metric == ALL_THREE for pair in report.comparisons)
    return " and of whole triplets, whichever give the wider interval" if has_triplets else ""


def _describe_outcome(comparison: CardComparison, alpha: float) -> str:
    """Returns the last cell of a row: the better system or why there is none."""
    if comparison.better is not None:
        return _escape_markup(comparison.better)
    if comparison.difference is None or comparison.low is None or comparison.high is None:
        return "–"
    if comparison.p_holm is None:
        return "not tested"
    is_significant = comparison.p_holm < alpha and (comparison.low > 0 or comparison.high < 0)
    return "they differ" if is_significant else "not significant"


def _render_table(comparisons: Iterable[CardComparison], alpha: float) -> Iterator[str]:
    yield "| candidate | baseline | difference | test | p | p (Holm) | only candidate / only baseline counts | effect size d | minimum detectable effect | better |"  # noqa: E501 - one Markdown row
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for pair in comparisons:
        interval = "–"
        if pair.difference is not None and pair.low is not None and pair.high is not None:
            interval = f"{pair.difference:+.3f} [{pair.low:+.3f}, {pair.high:+.3f}]"
        discordant = pair.discordant
        effect = pair.minimum_detectable_effect
        cells = (
            f"{_escape_markup(pair.candidate)} ({_format_number(pair.value_candidate)})",
            f"{_escape_markup(pair.baseline)} ({_format_number(pair.value_baseline)})",
            interval,
            pair.test,
            "–" if pair.p is None else format_p_value(pair.p),
            "–" if pair.p_holm is None else format_p_value(pair.p_holm),
            "–"
            if discordant is None
            else f"{discordant.only_candidate} / {discordant.only_baseline}",
            "–" if pair.cohens_d is None else f"{pair.cohens_d:+.2f}",
            "–" if effect is None else f"{effect:.3f}",
            _describe_outcome(pair, alpha),
        )
        yield f"| {' | '.join(cells)} |"


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _escape_markup(text: str, limit: int = 200) -> str:
    return _MARKUP.sub(r"\\\1", clean_text(text, limit))
