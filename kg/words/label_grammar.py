"""Parses the labels of predicates: which kind of phrase they are.

RDF vocabularies name predicates in a few ways: a noun (``mouth``, ``hasMouth``, ``dateOfBirth``),
a verb in the third person (``flowsInto``, ``traverses``) or in the past (``actedOnBehalfOf``), a
participle or adjective with a preposition (``locatedIn``, ``wasBornIn``, ``adjacentTo``), or a
noun that ends in "of" (``partOf``, ``capitalOf``); verbs may follow "can" or "has been". Each kind
has its own sentences (``default_sentences``).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from kg.base.plain_text import clean_text
from kg.words.label_words import (
    ADJECTIVES,
    ADVERBS,
    COUNT_NOUNS,
    FOREIGN_WORDS,
    MEMBER_NOUNS,
    PARTICIPLES,
    PAST_VERBS,
    PREPOSITIONS,
    ROLE_NOUNS,
    SINGULARS_IN_S,
    TRANSITIVE_PAST_VERBS,
    VERBS,
)

PhraseKind = Literal["noun", "plural", "verb", "past", "copula", "of", "quoted"]

MAX_WORDS = 8
"""Maximum number of words of a label that is parsed; longer ones are quoted."""

# A word of Latin letters and digits: labels in other scripts are quoted.
_WORD = re.compile(r"[A-Za-zÀ-ɏ0-9][A-Za-zÀ-ɏ0-9'’-]*")
# Verbs that add "es", not "s", in the third person: "passes", "reaches", "goes".
_ES_VERB = re.compile(r"(?:ss|sh|ch|x|zz|o)es$")
_UNIT_IN_BRACKETS = re.compile(r"([^()]+) (\([^()\s]{1,8}(?: [^()\s]{1,8})?\))")
_CONJUNCTIONS = frozenset(("and", "or", "nor", "not", "but"))
_ARTICLES = frozenset(("a", "an", "the"))
_ONGOING = frozenset(("attending", "replacing", "researching", "studying", "taking", "teaching"))


# Auxiliary → the words of a question before and after its subject, and of a denial.
HAVE_FORMS = {
    "has": ("Does", "have", "does not have"),
    "had": ("Did", "have", "did not have"),
    "has or had": ("Does or did", "have", "does not and did not have"),
}
BE_FORMS = {
    "is": ("Is", "is not"),
    "was": ("Was", "was not"),
    "is or was": ("Is or was", "is not and was not"),
    "has": ("Has", "has not"),  # before "been"
}
MODALS = ("can", "could", "may", "might", "must", "shall", "should", "will", "would")


class ParsedLabel(NamedTuple):
    """A predicate's label, parsed."""

    kind: PhraseKind
    words: str
    """``noun``, ``plural``: the noun phrase, without article; ``verb``: the whole verb phrase in
    the third person; ``past``: that in the past; ``copula``: the words after "is"; ``of``: those
    without the article ("member of"); ``quoted``: the label."""
    auxiliary: str = ""
    """``noun``, ``plural``: "has", "had" or "has or had"; ``copula``, ``of``: "is", "was" or "is or
    was"; ``copula`` also "has", before "been", or a modal verb; else empty."""


def split_name(text: str) -> str:
    """Splits a local name into words: ``hasMouth_of`` → ``has mouth of``.

    A text that contains spaces is returned unsplit; acronyms keep their capitals.
    """
    text = clean_text(text)
    if " " in text:
        return text
    spaced = re.sub(r"[_\-.]+", " ", text)
    spaced = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])", " ", spaced)
    return " ".join(map(_lower_first_letter, spaced.split())) or text


def capitalises_nouns(language: str) -> bool:
    """Returns whether nouns have a capital letter in a language: in German and Luxembourgish."""
    return language.lower().split("-", 1)[0] in ("de", "lb")


