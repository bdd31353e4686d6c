"""What calls cost: dollars per million tokens, by model; a model without a price costs null."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec

from kg.base.errors import RecordError
from kg.base.files import require_file

_MAX_BYTES = 4 * 1024 * 1024
_Dollars = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens."""

    prompt: _Dollars
    completion: _Dollars

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars of one call. Discounts (cached prompts, batches) are not known here."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


def find_price(name: str, file: Path | None, usual: Price | None = None) -> Price | None:
    """The price of the model ``provider/model``; null when no table has it.

    Args:
        name: as the user wrote it.
        file: the user's table, which goes before the shipped one; same form.
        usual: what a configuration says; goes before the shipped table.

    Raises:
        MissingFileError: no such file.
        RecordError: it is no price table.
    """
    if file is not None:
        found = read_prices(require_file(file, "price file").read_bytes(), str(file)).get(name)
        if found is not None:
            return found
    return usual or _shipped().get(name)


@cache
def _shipped() -> dict[str, Price]:
    raw = resources.files(__package__).joinpath("prices.json").read_bytes()
    return read_prices(raw, "prices.json")


def read_prices(raw: bytes, where: str) -> dict[str, Price]:
    """Reads ``{"provider/model": {"prompt": 0.15, "completion": 0.6}}``.

    Raises:
        RecordError: it has another form.
    """
    hint = 'Write {"openai/gpt-4o-mini": {"prompt": 0.15, "completion": 0.6}}: $ per 1M tokens.'
    if len(raw) > _MAX_BYTES:
        raise RecordError("too long for a price table", where=where, hint=hint)
    try:
        return msgspec.json.decode(raw, type=dict[str, Price])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"not a price table: {error}", where=where, hint=hint) from error
