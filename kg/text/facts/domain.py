"""Reads facts extracted from documents, and makes a graph of them that ``epoche kg init`` can use.

A fact is a subject, a relation and an object in words, with the words of the document that state
it. Spellings of one name become one thing, forms of one relation become one predicate, and dates,
years and numbers become values.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from kg.base.errors import EmptyGraphError
from kg.base.files import iter_records
from kg.base.plain_text import clean_text, format_count, to_one_line
from kg.claims import Claim
from kg.graph import Graph
from kg.predicate_words import PredicateWording
from kg.terms import RDF_TYPE, RDFS, SKOS, XSD, write_literal
from kg.text.facts.evidence import Quote, SourcePassage, normalise_mention
from kg.text.facts.fact import MAX_QUOTE_LENGTH, Fact
from kg.text.facts.kinds import COPULAS, find_kinds
from kg.text.facts.quotes import QuoteChecker

MAX_NAME_CHARS: Final = 120
"""Maximum length of a name; longer "names" are clauses."""
MIN_CLASS_MEMBERS: Final = 5
"""Number of things of a kind below which the kind is left out."""
MIN_SUBJECTS: Final = 5
"""Number of subjects of a relation below which it is left out."""
MIN_SHARE: Final = 0.8
"""Share of a relation's values that must be of one type; the others are left out."""
BASE: Final = "urn:epoche:text:"

_AUXILIARIES: Final = re.compile(
    r"\A(?:(?:is|was|are|were|be|been|being|am|has been|have been|had been|ist|war|sind|waren|"
    r"wurde|wurden)\s+)+(?=\S)"
)
_EMPTY_WORDS: Final = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "been", "by", "did", "do", "does", "for", "from"}
    | {"had", "has", "have", "in", "is", "of", "on", "or", "the", "to", "was", "were", "with"}
    | {"das", "der", "die", "ein", "eine", "hat", "hatte", "im", "ist", "mit", "von", "war"}
)
"""Relations of these words alone do not say how two things are related."""
_DATE_FORMATS: Final = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%B %d %Y", "%d %b %Y", "%b %d, %Y")
_YEAR: Final = re.compile(r"(?:in )?([12]\d{3})")
_NUMBER: Final = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+-]?\d+(?:\.\d+)?")


class FactDomain(NamedTuple):
    """A graph of facts and how to word them."""

    ntriples: str
    wordings: dict[str, PredicateWording]
    """IRI of the predicate → templates."""
    facts: tuple[tuple[str, Fact], ...]
    """IRI of the predicate and fact, for each fact of the graph."""
    quotes: tuple[Quote, ...]
    """What states each triple; empty without passages."""
    notes: tuple[str, ...]
    """What was left out, with counts."""


def read_extracted_facts(paths: Iterable[Path]) -> list[Fact]:
    """Reads files of facts, one JSON object per line.

    The keys are ``subject``, ``relation`` (or ``predicate``), ``object``, ``quote``, and
    ``passage`` (or ``chunk_id``); other keys are ignored. The proposals of ``epoche kg extract``
    are such a file: those that it rejected are left out.

    Raises:
        MissingFileError: no such file.
        RecordError: a line is not such an object; names the file and the line.
    """
    facts = (fact for path in paths for fact in iter_records(path, "fact", _parse_fact))
    return [fact for fact in facts if fact is not None]


def _parse_fact(row: dict[str, Any]) -> Fact | None:
    if row.get("outcome") in ("unusable", "contradicted"):
        return None
    passage = next((row[k] for k in ("passage", "chunk_id") if row.get(k) is not None), "")
    values = {
        "subject": row.get("subject"),
        "relation": row.get("relation", row.get("predicate")),
        "object": row.get("object"),
        "quote": row.get("quote") or "",
        "chunk_id": str(passage) if isinstance(passage, int) else passage,
    }
    missing = [key for key in ("subject", "relation", "object") if values[key] is None]
    if missing:
        raise ValueError(f"it has no {' and no '.join(missing)}")
    fact = msgspec.convert(values, Fact)
    if len(fact.quote) > MAX_QUOTE_LENGTH:
        raise ValueError(f"its quote has more than {MAX_QUOTE_LENGTH:,} characters")
    # The id is compared only, with those of passages as they are. A name that is cut has too many
    # characters for a name anyway; a quote must stay whole, to be found in its passage.
    return msgspec.structs.replace(
        fact,
        subject=clean_text(fact.subject),
        relation=clean_text(fact.relation),
        object=clean_text(fact.object),
        quote=to_one_line(fact.quote),
    )


