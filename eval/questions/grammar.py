"""Finds cues in a question, and the grammatical roles of the names around them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from eval.questions.cues import (
    BE_FORMS,
    SLOT,
    Cue,
    are_similar_prepositions,
    is_inflected,
    stem_word,
    weigh_stem,
)
from eval.questions.mentions import ARTICLES, POSSESSIVE, Mention
from kg.words.label_grammar import is_participle
from kg.words.label_words import PREPOSITIONS

MAX_GAP = 3
"""Maximum number of words between two words of a cue; a name counts as one word."""

_RELATIVE_PRONOUNS = frozenset(("where", "which", "what", "that", "whose", "whom"))
_VERB_NUMBERS: dict[str, Literal["singular", "plural"]] = {
    **dict.fromkeys(("is", "was", "has", "does"), "singular"),
    **dict.fromkeys(("are", "were", "have", "do"), "plural"),
}
_NUMBERLESS_VERBS = frozenset(
    ("had", "did", "can", "could", "will", "would", "may", "might", "must", "shall", "should")
)


class CueMatch(NamedTuple):
    """One occurrence of a cue."""

    cue: Cue
    score: float
    """Sum of the weights of the matched words; a replaced preposition counts less."""
    gaps: int
    """Number of other words between the matched words, without articles."""
    start: int
    """Position of the first matched word."""
    end: int
    """Position of the last matched word."""
    fronted: int = -1
    """Position of a preposition before the verb ("into the sea flows …"); else -1."""


def match_cue(cue: Cue, stems: Sequence[str], keys: Sequence[str]) -> CueMatch | None:
    """Finds the occurrence of a cue's words, in order, with the highest score and fewest gaps."""
    best: CueMatch | None = None
    for start in (i for i, s in enumerate(stems) if s == cue.stems[0]):
        position, gaps, missing = start, 0, ""
        for stem in cue.stems[1:]:
            next_position = _find_next_stem(stems, keys, position, stem)
            if next_position is None:
                missing = stem
                break
            gaps, position = (
                gaps + _count_real_words(keys[position + 1 : next_position]),
                next_position,
            )
        score, fronted = sum(map(weigh_stem, cue.stems)), -1
        if missing:
            if missing != cue.stems[-1] or missing not in PREPOSITIONS:
                continue
            credit, position, fronted = _match_without_preposition(
                missing, stems, keys, start, position
            )
            if not credit:
                continue
            score += credit - weigh_stem(missing)
        match = CueMatch(cue, score, gaps, start, position, fronted)
        if best is None or (match.score, -match.gaps) > (best.score, -best.gaps):
            best = match
    return best


def _find_next_stem(
    stems: Sequence[str], keys: Sequence[str], position: int, target: str
) -> int | None:
    """Finds the position of the next word of a cue, if it is near enough."""
    # Articles do not count towards the gap, so the window is somewhat wider than the gap.
    for candidate in range(position + 1, min(len(stems), position + 2 * MAX_GAP + 1)):
        if stems[candidate] == target:
            return (
                candidate if _count_real_words(keys[position + 1 : candidate]) <= MAX_GAP else None
            )
    return None


def _match_without_preposition(
    missing: str, stems: Sequence[str], keys: Sequence[str], start: int, position: int
) -> tuple[float, int, int]:
    """Scores a cue whose last preposition does not follow the verb.

    Returns:
        The credit for the missing preposition (0: no match), the last position of the match, and
        the position of a preposition before the verb ("into the sea flows the river"), else -1.
        The credit is larger, the less likely it is that the words mean another predicate.
    """
    next_key = keys[position + 1] if position + 1 < len(keys) else ""
    if are_similar_prepositions(missing, next_key):
        return 0.8, position + 1, -1
    if next_key in PREPOSITIONS - {"of"}:
        return 0.0, position, -1
    if missing in ("by", "of", "from"):
        return 0.0, position, -1  # Without these prepositions the verb has another meaning.
    if _RELATIVE_PRONOUNS.intersection(keys[:start]):
        return (0.9 if missing in stems[:start] else 0.5), position, -1
    if missing in stems[:start]:
        fronted = stems.index(missing)
        next_words = [key for key in keys[fronted + 1 : fronted + 3] if key not in ARTICLES]
        if next_words[:1] == [SLOT]:
            return 0.7, position, fronted
    return 0.0, position, -1


