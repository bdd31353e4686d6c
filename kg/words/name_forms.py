"""Compares names: without case, diacritics, punctuation and articles."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from kg.base.plain_text import list_words
from kg.words.number_words import NUMBER_WORDS

ARTICLES = {
    "en": ("the", "a", "an"),
    "de": ("der", "die", "das"),
    "fr": ("le", "la", "les", "l"),
    "es": ("el", "la", "los", "las"),
    "it": ("il", "lo", "la", "i", "gli", "le", "l"),
    "nl": ("de", "het", "een"),
    "pt": ("o", "a", "os", "as"),
}
"""Articles by language: leading words that are ignored when names are compared."""

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTER_TABLE = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h",
})  # fmt: skip
# GEDCOM marks the surname: "Alix /Hesse/", "John /Smith/ Jr".
_SURNAME = re.compile(r"([^/]*[^\W\d][^/]*) /([^/\d]*[^\W\d_][^/\d]*)/(?: ([^/]+))?")
_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_NORMAL_FORM = re.compile(r"[a-z0-9 ]*")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d{2,}")
_DIGITS = re.compile(r"[0-9]{1,18}")
_LETTERS_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
_IN_NUMBER = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|(?<=\d)\.0+(?![\d.])")
"""What stands in a number and says nothing: the comma of "1,730", the ".0" of "230.0"."""
MIN_ORDERED = 0.9
"""Minimum share of links between numbered names that go in one direction, if numbers order them."""
MAX_CODE = 3
"""Maximum number of letters of a value such as a unit, which names have in brackets."""
MIN_NUMBER = 2
"""Minimum number of digits of a number that a name says by itself, without a unit: the 1 of "pump
1" counts pumps."""
_NUMBERS_BY_WORD = {**{word: str(n) for n, word in enumerate(NUMBER_WORDS)}, "single": "1"}


def drop_surname_marks(name: str) -> str:
    """Removes the slashes around a surname: ``Alix /Hesse/`` → ``Alix Hesse``."""
    match = _SURNAME.fullmatch(name) if name.count("/") == 2 else None
    if match is None:
        return name
    given, surname, suffix = (part.strip() for part in match.groups(""))
    # "Louis Mountbatten /Mountbatten/"
    return " ".join(filter(None, (given.removesuffix(surname).rstrip(), surname, suffix)))


def fold_text(text: str) -> str:
    """Removes case and Latin diacritics: ``Rhône`` → ``rhone``."""
    text = text.casefold()
    if text.isascii():
        return text
    # Folded again, because NFKD turns compatibility letters ("𝚨") into capitals.
    text = unicodedata.normalize("NFKD", text).casefold()
    # Only Latin accents are removed: in Indic scripts a mark is a vowel and changes the word.
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", text)).translate(_LETTER_TABLE)


def normalise_name(name: str, articles: Iterable[str] = ARTICLES["en"]) -> str:
    """Removes case, diacritics, punctuation and a leading article from a name, for comparison.

    A name of only punctuation is returned in lower case, so that different names stay different.
    """
    text = fold_text(name)
    if not _NORMAL_FORM.fullmatch(text):
        text = "".join(
            c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text
        )
    words = text.split()
    if len(words) > 1 and words[0] in articles:
        words = words[1:]
    return " ".join(words) or " ".join(name.casefold().split())


def list_name_words(name: str) -> list[str]:
    """Lists the words of a name, case-folded; of those with a number in them also the number.

    A single digit is that of a code, such as "B2", and does not count.

    >>> list_name_words("AC-3Ph_60Hz"), list_name_words("1,730 m")
    (['ac', '3ph', '60hz', '60'], ['1730', 'm'])
    """
    found = []
    name = name.casefold()
    if "," in name or "." in name:
        name = _IN_NUMBER.sub("", name)
    for word in _WORD.findall(name):
        numbers = () if word.isdecimal() or word.isalpha() else _NUMBER.findall(word)
        found += [word, *numbers]
    return found


def says_quantity(name: str, value: str, *, min_digits: int = MIN_NUMBER) -> bool:
    """Returns whether a name says a number, with its unit if that is given: "AC-240V" says 240 V.

    Units are compared by their first letters, since names shorten them: "3Ph" says three phases.

    Args:
        name: the name.
        value: the number, or a number and its unit.
        min_digits: how many digits a number without a unit must have: "B2" is a code.

    >>> says_quantity("AC-240V-60Hz", "60 Hertz"), says_quantity("AC-240V-60Hz", "50 Hertz")
    (True, False)
    """
    words, parts = (
        [
            _NUMBERS_BY_WORD.get(word, word)
            for word in _LETTERS_OR_NUMBER.findall(_IN_NUMBER.sub("", text.casefold()))
        ]
        for text in (name, value)
    )
    if not parts or not parts[0].isdecimal():
        return False
    if len(parts) == 1:
        return len(parts[0]) >= min_digits and parts[0] in words
    return any(
        number == parts[0] and unit[0] == parts[1][0] for number, unit in itertools.pairwise(words)
    )


