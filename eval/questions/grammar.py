"""Where a cue stands in a question, and what grammar says about who is who around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eval.questions.cues import BE, SLOT, Cue, alike, weight
from eval.questions.linking import ARTICLES, POSSESSIVE, Mention
from kg.words.phrasing import PREPOSITIONS, is_participle

MAX_GAP = 3
"""Words that may stand between two words of a cue; a name counts as one."""

_RELATIVES = frozenset(("where", "which", "what", "that", "whose", "whom"))


class Match(NamedTuple):
    """One occurrence of a cue."""

    cue: Cue
    score: float
    gaps: int
    at: int
    """Position of the first matched word."""
    end: int
    """Position of the last matched word."""
    fronted: int = -1
    """Position of a preposition that stands in front of its name, before the verb; else -1."""


def match(cue: Cue, stems: Sequence[str], keys: Sequence[str]) -> Match | None:
    """The closest occurrence of a cue's words in order, or None."""
    best: Match | None = None
    for start in (i for i, s in enumerate(stems) if s == cue.stems[0]):
        at, gaps, missing = start, 0, ""
        for wanted in cue.stems[1:]:
            here = _next(stems, keys, at, wanted)
            if here is None:
                missing = wanted
                break
            gaps, at = gaps + _real_words(keys[at + 1 : here]), here
        score, fronted = sum(map(weight, cue.stems)), -1
        if missing:
            if missing != cue.stems[-1] or missing not in PREPOSITIONS:
                continue
            credit, at, fronted = _without_preposition(missing, stems, keys, start, at)
            if not credit:
                continue
            score += credit - weight(missing)
        found = Match(cue, score, gaps, start, at, fronted)
        if best is None or (found.score, -found.gaps) > (best.score, -best.gaps):
            best = found
    return best


def _next(stems: Sequence[str], keys: Sequence[str], at: int, wanted: str) -> int | None:
    """Where the next word of a cue stands, if near enough."""
    # Articles do not count towards the gap, so the window is somewhat wider than it.
    for here in range(at + 1, min(len(stems), at + 2 * MAX_GAP + 1)):
        if stems[here] == wanted:
            return here if _real_words(keys[at + 1 : here]) <= MAX_GAP else None
    return None


def _without_preposition(
    missing: str, stems: Sequence[str], keys: Sequence[str], start: int, at: int
) -> tuple[float, int, int]:
    """A verb whose last preposition is not behind it.

    Returns:
        What the match is still worth (0: nothing), its last position, and where a preposition in
        front of a name stands ("into the sea flows the river"), else -1.
    """
    following = keys[at + 1] if at + 1 < len(keys) else ""
    if alike(missing, following):
        return 0.8, at + 1, -1
    if following in PREPOSITIONS - {"of"}:
        return 0.0, at, -1
    if missing in ("by", "of", "from"):
        return 0.0, at, -1  # Without them the verb says something else.
    if _RELATIVES.intersection(keys[:start]):
        return (0.9 if missing in stems[:start] else 0.5), at, -1
    if missing in stems[:start]:
        place = stems.index(missing)
        ahead = [key for key in keys[place + 1 : place + 3] if key not in ARTICLES]
        if ahead[:1] == [SLOT]:
            return 0.7, at, place
    return 0.0, at, -1


def _real_words(keys: Sequence[str]) -> int:
    return sum(key not in ARTICLES for key in keys)


def agent(
    keys: Sequence[str], match: Match, slots: Sequence[tuple[int, Mention]]
) -> Mention | None:
    """Who the verb is said of: the last name before it, or the one behind "by"."""
    if match.fronted >= 0:
        aim = next((at for at, _ in slots if at > match.fronted), -1)
        return next((m for at, m in slots if at != aim), None) if aim >= 0 else None
    if match.at == 0:
        return slots[0][1]  # "Has S got O as …": the verb itself opens the question.
    # "Water from S reaches O": a name may stand inside the cue.
    before = [m for at, m in slots if at < match.at] or [m for at, m in slots if at < match.end]
    by = is_participle(keys[match.end]) and keys[match.end + 1 : match.end + 2] == ("by",)
    if not match.cue.passive and (by or _is_passive(keys, match.at)):
        after = [k for k in keys[match.end + 1 : match.end + 3] if k not in ARTICLES]
        behind = [m for at, m in slots if at > match.end]
        if after[:1] == ["by"]:
            return behind[0] if behind else None
        # "is included in": what stands before is what it is done to.
        return next((m for _, m in slots if before and m is not before[-1]), None)
    return before[-1] if before else None


def _is_passive(keys: Sequence[str], at: int) -> bool:
    """Whether the verb at this position is a participle behind a form of "be"."""
    if not is_participle(keys[at]):
        return False
    # Between the two there may be a name and adverbs, but no other verb's relative clause.
    ahead = keys[max(0, at - 4) : at]
    return bool(BE.intersection(ahead)) and not _RELATIVES.intersection(ahead)


def owner(
    keys: Sequence[str], match: Match, slots: Sequence[tuple[int, Mention]]
) -> Mention | None:
    """Whose the noun is: "S's mouth", "the mouth of S", "S has its mouth at O", "S mouth"."""
    by_place = dict(slots)
    at = match.end + 1
    if keys[at : at + 1] in (("of",), ("for",)):
        for place in range(at + 1, min(len(keys), at + 5)):
            if place in by_place:
                return by_place[place]
    possessed = [i for i in range(max(0, match.at - 4), match.at) if keys[i] == POSSESSIVE]
    if possessed and possessed[-1] - 1 in by_place:
        return by_place[possessed[-1] - 1]
    before = [(place, m) for place, m in slots if place < match.at]
    having = [i for i in range(match.at) if keys[i] in ("has", "have", "having", "with")]
    if having:
        holders = [m for place, m in before if place < having[-1]]
        if holders or having[-1] == 0:
            return holders[-1] if holders else slots[0][1]
    if "whose" in keys[max(0, match.at - 2) : match.at] and before:
        return before[-1][1]
    if "its" in keys[max(0, match.at - 3) : match.at] and before:
        # "S counts O among its tributaries", but "O is where S reaches its mouth".
        return before[-1 if _RELATIVES.intersection(keys[: match.at]) else 0][1]
    if match.at - 1 in by_place:
        return by_place[match.at - 1]
    return None
