"""Which words of a question a reading leaves out: a claim must account for all that is said.

"Is the mouth of the Rhine close to the mouth of the Elbe?" speaks of mouths, but "close" makes it
another question. So every word must belong to the predicate's own wording, name a kind of thing,
or be one of the few that add nothing; otherwise the question is left unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.questions.cues import SLOT, Cue, stem
from eval.questions.form import Question
from eval.questions.grammar import Match
from eval.questions.linking import ARTICLES, POSSESSIVE, Mention, tokens_of
from kg.words.phrasing import PREPOSITIONS
from kg.words.plain_text import words_of

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

# Prepositions that give a direction or a relation ("from", "past", "near") are none of these: they
# count only where the predicate's own wording has them.
_EMPTY = frozenset(
    stem(word)
    for word in words_of(
        "a an the is are was were be been being do does did has have had having get got will would "
        "can could it its this that which what where whose whom who there one of in at on "
        "to for as with among really indeed actually also ever always currently today located "
        "situated called named known considered found i you"
    )
)


JOINING = frozenset(("and", "or"))
"""They stand in names of classes ("law or treaty"), and name no kind."""


class Coverage:
    """The words each predicate accounts for."""

    def __init__(self, kb: KnowledgeBase, cues: Iterable[Cue], kinds: Iterable[Iterable[str]]):
        """Collects the words.

        Args:
            kb: where the predicates' statements come from.
            cues: what points to the predicates.
            kinds: names of classes, as folded words: "river" behind a name adds nothing.
        """
        words_of_kinds = (stem(word) for kind in kinds for word in kind if word not in JOINING)
        self._kinds = frozenset(words_of_kinds)
        self.words: dict[str, set[str]] = {}
        """Predicate → stems that belong to its own wording."""
        for cue in cues:
            self.words.setdefault(cue.pred, set()).update(cue.stems)
        for pred, words in self.words.items():
            entry = kb.words.words_of(pred)
            texts = (kb.words.clause(pred, "", ""), *entry.synonyms, *entry.inverse_synonyms)
            words.update(stem(token.key) for text in texts for token in tokens_of(text))

    def unplaced(
        self, question: Question, pred: str, used: Sequence[Mention], match: Match | None = None
    ) -> list[str]:
        """The words for which a reading with this predicate has no place.

        Args:
            question: the question.
            pred: the predicate read.
            used: the mentions that became subject and object.
            match: the cue that was found; prepositions count only where it has them.
        """
        own = self.words.get(pred, set())
        left, seen = [], set()
        for at, key in enumerate(question.keys):
            word = stem(key)
            if key in (SLOT, POSSESSIVE) or (key == "itself" and len(set(used)) == 1):
                continue
            if match is not None and key in PREPOSITIONS:
                placed = _of_cue(match, at, key) or (word in _EMPTY and not _particle(match, at))
            else:
                # Said twice, a word makes two statements: "into the sea that the Rhine flows into".
                idle = word in _EMPTY or (word in self._kinds and not _possessed(question.keys, at))
                placed = idle or (word in own and word not in seen)
            if not placed:
                left.append(key)
            seen.add(word)
        numbers = {m.number for m in question.mentions if m.number} - {m.number for m in used}
        return left + sorted(numbers - own)


def _of_cue(match: Match, at: int, key: str) -> bool:
    """Whether a preposition is one of the cue's own, or completes it."""
    if at in (match.end, match.fronted) or (at == match.end + 1 and key == "by"):
        return True
    return key in match.cue.stems


def _particle(match: Match, at: int) -> bool:
    """Whether a preposition stands where it makes the verb another one: "feeds on"."""
    return match.cue.kind == "verb" and at == match.end + 1


def _possessed(keys: Sequence[str], at: int) -> bool:
    """Whether a kind of thing is said to be of a name: "the Inn's water" is not the Inn."""
    behind = [key for key in keys[at + 1 : at + 4] if key not in ARTICLES]
    return keys[at - 1 : at] == (POSSESSIVE,) or (behind[:2] == ["of", SLOT])