def to_common_noun(text: str, language: str = "") -> str:
    """Returns the name of a class as a common noun: ``WaterBody`` → "water body".

    A class label in title case ("River System") is a common noun in a sentence, but "Berg" is
    written like this in German.
    """
    if capitalises_nouns(language):
        return text
    words = split_name(text) if " " not in text else text
    return re.sub(r"[^\s-]+", lambda match: _lower_first_letter(match[0]), words)


def _lower_first_letter(word: str) -> str:
    """Lowers the first letter of a word, unless it is an acronym: "Made", but "DNA"."""
    return word if len(word) > 1 and word.isupper() else word[:1].lower() + word[1:]


def is_english(language: str) -> bool:
    """Returns whether a label with this language tag, or without one, may be English."""
    return not language or language.lower().split("-", 1)[0] == "en"


def parse_label(label: str, language: str = "") -> ParsedLabel:
    """Parses the label of a predicate: finds which kind of phrase it is.

    Args:
        label: the label or local name.
        language: its language tag; labels that are not English are never parsed.
    """
    if not is_english(language):
        return ParsedLabel("quoted", clean_text(label))
    label = re.sub(r"\((?:s|es)\)", "", split_name(label))
    if found := _UNIT_IN_BRACKETS.fullmatch(label):
        parsed = parse_label(found[1])
        if parsed.kind in ("noun", "plural"):
            return parsed._replace(words=f"{parsed.words} {found[2]}")
    words = label.split(" ")
    if len(words) > MAX_WORDS or not all(map(_WORD.fullmatch, words)):
        return ParsedLabel("quoted", label)
    words = _lower_words(words)
    if len(words) > 1 and FOREIGN_WORDS.intersection(words):
        return ParsedLabel("quoted", label)
    return _parse_words(words) or ParsedLabel("quoted", label)


def _lower_words(words: list[str]) -> list[str]:
    """Removes the capitals of a label in title or sentence case; names such as IMDb keep them."""
    simple = [word for word in words if word[1:].islower() or len(word) == 1]
    is_title_case = all(word[0].isupper() or word in PREPOSITIONS for word in simple)
    return [
        word.lower() if word in simple and (number == 0 or is_title_case) else word
        for number, word in enumerate(words)
    ]


def _parse_words(words: list[str]) -> ParsedLabel | None:
    """Parses the words of a label; returns None if they are no phrase of a known kind."""
    first, rest = words[0], words[1:]
    auxiliary = first
    if words[1:3] in (["or", "had"], ["or", "was"]):
        auxiliary, rest = " ".join(words[:3]), words[3:]
    if auxiliary in MODALS and (action := _parse_after_modal(rest)):
        return ParsedLabel("copula", action, auxiliary)
    if words[:1] == ["used"] and words[1:] in (["for"], ["in"], ["by"], ["as"], ["with"], ["at"]):
        return ParsedLabel("copula", " ".join(words), "is")
    if auxiliary in HAVE_FORMS:
        return _parse_after_have(rest, auxiliary)
    if auxiliary in ("is", "are", "was", "were", "is or was"):
        auxiliary = {"are": "is", "were": "was"}.get(auxiliary, auxiliary)
        return _parse_after_be(rest, auxiliary, is_explicit=True)
    if first in ADVERBS and rest and _is_verb_before_preposition(rest[0]):
        # "negatively regulates"; but "directly precedes in sequence" has no place for its object.
        phrase = _parse_verb(rest)
        is_simple = phrase is not None and phrase.words == " ".join(rest)
        return ParsedLabel("verb", " ".join(words)) if is_simple else None
    is_active = first in PAST_VERBS and first not in TRANSITIVE_PAST_VERBS
    if is_active and rest and rest[0] in PREPOSITIONS and rest[0] != "by":
        return _parse_complement(words, 1, "past")
    if words[:2] == ["took", "place"]:
        is_complete = len(words) > 2 and words[2] in PREPOSITIONS
        return _parse_complement(words, 2, "past") if is_complete else None
    if words in [[verb] for verb in TRANSITIVE_PAST_VERBS]:
        return ParsedLabel("past", first)
    return _parse_verb(words) or _parse_after_be(words, "is") or _parse_noun(words, "has")


