"""The protocol of synonym verifiers, and the verifier by rules, which needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from kg.text.canonical.rules import is_refuted, judge_pair

Synonyms: TypeAlias = tuple[str, tuple[str, ...]]
"""A canonical keyword and all members of its set, including itself."""


@runtime_checkable
class SynonymVerifier(Protocol):
    """Decides which keywords of a group are true synonyms.

    Attributes:
        name: the verifier's name, as recorded in the manifest.
        failed: number of groups that have got no usable verdict.
    """

    name: str
    failed: int

    def params(self) -> dict[str, object]:
        """Returns every parameter that affects the verdicts, for manifests."""
        ...

    def verify_groups(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """Returns the synonym sets of each group, each with at least two members.

        Args:
            groups: keywords that may be synonyms, the commonest first, each once.

        Returns:
            For each group its sets, valid for ``check_synonym_sets``; keywords in no set have no
            synonym.
        """
        ...


class RuleVerifier:
    """Finds synonyms by rules.

    A keyword joins a set if it is a synonym of at least one member and no rule refutes it for any
    member. The canonical keyword is the commonest one. Letters alone do not make an acronym a
    synonym; see ``kg.text.canonical.definitions``.
    """

    name = "rules"
    failed = 0
    """Always 0: the rules decide every group."""

    def params(self) -> dict[str, object]:
        """Returns the version of the rules; they have no parameters."""
        return {"version": 3}

    def verify_groups(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """Returns the synonym sets of each group; see ``SynonymVerifier``."""
        return [_find_synonym_sets(group) for group in groups]


def _find_synonym_sets(group: Sequence[str]) -> list[Synonyms]:
    """Returns the synonym sets among keywords, which are given commonest first."""
    sets: list[list[str]] = []
    for keyword in group:
        _add_keyword(sets, keyword)
    return [(members[0], tuple(members)) for members in sets if len(members) > 1]


def _is_synonym(keyword: str, other_keyword: str) -> bool:
    judgement = judge_pair(keyword, other_keyword)
    return judgement.is_synonym and judgement.reason != "acronym"


def _add_keyword(sets: list[list[str]], keyword: str) -> None:
    """Adds a keyword to the first set it matches, and merges the other matching sets into that."""
    # `[[]]` starts a new set if none matches.
    target_set, *other_sets = _find_matching_sets(sets, keyword) or [[]]
    if not target_set:
        sets.append(target_set)
    target_set.append(keyword)
    for members in other_sets:
        if not any(is_refuted(member, other) for member in target_set for other in members):
            target_set.extend(members)
            members.clear()


def _find_matching_sets(sets: Sequence[list[str]], keyword: str) -> list[list[str]]:
    """Returns the sets with a synonym of a keyword and no member that a rule refutes."""
    return [
        members
        for members in sets
        if any(_is_synonym(keyword, member) for member in members)
        and not any(is_refuted(keyword, member) for member in members)
    ]
