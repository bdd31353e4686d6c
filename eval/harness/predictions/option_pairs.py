"""Parses ``--map FIELD=THEIRS`` and ``--value THEIRS=OURS``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kg.base.errors import SettingError
from kg.base.plain_text import clean_text, join_list

_MAX_SHOWN_CHARS: Final = 60


def parse_pairs(
    texts: Sequence[str], option: str, known: Sequence[str], noun: str = "outcome"
) -> dict[str, str]:
    """Parses ``NAME=VALUE,…``, where the name or the value is one of a few known words.

    Args:
        texts: what the user gave.
        option: ``--map`` (FIELD=THEIRS) or ``--value`` (THEIRS=OUTCOME).
        known: our fields, or the outcomes.
        noun: what messages call one of the outcomes.

    Returns:
        Our word → theirs for ``--map``, theirs in lower case → our word for ``--value``.

    Raises:
        SettingError: a pair is malformed or given twice.
    """
    pairs: dict[str, str] = {}
    for pair in (pair for text in texts for pair in text.split(",")):
        name, _, value = (part.strip() for part in pair.partition("="))
        ours = name if option == "--map" else value
        key = name if option == "--map" else name.casefold()
        if ours not in known or not name or not value or key in pairs:
            form = "FIELD=THEIRS" if option == "--map" else f"THEIRS={noun.upper()}"
            raise SettingError(
                f"{clean_text(pair, _MAX_SHOWN_CHARS)!r} is no pair {form}, or is given twice",
                where=option,
                hint=f"{'The fields' if option == '--map' else f'{noun.capitalize()}s'} are "
                f"{join_list(known)}.",
            )
        pairs[key] = value
    return pairs
