"""Converts a yes-no question to a statement: "Does the Main flow …?" → "The Main flows …".

Entailment models compare statements, so they need this. It uses English grammar and no graph: the
end of the subject is recognised by capitals, articles and "of". A question that it cannot convert
is quoted in a fixed sentence ("The answer to the question … is yes."), and marked as such.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kg.base.plain_text import list_words, to_one_line
from kg.words.label_words import PREPOSITIONS

MAX_QUESTION_LENGTH = 2_000
"""Maximum length in characters; a longer question is quoted, not converted."""

_DO = frozenset(("do", "does", "did"))
_BE = frozenset(("is", "are", "was", "were"))
_MODALS = frozenset(list_words("can could will would may might must shall should has have had"))
_ARTICLES = frozenset(("the", "a", "an"))
_DETERMINERS = _ARTICLES | frozenset(
    list_words("this that these those every each all some its his her")
)
# Lower-case words inside names: "Rio de la Plata", "Bosnia and Herzegovina".
_PARTICLES = frozenset(
    list_words(
        "de da do dos das du des del della di la le van von der den ter zu zur am af av and y e"
    )
)
_IRREGULAR = {"have": "has", "do": "does", "be": "is", "go": "goes"}
# The start of a word of a name: a letter that is not a Latin lower-case one, or a bracket.
_CAPITAL = re.compile(r"[^\w(]*\(?[^\W\d_a-zß-öø-ÿ]|\(")
_NUMBER = re.compile(r"[-−+]?\d[\d.,]*")
_WORD = re.compile(r"\S+")


class Declarative(NamedTuple):
    """The statement that a question was converted to.

    ``is_converted`` is False if the question could not be converted and is quoted instead.
    """

    text: str
    is_converted: bool


def convert_to_statement(question: str) -> Declarative:
    """Converts a yes-no question to the statement that it asks about.

    Args:
        question: in English; other text is quoted.
    """
    line = to_one_line(question[: MAX_QUESTION_LENGTH + 1])
    statement = _convert_question(line) if len(line) <= MAX_QUESTION_LENGTH else ""
    if statement:
        return Declarative(statement, True)
    return Declarative(f"The answer to the question “{line[:MAX_QUESTION_LENGTH]}” is yes.", False)


def _convert_question(question: str) -> str:
    """Converts a question to a statement; returns an empty string where the grammar is unclear."""
    if not question.endswith("?") or question.count("?") > 1:
        return ""
    words = _WORD.findall(question[:-1].rstrip())
    if len(words) < 3:
        return ""
    auxiliary, words_after = words[0].lower(), words[1:]
    if auxiliary not in _DO | _BE | _MODALS:
        return ""
    end = _find_subject_end(words_after)
    if not 0 < end < len(words_after):
        return ""
    subject, predicate = words_after[:end], words_after[end:]
    if auxiliary in _DO:
        verb = predicate[0]
        if verb != "not" and not _is_plain_word(verb):
            return ""
        if verb == "not":
            # "Does the Main not flow …?" keeps its auxiliary: "The Main does not flow …".
            predicate = [auxiliary, *predicate]
        elif auxiliary == "does":
            # "directly receive": inflect the verb, not the adverb before it.
            index = int(verb.endswith("ly") and len(predicate) > 1 and predicate[1].islower())
            predicate[index] = to_third_person(predicate[index])
        elif auxiliary == "did":
            predicate = ["did", *predicate]
    else:
        n_nouns = _count_nouns_after_name(predicate)
        if n_nouns < 0:
            return ""
        subject, predicate = words_after[: end + n_nouns], [auxiliary, *predicate[n_nouns:]]
    text = " ".join((*subject, *predicate))
    return f"{text[0].upper()}{text[1:]}."


def _find_subject_end(words: list[str]) -> int:
    """Returns the number of words of the subject; 0 where it cannot be determined.

    A subject is a noun phrase, optionally followed by "of" and further noun phrases. A noun phrase
    has an article, up to two lower-case words if "of" or a name follows, and a run of capitalised
    words with particles ("de", "van") between them.
    """
    position = 0
    while True:
        end = _find_noun_phrase_end(words, position)
        if end == position:
            return 0
        if end + 1 < len(words) and words[end] == "of":
            position = end + 1
            continue
        return end


def _count_nouns_after_name(predicate: list[str]) -> int:
    """Counts the nouns after a name that still belong to it: "the Jordan river system the …".

    Returns:
        0, or the number of nouns up to the next article; -1 where it cannot be determined.
    """
    position = 0
    while position < len(predicate) and _is_plain_word(predicate[position]):
        position += 1
    if position == 0:
        return 0
    if position < len(predicate) and predicate[position].startswith("("):
        while position < len(predicate) and not predicate[position].endswith(")"):
            position += 1
        position += 1
    if position < len(predicate) and predicate[position] in _ARTICLES:
        return position
    return 0 if position <= 2 else -1


def _is_plain_word(word: str) -> bool:
    """Whether a word may be a noun, verb or adjective: lower case, and not a function word."""
    return (
        word.isalpha()
        and word.islower()
        and word not in PREPOSITIONS
        and word not in _DETERMINERS
        and word not in ("not", "and", "or")
    )


def _find_noun_phrase_end(words: list[str], start: int) -> int:
    """Returns the end of the noun phrase that begins at ``start``; ``start`` if there is none."""
    position = start
    if _NUMBER.fullmatch(words[position]):
        has_unit = (
            position + 1 < len(words) and words[position + 1] not in _DETERMINERS | PREPOSITIONS
        )
        return position + 1 + has_unit
    has_determiner = words[position].lower() in _DETERMINERS
    position += has_determiner
    first_noun = position
    while position < len(words) and position - first_noun < 3 and _is_plain_word(words[position]):
        position += 1
    if position < len(words) and position > first_noun:
        # The phrase goes on in "the mean discharge of …" and "the river Main". Otherwise it ends
        # after its first noun.
        if words[position] == "of" and position - first_noun <= 2:
            return position
        if not (position - first_noun == 1 and has_determiner and _is_name(words[position])):
            return first_noun + 1 if has_determiner else start
    elif position > first_noun:
        return first_noun + 1 if has_determiner else start
    end = position
    while end < len(words):
        if _is_name(words[end]):
            end += 1
            if "(" in words[end - 1] and ")" not in words[end - 1]:
                while end < len(words) and ")" not in words[end - 1]:
                    end += 1
        elif end > position and _joins_names(words, end):
            end += 1
        else:
            break
    if end > position and words[end - 1].endswith(("'s", "’s")):
        return _find_possessive_end(words, end)
    return end if end > position else start


def _joins_names(words: list[str], position: int) -> bool:
    """Whether particles at this position lead to another part of the same name."""
    next_position = position
    while (
        next_position < len(words)
        and words[next_position] in _PARTICLES | {"the"}
        and next_position - position < 3
    ):
        next_position += 1
    return (
        next_position > position
        and words[position] != "the"
        and next_position < len(words)
        and _is_name(words[next_position])
    )


def _find_possessive_end(words: list[str], position: int) -> int:
    """Returns the end of "the Rhine's source": one noun, and only if more words follow it."""
    return (
        position + 1 if position + 1 < len(words) and _is_plain_word(words[position]) else position
    )


def _is_name(word: str) -> bool:
    return _CAPITAL.match(word) is not None


def to_third_person(verb: str) -> str:
    """Inflects a verb: ``flow`` → ``flows``, ``reach`` → ``reaches``, ``carry`` → ``carries``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}s"
