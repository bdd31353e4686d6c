"""Finds what things are: of "is a peer-reviewed journal of physics" the noun "journal"."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from kg.text.facts.evidence import normalise_mention
from kg.words.label_grammar import is_participle

COPULAS: Final = frozenset({"is", "was", "are", "were", "is a", "is an", "was a", "was an"})

# What follows the noun: "film starring …", "town near …".
_NOUN_PHRASE: Final = re.compile(
    r"(?:an?\s+|the\s+)?([^,;()]+?)(?:\s+(?:of|in|from|by|for|that|which|who|whose|where|when|"
    r"at|on|with|within|without|to|into|and|or|but|about|as|near|between|during|under|over|along|"
    r"after|before|against|among|through|than|since|starring|featuring|containing|consisting|"
    r"comprising|including|depicting|describing|using|belonging|lying|spanning|dating)\b.*)?$",
    re.I,
)
# Nouns before "of" that leave the kind to what follows, and those that say no kind.
_VARIETIES: Final = "type|kind|sort|form|variety|style|genre|species|example"
_NO_KINDS: Final = frozenset(
    """part member name number portion side end majority minority half third quarter rest title term
    word piece pair lot bit all some most many few any each none section percent one
    """.split()  # noqa: SIM905 - a list of string literals would be hard to read
) | frozenset(_VARIETIES.split("|"))
_OF_VARIETY: Final = re.compile(rf"(?:[\w-]+\s+){{0,4}}?(?:{_VARIETIES})s?\s+of\s+(?=\S)", re.I)
_OF_SEVERAL: Final = re.compile(r"(?:one\s+of|among)\s+(?=\S)", re.I)
# Adjectives that stand alone where an extractor left out the noun: "is the largest".
_SUPERLATIVE: Final = re.compile(
    r"(?:larg|bigg|small|high|long|old|lat|young|new|great|tall|low|short|rich|fast|near|deep|"
    r"strong|clos|b|earli)est|\w*most|first|last|second|third|only|same|other|former"
)
# Verb forms that are nouns at the end of a phrase: "data set".
_NOUNS_LIKE_PARTICIPLES: Final = frozenset({"set", "run", "read", "split", "spread"})


def find_kinds(statements: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Finds the most frequent kind of each thing.

    Args:
        statements: subject, normalised relation and object; those whose relation is no copula are
            ignored.

    Returns:
        Name as in ``normalise_mention`` → a noun in small letters.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for subject, relation, text in statements:
        noun = find_head_noun(text) if relation in COPULAS else ""
        if noun:
            found[normalise_mention(subject)][noun] += 1
    return {name: min(nouns, key=lambda n: (-nouns[n], n)) for name, nouns in found.items()}


def find_head_noun(text: str) -> str:
    """Returns the noun that says the kind in what follows "is" or "is a"; empty if none does.

    Adjectives, participles and what follows the noun are left out, and so are names, which have a
    capital. "A type of bread" is bread, and "one of the largest cities" is a city.
    """
    text = re.sub(r"^(?:an?|the)\s+", "", text.strip(), flags=re.I)
    several = _OF_SEVERAL.match(text)
    if several:
        text = text[several.end() :]
    variety = _OF_VARIETY.match(text)
    if variety:
        text = text[variety.end() :]
    match = _NOUN_PHRASE.match(text)
    words = match[1].split() if match else []
    # A participle follows the noun: "film written" and "company founded 1990".
    for number, word in enumerate(words):
        is_last = number == len(words) - 1
        is_verb = is_participle(word) and word not in _NOUNS_LIKE_PARTICIPLES
        if is_verb and (is_last or words[number + 1][0].isdigit()):
            words = words[:number]
            break
    noun = words[-1] if words else ""
    if not (noun.isalpha() and noun.islower() and len(noun) > 2):
        return ""
    if noun in _NO_KINDS or _SUPERLATIVE.fullmatch(noun):
        return ""
    return _find_singular(noun) if several else noun


def _find_singular(noun: str) -> str:
    """Returns the singular of a plural; empty if it is none."""
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("ches", "shes", "sses", "xes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else ""
