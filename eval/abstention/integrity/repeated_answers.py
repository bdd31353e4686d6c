"""Computes answers again that follow from the cards and their graph alone, to verify rows.

A model would have to be asked again. The licence oracle, its reading of questions, the lexical
reader and the controls give the same answer every time, so an edited one is found even if all
hashes were forged, also one that was made an ``ERROR``. Nothing is known of an answer to a card on
which the system fails now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cards.card import Card
from cards.card_origin import find_card_sources, read_card_origin
from eval.abstention.answers import ask_system
from eval.abstention.manifest import RunManifest
from eval.abstention.result import Result
from eval.abstention.system import AnySystem, SystemOptions
from eval.abstention.systems.registry import make_systems
from eval.harness.systems.description import collect_params, find_hash
from kg.base.errors import EpocheError
from kg.base.provenance import package_version

REPEATABLE_SYSTEMS: Final = (
    *("kg", "graph_rag", "rag", "controls"),
    *("always-YES", "always-NO", "always-UNKNOWN", "random"),
)
"""Values of ``--system`` whose answers follow from cards, graph and seed."""
COMPUTED_FIELDS: Final = ("pred", "confidence", "raw")
"""Fields of rows that follow from the answer."""


class RepeatedAnswers:
    """Answers cards as the systems of a run did.

    Args:
        manifest: the manifest of the run.
        cards: the card file.

    Attributes:
        problem: why the systems would not give the same answers; empty if they would.
    """

    def __init__(self, manifest: RunManifest, cards: Path) -> None:
        self.problem = ""
        self._card_set = manifest.cards_sha256
        self._systems: dict[str, AnySystem] = {}
        self._last_rows: dict[str, Result] = {}
        version = manifest.versions.get("epoche")
        if version != package_version():
            self.problem = f"version {version} of Epoché gave them"
            return
        try:
            domain, graph, shapes = find_card_sources(read_card_origin(cards), cards)
            options = SystemOptions(domain=domain, graph=graph, shapes=shapes, seed=manifest.seed)
            systems = make_systems(manifest.system, options)
            names = [system.name for system in systems]
            params = collect_params(systems, names)
        except EpocheError as error:
            self.problem = error.what
            return
        if (find_hash(systems, "graph"), find_hash(systems, "shapes")) != (
            manifest.graph_sha256,
            manifest.shapes_sha256,
        ):
            self.problem = "the run used another graph or other shapes than those of the cards"
        elif (tuple(names), params) != (manifest.systems, manifest.params):
            self.problem = "the run had other settings than the default ones"
        else:
            self._systems = dict(zip(names, systems, strict=True))

    def compute_row(self, card: Card, system: str) -> Result | None:
        """Returns the row of a system's answer to a card; None if it is not known or failed.

        The last row of each system is kept: the repeats of a card follow each other.
        """
        asked = self._systems.get(system)
        if asked is None:
            return None
        row = self._last_rows.get(system)
        if row is None or row.id != card.id:
            row = ask_system(asked, card, name=system, card_set=self._card_set)
            self._last_rows[system] = row
        return None if row.pred == "ERROR" else row
