"""Finds the words of a question that a claim does not cover.

"Is the mouth of the Rhine close to the mouth of the Elbe?" mentions mouths, but it does not ask
what the mouth is, because of the word "close". So every word must belong to the predicate's own
wording, name a type, or be a function word; otherwise the question is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from eval.questions.cues import SLOT, Cue, stem_word
from eval.questions.grammar import CueMatch
from eval.questions.mentions import ARTICLES, POSSESSIVE, Mention, tokenise_text
from eval.questions.question import Question
from kg.base.plain_text import list_words
from kg.words.label_words import PREPOSITIONS

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

# Function words add no meaning. Prepositions of direction or relation ("from", "past", "near") are
# not among them: they are covered only if the predicate's own wording has them.
_FUNCTION_STEMS = frozenset(
    stem_word(word)
    for word in list_words(
        "a an the is are was were be been being do does did has have had having get got will would "
        "can could it its this that which what where whose whom who there one of in at on "
        "to for as with among really indeed actually also ever always currently today located "
        "situated called named known considered found i you"
    )
)


CONJUNCTIONS = frozenset(("and", "or"))
"""Words that occur in names of classes ("law or treaty") without naming a type."""


class WordCoverage:
    """The words that each predicate covers."""

    def __init__(
        self, kb: KnowledgeBase, cues: Iterable[Cue], class_names: Iterable[Iterable[str]]
    ):
        """Collects the words.

        Args:
            kb: provides the predicates' wording.
            cues: the cues of all predicates.
            class_names: names of classes, as folded words; they are neutral, because "river" in
                "the river Rhine" adds nothing to what is asked.
        """
        class_word_stems = (
            stem_word(word) for kind in class_names for word in kind if word not in CONJUNCTIONS
        )
        self._class_stems = frozenset(class_word_stems)
        self.predicate_stems: dict[str, set[str]] = {}
        """Predicate → stems of the words in its labels and templates."""
        for cue in cues:
            self.predicate_stems.setdefault(cue.pred, set()).update(cue.stems)
        for pred, words in self.predicate_stems.items():
            entry = kb.verbaliser.get_wording(pred)
            texts = (
                kb.verbaliser.fill_clause(pred, "", ""),
                *entry.synonyms,
                *entry.inverse_synonyms,
            )
            words.update(stem_word(token.key) for text in texts for token in tokenise_text(text))

    def find_uncovered_words(
        self,
        question: Question,
        pred: str,
        role_mentions: Sequence[Mention],
        match: CueMatch | None = None,
    ) -> list[str]:
        """Finds the words that a claim with this predicate does not cover.

        Args:
            question: the question.
            pred: the predicate of the claim.
            role_mentions: the mentions that became subject and object.
            match: the cue that was found; prepositions are covered only if they belong to it.
        """
        predicate_words = self.predicate_stems.get(pred, set())
        uncovered, earlier_words = [], set()
        for position, key in enumerate(question.keys):
            word = stem_word(key)
            # "itself" is covered if subject and object are the same entity.
            if key in (SLOT, POSSESSIVE) or (key == "itself" and len(set(role_mentions)) == 1):
                continue
            if match is not None and key in PREPOSITIONS:
                is_covered = _belongs_to_cue(match, position, key) or (
                    word in _FUNCTION_STEMS and not _is_particle(match, position)
                )
            else:
                # A repeated word makes two statements: "into the sea that the Rhine flows into".
                is_neutral = word in _FUNCTION_STEMS or (
                    word in self._class_stems and not _is_possessed(question.keys, position)
                )
                is_covered = is_neutral or (word in predicate_words and word not in earlier_words)
            if not is_covered:
                uncovered.append(key)
            earlier_words.add(word)
        numbers = {m.number for m in question.mentions if m.number} - {
            m.number for m in role_mentions
        }
        return uncovered + sorted(numbers - predicate_words)


def _belongs_to_cue(match: CueMatch, position: int, key: str) -> bool:
    """Whether a preposition belongs to the cue or completes it."""
    if position in (match.end, match.fronted) or (position == match.end + 1 and key == "by"):
        return True
    return key in match.cue.stems


def _is_particle(match: CueMatch, position: int) -> bool:
    """Whether a preposition directly follows the verb and may change its meaning: "feeds on"."""
    return match.cue.kind == "verb" and position == match.end + 1


def _is_possessed(keys: Sequence[str], position: int) -> bool:
    """Whether a name possesses the type word, which then means another entity: "Inn's water"."""
    words_after = [key for key in keys[position + 1 : position + 4] if key not in ARTICLES]
    return keys[position - 1 : position] == (POSSESSIVE,) or (words_after[:2] == ["of", SLOT])