def says_code(name: str, value: str) -> bool:
    """Returns whether a name has a value of a few letters in it: "501Hz" and "Gain (Hz)" say Hz.

    >>> says_code("Makeup (dB)", "db"), says_code("Dbase", "db")
    (True, False)
    """
    words = _LETTERS_OR_NUMBER.findall(name.casefold())
    return len(value) <= MAX_CODE and value.isalpha() and value.casefold() in words


def are_numbered_in_order(pairs: Iterable[tuple[str, str]]) -> bool:
    """Returns whether nearly all pairs have one name with other numbers, a constant step apart.

    Only then the numbers tell which pairs these are: version 0.21 replaces version 0.20.

    >>> are_numbered_in_order([("Version 1.10", "Version 1.9"), ("Version 3", "Version 2")])
    True
    """
    steps: Counter[int] = Counter()
    n_pairs = 0
    for name, other in pairs:
        n_pairs += 1
        words = _DIGITS.split(name)
        if any(map(str.isalpha, "".join(words))) and words == _DIGITS.split(other):
            numbers, others = (list(map(int, _DIGITS.findall(one))) for one in (name, other))
            # The first number that differs: 2.0 follows 1.9.
            steps[next((x - y for x, y in zip(numbers, others, strict=True) if x != y), 0)] += 1
    up, down = (sum(n for step, n in steps.items() if step * sign > 0) for sign in (1, -1))
    n_constant = max((n for step, n in steps.items() if step), default=0)
    return max(up, down) >= MIN_ORDERED * n_pairs > 0 and 2 * n_constant > n_pairs


class SimpleLiterals:
    """Normalises the literals whose normal form is just their text in lower case: most of them.

    Args:
        articles: leading words that names are compared without.
    """

    def __init__(self, articles: Collection[str]) -> None:
        # Matches every line. The group contains the text of a simple literal; it is empty for any
        # other line. Names with a leading article are excluded here and handled by
        # ``normalise_name``; what may be a hash is excluded, too. "(?!)" never matches.
        excluded = "|".join(sorted(map(re.escape, articles))) or "(?!)"
        self._pattern = re.compile(
            rf'^(?:"(?!(?i:{excluded}) |[0-9A-Fa-f]{{32}})([A-Za-z0-9]+(?: [A-Za-z0-9]+)*+)"'
            r"(?:@[a-z-]+)?$|.*$)",
            re.MULTILINE,
        )

    def normalise(self, literals: Sequence[str]) -> list[str]:
        """Returns the normal form of each simple literal, and an empty string for other literals.

        All literals are joined with newlines and matched at once, which is much faster.
        """
        normal_forms = self._pattern.findall("\n".join(literals))
        lines = "\n".join(normal_forms).lower().split("\n")
        if len(lines) == len(literals):
            return lines
        # The lengths differ if a literal contains a newline or if there are no literals.
        return ["" if "\n" in text else self._pattern.findall(text)[0].lower() for text in literals]


def find_distinct_ending(iri: str, others: Sequence[str]) -> str:
    """Returns the last parts of an IRI, as few as no other one of these ends with.

    Neither case nor the sign between the parts, "/" or "#", makes a difference to a reader.

    >>> find_distinct_ending("http://a.org/tag#Point", ["http://a.org/brick#Point"])
    'tag#Point'
    """
    text = iri.rstrip("/#")
    folded_others = [other.rstrip("/#").replace("#", "/").casefold() for other in others]
    for cut in reversed([match.end() for match in re.finditer(r"[/#]", text)]):
        ending = text[cut:].replace("#", "/").casefold()
        if ending and not any(other.endswith(f"/{ending}") for other in folded_others):
            return text[cut:]
    return iri


_NEGATIONS = frozenset(
    list_words("no non not never without nicht kein keine ohne pas sans sin sem senza niet geen")
)


def may_name_one_thing(words: frozenset[str], others: frozenset[str]) -> bool:
    """Returns whether all words of one name are among those of the other one.

    "State Bank Trust" and "State Bank Trust Company" may be one thing, and what is measured in
    "percent RH" is measured in percent. But what is "not in force" or "notInForce" is not in force.
    """
    if not (words <= others or others <= words):
        return False
    return not any(
        word in _NEGATIONS or any(n + other == word for n in _NEGATIONS for other in words & others)
        for word in words ^ others
    )
