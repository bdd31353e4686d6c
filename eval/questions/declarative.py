"""A yes-no question as the statement it asks about: "Does the Main flow …?" → "The Main flows …".

For models of entailment, which compare statements. It knows English grammar and no graph: where
the subject ends is told by capitals, articles and "of". What it cannot turn round it puts in a
frame that holds for every question, and says so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kg.words.phrasing import PREPOSITIONS
from kg.words.plain_text import one_line, words_of

MAX_QUESTION = 2_000
"""Characters; a longer question is framed as it is."""

_DO = frozenset(("do", "does", "did"))
_BE = frozenset(("is", "are", "was", "were"))
_OTHERS = frozenset(words_of("can could will would may might must shall should has have had"))
_ARTICLES = frozenset(("the", "a", "an"))
_DETERMINERS = _ARTICLES | frozenset(
    words_of("this that these those every each all some its his her")
)
# Lower-case words inside names: "Rio de la Plata", "Bosnia and Herzegovina".
_PARTICLES = frozenset(
    words_of(
        "de da do dos das du des del della di la le van von der den ter zu zur am af av and y e"
    )
)
_IRREGULAR = {"have": "has", "do": "does", "be": "is", "go": "goes"}
_CAPITAL = re.compile(r"[^\w(]*\(?[^\W\d_a-zß-öø-ÿ]|\(")
_NUMBER = re.compile(r"[-−+]?\d[\d.,]*")
_WORD = re.compile(r"\S+")


class Statement(NamedTuple):
    """A statement made of a question.

    ``turned`` says whether it is the question turned round; otherwise it is the question framed.
    """

    text: str
    turned: bool


def statement_of(question: str) -> Statement:
    """The statement that a yes-no question asks about.

    Args:
        question: in English, as people write; other text ends up in the frame.
    """
    line = one_line(question[: MAX_QUESTION + 1])
    turned = _turned(line) if len(line) <= MAX_QUESTION else ""
    if turned:
        return Statement(turned, True)
    return Statement(f"The answer to the question “{line[:MAX_QUESTION]}” is yes.", False)


def _turned(question: str) -> str:
    """The statement, or nothing where the grammar is not plain."""
    if not question.endswith("?") or question.count("?") > 1:
        return ""
    words = _WORD.findall(question[:-1].rstrip())
    if len(words) < 3:
        return ""
    auxiliary, rest = words[0].lower(), words[1:]
    if auxiliary not in _DO | _BE | _OTHERS:
        return ""
    end = _subject_end(rest)
    if not 0 < end < len(rest):
        return ""
    subject, predicate = rest[:end], rest[end:]
    if auxiliary in _DO:
        verb = predicate[0]
        if verb != "not" and not _is_plain_word(verb):
            return ""
        if verb == "not":
            # "Does the Main not flow …?" keeps its auxiliary: "The Main does not flow …".
            predicate = [auxiliary, *predicate]
        elif auxiliary == "does":
            # "directly receive": the adverb stays as it is.
            place = int(verb.endswith("ly") and len(predicate) > 1 and predicate[1].islower())
            predicate[place] = third_person(predicate[place])
        elif auxiliary == "did":
            predicate = ["did", *predicate]
    else:
        own = _nouns_behind(predicate)
        if own < 0:
            return ""
        subject, predicate = rest[: end + own], [auxiliary, *predicate[own:]]
    text = " ".join((*subject, *predicate))
    return f"{text[0].upper()}{text[1:]}."


def _subject_end(words: list[str]) -> int:
    """How many words the subject has; 0 where it cannot be told.

    A subject is a noun phrase, perhaps with further ones behind "of": article, up to two words in
    lower case if "of" or a name follows, a run of capitalised words with the particles between.
    """
    at = 0
    while True:
        end = _noun_phrase(words, at)
        if end == at:
            return 0
        if end + 1 < len(words) and words[end] == "of":
            at = end + 1
            continue
        return end


def _nouns_behind(predicate: list[str]) -> int:
    """How many words behind a name still belong to it: "the Jordan river system the …".

    Returns:
        0, or the number of nouns up to the article that follows; -1 where it cannot be told.
    """
    at = 0
    while at < len(predicate) and _is_plain_word(predicate[at]):
        at += 1
    if at == 0:
        return 0
    if at < len(predicate) and predicate[at].startswith("("):
        while at < len(predicate) and not predicate[at].endswith(")"):
            at += 1
        at += 1
    if at < len(predicate) and predicate[at] in _ARTICLES:
        return at
    return 0 if at <= 2 else -1


def _is_plain_word(word: str) -> bool:
    """Whether a word may be a noun, verb or adjective: in lower case, and no grammar word."""
    return (
        word.isalpha()
        and word.islower()
        and word not in PREPOSITIONS
        and word not in _DETERMINERS
        and word not in ("not", "and", "or")
    )


def _noun_phrase(words: list[str], start: int) -> int:
    """Where the noun phrase that begins at ``start`` ends; ``start`` when there is none."""
    at = start
    if _NUMBER.fullmatch(words[at]):
        unit = at + 1 < len(words) and words[at + 1] not in _DETERMINERS | PREPOSITIONS
        return at + 1 + unit
    determined = words[at].lower() in _DETERMINERS
    at += determined
    nouns = at
    while at < len(words) and at - nouns < 3 and _is_plain_word(words[at]):
        at += 1
    if at < len(words) and at > nouns:
        # "the mean discharge of …", "the river Main"; otherwise the first noun is all.
        if words[at] == "of" and at - nouns <= 2:
            return at
        if not (at - nouns == 1 and determined and _is_name(words[at])):
            return nouns + 1 if determined else start
    elif at > nouns:
        return nouns + 1 if determined else start
    end = at
    while end < len(words):
        if _is_name(words[end]):
            end += 1
            if "(" in words[end - 1] and ")" not in words[end - 1]:
                while end < len(words) and ")" not in words[end - 1]:
                    end += 1
        elif end > at and _joins_names(words, end):
            end += 1
        else:
            break
    if end > at and words[end - 1].endswith(("'s", "’s")):
        return _possessed(words, end)
    return end if end > at else start


def _joins_names(words: list[str], at: int) -> bool:
    """Whether particles at this place lead to another part of the same name."""
    ahead = at
    while ahead < len(words) and words[ahead] in _PARTICLES | {"the"} and ahead - at < 3:
        ahead += 1
    return ahead > at and words[at] != "the" and ahead < len(words) and _is_name(words[ahead])


def _possessed(words: list[str], at: int) -> int:
    """The end of "the Rhine's source": one noun, and only if more follows it."""
    return at + 1 if at + 1 < len(words) and _is_plain_word(words[at]) else at


def _is_name(word: str) -> bool:
    return _CAPITAL.match(word) is not None


def third_person(verb: str) -> str:
    """``flow`` → ``flows``, ``reach`` → ``reaches``, ``carry`` → ``carries``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}s"
