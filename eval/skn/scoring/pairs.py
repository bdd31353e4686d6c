"""Which pipelines are held against each other, and what each difference answers."""

from __future__ import annotations

from collections.abc import Sequence

from eval.skn.scoring.record import Pair

_ASKED = (
    Pair("skn", "json", "Does SKN do better than plain JSON, which carries no metadata?"),
    Pair("skn", "json_meta", "Does the notation add anything where JSON holds the same?"),
    Pair("skn", "skn_no_gaps", "What do gaps add?"),
    Pair("skn", "skn_no_causal", "What do causal links add?"),
    Pair("skn", "skn_no_risk", "What do risks add?"),
    Pair("skn", "skn_min", "What do causal links, gaps and risks add together?"),
    Pair("json_conf", "json", "What do confidences add to plain JSON?"),
    Pair("json_meta", "json", "What does all of SKN's metadata add to JSON?"),
)


def pairs_of(pipelines: Sequence[str]) -> tuple[Pair, ...]:
    """The pairs that can be compared, in a fixed order.

    Pipelines that no question names are held against the first one, the baseline.

    Args:
        pipelines: in the order in which they are shown.
    """
    found = [pair for pair in _ASKED if pair.first in pipelines and pair.second in pipelines]
    named = {name for pair in found for name in (pair.first, pair.second)}
    baseline = "json" if "json" in pipelines else pipelines[0]
    found += [
        Pair(name, baseline, f"Does {name} do better than {baseline}?")
        for name in pipelines
        if name not in named and name != baseline
    ]
    return tuple(found)
