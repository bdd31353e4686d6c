"""Asks a model which keywords of a group are synonyms, and validates its verdicts.

Several small groups share a request. A verdict is used only if it has the number of one of these
groups and names only keywords of that group, each at most once. Other verdicts are counted as
failed, and the keywords of their groups get no synonyms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.text.batch_client import BatchClient
from eval.text.prompts import SYNONYMS, GroupVerdict, Verdicts
from kg.text.canonical.verdicts import VerdictError, check_synonym_sets
from kg.text.canonical.verifier import Synonyms

if TYPE_CHECKING:
    from eval.model.options import ClientOptions

MAX_SHARED_GROUP_SIZE = 5
"""Maximum number of keywords of a group that shares a request with others."""
GROUPS_PER_REQUEST = 15
"""Number of small groups per request; a larger group has a request of its own."""
MAX_REPLY_TOKENS = 2048
"""Maximum number of tokens in a reply."""


class ModelVerifier:
    """Asks a model which keywords of each group are synonyms.

    Args:
        options: the model and how it is called.

    Attributes:
        failed: number of groups without a usable verdict.

    Raises:
        EpocheError: as ``BatchClient``.
    """

    name = "model"

    def __init__(self, options: ClientOptions) -> None:
        self._client = BatchClient(options, Verdicts, MAX_REPLY_TOKENS)
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Returns the model, prompt and batch size."""
        return {"prompt": SYNONYMS.params(), "batch": GROUPS_PER_REQUEST, **self._client.params()}

    def verify_groups(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """Returns the synonym sets of each group; see ``SynonymVerifier``.

        Raises:
            ModelAccessError: no call can succeed, for instance because the key is refused.
        """
        synonym_sets: list[list[Synonyms]] = [[] for _ in groups]
        batches = _batch_groups(groups)

        def store_reply(batch_index: int, reply: Verdicts | None) -> None:
            verdicts = {} if reply is None else _index_verdicts(reply)
            for group_number, group_index in enumerate(batches[batch_index], start=1):
                sets = _extract_sets(verdicts.get(group_number), groups[group_index])
                if sets is None:
                    self.failed += 1
                else:
                    synonym_sets[group_index] = sets

        prompts = [
            SYNONYMS.build_messages(
                groups=[
                    json.dumps(list(groups[group_index]), ensure_ascii=False)
                    for group_index in batch
                ]
            )
            for batch in batches
        ]
        self._client.send_prompts(prompts, store_reply)
        return synonym_sets


def _batch_groups(groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Returns batches of group numbers, one batch per request; each group is in one batch."""
    small_groups = [
        number for number, group in enumerate(groups) if len(group) <= MAX_SHARED_GROUP_SIZE
    ]
    large_groups = [
        number for number, group in enumerate(groups) if len(group) > MAX_SHARED_GROUP_SIZE
    ]
    shared_batches = [
        small_groups[start : start + GROUPS_PER_REQUEST]
        for start in range(0, len(small_groups), GROUPS_PER_REQUEST)
    ]
    return shared_batches + [[number] for number in large_groups]


def _index_verdicts(reply: Verdicts) -> dict[int, GroupVerdict | None]:
    """Returns group number → verdict; None for a number with several verdicts."""
    verdict_by_group: dict[int, GroupVerdict | None] = {}
    for verdict in reply.groups:
        verdict_by_group[verdict.group_id] = (
            None if verdict.group_id in verdict_by_group else verdict
        )
    return verdict_by_group


def _extract_sets(verdict: GroupVerdict | None, group: Sequence[str]) -> list[Synonyms] | None:
    """Returns the sets of a verdict with two or more members; None if the verdict is unusable."""
    if verdict is None:
        return None
    sets = [(synonym_set.canonical, synonym_set.members) for synonym_set in verdict.synonym_groups]
    try:
        check_synonym_sets(group, sets)
    except VerdictError:
        return None
    grouped_keywords = {member for _, members in sets for member in members}
    if not frozenset(group).difference(grouped_keywords).issuperset(verdict.standalone):
        return None
    return [(canonical, members) for canonical, members in sets if len(members) > 1]