class Value(NamedTuple):
    """A literal; ``datatype`` is empty for the name of a thing."""

    datatype: str
    text: str


def read_value(text: str) -> Value:
    """Reads a date, a year or a number; anything else is a name."""
    for date_format in _DATE_FORMATS:
        try:
            return Value("date", datetime.strptime(text, date_format).date().isoformat())
        except ValueError:
            continue
    if match := _YEAR.fullmatch(text):
        return Value("gYear", match[1])
    if _NUMBER.fullmatch(text):
        return Value("decimal", text.replace(",", ""))
    return Value("", text)


def _to_number(value: Value) -> Value:
    return Value("decimal", value.text) if value.datatype == "gYear" else value


def build_fact_domain(
    facts: Sequence[Fact],
    passages: Sequence[SourcePassage] = (),
    *,
    accept_implied: bool = False,
) -> FactDomain:
    """Builds the graph of some facts.

    Args:
        facts: the facts, in any order; the graph does not depend on it.
        passages: where they come from. If given, a fact is used only if a sentence of its passage
            states it; see ``QuoteChecker``.
        accept_implied: whether the sentence may lack words of the relation.

    Raises:
        EmptyGraphError: no fact says how two things are related.
    """
    refused: Counter[str] = Counter()
    if passages:
        checker = QuoteChecker(facts, passages, accept_implied=accept_implied)
        facts = list(checker.iter_quoted_facts(facts))
        refused = checker.refused
    kinds = find_kinds(
        (fact.subject, _normalise_relation(fact), fact.object)
        for fact in facts
        if _is_name(fact.subject)
    )
    relations: dict[str, Counter[str]] = defaultdict(Counter)
    by_relation: dict[str, list[tuple[Fact, Value]]] = defaultdict(list)
    n_empty = n_long = 0
    for fact in facts:
        surface = _normalise_relation(fact)
        if not set(surface.split()) - _EMPTY_WORDS:
            n_empty += surface not in COPULAS
            continue
        value = read_value(fact.object)
        if not _is_name(fact.subject) or not (value.datatype or _is_name(fact.object)):
            n_long += 1
            continue
        key = _AUXILIARIES.sub("", surface)
        if value.datatype == "decimal" and "." in value.text and key.endswith((" in", " since")):
            value = Value("", fact.object)  # a version: 5.10 is not 5.1
        relations[key][surface] += 1
        by_relation[key].append((fact, value))
    builder = _GraphBuilder()
    n_mixed = n_rare = 0
    for key in sorted(by_relation):
        rows = by_relation[key]
        if len({normalise_mention(fact.subject) for fact, _ in rows}) < MIN_SUBJECTS:
            n_rare += len(rows)
            continue
        n_mixed += builder.add_relation(key, _choose_surface(relations[key]), rows)
    counts = (
        *((n, why) for why, n in sorted(refused.items())),
        (n_empty, "whose relation has no content word (“has”, “in”)"),
        (n_long, "whose subject or object is a clause and no name"),
        (n_rare, f"of relations that fewer than {MIN_SUBJECTS} subjects have"),
        (n_mixed, "whose value is of another type than most of its relation"),
    )
    notes = tuple(f"{format_count(n, 'fact')} left out {why}" for n, why in counts if n)
    if not builder.quotes:
        raise EmptyGraphError(
            "no fact says how two things are related",
            hint=f"{'; '.join(notes)}."
            if notes
            else "Each line needs a subject, a relation and an object.",
        )
    quotes = tuple(
        Quote(claim.subj, claim.pred, claim.obj, fact.chunk_id, fact.quote)
        for claim in sorted(builder.quotes)
        for fact in builder.quotes[claim]
        if fact.quote
    )
    used = tuple((claim.pred, fact) for claim, group in builder.quotes.items() for fact in group)
    return FactDomain(builder.render(kinds), builder.wordings, used, quotes, notes)


def _normalise_relation(fact: Fact) -> str:
    return " ".join(fact.relation.casefold().split())


def _is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME_CHARS and any(c.isalnum() for c in text)


def _choose_surface(surfaces: Counter[str]) -> str:
    """Chooses the words for a relation: its most frequent form that is a whole verb phrase."""
    ranked = sorted(surfaces, key=lambda text: (-surfaces[text], text))
    best = next((text for text in ranked if _AUXILIARIES.match(text)), ranked[0])
    # "published by" without its verb
    return f"was {best}" if best.endswith(" by") and not _AUXILIARIES.match(best) else best


