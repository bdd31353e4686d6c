"""Finds what a graph's things and predicates are called, and whether a question can name them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from kg.base.plain_text import clean_text
from kg.graph import Graph
from kg.profile.known_labels import find_known_label
from kg.terms import RDF_TYPE, RDFS, SKOS, iri_tail, is_malformed_iri, parse_literal
from kg.vocabulary import is_vocabulary
from kg.words.label_grammar import split_name
from kg.words.labels import LABEL_PREDICATES, Labels
from kg.words.qualified_names import is_opaque

MAX_NAME_WORDS = 20
"""Maximum number of words of a value that a question may state."""
MAX_LABEL_WORDS = 8
"""Maximum number of words of a predicate's label."""
MAX_LANGUAGES = 4
"""Maximum number of languages of labels, the most frequent ones."""
MIN_LANGUAGE_SHARE = 0.05
"""Minimum share of the named things that have a name in a language."""
MIN_NAMED_SUBJECTS = 15
"""Minimum number of subjects of a naming predicate."""
MIN_DISTINCT_NAMES = 0.8
"""Minimum number of distinct values of a naming predicate, as a share of its subjects."""
MAX_MEAN_NAME_LENGTH = 60
"""Maximum mean length of the values of a naming predicate, in characters."""

MAX_NAMESAKES = 5_000
"""Maximum number of namesakes that are looked at to choose qualifiers."""
MAX_QUALIFIERS = 3
MAX_CANDIDATES = 12
"""Maximum number of predicates that are tried as qualifiers."""

_NAMING = re.compile(r"(name|label|title)$", re.IGNORECASE)
# "P1476", "12", "IAO_0000115", "a3f9…": a code says nothing to a reader.
_CODE = re.compile(r"[A-Za-z]{0,8}[ _-]?\d+[A-Za-z]?|.|(?=.*\d)[0-9a-f]{8,}|.*\d{5,}.*")
_WORD = re.compile(r"[^\W\d_]{2}")


def is_usable_iri(iri: str) -> bool:
    """Returns whether an IRI is well-formed, so that it can be written in Turtle and TOML."""
    import pyoxigraph

    if is_malformed_iri(iri):
        return False
    try:
        pyoxigraph.NamedNode(iri)
    except ValueError:  # a surrogate is one, too
        return False
    return True


def find_naming_predicates(graph: Graph) -> tuple[str, ...]:
    """Finds the graph's own predicates whose values are names: short, and different ones."""
    index, terms = graph.index, graph.index.terms
    found = []
    for p in index.list_predicates():
        iri = terms.get_text(p)
        if is_vocabulary(iri) or not _NAMING.search(iri) or not is_usable_iri(iri):
            continue
        pairs = list(index.iter_pairs(p))
        values = {o for _, o in pairs}
        n_subjects = len({s for s, _ in pairs})
        if (
            n_subjects >= MIN_NAMED_SUBJECTS
            and all(map(terms.is_literal, values))
            and (
                len(values) >= MIN_DISTINCT_NAMES * n_subjects
                # Things of the same name may be told apart; a UUID says nothing.
                or all(is_opaque(iri_tail(terms.get_text(s))) for s, _ in pairs)
            )
            and sum(len(terms.get_text(o)) for o in values) <= MAX_MEAN_NAME_LENGTH * len(values)
        ):
            found.append(iri)
    return tuple(sorted(found))


def find_languages(graph: Graph, naming_predicates: Collection[str] = ()) -> tuple[str, ...]:
    """Finds the languages of the graph's labels: English first if it has it, then by number."""
    index, terms = graph.index, graph.index.terms
    named = {
        (s, parse_literal(terms.get_text(o)).language.split("-")[0])
        for iri in (*LABEL_PREDICATES, *naming_predicates)
        if (p := terms.get(iri)) is not None
        for s, o in index.iter_pairs(p)
        if terms.is_literal(o)
    }
    counts = Counter(language for _, language in named)
    total = len({s for s, _ in named})
    languages = sorted(
        (
            tag
            for tag, n in counts.items()
            if re.fullmatch("[a-z]{2,8}", tag) and n >= MIN_LANGUAGE_SHARE * total
        ),
        key=lambda tag: (tag != "en", -counts[tag], tag),
    )
    return tuple(languages[:MAX_LANGUAGES]) or ("en",)


def choose_qualifiers(graph: Graph, labels: Labels) -> tuple[str, ...]:
    """Chooses by what things with the same name are told apart, best first.

    Args:
        graph: the graph.
        labels: its labels, without qualifiers.
    """
    groups = list(labels.find_homonyms().values())
    groups = [iris[:MAX_NAMESAKES] for iris in groups]
    chosen: list[str] = []
    while groups and len(chosen) < MAX_QUALIFIERS:
        candidates = [RDF_TYPE, *_list_linking_predicates(graph, groups)]
        gains = {
            q: sum(labels.qualifier.count_distinct(iris, q) for iris in groups)
            for q in candidates
            if q not in chosen
        }
        best = max(gains, key=lambda q: (gains[q], q == RDF_TYPE, q), default="")
        if not best or gains[best] < MIN_NAMED_SUBJECTS:
            break
        chosen.append(best)
        groups = [labels.qualifier.list_alike(iris, best) for iris in groups]
        groups = [iris for iris in groups if len(iris) > 1]
    return tuple(chosen)


