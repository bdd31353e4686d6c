"""Who decides which keywords of a group are synonyms, and the one who needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from kg.text.canonical.rules import is_acronym, judge, kindred, refuted

Synonyms: TypeAlias = tuple[str, tuple[str, ...]]
"""A canonical keyword and all members of its set, itself among them."""


@runtime_checkable
class SynonymVerifier(Protocol):
    """Decides which keywords of a group are true synonyms.

    Attributes:
        name: for the manifest.
        failed: groups so far for which no usable verdict was had.
    """

    name: str
    failed: int

    def params(self) -> dict[str, object]:
        """Everything that decides the verdicts, for manifests."""
        ...

    def verify(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """The sets of synonyms in each group, at least two members each.

        Args:
            groups: keywords that may be synonyms, the commonest first, each once.

        Returns:
            For each group its sets, as ``check_sets`` wants them; what is in none stands alone.
        """
        ...


class RuleVerifier:
    """Synonyms by rule: positive evidence for a pair, and no veto against any pair of the set.

    The commonest keyword that is no acronym is the canonical one. An acronym joins the set that
    spells it out; where several do with different words, it is ambiguous and stands alone.
    """

    name = "rules"
    failed = 0
    """A rule always has a verdict."""

    def params(self) -> dict[str, object]:
        """The rules have no parameters, only a version."""
        return {"version": 1}

    def verify(self, groups: Sequence[Sequence[str]]) -> list[list[Synonyms]]:
        """As the protocol says."""
        return [_sets(group) for group in groups]


def _sets(group: Sequence[str]) -> list[Synonyms]:
    """The sets of synonyms among keywords, the commonest first."""
    sets: list[list[str]] = []
    for keyword in group:
        if not is_acronym(keyword):
            _join(sets, keyword)
    for keyword in group:
        if is_acronym(keyword):
            # Sets that spell it out with different words mean different things, and nobody knows
            # which of them is meant.
            fitting = _fitting(sets, keyword)
            if fitting and all(kindred(fitting[0][0], members[0]) for members in fitting):
                fitting[0].append(keyword)
            else:
                sets.append([keyword])
    return [(members[0], tuple(members)) for members in sets if len(members) > 1]


def _join(sets: list[list[str]], keyword: str) -> None:
    """Puts a keyword, and every set that it belongs to, into the first of them."""
    first, *others = _fitting(sets, keyword) or [[]]
    if not first:
        sets.append(first)
    first.append(keyword)
    for members in others:
        if not any(refuted(one, other) for one in first for other in members):
            first.extend(members)
            members.clear()


def _fitting(sets: Sequence[list[str]], keyword: str) -> list[list[str]]:
    """The sets with a synonym of a keyword among them, and with nothing that speaks against it."""
    return [
        members
        for members in sets
        if any(judge(keyword, member).same for member in members)
        and not any(refuted(keyword, member) for member in members)
    ]
