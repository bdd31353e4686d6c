"""Finds out whether a name is the subject of a statement, or only part of a phrase.

"The river that joins the Aare flows into the Rhine" says nothing of the Aare. Where the grammar
leaves it open, the statement must not be read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eval.questions.cues import is_inflected, stem_word
from eval.questions.grammar import find_verb_number
from eval.questions.mentions import ARTICLES, POSSESSIVE, Mention, Token
from eval.questions.type_mentions import TypeMentions

_RELATIVE_PRONOUNS = frozenset(("that", "which", "who"))
# Words with which a clause with a subject of its own may begin inside another.
_SUBORDINATORS = _RELATIVE_PRONOUNS | {
    *("whom", "whose", "where", "when", "while", "because", "although", "though", "since", "until"),
    *("before", "after", "as", "if", "than"),
}
_JOINING_WORDS = frozenset(("and", "or", "but"))


class SubjectGrammar:
    """Judges the names of statements about one knowledge base.

    Args:
        type_mentions: recognises types before a name ("the river Rhine").
        verb_stems: stems of the verbs in the wording of predicates.
    """

    def __init__(self, type_mentions: TypeMentions, verb_stems: Collection[str]) -> None:
        self._type_mentions = type_mentions
        self._verb_stems = verb_stems

    def begins_statement(self, tokens: Sequence[Token], mention: Mention) -> bool:
        """Whether only articles and types ("the river Rhine") stand before a name."""
        return all(map(self._is_determiner, tokens[: mention.start]))

    def _is_determiner(self, token: Token) -> bool:
        is_type = self._type_mentions.has_type_word((token,))
        return token.key in ARTICLES or token.key == "both" or is_type

    def explain_unclear_subject(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> str:
        """Explains why the first name may not be what the statement is about; or empty."""
        names = [mention for mention in mentions if mention.entities]
        if not names:
            return ""
        # "The river that joins the Aare", "the river joining the Aare"; not "the river that the
        # Aare joins".
        tokens_before = tokens[: names[0].start]
        for position, token in enumerate(tokens_before):
            is_clause = token.key in _RELATIVE_PRONOUNS and not all(
                map(self._is_determiner, tokens_before[position + 1 :])
            )
            is_participle = (
                position > 0
                and is_inflected(token.key)
                and stem_word(token.key) in self._verb_stems
            )
            if is_clause or is_participle:
                return "its subject is described, not named"
        # "Meets the Rhine, flows into the North Sea"
        if any(
            find_verb_number((token.key,), self._verb_stems) == "singular"
            and stem_word(token.key) in self._verb_stems
            for token in tokens_before
        ) and self.find_verb_number(tokens, names[0], names[1:]):
            return "it has a verb before its first name, and another after it"
        if not self.begins_statement(tokens, names[0]) or is_possessive(tokens, names[0]):
            return ""
        number = self.find_verb_number(tokens, names[0], names[1:])
        is_plural_name = tokens[names[0].end - 1].key.endswith("s")
        if number == "plural" and not is_plural_name:
            return "its verb is in the plural, so it has more subjects than one"
        return ""

    def find_verb_number(
        self, tokens: Sequence[Token], subject: Mention, later_names: Sequence[Mention]
    ) -> str:
        """Finds the number of the verb between a subject and what follows it."""
        end = later_names[0].start if later_names else len(tokens)
        keys = [token.key for token in tokens[subject.end : end]]
        joined = next((i for i, key in enumerate(keys) if key in _JOINING_WORDS), len(keys))
        return find_verb_number(keys[:joined], self._verb_stems)

    def has_finite_verb(self, tokens: Sequence[Token]) -> bool:
        """Whether a verb shows its number."""
        return bool(find_verb_number([token.key for token in tokens], self._verb_stems))

    def begins_with_verb(self, tokens: Sequence[Token]) -> bool:
        """Whether a verb in the singular stands first, or after an adverb."""
        keys = [token.key for token in tokens[:2]]
        keys = keys[1:] if keys and keys[0].endswith("ly") else keys[:1]
        return keys == ["had"] or find_verb_number(keys, self._verb_stems) == "singular"


def has_subordinator(tokens: Sequence[Token]) -> bool:
    """Whether a clause with a subject of its own may begin among the tokens."""
    return any(token.key in _SUBORDINATORS for token in tokens)


def is_possessive(tokens: Sequence[Token], mention: Mention) -> bool:
    """Whether a name is in the possessive."""
    return mention.end < len(tokens) and tokens[mention.end].key == POSSESSIVE
