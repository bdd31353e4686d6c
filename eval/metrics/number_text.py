"""Formats values of metrics for text."""

from __future__ import annotations

from eval.stats.estimates import Estimate


def format_value(value: float | None) -> str:
    """Formats a value for a table: three decimals, or a dash for null."""
    return "–" if value is None else f"{value:.3f}"


def format_with_interval(value: Estimate) -> str:
    """Formats a value as ``0.912 [0.880, 0.941]``, with bounds over unusable replies if any."""
    text = format_value(value.value)
    if value.low is not None and value.high is not None:
        text += f" [{value.low:.3f}, {value.high:.3f}]"
    if value.worst != value.best:
        text += f" ({format_value(value.worst)} … {format_value(value.best)})"
    return text


def format_p_value(p_value: float) -> str:
    """Formats a p-value: three decimals, or ``< 0.001``."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
