"""The tokens and cost of model calls."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True):
    """The tokens and cost of a call, as reported by the server."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None


def round_cost(usage: Usage | None) -> Usage | None:
    """Rounds the cost to 12 decimals, because later ones depend on the order of summation."""
    if usage is None or usage.cost_usd is None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=round(usage.cost_usd, 12))
