"""Validates the verdicts of synonym verifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class VerdictError(ValueError):
    """A verdict contradicts itself or names keywords outside its group."""


def check_synonym_sets(group: Sequence[str], sets: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Checks that the synonym sets of a group can be applied.

    Args:
        group: the keywords of the group.
        sets: the synonym sets: (canonical keyword, members).

    Raises:
        VerdictError: a canonical keyword is empty or not among its members; a member is not in
            the group, or occurs twice.
    """
    group_members, used_members = frozenset(group), set[str]()
    for canonical, members in sets:
        if not canonical or canonical not in members:
            raise VerdictError(f"the canonical keyword {canonical!r} is not among its members")
        for member in members:
            if member not in group_members:
                raise VerdictError(f"{member!r} is not in the group")
            if member in used_members:
                raise VerdictError(f"{member!r} occurs twice")
            used_members.add(member)
