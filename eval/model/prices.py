"""Prices of model calls, in dollars per million tokens; the cost is null without a known price."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec

from kg.base.errors import RecordError
from kg.base.files import require_file

_MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of a price table; a larger file is probably not one."""
_Dollars = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens."""

    prompt: _Dollars
    completion: _Dollars

    def compute_cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Computes the cost of one call in dollars, without discounts (cached prompts, batches)."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


def find_price(name: str, file: Path | None, configured: Price | None = None) -> Price | None:
    """Returns the price of a model, or None if no table has it.

    Args:
        name: ``provider/model`` as the user wrote it.
        file: the user's price table, which takes precedence over the others.
        configured: a price from a configuration file, which takes precedence over the shipped one.

    Raises:
        MissingFileError: ``file`` does not exist.
        RecordError: the file is not a price table.
    """
    if file is not None:
        price = read_prices(require_file(file, "price file").read_bytes(), str(file)).get(name)
        if price is not None:
            return price
    return configured or _load_shipped_prices().get(name)


@cache
def _load_shipped_prices() -> dict[str, Price]:
    raw = resources.files(__package__).joinpath("prices.json").read_bytes()
    return read_prices(raw, "prices.json")


def read_prices(raw: bytes, where: str) -> dict[str, Price]:
    """Reads ``{"provider/model": {"prompt": 0.15, "completion": 0.6}}``.

    Raises:
        RecordError: the text is too long or has another form.
    """
    hint = 'Write {"openai/gpt-4o-mini": {"prompt": 0.15, "completion": 0.6}}: $ per 1M tokens.'
    if len(raw) > _MAX_BYTES:
        raise RecordError("too long for a price table", where=where, hint=hint)
    try:
        return msgspec.json.decode(raw, type=dict[str, Price])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a price table: {error}", where=where, hint=hint) from error