def _parse_after_have(words: list[str], auxiliary: str) -> ParsedLabel | None:
    """Parses "author", "part of", "been approved by", "a degree from" after "has"."""
    if words[:1] == ["been"]:
        inner = _parse_after_be(words[1:], "is", is_explicit=True)
        is_state = auxiliary == "has" and inner is not None and inner.kind == "copula"
        return ParsedLabel("copula", f"been {inner.words}", "has") if inner and is_state else None
    if words and words[-1] == "of":
        return _parse_after_be(words, "is", is_explicit=True)
    if words[:1] == ["as"]:
        words = words[2:] if words[1:2] in (["its"], ["their"]) else words[1:]
    ends_open = len(words) > 2 and words[-1] in PREPOSITIONS and words[0] in _ARTICLES
    if auxiliary == "has" and ends_open:
        return ParsedLabel("verb", " ".join(["has", *words]))
    return _parse_noun(words, auxiliary)


def _parse_after_modal(words: list[str]) -> str:
    """Returns the words after "can": "treat", "be found in the country"; empty if no verb is."""
    if words[:1] == ["be"]:
        inner = _parse_after_be(words[1:], "is", is_explicit=True)
        return f"be {inner.words}" if inner is not None and inner.kind == "copula" else ""
    if words == ["have"]:
        return "have"
    finite = next((verb for verb in VERBS if words and get_base_form(verb) == words[0]), "")
    inner = _parse_verb([finite, *words[1:]]) if finite else None
    return get_base_form(inner.words) if inner is not None else ""


def _parse_verb(words: list[str]) -> ParsedLabel | None:
    """Parses "flows into", "flows into sea", "shares border with", "serves cuisine"."""
    first, rest = words[0], words[1:]
    if not rest:
        return ParsedLabel("verb", first) if first in VERBS else None
    if rest[0] in PREPOSITIONS and (rest[0] != "of" or first == "consists"):
        return _parse_complement(words, 1, "verb") if _is_verb_before_preposition(first) else None
    if first not in VERBS:
        return None
    if rest[-1] in PREPOSITIONS:
        return ParsedLabel("verb", " ".join(words))
    # "plays count" is a noun, "plays instrument" is not.
    noun = "" if rest[-1] in COUNT_NOUNS else _make_definite(rest)
    return ParsedLabel("verb", f"{first} {noun}") if noun else None


def _parse_after_be(
    words: list[str], auxiliary: str, *, is_explicit: bool = False
) -> ParsedLabel | None:
    """Parses the words after "is", which ``is_explicit`` says whether the label has."""
    if words and words[0] in _ARTICLES:
        words = words[1:]
    place = next((i for i, word in enumerate(words) if word in PREPOSITIONS), -1)
    if place < 0:
        is_active = is_explicit and len(words) == 1 and words[0] in _ONGOING
        return ParsedLabel("copula", words[0], auxiliary) if is_active else None
    if place == 0:
        return _parse_complement(words, 0, "copula", auxiliary)
    head = words[place - 1]
    is_property = is_participle(head) or is_participle(words[0]) or head in ADJECTIVES
    if words[-1] == "of":
        place = len(words) - 1
        is_property = is_participle(words[-2]) or words[-2] in ADJECTIVES
    if words[place] == "of" and not is_property:
        is_noun = head not in MEMBER_NOUNS or words[place - 1 :] == ["part", "of", "speech"]
        if place < len(words) - 1 and is_noun:
            return None  # In "date of birth" the object is what the label names.
        kind: PhraseKind = "copula" if _is_part_of(words[:place]) else "of"
        return _parse_complement(words, place, kind, auxiliary)
    if head in ROLE_NOUNS:
        return _parse_complement(words, place, "of", auxiliary)
    if is_property or (is_explicit and words[-1] in PREPOSITIONS):
        return _parse_complement(words, place, "copula", auxiliary)
    return None


