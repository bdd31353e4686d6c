"""Computes the cost of each format (seconds, characters, tokens) under the published keys and ours.

The published number of tokens is a quarter of the characters. A server counts the tokens of whole
calls, never of the context within a call. Under the corrected definitions ``avg_context_tokens``
is therefore null, and three other figures are given: the tokens that the server counted (all that
the agent read, all that the extractor wrote), the exact number of characters, and the estimate,
whose key ends in ``_est``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from eval.skn.published.wide_rows import estimate_tokens
from eval.skn.scoring.record import Mode
from eval.stats.bootstrap import round_significant

if TYPE_CHECKING:
    from eval.skn.running.row import SknRow


def compute_efficiency(rows: Sequence[SknRow], *, mode: Mode = "corrected") -> dict[str, Any]:
    """Computes the costs of each pipeline, and the ratio of SKN to JSON.

    Args:
        rows: rows of a run.
        mode: ``published`` rounds as published and estimates a context's tokens by its characters.

    Returns:
        ``pipelines``: name → averages. ``efficiency``: ratios of ``skn`` to ``json``, if both
        were run, over the samples on which both have a value (as published: of the averages).
        Values that were not measured are null.
    """
    names = list(dict.fromkeys(row.pipeline for row in rows))
    by_name = {name: [row for row in rows if row.pipeline == name] for name in names}
    averages = {name: _compute_averages(own_rows) for name, own_rows in by_name.items()}
    both = "json" in averages and "skn" in averages
    if mode == "published":
        return {
            "pipelines": {name: _round_as_published(values) for name, values in averages.items()},
            "efficiency": _compute_published_ratio(averages) if both else {},
        }
    ratios = {
        f"{name}_skn_vs_json": _compute_paired_ratio(by_name["skn"], by_name["json"], get_value)
        for name, get_value in (_RATIOS.items() if both else ())
    }
    return {
        "pipelines": averages,
        "efficiency": {"token_ratio_skn_vs_json": None, **ratios} if both else {},
    }


def _compute_averages(rows: Sequence[SknRow]) -> dict[str, float | None]:
    extractions = [row.extraction for row in rows if row.extraction is not None]
    responses = [row.response for row in rows if row.response is not None]
    contexts = [extraction.context for extraction in extractions if extraction.context]
    return {
        "avg_search_time_s": _mean_of_known(row.search_s for row in rows),
        "avg_extraction_time_s": _mean_of_known(extraction.latency_s for extraction in extractions),
        "avg_reasoning_time_s": _mean_of_known(response.latency_s for response in responses),
        "avg_total_latency_s": _mean_of_known(
            # Rows in which the agent never replied waited for fewer calls. They are excluded, so
            # that failing does not make a format look fast.
            None
            if row.latency_s is None or row.response is None
            else row.latency_s + (row.search_s or 0.0)
            for row in rows
        ),
        "avg_context_tokens": None,
        "avg_context_tokens_est": _mean_of_known(estimate_tokens(context) for context in contexts),
        "avg_context_chars": _mean_of_known(len(context) for context in contexts),
        "avg_extraction_tokens": _mean_of_known(
            None if extraction.usage is None else extraction.usage.completion_tokens
            for extraction in extractions
        ),
        "avg_agent_prompt_tokens": _mean_of_known(
            None if response.usage is None else response.usage.prompt_tokens
            for response in responses
        ),
    }


def _round_as_published(averages: dict[str, float | None]) -> dict[str, float | None]:
    """Returns the published keys, with seconds rounded to two decimals and tokens to integers."""
    times = ("avg_search_time_s", "avg_extraction_time_s", "avg_reasoning_time_s")
    known = [averages[name] for name in times]
    total = None if None in known[1:] else sum(value or 0.0 for value in known)
    tokens = averages["avg_context_tokens_est"]
    return {
        **{name: _round_if_known(averages[name]) for name in times},
        "avg_total_latency_s": _round_if_known(total),
        "avg_context_tokens": None if tokens is None else round(tokens),
    }


def _compute_published_ratio(
    averages: dict[str, dict[str, float | None]],
) -> dict[str, float | None]:
    """Computes the ratio of the rounded averages, as published; 0 if JSON has no tokens."""
    skn, json = (
        _round_as_published(averages[name])["avg_context_tokens"] for name in ("skn", "json")
    )
    if skn is None or json is None:
        return {"token_ratio_skn_vs_json": None}
    return {"token_ratio_skn_vs_json": round(skn / json, 2) if json > 0 else 0.0}


def _compute_paired_ratio(
    skn: Sequence[SknRow], json: Sequence[SknRow], get_value: Callable[[SknRow], float | None]
) -> float | None:
    """Computes the ratio of the sums over the rows on which both have a value.

    If each sum were over all rows of its own format, a format that fails on long texts would seem
    shorter than it is.
    """
    first, second = ({(row.id, row.repeat): get_value(row) for row in rows} for rows in (skn, json))
    pairs = [
        (first_value, second_value)
        for key, first_value in first.items()
        if first_value is not None and (second_value := second.get(key)) is not None
    ]
    denominator = sum(second_value for _, second_value in pairs)
    return (
        round_significant(sum(first_value for first_value, _ in pairs) / denominator)
        if denominator
        else None
    )


def _get_context_chars(row: SknRow) -> float | None:
    return len(row.extraction.context) if row.extraction and row.extraction.context else None


def _estimate_context_tokens(row: SknRow) -> float | None:
    context = row.extraction.context if row.extraction else ""
    return estimate_tokens(context) if context else None


def _get_agent_prompt_tokens(row: SknRow) -> float | None:
    response = row.response
    return None if response is None or response.usage is None else response.usage.prompt_tokens


_RATIOS: dict[str, Callable[[SknRow], float | None]] = {
    "char_ratio": _get_context_chars,
    "agent_prompt_token_ratio": _get_agent_prompt_tokens,
    "token_ratio_est": _estimate_context_tokens,
}
"""The ratios of SKN to JSON that are given in addition to the published one."""


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round_significant(fmean(known)) if known else None


def _round_if_known(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
