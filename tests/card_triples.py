"""Reads the triples that a card was made from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cards.facts import make_denial_triples
from kg.claims import Claim


def read_card_triples(rows: Iterable[dict[str, Any]]) -> list[Claim]:
    """Decodes ``meta.triples`` to triples; denials become negative property assertions."""
    triples: list[Claim] = []
    for index, row in enumerate(rows):
        if "denied" in row:
            triples += make_denial_triples(Claim(**row["denied"]), f"_:denied{index}")
        else:
            triples.append(Claim(row["subj"], row["pred"], row["obj"]))
    return triples