class _GraphBuilder:
    """Collects the triples of relations, and the spellings of the names in them."""

    def __init__(self) -> None:
        self.quotes: dict[Claim, list[Fact]] = {}
        self.wordings: dict[str, PredicateWording] = {}
        self._spellings: dict[str, Counter[str]] = defaultdict(Counter)

    def add_relation(self, key: str, surface: str, rows: Sequence[tuple[Fact, Value]]) -> int:
        """Adds the facts of a relation; returns how many are left out for their type of value."""
        types = Counter(value.datatype for _, value in rows)
        # A day is seldom that of two subjects, so only its year is asked about.
        has_days = types["date"] > 0
        types["gYear"] += types.pop("date", 0)
        if types["decimal"] and not has_days and max(types.values()) < MIN_SHARE * len(rows):
            # Some of the numbers look like years.
            rows = [(fact, _to_number(value)) for fact, value in rows]
            types["decimal"] += types.pop("gYear")
        datatype = min(types, key=lambda name: (-types[name], name))
        if types[datatype] < MIN_SHARE * len(rows):
            return len(rows)
        if datatype == "gYear" and has_days:
            key = re.sub(r" (?:on|in)$", "", key)
            surface = f"{re.sub(r' (?:on|in)$', '', surface)} in the year"
            key = f"{key} in the year"
        predicate = _make_iri("relation:", key)
        self.wordings[predicate] = _build_wording(key, surface)
        n_left_out = 0
        for fact, value in rows:
            if value.datatype == "date":
                value = Value("gYear", value.text[:4])
            if value.datatype != datatype:
                n_left_out += 1
            elif datatype:
                self._add(fact, predicate, write_literal(value.text, XSD + datatype))
            else:
                self._add(fact, predicate, self._intern_name(fact.object))
        return n_left_out

    def _intern_name(self, text: str) -> str:
        name = normalise_mention(text)
        self._spellings[name][text] += 1
        return _make_iri("", name)

    def _add(self, fact: Fact, predicate: str, target: str) -> None:
        claim = Claim(self._intern_name(fact.subject), predicate, target)
        self.quotes.setdefault(claim, []).append(fact)

    def render(self, kinds: dict[str, str]) -> str:
        """Renders the graph as sorted N-Triples, with labels and kinds."""
        claims = list(self.quotes)
        for name, spellings in self._spellings.items():
            label = min(spellings, key=lambda text: (-spellings[text], text))
            claims.append(Claim(_make_iri("", name), RDFS + "label", write_literal(label)))
            claims += (
                Claim(_make_iri("", name), SKOS + "altLabel", write_literal(text))
                for text in spellings
                if text.casefold() != label.casefold()
            )
        members = Counter(kinds[name] for name in self._spellings if name in kinds)
        for name in self._spellings:
            noun = kinds.get(name, "")
            if members[noun] >= MIN_CLASS_MEMBERS:
                claims.append(Claim(_make_iri("", name), RDF_TYPE, _make_iri("kind:", noun)))
        for noun, count in members.items():
            if count >= MIN_CLASS_MEMBERS:
                claims.append(Claim(_make_iri("kind:", noun), RDFS + "label", write_literal(noun)))
        for predicate, wording in self.wordings.items():
            claims.append(Claim(predicate, RDFS + "label", write_literal(wording.label)))
        return Graph.from_claims(claims).to_ntriples().decode("utf-8", "surrogatepass")


def _build_wording(label: str, surface: str) -> PredicateWording:
    """Words a relation as the documents do."""
    return PredicateWording(
        label=label,
        fact=f"{{{{ subj }}}} {_escape(surface)} {{{{ obj }}}}.",
        denied=f"It is not true that {{{{ subj }}}} {_escape(surface)} {{{{ obj }}}}.",
        questions=(f"Is it true that {{{{ subj }}}} {_escape(surface)} {{{{ obj }}}}?",),
    )


def _escape(text: str) -> str:
    """Removes what a template would execute."""
    return re.sub(r"[{}%#]", "", text)


def _make_iri(prefix: str, name: str) -> str:
    local = quote(name.replace(" ", "_"), safe="")
    if len(local) > 200:
        local = f"{local[:160]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return f"{BASE}{prefix}{local}"