def _list_linking_predicates(graph: Graph, groups: Iterable[Sequence[str]]) -> list[str]:
    """Lists predicates that link a namesake with one other thing; ``^`` marks incoming ones."""
    index, terms = graph.index, graph.index.terms
    counts: Counter[str] = Counter()
    for iri in itertools.islice(itertools.chain.from_iterable(groups), MAX_NAMESAKES):
        node = terms.get(iri)
        if node is None:
            continue
        for mark, edges in (("", index.iter_out_edges(node)), ("^", index.iter_in_edges(node))):
            others = Counter(p for p, o in edges if not terms.is_literal(o))
            counts.update(mark + terms.get_text(p) for p, n in others.items() if n == 1)
    usable = [q for q in counts if not is_vocabulary(q.removeprefix("^"))]
    usable = [q for q in usable if is_usable_iri(q.removeprefix("^"))]
    return sorted(usable, key=lambda q: (-counts[q], q))[:MAX_CANDIDATES]


class Names:
    """The names of one graph's things and predicates.

    Args:
        graph: the graph.
        labels: its labels.
    """

    def __init__(self, graph: Graph, labels: Labels) -> None:
        self._index = graph.index
        self._labels = labels
        self._nameable: dict[int, bool] = {}
        self._names_by_code: dict[str, str | None] | None = None

    def is_nameable(self, term: int) -> bool:
        """Returns whether a question can name a term: by a unique, readable name or a value."""
        nameable = self._nameable.get(term)
        if nameable is None:
            text = self._index.terms.get_text(term)
            if text.startswith('"'):
                nameable = 0 < len(parse_literal(text).lexical.split()) <= MAX_NAME_WORDS
            elif text.startswith("_:"):
                nameable = False
            else:
                name = self._labels.get_distinct_name(text)
                # The label must lead to this entity only, or to none.
                nameable = self._labels.find_entities(name) in ([text], []) and (
                    self._labels.has_label(text) or not is_opaque(name)
                )
            self._nameable[term] = nameable
        return nameable

    def find_predicate_label(self, iri: str) -> str:
        """Returns what a predicate is called in sentences; empty if it has no readable name.

        The name is its label, its local name, the label of another term with the same code (of
        ``wd:P31`` for ``wdt:P31``), or that of a well-known vocabulary.
        """
        if self._labels.has_label(iri):
            name = " ".join(self._choose_label(iri).split())
            # A longer one is a definition or somebody's notice.
            if not _CODE.fullmatch(name) and len(name.split()) <= MAX_LABEL_WORDS:
                return clean_text(split_name(name))
        tail = iri_tail(iri)
        name = split_name(tail)
        if not _CODE.fullmatch(tail) and not _CODE.fullmatch(name) and _WORD.search(name):
            return clean_text(name)
        return clean_text(find_known_label(iri) or self._find_label_by_code(tail))

    def find_class_noun(self, iri: str) -> str:
        """Returns what the members of a class are called; may be a code."""
        return split_name(self._labels.get_label(iri))

    def _choose_label(self, iri: str) -> str:
        """Returns a label that does not depend on the order of the graph."""
        index, terms = self._index, self._index.terms
        s = terms.get(iri)
        candidates = []
        for rank, name in enumerate(LABEL_PREDICATES):
            p = terms.get(name)
            for o in index.find_objects(s, p) if s is not None and p is not None else ():
                text = terms.get_text(o)
                if terms.is_literal(o) and parse_literal(text).lexical.strip():
                    lexical, _, language = parse_literal(text)
                    is_alias = name == SKOS + "altLabel"
                    candidates.append((is_alias, self._rank(language), rank, lexical))
        # Without one of these it has a name of the graph's own naming predicates.
        return min(candidates)[3] if candidates else self._labels.get_label(iri)

    def _rank(self, language: str) -> int:
        languages = self._labels.languages
        main = language.split("-")[0]
        if main in languages:
            return languages.index(main)
        return len(languages) + bool(language)

    def _find_label_by_code(self, tail: str) -> str:
        if self._names_by_code is None:
            names: dict[str, str | None] = {}
            terms = self._index.terms
            subjects = {
                s
                for name in (RDFS + "label", SKOS + "prefLabel")
                if (p := terms.get(name)) is not None
                for s in self._index.get_subjects(p)
            }
            for text in sorted(terms.get_text(s) for s in subjects if s not in terms.blanks):
                code, name = iri_tail(text), self._choose_label(text)
                if _CODE.fullmatch(code) and not _CODE.fullmatch(name):
                    # Codes are compared only if one term has them: "12" may be anything.
                    is_new = code not in names or names[code] == name
                    names[code] = name if is_new else None
            self._names_by_code = names
        return self._names_by_code.get(tail) or ""
