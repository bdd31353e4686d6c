"""Renders claims in English: names, facts, denials, questions, from templates or labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Self

import msgspec

from kg.base.plain_text import capitalise_sentence, clean_text, list_words
from kg.claims import Claim
from kg.domain import Domain
from kg.literals import NUMERIC, format_literal, is_moment
from kg.predicate_words import CompiledWording, PredicateWording, compile_wording
from kg.single_values import find_single_value, get_limited_predicate
from kg.terms import OWL, RDF_TYPE, RDFS, TEXT_DATATYPES, XSD, parse_literal
from kg.words.coded_names import CodePrefixes
from kg.words.default_sentences import ValueKind, list_general_questions, make_default_wording
from kg.words.entity_names import EntityNames
from kg.words.label_grammar import (
    can_precede_of,
    is_participle,
    parse_label,
    split_name,
    to_common_noun,
)
from kg.words.label_words import spell_out_label
from kg.words.readable_names import needs_quotes

if TYPE_CHECKING:
    from kg.entailment import Closure
    from kg.graph import Graph
    from kg.shapes import Shapes
    from kg.words.labels import Labels

MAX_SAMPLED_FACTS = 200
"""Maximum number of facts of a predicate by which its default sentences are chosen."""

# Last words of the labels of classes whose members are people, for "their name" and "its name".
_PEOPLE = frozenset(
    list_words(
        "person people human man woman player athlete coach author artist musician writer actor "
        "politician scientist employee student teacher patient child contributor"
    )
)

_YEAR = re.compile(r"1\d{3}|2[01]\d\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENTS = (XSD + "dateTime", XSD + "dateTimeStamp")
_MIDNIGHT = re.compile(r'"-?\d+-\d\d-\d\dT00:00:00(?:\.0+)?(|Z|[+-]\d\d:\d\d)"\^\^<[^>]*>')
_YEAR_WORD = re.compile(r"years?|\w*jahre?|années?|año|anno|ano|jaar")
# Last words of the names of predicates whose numbers are written without separators; a name in
# capitals is mostly that of a register ("VIAF", "OCLC").
_IDENTIFIERS = re.compile(
    r"(?i:code|id|identifier|number|no|zip|postcode|isbn|issn|serial|key|version|revision)|[A-Z]{3,}"
)
# Wording of the vocabulary that all graphs share; a domain may override it.
_SHARED_WORDING = {
    OWL + "sameAs": PredicateWording(
        label="the same as",
        fact="{{ subj }} is the same as {{ obj }}.",
        denied="{{ subj }} is not the same as {{ obj }}.",
        questions=("Is {{ subj }} the same as {{ obj }}?",),
    ),
    OWL + "differentFrom": PredicateWording(
        label="different from",
        fact="{{ subj }} is different from {{ obj }}.",
        denied="{{ subj }} is not different from {{ obj }}.",
        questions=("Is {{ subj }} different from {{ obj }}?",),
    ),
    RDFS + "subClassOf": PredicateWording(
        label="subclass",
        fact="Every {{ subj }} is {{ obj | an }}.",
        denied="Not every {{ subj }} is {{ obj | an }}.",
        questions=("Is every {{ subj }} {{ obj | an }}?",),
    ),
    RDF_TYPE: PredicateWording(
        label="type",
        fact="{{ subj }} is {{ obj | an }}.",
        denied="{{ subj }} is not {{ obj | an }}.",
        questions=("Is {{ subj }} {{ obj | an }}?",),
    ),
}


class Phrasebook(EntityNames):
    """Renders terms and claims in English.

    All text from the graph is cleaned first and never rendered as a template, so a label
    ``{{7*7}}`` stays exactly that.

    Args:
        domain: the templates; predicates and classes it does not name get default sentences.
        labels: the label index of ``graph``.
        graph: the graph that the terms belong to.
        closure: its closure, for types and for predicates that are only inferred; the graph's
            own triples if omitted.
        shapes: determine which predicates have at most one value, and the rules for predicates
            without rules in the domain.
        custom_labels: predicate IRI → label that replaces the domain's wording
            (``--pred-label``).
    """

    def __init__(
        self,
        domain: Domain,
        labels: Labels,
        graph: Graph,
        closure: Closure | None = None,
        shapes: Shapes | None = None,
        custom_labels: dict[str, str] | None = None,
    ) -> None:
        super().__init__(domain, labels, graph.index if closure is None else closure.index)
        self.graph = graph
        self._codes = CodePrefixes(graph.index)
        self.closure = closure
        self.shapes = shapes
        self._custom_labels = dict(custom_labels or {})
        self._wordings: dict[str, PredicateWording] = {}
        self._templates: dict[str, CompiledWording] = {}
        self._units: dict[str, tuple[str, bool, bool]] = {}
        self._only_days: dict[str, bool] = {}

    def with_label(self, pred: str, label: str) -> Self:
        """Returns a copy in which ``pred`` is called ``label``.

        The domain's own sentences are still used if ``label`` is the name they already use.
        """
        if split_name(label) == self.get_label(pred):
            return self
        custom_labels = {**self._custom_labels, pred: label}
        return type(self)(
            self.domain, self.labels, self.graph, self.closure, self.shapes, custom_labels
        )

    def with_graph(self, graph: Graph, closure: Closure) -> Self:
        """Returns a copy for another graph with the same labels."""
        return type(self)(
            self.domain, self.labels, graph, closure, self.shapes, self._custom_labels
        )

    # -- names ---------------------------------------------------------------------------------

    def render_term(self, term: str, pred: str = "") -> str:
        """Renders a term inside a sentence: "the Rhine", "1,233 km", "3 May 2024".

        Args:
            term: term text.
            pred: the predicate that a literal is a value of; determines its unit, and whether it is
                a year (no thousands separator).
        """
        if term.startswith('"'):
            return self._render_literal(term, pred)
        return self.get_entity_name(term)

    def get_label(self, iri: str) -> str:
        """Returns the name of a predicate, class or entity: "mouth", "river", "Rhine"."""
        if iri in self._custom_labels:
            return split_name(self._custom_labels[iri])
        wording = self.domain.predicates.get(iri) or _SHARED_WORDING.get(iri)
        if wording is not None and wording.label:
            return clean_text(wording.label)
        text = clean_text(self.labels.get_label(iri))
        # Without a label the name is the last part of the IRI, such as "flowsInto".
        return text if self.labels.has_label(iri) else spell_out_label(split_name(text))

    def get_label_language(self, iri: str) -> str:
        """Returns the language tag of the graph's label that ``get_label`` gives, if it has one."""
        own = clean_text(self.labels.get_label(iri)) if self.labels.has_label(iri) else ""
        is_own = split_name(own) == split_name(self.get_label(iri))
        return self.labels.get_language(iri) if is_own else ""

    def get_class_noun(self, iri: str) -> str:
        """Returns a class as a common noun: ``wm:WaterBody`` → "water body".

        A class with joined words that facts mention has the name that it has there: "WaterBody".
        """
        label = self.get_label(iri)
        name = self._codes.drop(iri, label)
        noun = to_common_noun(name, self.get_label_language(iri))
        if name == label and " " in noun:
            entity_name = self.get_entity_name(iri)
            if " " not in entity_name and self._is_in_facts(iri):
                return entity_name
        return noun

    def _is_in_facts(self, iri: str) -> bool:
        """Returns whether facts that a sentence can state link a term with others."""
        get_id, index = self.index.terms.get, self.index
        node, preds = get_id(iri), map(get_id, self.domain.predicates)
        return node is not None and any(
            index.find_subjects(p, node)
            or any(not index.terms.is_literal(o) for o in index.find_objects(node, p))
            for p in preds
            if p is not None
        )

    # -- sentences -----------------------------------------------------------------------------

    def render_fact(self, claim: Claim) -> str:
        """Renders the claim as a statement."""
        templates = self._get_templates(claim.pred)
        return capitalise_sentence(templates.fact(**self._make_variables(claim)))

    def render_denial(self, claim: Claim) -> str:
        """Renders the statement that the claim is false."""
        templates = self._get_templates(claim.pred)
        return capitalise_sentence(templates.denied(**self._make_variables(claim)))

    def render_questions(self, claim: Claim) -> list[str]:
        """Renders the claim as yes-no questions, in the domain's order; at least one."""
        variables = self._make_variables(claim)
        templates = self._get_templates(claim.pred).questions
        return [capitalise_sentence(template(**variables)) for template in templates]

    def render_question(self, claim: Claim, fraction: float) -> str:
        """Renders one of the claim's questions, chosen by a number from 0 up to 1."""
        templates = self._get_templates(claim.pred).questions
        return capitalise_sentence(
            templates[int(fraction * len(templates))](**self._make_variables(claim))
        )

    def render_paraphrase(self, claim: Claim, number: int) -> str:
        """Renders one of the domain's paraphrases of the claim's questions, by number from 0."""
        template = self._get_templates(claim.pred).paraphrases[number]
        return capitalise_sentence(template(**self._make_variables(claim)))

    def list_general_questions(self, claim: Claim) -> list[str]:
        """Lists questions about the claim in other words, made without the domain's templates."""
        variables = self._make_variables(claim)
        subj, obj = variables["subj"], variables["obj"]
        noun = self._find_only_noun(claim.pred)
        questions = list_general_questions(self.render_clause(claim), subj, obj, noun)
        return [capitalise_sentence(question) for question in questions]

    def _find_only_noun(self, pred: str) -> str:
        """Returns the noun by which the default sentences name the only value: "has … as its NOUN".

        Empty if the predicate has other sentences, or if "of" could not follow the noun.
        """
        given = self.domain.predicates.get(pred)
        phrase = parse_label(self.get_label(pred), self.get_label_language(pred))
        if (given is not None and given.fact) or phrase.kind != "noun":
            return ""
        endings = tuple(f" has {{{{ obj }}}} as {its} {phrase.words}." for its in ("its", "their"))
        is_only = self.get_wording(pred).fact.endswith(endings)
        return phrase.words if is_only and can_precede_of(phrase.words) else ""

    def get_wording(self, pred: str) -> PredicateWording:
        """Returns the wording of a predicate: the domain's, the shared one, or the default."""
        if pred not in self._wordings:
            wording = None
            if pred not in self._custom_labels:
                wording = self.domain.predicates.get(pred) or _SHARED_WORDING.get(pred)
            if wording is None:
                wording = self._make_default_wording(pred)
            elif not (wording.fact and wording.denied and wording.questions):
                default = self._make_default_wording(pred)
                wording = msgspec.structs.replace(
                    wording,
                    fact=wording.fact or default.fact,
                    denied=wording.denied or default.denied,
                    questions=wording.questions or default.questions,
                )
            self._wordings[pred] = wording
        return self._wordings[pred]

    def fill_clause(self, pred: str, subj: str, obj: str) -> str:
        """Renders the statement about two names as a clause: no initial capital, no full stop.

        ``fill_clause(flowsInto, "X", "Y")`` → "X flows into Y".
        """
        unit = clean_text(self.get_wording(pred).unit)
        return self._make_clause(
            pred, self._get_templates(pred).fact(subj=subj, obj=obj, unit=unit)
        )

    def fill_denial(self, pred: str, subj: str, obj: str) -> str:
        """Renders the statement that the claim about two names is false; see ``fill_clause``."""
        unit = clean_text(self.get_wording(pred).unit)
        return self._get_templates(pred).denied(subj=subj, obj=obj, unit=unit)

    def render_clause(self, claim: Claim) -> str:
        """Renders the claim as a clause: "the Rhine flows into the North Sea"."""
        text = self._get_templates(claim.pred).fact(**self._make_variables(claim))
        return self._make_clause(claim.pred, text)

    def _make_clause(self, pred: str, text: str) -> str:
        """Turns a statement into a clause: removes the full stop and the initial capital."""
        # If the template starts with a name, the capital belongs to the name.
        if not self.get_wording(pred).fact.lstrip().startswith("{"):
            text = text[:1].lower() + text[1:]
        return text.removesuffix(".")

    def fill_questions(self, pred: str, subj: str, obj: str) -> list[str]:
        """Renders the questions about two names; see ``fill_clause``."""
        unit = clean_text(self.get_wording(pred).unit)
        templates = self._get_templates(pred).questions
        return [template(subj=subj, obj=obj, unit=unit) for template in templates]

    def _make_default_wording(self, pred: str) -> PredicateWording:
        pairs = self._sample_facts(pred)
        subjects = {s for s, _ in pairs}
        # Nobody calls a date "a birth date" where each subject has only one.
        has_one_literal = 0 < len(subjects) == len(pairs) and all(
            self.index.terms.is_literal(o) for _, o in pairs
        )
        return make_default_wording(
            self.get_label(pred),
            self.get_label_language(pred),
            single_valued=self.is_single_valued(pred) or has_one_literal,
            values=self.find_value_kind(pred),
            possessive="their" if subjects and self._are_people(subjects) else "its",
        )

    def _sample_facts(self, pred: str) -> list[tuple[int, int]]:
        node = self.index.terms.get(pred)
        return [] if node is None else list(islice(self.index.iter_pairs(node), MAX_SAMPLED_FACTS))

    def find_value_kind(self, pred: str) -> ValueKind:
        """Returns what all values of a predicate are, by some of its facts; empty if unknown."""
        kinds = {self._classify_value(o) for o in {o for _, o in self._sample_facts(pred)}}
        if kinds == {"numbers", "years"}:
            return "numbers"
        return kinds.pop() if len(kinds) == 1 else ""

    def has_moments(self, pred: str) -> bool:
        """Returns whether all values of a predicate are dates, by some of its facts."""
        values = [self.index.terms.get_text(o) for _, o in self._sample_facts(pred)]
        return bool(values) and all(map(is_moment, values))

    def _classify_value(self, node: int) -> ValueKind:
        text = self.index.terms.get_text(node)
        if not text.startswith('"'):
            return ""
        lexical, datatype, _language = parse_literal(text)
        if datatype == XSD + "gYear":
            return "years"
        if datatype in NUMERIC or lexical.isdecimal():
            return "years" if _YEAR.fullmatch(lexical) else "numbers"
        if datatype == XSD + "boolean":
            return "booleans"
        return "dates" if is_moment(text) or _DAY.fullmatch(lexical) else ""

    def _are_people(self, nodes: Iterable[int]) -> bool:
        """Returns whether each node has a class that is called "person", "player" or the like."""
        return all(
            not _PEOPLE.isdisjoint(
                self.get_class_noun(self.index.terms.get_text(cls)).split(" ")[-1]
                for cls in classes
            )
            for classes in {self.find_class_ids(node) for node in nodes}
        )

    def is_single_valued(self, pred: str) -> bool:
        """Returns whether axioms or shapes allow a subject at most one value."""
        constraints = self.shapes.list_constraints() if self.shapes else ()
        node = self.index.terms.get(pred)
        if node is None:
            return pred in map(get_limited_predicate, constraints)
        return find_single_value(self.index, node, constraints).is_stated

    def _get_templates(self, pred: str) -> CompiledWording:
        if pred not in self._templates:
            where = f'{self.domain.file or self.domain.name}: predicates."{pred}"'
            self._templates[pred] = compile_wording(self.get_wording(pred), where)
        return self._templates[pred]

    def _make_variables(self, claim: Claim) -> dict[str, str]:
        subj, obj = self.render_term(claim.subj), self.render_term(claim.obj, claim.pred)
        if claim.pred == RDF_TYPE:
            obj = self.get_class_noun(claim.obj)
        elif claim.pred == RDFS + "subClassOf":
            subj, obj = self.get_class_noun(claim.subj), self.get_class_noun(claim.obj)
        return {"subj": subj, "obj": obj, "unit": self._get_unit(claim.pred)[0]}

    def _render_literal(self, term: str, pred: str) -> str:
        try:
            lexical, datatype, _language = parse_literal(term)
        except ValueError:
            return clean_text(term)
        unit, is_plain, is_deed = self._get_unit(pred) if pred else ("", False, False)
        is_plain = is_plain or (is_deed and _YEAR.fullmatch(lexical) is not None)
        has_times = not self.has_only_days(pred, datatype)
        text = format_literal(lexical, datatype, thousands=not is_plain, midnights=has_times)
        if unit and datatype in NUMERIC:
            return f"{text} {unit}"
        return f"“{text}”" if datatype in TEXT_DATATYPES and needs_quotes(text) else text

    def has_only_days(self, pred: str, datatype: str) -> bool:
        """Returns whether all values of a predicate are midnights of one zone: exported days."""
        if datatype not in _MOMENTS:
            return False
        if pred not in self._only_days:
            p = self.index.terms.get(pred)
            objects = () if p is None else self.index.list_distinct_objects(p)
            found = (_MIDNIGHT.fullmatch(self.index.terms.get_text(o)) for o in objects)
            zones = {None if match is None else match[1] for match in found}
            self._only_days[pred] = len(zones) == 1 and None not in zones
        return self._only_days[pred]

    def _get_unit(self, pred: str) -> tuple[str, bool, bool]:
        """Returns the unit of a predicate's values, and whether its name says what they are.

        Returns:
            The unit, whether they are years or identifiers, and whether the name says what was
            done ("founded") or is that of a date, so that they may be years.
        """
        if pred not in self._units:
            name = split_name(self.get_label(pred)).split()
            words = [word.lower() for word in name]
            is_plain = any(map(_YEAR_WORD.fullmatch, words)) or bool(
                name and _IDENTIFIERS.fullmatch(name[-1])
            )
            is_deed = bool(words) and (is_participle(words[-1]) or "date" in words)
            self._units[pred] = clean_text(self.get_wording(pred).unit), is_plain, is_deed
        return self._units[pred]