def _parse_complement(
    words: list[str], place: int, kind: PhraseKind, auxiliary: str = ""
) -> ParsedLabel | None:
    """Parses a phrase with the preposition at ``place``; a noun after it names the object's kind.

    "located in country" → "located in the country".
    """
    if words[-1] in PREPOSITIONS:
        return ParsedLabel(kind, " ".join(words), auxiliary)
    noun = _make_definite(words[place + 1 :])
    return ParsedLabel(kind, " ".join([*words[: place + 1], noun]), auxiliary) if noun else None


def _make_definite(words: list[str]) -> str:
    """Returns a singular noun phrase with "the"; empty for other words.

    A preposition in it could only be "of".
    """
    phrase = _parse_noun(words, "has")
    if phrase is None or phrase.kind != "noun" or (PREPOSITIONS - {"of"}).intersection(words):
        return ""
    return f"the {phrase.words}"


def _parse_noun(words: list[str], auxiliary: str) -> ParsedLabel | None:
    """Parses a noun phrase: "place of birth", "elevation above sea level", "position held"."""
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    if not words or {words[0], words[-1]} & (PREPOSITIONS | _CONJUNCTIONS | _ARTICLES):
        return None
    place = next((i for i, word in enumerate(words) if word in PREPOSITIONS), len(words))
    if place == 1 and (_is_no_noun(words[0]) or words[0] in PAST_VERBS):
        return None
    head = words[:place]
    # The noun stands before a participle: "languages spoken". But "given name", "data set" are.
    while len(head) > 1 and is_participle(head[-1]) and head[-1] not in ("set", "run"):
        head = head[:-1]
    return ParsedLabel("plural" if looks_plural(head[-1]) else "noun", " ".join(words), auxiliary)


def can_precede_of(noun: str) -> bool:
    """Returns whether "of" can follow a noun phrase: "mouth", but not "languages spoken"."""
    words = noun.split(" ")
    return not (PREPOSITIONS - {"of"}).intersection(words) and not any(map(is_participle, words))


def _is_part_of(words: list[str]) -> bool:
    """Returns whether words before "of" are "part", perhaps after an adverb."""
    return words[-1:] == ["part"] and ADVERBS.issuperset(words[:-1])


def _is_no_noun(word: str) -> bool:
    return is_participle(word) or word in ADJECTIVES or word in HAVE_FORMS or word in BE_FORMS


def is_participle(word: str) -> bool:
    """Returns whether a word looks like a past participle: "located", "born"."""
    is_regular = word.endswith("ed") and not word.endswith(("eed", "shed")) and len(word) > 4
    is_regular |= word.endswith(("ished", "ashed", "ushed")) and len(word) > 6
    return word in PARTICIPLES or is_regular


def _is_verb_before_preposition(word: str) -> bool:
    return word in VERBS or (word.endswith("s") and not _is_never_third_person(word))


def _is_never_third_person(word: str) -> bool:
    return word.endswith(("ss", "us", "is", "ous", "ics", "ness")) or len(word) < 4


def looks_plural(word: str) -> bool:
    """Returns whether a noun looks like a plural: "languages", but not "status"."""
    if word in ("alumni", "people", "children", "data", "media", "criteria"):
        return True
    return word.endswith("s") and word not in SINGULARS_IN_S and not _is_never_third_person(word)


def get_base_form(verb_phrase: str) -> str:
    """Returns the infinitive of a verb phrase: ``flows into`` → ``flow into``, ``died`` → ``die``.

    The verb is in the third person, or one of ``PAST_VERBS``.
    """
    verb, space, complement = verb_phrase.partition(" ")
    if verb in ADVERBS and complement:
        return f"{verb} {get_base_form(complement)}"
    if verb == "has":
        verb = "have"
    elif verb in ("does", "goes"):
        verb = verb[:-2]
    elif verb in PAST_VERBS:
        verb = PAST_VERBS[verb]
    elif verb.endswith("ies") and len(verb) > 4:
        verb = verb[:-3] + "y"
    elif _ES_VERB.search(verb):
        verb = verb[:-2]
    elif verb.endswith("s") and not verb.endswith("ss"):
        verb = verb[:-1]
    return verb + space + complement
