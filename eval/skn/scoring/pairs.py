"""Chooses the pairs of pipelines to compare, with the question that each difference answers."""

from __future__ import annotations

from collections.abc import Sequence

from eval.skn.scoring.record import Pair

_STANDARD_PAIRS = (
    Pair("skn", "json", "Does SKN do better than plain JSON, which carries no metadata?"),
    # The pipeline json_meta writes the same metadata as SKN, in JSON.
    Pair("skn", "json_meta", "Does the notation add anything where JSON holds the same?"),
    Pair("skn", "skn_no_gaps", "What do gaps add?"),
    Pair("skn", "skn_no_causal", "What do causal links add?"),
    Pair("skn", "skn_no_risk", "What do risks add?"),
    Pair("skn", "skn_min", "What do causal links, gaps and risks add together?"),
    Pair("json_conf", "json", "What do confidences add to plain JSON?"),
    Pair("json_meta", "json", "What does all of SKN's metadata add to JSON?"),
)


def select_pairs(pipelines: Sequence[str]) -> tuple[Pair, ...]:
    """Returns the pairs that can be compared, in a fixed order.

    Each pipeline that is not in any of them is compared with a baseline: ``json`` or, without it,
    the first pipeline.

    Args:
        pipelines: names, in the order of the report.
    """
    pairs = [
        pair
        for pair in _STANDARD_PAIRS
        if pair.candidate in pipelines and pair.baseline in pipelines
    ]
    compared_names = {name for pair in pairs for name in (pair.candidate, pair.baseline)}
    baseline = "json" if "json" in pipelines else pipelines[0]
    pairs += [
        Pair(name, baseline, f"Does {name} do better than {baseline}?")
        for name in pipelines
        if name not in compared_names and name != baseline
    ]
    return tuple(pairs)
