"""What each format costs: seconds, characters and tokens, under the published keys and ours.

The published count of tokens is a quarter of the characters. A server counts the tokens of whole
calls, never of the context inside one; so under corrected definitions ``avg_context_tokens`` is
null, and what the server did count (all that the agent read, all that the extractor wrote) stands
beside the exact number of characters and the estimate, which is called one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from eval.skn.published.wide_rows import tokens_estimate
from eval.skn.scoring.record import Mode
from eval.stats.intervals import tidy

if TYPE_CHECKING:
    from eval.skn.running.row import SknRow


def efficiency(rows: Sequence[SknRow], *, mode: Mode = "corrected") -> dict[str, Any]:
    """Costs of each pipeline, and of SKN beside JSON.

    Args:
        rows: of a run.
        mode: ``published`` rounds as published and counts a context's tokens by its characters.

    Returns:
        ``pipelines``: name → averages; ``efficiency``: ratios of ``skn`` to ``json`` over the
        samples that both have a number of (as published: of the averages), where both were run.
        Null is what nobody counted or measured.
    """
    names = list(dict.fromkeys(row.pipeline for row in rows))
    by_name = {name: [row for row in rows if row.pipeline == name] for name in names}
    found = {name: _averages(of) for name, of in by_name.items()}
    both = "json" in found and "skn" in found
    if mode == "published":
        return {
            "pipelines": {name: _as_published(one) for name, one in found.items()},
            "efficiency": _published_ratio(found) if both else {},
        }
    ratios = {
        f"{name}_skn_vs_json": _ratio(by_name["skn"], by_name["json"], of)
        for name, of in (_RATIOS.items() if both else ())
    }
    return {
        "pipelines": found,
        "efficiency": {"token_ratio_skn_vs_json": None, **ratios} if both else {},
    }


def _averages(rows: Sequence[SknRow]) -> dict[str, float | None]:
    extractions = [row.extraction for row in rows if row.extraction is not None]
    responses = [row.response for row in rows if row.response is not None]
    contexts = [one.context for one in extractions if one.context]
    return {
        "avg_search_time_s": _mean(row.search_s for row in rows),
        "avg_extraction_time_s": _mean(one.latency_s for one in extractions),
        "avg_reasoning_time_s": _mean(one.latency_s for one in responses),
        "avg_total_latency_s": _mean(
            # Where the agent never replied a row waited for less, which makes no format fast.
            None
            if row.latency_s is None or row.response is None
            else row.latency_s + (row.search_s or 0.0)
            for row in rows
        ),
        "avg_context_tokens": None,
        "avg_context_tokens_est": _mean(tokens_estimate(context) for context in contexts),
        "avg_context_chars": _mean(len(context) for context in contexts),
        "avg_extraction_tokens": _mean(
            None if one.usage is None else one.usage.completion_tokens for one in extractions
        ),
        "avg_agent_prompt_tokens": _mean(
            None if one.usage is None else one.usage.prompt_tokens for one in responses
        ),
    }


def _as_published(found: dict[str, float | None]) -> dict[str, float | None]:
    """The published keys, seconds to two digits and tokens to whole ones."""
    times = ("avg_search_time_s", "avg_extraction_time_s", "avg_reasoning_time_s")
    known = [found[name] for name in times]
    total = None if None in known[1:] else sum(one or 0.0 for one in known)
    tokens = found["avg_context_tokens_est"]
    return {
        **{name: _rounded(found[name]) for name in times},
        "avg_total_latency_s": _rounded(total),
        "avg_context_tokens": None if tokens is None else round(tokens),
    }


def _published_ratio(found: dict[str, dict[str, float | None]]) -> dict[str, float | None]:
    """Of the rounded averages, as published; 0 where JSON has none."""
    skn, json = (_as_published(found[name])["avg_context_tokens"] for name in ("skn", "json"))
    if skn is None or json is None:
        return {"token_ratio_skn_vs_json": None}
    return {"token_ratio_skn_vs_json": round(skn / json, 2) if json > 0 else 0.0}


def _ratio(
    skn: Sequence[SknRow], json: Sequence[SknRow], of: Callable[[SknRow], float | None]
) -> float | None:
    """Of the sums over the samples on which both have a number.

    Over those each format has, the one that fails on long texts would seem the shorter.
    """
    first, second = ({(row.id, row.repeat): of(row) for row in rows} for rows in (skn, json))
    pairs = [
        (one, other)
        for key, one in first.items()
        if one is not None and (other := second.get(key)) is not None
    ]
    below = sum(other for _, other in pairs)
    return tidy(sum(one for one, _ in pairs) / below) if below else None


def _context_chars(row: SknRow) -> float | None:
    return len(row.extraction.context) if row.extraction and row.extraction.context else None


def _context_tokens_est(row: SknRow) -> float | None:
    context = row.extraction.context if row.extraction else ""
    return tokens_estimate(context) if context else None


def _agent_prompt_tokens(row: SknRow) -> float | None:
    said = row.response
    return None if said is None or said.usage is None else said.usage.prompt_tokens


_RATIOS: dict[str, Callable[[SknRow], float | None]] = {
    "char_ratio": _context_chars,
    "agent_prompt_token_ratio": _agent_prompt_tokens,
    "token_ratio_est": _context_tokens_est,
}
"""Of SKN to JSON, beside the published one."""


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return tidy(fmean(known)) if known else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
