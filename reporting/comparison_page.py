"""The page of a comparison: one HTML file, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.comparing.comparison import ComparisonReport
from eval.comparing.words import shared_cards
from eval.metrics.record import PairedComparison
from kg.base.files import to_json_bytes
from kg.words.plain_text import listing
from reporting.comparison_view import ComparisonView
from reporting.glossary import COMPARISON_TERMS, POLICY_WORDS, TEST_WORDS, metric_words
from reporting.pair_words import tells_apart
from reporting.templating import environment, style
from reporting.verdict import difference, how_many, neighbours
from reporting.visible import shown_name, visible

TITLE = "Who is better, and can the data tell?"

_NAMED_AT_MOST = 6


def render_comparison(report: ComparisonReport, *, beside: Sequence[str]) -> str:
    """The whole comparison as one HTML document.

    Args:
        report: the comparison.
        beside: names of the files written beside the page.
    """
    env = environment()
    view = ComparisonView(report)
    parts = [view.parts(name) for name in view.metrics]
    lacking = {one.system: one for one in report.shared.lacking}
    pairs = len(view.pairs(view.policies[0], view.metrics[0])) if view.policies else 0
    context: dict[str, Any] = {
        "report": report,
        "version": report.version,
        "script_hash": "",
        "title": TITLE,
        "subtitle": f"card set {visible(report.cards)}",
        "notices": [visible(x) for x in (*shared_cards(report.shared)[1:], *report.notes)],
        "lede": [visible(line) for line in _lede(view)],
        "stats": [
            (f"{report.n_cards:,}", "cards compared"),
            (f"{report.n_clusters:,}", "clusters: subjects they are about"),
            (f"{len(view.systems):,}", "systems"),
            (f"{pairs:,}", "pairs" if pairs != 1 else "pair"),
        ],
        "sections": [
            ("standings", "Standings"),
            *((f"m-{name}", metric_words(name).short) for name in view.metrics),
            ("cards", "Which cards"),
            ("glossary", "How to read this"),
            ("provenance", "Provenance"),
        ],
        "policies": [
            (policy, POLICY_WORDS.get(policy, ""), view.standings(policy))
            for policy in view.policies
        ],
        "parts": parts,
        "baseline": shown_name(report.baseline or ""),
        "confidence": f"{report.confidence * 100:g}",
        "test_words": TEST_WORDS,
        "shared_lines": [visible(line) for line in shared_cards(report.shared)],
        "files": [
            (
                visible(source.path),
                listing([shown_name(name) for name in source.systems]),
                f"{source.rows:,}",
                listing(
                    [
                        f"{shown_name(name)} lacks {lacking[name].cards:,}: {lacking[name].why}"
                        for name in source.systems
                        if name in lacking
                    ]
                )
                or "complete",
            )
            for source in report.sources
        ],
        "terms": COMPARISON_TERMS,
        "signatures": view.signatures(),
        "manifests": [
            (visible(source.path), visible(to_json_bytes(source.manifest, indent=2).decode()))
            for source in report.sources
            if source.manifest is not None
        ],
        "beside": listing([visible(name) for name in beside]) or "nothing",
        "css": style(),
    }
    return env.get_template("comparison.html.j2").render(context) + "\n"


def _lede(view: ComparisonView) -> list[str]:
    """The opening paragraph: what was compared, and what the data tell of accuracy."""
    report = view.report
    said = [f"{how_many(len(view.systems))} answered the same {report.n_cards:,} cards."]
    if not view.policies or "accuracy" not in view.metrics:
        return said
    pairs = view.pairs(view.policies[0], "accuracy")
    told = sum(map(tells_apart, pairs))
    if report.baseline is None:
        if len(view.systems) > _NAMED_AT_MOST:
            said.append(_leader(pairs, view.systems[0]))
        else:
            said += neighbours(pairs, view.systems)
        if len(pairs) > 1:
            said.append(
                f"Of all {len(pairs)} pairs, accuracy tells {told or 'none'} apart; "
                "other metrics may tell more, and each is judged below."
            )
        return said
    name = shown_name(report.baseline)
    found = [difference(one) for one in pairs if one.better is not None]
    if found:
        shown = found[:_NAMED_AT_MOST]
        more = len(found) - len(shown)
        rest = f", and {more} more such differences" if more else ""
        said.append(f"Paired tests find {listing(shown)}{rest}.")
    open_ = [shown_name(one.a) for one in pairs if one.better is None]
    if open_:
        shown = [*open_[:_NAMED_AT_MOST]]
        if len(open_) > len(shown):
            shown.append(f"{len(open_) - len(shown)} more")
        said.append(f"By accuracy they cannot tell {listing(shown)} from {name}.")
    return said


def _leader(pairs: Sequence[PairedComparison], leader: str) -> str:
    """What is known of the system with the highest accuracy, where there are many."""
    mine = [one for one in pairs if leader in (one.a, one.b)]
    open_ = [shown_name(one.b if one.a == leader else one.a) for one in mine if not one.better]
    text = (
        f"{shown_name(leader)} has the highest accuracy: paired tests show it to be more accurate "
        f"than {len(mine) - len(open_)} of the other {len(mine)}"
    )
    if not open_:
        return f"{text}."
    shown = open_[:_NAMED_AT_MOST]
    rest = [f"{len(open_) - len(shown)} more"] if len(open_) > len(shown) else []
    return f"{text}, and cannot tell it from {listing([*shown, *rest])}."