def _count_real_words(keys: Sequence[str]) -> int:
    return sum(key not in ARTICLES for key in keys)


def find_agent(
    keys: Sequence[str], match: CueMatch, slots: Sequence[tuple[int, Mention]]
) -> Mention | None:
    """Finds the agent of the verb: the last name before it, or the one after "by"."""
    if match.fronted >= 0:
        object_position = next((position for position, _ in slots if position > match.fronted), -1)
        return (
            next((mention for position, mention in slots if position != object_position), None)
            if object_position >= 0
            else None
        )
    if match.start == 0:
        return slots[0][1]  # "Has S got O as …": the question begins with the verb itself.
    # A name may also stand inside the cue: "Water from S reaches O".
    names_before = [mention for position, mention in slots if position < match.start] or [
        mention for position, mention in slots if position < match.end
    ]
    has_by = is_participle(keys[match.end]) and keys[match.end + 1 : match.end + 2] == ("by",)
    if not match.cue.passive and (has_by or _is_passive(keys, match.start)):
        words_after = [k for k in keys[match.end + 1 : match.end + 3] if k not in ARTICLES]
        names_after = [mention for position, mention in slots if position > match.end]
        if words_after[:1] == ["by"]:
            return names_after[0] if names_after else None
        # "is included in": the name before the verb is its object.
        return next(
            (mention for _, mention in slots if names_before and mention is not names_before[-1]),
            None,
        )
    return names_before[-1] if names_before else None


def _is_passive(keys: Sequence[str], position: int) -> bool:
    """Whether the verb at this position is a participle after a form of "be"."""
    if not is_participle(keys[position]):
        return False
    # A name and adverbs may stand between the two, but not the relative clause of another verb.
    words_before = keys[max(0, position - 4) : position]
    return bool(BE_FORMS.intersection(words_before)) and not _RELATIVE_PRONOUNS.intersection(
        words_before
    )


def find_verb_number(
    keys: Iterable[str], verb_stems: Collection[str]
) -> Literal["singular", "plural", ""]:
    """Finds the number of the first verb among words: "flows" is singular, "flow" plural.

    Returns an empty string if there is none, or if its form does not show its number ("had", "can
    flow", "flowed").

    Args:
        keys: the words after a subject.
        verb_stems: stems of the verbs besides "be", "have" and "do".
    """
    for key in keys:
        if key in _VERB_NUMBERS:
            return _VERB_NUMBERS[key]
        if key in _NUMBERLESS_VERBS:
            return ""
        if stem_word(key) in verb_stems:
            if key.endswith("s") and not key.endswith("ss"):
                return "singular"
            return "" if is_inflected(key) else "plural"
    return ""


def find_owner(
    keys: Sequence[str], match: CueMatch, slots: Sequence[tuple[int, Mention]]
) -> Mention | None:
    """Finds the owner of the noun: "S's mouth", "the mouth of S", "S has its mouth at O"."""
    by_position = dict(slots)
    after_noun = match.end + 1
    if keys[after_noun : after_noun + 1] in (("of",), ("for",)):
        for position in range(after_noun + 1, min(len(keys), after_noun + 5)):
            if position in by_position:
                return by_position[position]
    possessive_positions = [
        i for i in range(max(0, match.start - 4), match.start) if keys[i] == POSSESSIVE
    ]
    if possessive_positions and possessive_positions[-1] - 1 in by_position:
        return by_position[possessive_positions[-1] - 1]
    names_before = [(position, m) for position, m in slots if position < match.start]
    have_positions = [i for i in range(match.start) if keys[i] in ("has", "have", "having", "with")]
    if have_positions:
        owners = [m for position, m in names_before if position < have_positions[-1]]
        if owners or have_positions[-1] == 0:
            return owners[-1] if owners else slots[0][1]
    if "whose" in keys[max(0, match.start - 2) : match.start] and names_before:
        return names_before[-1][1]
    if "its" in keys[max(0, match.start - 3) : match.start] and names_before:
        # "S counts O among its tributaries", but "O is where S reaches its mouth".
        return names_before[-1 if _RELATIVE_PRONOUNS.intersection(keys[: match.start]) else 0][1]
    if match.start - 1 in by_position:
        return by_position[match.start - 1]
    return None
