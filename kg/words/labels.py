"""Names of things: labels with language preference, aliases, homonyms, look-up by name.

A label is looked up when asked for; the index by name is made on the first ``find``, because
writing cards for a graph of a million triples never needs it.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kg.terms import (
    OWL,
    RDF,
    RDFS,
    SKOS,
    iri_tail,
    is_blank,
    is_iri,
    is_literal,
    parse_literal,
)

if TYPE_CHECKING:
    from kg.graph import Graph

LABEL_PREDICATES = (RDFS + "label", SKOS + "prefLabel", SKOS + "altLabel")
"""In order of preference among labels of one language; the last only ever gives aliases while
another label exists."""

_VOCABULARIES = (RDF, RDFS, OWL, SKOS, "http://www.w3.org/2001/XMLSchema#")

ARTICLES = {
    "en": ("the", "a", "an"),
    "de": ("der", "die", "das"),
    "fr": ("le", "la", "les", "l"),
    "es": ("el", "la", "los", "las"),
    "it": ("il", "lo", "la", "i", "gli", "le", "l"),
    "nl": ("de", "het", "een"),
    "pt": ("o", "a", "os", "as"),
}
"""Leading words that do not distinguish names, per language."""

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTERS = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h",
})  # fmt: skip
_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_PLAIN = re.compile(r"[a-z0-9 ]*")


def folded(text: str) -> str:
    """A text without case and Latin diacritics: ``Rhône`` → ``rhone``."""
    text = text.casefold()
    if text.isascii():
        return text
    # Folded again: compatibility letters ("𝚨") only now turn into capitals.
    text = unicodedata.normalize("NFKD", text).casefold()
    # Only Latin accents go: in Indic scripts a mark is a vowel, and without it another word.
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", text)).translate(_LETTERS)


def normalised(name: str, articles: Iterable[str] = ARTICLES["en"]) -> str:
    """A name without case, diacritics, punctuation and leading article, for comparison.

    A name of nothing but punctuation stays itself in lower case, so that no two such names fall
    together.
    """
    text = folded(name)
    if not _PLAIN.fullmatch(text):
        text = "".join(
            c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text
        )
    words = text.split()
    if len(words) > 1 and words[0] in articles:
        words = words[1:]
    return " ".join(words) or " ".join(name.casefold().split())


class Labels:
    """The names in one graph.

    Args:
        graph: where the labels stand.
        languages: preferred languages, best first; then come labels without a language, then the
            rest in the order stated.
    """

    def __init__(self, graph: Graph, languages: Sequence[str] = ("en",)) -> None:
        self._index = graph.index
        self._terms = graph.index.terms
        self.languages = tuple(language.lower() for language in languages)
        self._articles = frozenset(
            article
            for language in self.languages
            for article in ARTICLES.get(language.split("-")[0], ())
        )
        self._predicates = [
            (rank, term)
            for rank, text in enumerate(LABEL_PREDICATES)
            if (term := self._terms.get(text)) is not None
        ]
        self._by_name: dict[str, int | list[int]] | None = None
        self._plain = re.compile(r'"([A-Za-z0-9]+(?: [A-Za-z0-9]+)*+)"')
        # A literal whose normal form is its letters in lower case, which is most of them; any other
        # line gives an empty name. What is plain but opens with an article is left to
        # ``normalised``.
        articles = "|".join(sorted(map(re.escape, self._articles))) or "(?!)"
        self._simple = re.compile(
            rf'^(?:"(?!(?i:{articles}) )([A-Za-z0-9]+(?: [A-Za-z0-9]+)*+)"(?:@[a-z-]+)?$|.*$)',
            re.MULTILINE,
        )

    def label(self, term: str) -> str:
        """The best name of a term; always something readable, on one line.

        A literal's label is its lexical form, a nameless blank node's its text.
        """
        if is_literal(term):
            return parse_literal(term).lexical
        only = self._only_label(term)
        if only:
            return only
        best = None
        for key, text in self._stated(term):
            if best is None or key < best[0]:
                best = key, text
        if best is not None:
            return best[1]
        return term if is_blank(term) else iri_tail(term)

    def _only_label(self, term: str) -> str:
        """The label of a term that states one in plain letters and no more: the usual case."""
        s = self._terms.get(term)
        if s is None:
            return ""
        cells = [
            cell
            for _, predicate in self._predicates
            if (cell := self._index.row(predicate).get(s)) is not None
        ]
        if len(cells) != 1 or not isinstance(cells[0], int):
            return ""
        match = self._plain.match(self._terms.text(cells[0]))
        return "" if match is None else match[1]

    def names(self, term: str) -> list[str]:
        """All names of a term, best first: labels and aliases of every language."""
        found = [text for _, text in sorted(self._stated(term), key=lambda pair: pair[0])]
        return list(dict.fromkeys(found)) or [self.label(term)]

    def has_label(self, term: str) -> bool:
        """Whether the graph states any name for the term."""
        return next(self._stated(term), None) is not None

    def normalise(self, name: str) -> str:
        """``normalised`` with the articles of this object's languages."""
        return normalised(name, self._articles)

    def find(self, name: str) -> list[str]:
        """IRIs that bear a name, compared without case, accents, punctuation and article.

        Things whose *label* it is come before those that bear it as an alias; within each group
        in the graph's order. Costs a walk over the graph the first time.
        """
        found = self._names_index().get(self.normalise(name), [])
        return [self._terms.text(term) for term in (found if isinstance(found, list) else [found])]

    def all_names(self) -> Iterator[str]:
        """Every normalised name that ``find`` knows (for scanning a text for mentions)."""
        return iter(self._names_index())

    def homonyms(self) -> dict[str, list[str]]:
        """Names, labels and aliases alike, that several things bear, in the graph's order.

        Predicates do not count: a property and a class may well share a word.
        """
        groups: dict[str, dict[str, None]] = {}
        shown: dict[str, str] = {}
        for term in self._labelled():
            s = self._terms.get(term)
            if s is not None and self._index.subjects_of(s):
                continue
            for name in self.names(term):
                key = self.normalise(name)
                shown.setdefault(key, name)
                groups.setdefault(key, {})[term] = None
        return {shown[key]: list(terms) for key, terms in groups.items() if len(terms) > 1}

    def _stated(self, term: str) -> Iterator[tuple[tuple[int, int, int], str]]:
        """(sort key, text) of each name stated for a term; smaller keys are better."""
        s = self._terms.get(term)
        if s is None:
            return
        place = 0
        for rank, predicate in self._predicates:
            for o in self._index.objects(s, predicate):
                text = self._terms.text(o)
                if not is_literal(text):
                    continue
                lexical, _, language = parse_literal(text)
                shown = " ".join(lexical.split())
                if shown:
                    alias = int(LABEL_PREDICATES[rank].endswith("altLabel"))
                    yield (alias, self._language_rank(language), place), shown
                    place += 1

    def _language_rank(self, language: str) -> int:
        for rank, wanted in enumerate(self.languages):
            if language == wanted:
                return 2 * rank
            if language.startswith(wanted + "-"):
                return 2 * rank + 1
        return 2 * len(self.languages) + bool(language)

    def _labelled(self) -> Iterator[str]:
        seen: dict[int, None] = {}
        for _, predicate in self._predicates:
            seen.update(dict.fromkeys(self._index.subjects_of(predicate)))
        for s in seen:
            text = self._terms.text(s)
            if is_iri(text):
                yield text

    def _labelled_once(self) -> tuple[list[int], list[int]]:
        """The IRIs that state a name, each once, and the only name of each or -1."""
        index, blanks = self._index, self._terms.blanks
        rows = [index.row(predicate) for _, predicate in self._predicates]
        several = {s for one, two in itertools.combinations(rows, 2) for s in one if s in two}
        subjects: list[int] = []
        names: list[int] = []
        before: set[int] = set()
        for row in rows:
            new = [s for s in row if s not in blanks and s not in before]
            cells = map(row.__getitem__, new)
            subjects += new
            names += [
                cell if cell.__class__ is int and s not in several else -1
                for s, cell in zip(new, cells, strict=True)
            ]
            if several:
                before.update(row)
        return subjects, names

    def _simple_names(self, literals: Sequence[str]) -> list[str]:
        """The normal form of each literal that is simple, else an empty text; all at one go."""
        found = "\n".join(self._simple.findall("\n".join(literals))).lower().split("\n")
        if len(found) == len(literals):
            return found
        # Some literal has several lines, or there is none.
        return ["" if "\n" in text else self._simple.findall(text)[0].lower() for text in literals]

    def _nameless(self) -> Iterator[int]:
        """IRIs of nodes that state no name, to be found by their tails; in the graph's order."""
        texts = self._terms.texts
        missing: Iterable[int] = range(len(texts))
        for _, predicate in self._predicates:
            missing = itertools.filterfalse(self._index.row(predicate).__contains__, missing)
        # Few are left, so what they are is asked of them before the walk over the whole graph.
        yield from self._index.nodes_among(
            {
                node
                for node in missing
                if texts[node][:1] != '"'
                and is_iri(texts[node])
                and not texts[node].startswith(_VOCABULARIES)
            }
        )

    def _names_index(self) -> dict[str, int | list[int]]:
        """Normalised name → the term that bears it, or all of them, labels before aliases.

        A million triples name some two hundred thousand things: whatever is done for each of
        them is done in few steps, and a name borne by one thing costs no list.
        """
        if self._by_name is None:
            aliases: list[tuple[str, int]] = []
            texts = self._terms.texts
            subjects, literals = self._labelled_once()
            names = self._simple_names([texts[o] if o >= 0 else "" for o in literals])
            found: dict[str, int | list[int]] = dict(zip(names, subjects, strict=True))
            if len(found) < len(subjects) or "" in found:
                # Some names are shared, or are more than letters: one by one then.
                found = {}
                for s, name in zip(subjects, names, strict=True):
                    if name:
                        _bear(found, name, s)
                        continue
                    name, *others = dict.fromkeys(map(self.normalise, self.names(texts[s])))
                    _bear(found, name, s)
                    aliases += [(other, s) for other in others]
            for s in self._nameless():
                _bear(found, self.normalise(iri_tail(texts[s])), s)
            for name, s in aliases:
                _bear(found, name, s)
            self._by_name = found
        return self._by_name


def _bear(names: dict[str, int | list[int]], name: str, term: int) -> None:
    known = names.get(name)
    if known is None:
        names[name] = term
    elif isinstance(known, list):
        known.append(term)
    else:
        names[name] = [known, term]
