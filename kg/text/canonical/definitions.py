"""Finds the acronyms that a text defines, and merges them with the phrases that they stand for.

A. Schwartz and M. Hearst, A simple algorithm for identifying abbreviation definitions in biomedical
text, PSB 2003: an acronym in parentheses after its phrase, "write-ahead logging (WAL)", or the
phrase in parentheses after its acronym. Their algorithm accepts letters from anywhere in the words;
here they must also be initials (``abbreviates_phrase``): documentation has many other
parentheses. No acronym is merged on its letters alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from kg.text.canonical.rule_words import ARTICLES
from kg.text.canonical.rules import abbreviates_phrase, is_acronym, join_lemmas
from kg.words.normaliser import normalise_phrase

MIN_SHARE = Fraction(4, 5)
"""Minimum share of an acronym's definitions that agree; otherwise it is ambiguous."""
MAX_LENGTH = 12
"""Maximum number of characters of an acronym."""

_ORDINARY_WORDS = frozenset({"id", "ids"})
"""Acronyms that are words: IDs are identifiers, also where a text calls Internet-Drafts so. The
stemmer leaves words of three letters as they are."""

_PARENTHESES = re.compile(r"\(([^()\n]{2,100})\)")
_CLAUSE_BOUNDARY = re.compile(r"[.;:!?()\[\]{}|]\s|\n\s*\n|[()|]")
_WORD = re.compile(r"[^\W_][\w'’/+-]*")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def find_definitions(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Returns the acronyms that texts define.

    Returns:
        The normal form of each acronym → the normal forms of its phrase; spellings of one phrase
        are several forms. An acronym that is defined in different ways is left out.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for acronym, phrase in iter_definitions(text):
            counts[normalise_phrase(acronym)][phrase] += 1
    for word in _ORDINARY_WORDS:
        counts.pop(word, None)
    definitions: dict[str, frozenset[str]] = {}
    for acronym, phrases in counts.items():
        count_by_meaning: Counter[str] = Counter()
        for phrase, count in phrases.items():
            count_by_meaning[join_lemmas(phrase)] += count
        meaning, count = max(count_by_meaning.items(), key=lambda item: (item[1], item[0]))
        if count >= MIN_SHARE * count_by_meaning.total():
            forms = {normalise_phrase(p) for p in phrases if join_lemmas(p) == meaning}
            definitions[acronym] = frozenset(forms)
    return definitions


def iter_definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yields (acronym, phrase) for each definition in a text, as written."""
    for match in _PARENTHESES.finditer(text):
        inside = match[1].strip().strip("\"'“”‘’")
        # The paper searches min(letters + 5, 2 * letters) words before the parenthesis.
        before = _CLAUSE_BOUNDARY.split(text[max(0, match.start() - 250) : match.start()])[-1]
        words = list(_WORD.finditer(before))
        if is_acronym(inside) and len(inside) <= MAX_LENGTH:
            max_words = min(len(inside) + 5, 2 * len(inside))
            start = words[-max_words:][0].start() if words else len(before)
            phrase = _match_phrase(inside, before[start:].strip(" \n\t\"'“”‘’,"))
            if phrase:
                yield inside, phrase
        elif words and is_acronym(words[-1][0]) and len(words[-1][0]) <= MAX_LENGTH:
            acronym = words[-1][0]
            phrase = _match_phrase(acronym, re.split(r"[,;]", inside)[0].strip())
            # Before the parenthesis any words may stand; inside it, only the phrase.
            if phrase and len(_WORD.findall(inside)) <= 2 * len(acronym):
                yield acronym, phrase


def _match_phrase(acronym: str, text: str) -> str:
    """Returns the end of a text that an acronym abbreviates; empty if there is none.

    That is as many words as the acronym has letters, if these are their initials. Otherwise this is
    ``findBestLongForm`` of the paper: both are read from the right, each letter of the acronym
    takes the next equal letter, and its first letter must begin a word. So it would find "Sockets
    Layer" for SSL.
    """
    position = len(text)
    letters = [char.casefold() for char in acronym if _LETTER_OR_DIGIT.match(char)]
    if len(letters) > 2 and letters[-1] == "s" and acronym.endswith("s"):
        letters.pop()  # the plural of an acronym
    words = list(_WORD.finditer(text))[-len(letters) :]
    if [word[0][0].casefold() for word in words] == letters:
        return text[words[0].start() :]
    for index in range(len(letters) - 1, -1, -1):
        position -= 1
        while position >= 0 and (
            text[position].casefold() != letters[index]
            or (index == 0 and position > 0 and _LETTER_OR_DIGIT.match(text[position - 1]))
        ):
            position -= 1
        if position < 0:
            # "2PL" and "two-phase locking" share only letters; the stricter rule tries all starts.
            return _match_initials(acronym, text)
    phrase = text[position:]
    return phrase if abbreviates_phrase(acronym, phrase) else _match_initials(acronym, text)


def _match_initials(acronym: str, text: str) -> str:
    """Returns the shortest end of a text whose initials are the acronym; empty if none is."""
    for word in reversed(list(_WORD.finditer(text))):
        phrase = text[word.start() :]
        if abbreviates_phrase(acronym, phrase) and word[0].casefold() not in ARTICLES:
            return phrase
    return ""


def merge_definitions(
    concept_of_form: dict[str, str],
    labels: Mapping[str, str],
    occurrences: Mapping[str, int],
    definitions: Mapping[str, frozenset[str]],
) -> None:
    """Merges acronyms with their phrases, also inside longer keywords ("WAL protocol").

    The commoner of both names the concept, the acronym if both are as common: "RDF" is not renamed.

    Args:
        concept_of_form: normal form of each keyword → its concept; changed in place.
        labels: normal form → its commonest spelling, which must be an acronym itself: the word
            "rest" is not REST.
        occurrences: normal form → number of occurrences.
        definitions: see ``find_definitions``.
    """
    members: defaultdict[str, list[str]] = defaultdict(list)
    for form, concept in concept_of_form.items():
        members[concept].append(form)
    for form in list(concept_of_form):
        for phrase_form in _expand_form(form, labels[form], definitions):
            concepts = {concept_of_form[form], concept_of_form.get(phrase_form, "")} - {""}
            if len(concepts) < 2:
                continue  # the text has no such keyword, or both are one concept already
            acronym = concept_of_form[form]
            ranked = sorted((-occurrences[name], name != acronym, name) for name in concepts)
            kept, merged = ranked[0][-1], ranked[1][-1]
            for member in members.pop(merged):
                concept_of_form[member] = kept
                members[kept].append(member)


def _expand_form(form: str, label: str, definitions: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yields the normal forms of a keyword with a defined acronym written out."""
    form_words, label_words = form.split(), _WORD.findall(label)
    for position, word in enumerate(form_words):
        phrases = definitions.get(word)
        if phrases and any(
            normalise_phrase(written) == word and is_acronym(written) for written in label_words
        ):
            for phrase in sorted(phrases):
                yield " ".join([*form_words[:position], phrase, *form_words[position + 1 :]])
