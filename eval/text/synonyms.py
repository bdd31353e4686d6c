"""Synonyms by a model: it says which keywords of a group mean the same; its verdicts are checked.

Small groups share a request. A verdict on a group is used only if it is about that group, names
nobody else's keywords, and names none twice; any other is counted, and its keywords stand alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.text.asking import BatchAsker
from eval.text.prompts import SYNONYMS, GroupVerdict, Verdicts
from kg.text.canonical.verdicts import VerdictError, check_sets
from kg.text.canonical.verifier import Synonyms

if TYPE_CHECKING:
    from eval.model.options import ClientOptions

SMALL = 5
"""Groups of so many keywords or fewer share a request …"""
BATCH = 15
"""… so many of them; a larger group has one to itself."""
MAX_TOKENS = 2048


class ModelVerifier:
    """Asks a model which keywords of each group are synonyms.

    Args:
        options: which model, and how it is called.

    Attributes:
        failed: groups without a usable verdict.

    Raises:
        EpocheError: as ``BatchAsker``.
    """

    name = "model"

    def __init__(self, options: ClientOptions) -> None:
        self._asker = BatchAsker(options, Verdicts, MAX_TOKENS)
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Model and prompt."""
        return {"prompt": SYNONYMS.params(), "batch": BATCH, **self._asker.params()}

    def verify(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """The synonym sets of each group; what is in none of them stands alone.

        Raises:
            ModelAccessError: no call can succeed.
        """
        found: list[list[Synonyms]] = [[] for _ in groups]
        batches = _batches(groups)

        def keep(number: int, reply: Verdicts | None) -> None:
            verdicts = {} if reply is None else _by_group(reply)
            for place, group in enumerate(batches[number], start=1):
                sets = _checked(verdicts.get(place), groups[group])
                if sets is None:
                    self.failed += 1
                else:
                    found[group] = sets

        prompts = [
            SYNONYMS.messages(
                groups=[json.dumps(list(groups[group]), ensure_ascii=False) for group in batch]
            )
            for batch in batches
        ]
        self._asker.ask(prompts, keep)
        return found


def _batches(groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Numbers of the groups that are asked about together, each group in one batch."""
    small = [number for number, group in enumerate(groups) if len(group) <= SMALL]
    large = [number for number, group in enumerate(groups) if len(group) > SMALL]
    shared = [small[start : start + BATCH] for start in range(0, len(small), BATCH)]
    return shared + [[number] for number in large]


def _by_group(reply: Verdicts) -> dict[int, GroupVerdict | None]:
    """Verdicts by the group's number; None for a number that was given two of them."""
    found: dict[int, GroupVerdict | None] = {}
    for verdict in reply.groups:
        found[verdict.group_id] = None if verdict.group_id in found else verdict
    return found


def _checked(verdict: GroupVerdict | None, group: Sequence[str]) -> list[Synonyms] | None:
    """The sets of a verdict; None if it cannot be used."""
    if verdict is None:
        return None
    sets = [(one.canonical, one.members) for one in verdict.synonym_groups]
    try:
        check_sets(group, sets)
    except VerdictError:
        return None
    named = {member for _, members in sets for member in members}
    if not frozenset(group).difference(named).issuperset(verdict.standalone):
        return None
    return [(canonical, members) for canonical, members in sets if len(members) > 1]
