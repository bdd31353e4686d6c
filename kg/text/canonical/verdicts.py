"""What a verdict on a group must be, whoever gave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class VerdictError(ValueError):
    """A verdict that says more than it was asked, or contradicts itself."""


def check_sets(group: Sequence[str], sets: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Makes sure that sets of synonyms can be applied.

    Args:
        group: the keywords that were asked about.
        sets: each a canonical keyword and its members.

    Raises:
        VerdictError: a canonical keyword is empty or not among its members; a member is not of
            the group, or is named twice.
    """
    known, seen = frozenset(group), set[str]()
    for canonical, members in sets:
        if not canonical or canonical not in members:
            raise VerdictError(f"the canonical {canonical!r} is not among its members")
        for member in members:
            if member not in known:
                raise VerdictError(f"{member!r} is not of the group")
            if member in seen:
                raise VerdictError(f"{member!r} is named twice")
            seen.add(member)
