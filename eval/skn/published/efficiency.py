"""Computes the cost of each format in seconds, characters and tokens.

The published number of tokens is a quarter of the characters. A server counts only the tokens of a
call, not those of the context that is a part of the call. By the corrected definitions
``avg_context_tokens`` is therefore null, and other figures are given: the tokens that the agent
read and those that the extractor wrote, as the server counted them; the exact number of characters;
and the published estimate, under a key that ends in ``_est``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from eval.skn.retention.retention import estimate_tokens
from eval.skn.scoring.record import Mode
from eval.stats.bootstrap import round_significant

if TYPE_CHECKING:
    from eval.skn.row import SknRow


def compute_efficiency(rows: Sequence[SknRow], *, mode: Mode = "corrected") -> dict[str, Any]:
    """Computes the costs of each pipeline, and the ratio of SKN to JSON.

    Args:
        rows: rows of a run.
        mode: ``published`` rounds as published and estimates a context's tokens by its characters.

    Returns:
        ``pipelines``: name → averages. ``efficiency``: ratios of ``skn`` to ``json``, empty unless
        both were run. They are computed over the samples on which both have a value, or, in the
        mode ``published``, from the averages. Values that were not measured are null.
    """
    pipelines = list(dict.fromkeys(row.pipeline for row in rows))
    by_name = {name: [row for row in rows if row.pipeline == name] for name in pipelines}
    averages = {name: _compute_averages(pipeline_rows) for name, pipeline_rows in by_name.items()}
    has_both_formats = "json" in averages and "skn" in averages
    if mode == "published":
        return {
            "pipelines": {name: _round_as_published(values) for name, values in averages.items()},
            "efficiency": _compute_published_ratio(averages) if has_both_formats else {},
        }
    ratios = {
        f"{name}_skn_vs_json": _compute_paired_ratio(by_name["skn"], by_name["json"], get_value)
        for name, get_value in (_RATIOS.items() if has_both_formats else ())
    }
    return {
        "pipelines": averages,
        "efficiency": {"token_ratio_skn_vs_json": None, **ratios} if has_both_formats else {},
    }


def _compute_averages(rows: Sequence[SknRow]) -> dict[str, float | None]:
    extractions = [row.extraction for row in rows if row.extraction is not None]
    responses = [row.response for row in rows if row.response is not None]
    contexts = [extraction.context for extraction in extractions if extraction.context]
    return {
        "avg_search_time_s": _compute_known_mean(row.search_s for row in rows),
        "avg_extraction_time_s": _compute_known_mean(
            extraction.latency_s for extraction in extractions
        ),
        "avg_reasoning_time_s": _compute_known_mean(response.latency_s for response in responses),
        "avg_total_latency_s": _compute_known_mean(
            # Rows in which the agent never replied waited for fewer calls. They are excluded, so
            # that failing does not make a format look fast.
            None
            if row.latency_s is None or row.response is None
            else row.latency_s + (row.search_s or 0.0)
            for row in rows
        ),
        "avg_context_tokens": None,
        "avg_context_tokens_est": _compute_known_mean(
            estimate_tokens(context) for context in contexts
        ),
        "avg_context_chars": _compute_known_mean(len(context) for context in contexts),
        "avg_extraction_tokens": _compute_known_mean(
            None if extraction.usage is None else extraction.usage.completion_tokens
            for extraction in extractions
        ),
        "avg_agent_prompt_tokens": _compute_known_mean(
            None if response.usage is None else response.usage.prompt_tokens
            for response in responses
        ),
    }


def _round_as_published(averages: dict[str, float | None]) -> dict[str, float | None]:
    """Returns the published keys, with seconds rounded to two decimals and tokens to integers."""
    time_keys = ("avg_search_time_s", "avg_extraction_time_s", "avg_reasoning_time_s")
    seconds = [averages[name] for name in time_keys]
    # The search time may be missing: replayed searches have none.
    total = None if None in seconds[1:] else sum(value or 0.0 for value in seconds)
    tokens = averages["avg_context_tokens_est"]
    return {
        **{name: _round_if_known(averages[name]) for name in time_keys},
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
    skn_values, json_values = (
        {(row.id, row.repeat): get_value(row) for row in rows} for rows in (skn, json)
    )
    pairs = [
        (skn_value, json_value)
        for key, skn_value in skn_values.items()
        if skn_value is not None and (json_value := json_values.get(key)) is not None
    ]
    denominator = sum(json_value for _, json_value in pairs)
    return (
        round_significant(sum(skn_value for skn_value, _ in pairs) / denominator)
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


def _compute_known_mean(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return round_significant(fmean(known_values)) if known_values else None


def _round_if_known(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
