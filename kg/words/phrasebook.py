"""Claims in words: names, facts, denials, questions, from a domain's templates or from labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from kg.claims import Claim
from kg.domain import (
    CompiledWords,
    Domain,
    PredicateWords,
    compile_naming,
    compile_words,
)
from kg.literals import NUMERIC, format_literal
from kg.terms import OWL, RDF_TYPE, RDFS, parse_literal
from kg.words.phrasing import default_words, split_name
from kg.words.plain_text import NAME_LIMIT, plain, sentence
from kg.words.templates import Render

if TYPE_CHECKING:
    from kg.entailment import Closure
    from kg.graph import Graph
    from kg.shapes import Shapes
    from kg.words.labels import Labels


# Words for the vocabulary every graph shares; a domain may override them.
_SHARED_WORDS = {
    OWL + "sameAs": PredicateWords(
        label="the same as",
        fact="{{ subj }} is the same as {{ obj }}.",
        denied="{{ subj }} is not the same as {{ obj }}.",
        questions=("Is {{ subj }} the same as {{ obj }}?",),
    ),
    OWL + "differentFrom": PredicateWords(
        label="different from",
        fact="{{ subj }} is different from {{ obj }}.",
        denied="{{ subj }} is not different from {{ obj }}.",
        questions=("Is {{ subj }} different from {{ obj }}?",),
    ),
    RDFS + "subClassOf": PredicateWords(
        label="subclass",
        fact="Every {{ subj }} is {{ obj | an }}.",
        denied="Not every {{ subj }} is {{ obj | an }}.",
        questions=("Is every {{ subj }} {{ obj | an }}?",),
    ),
    RDF_TYPE: PredicateWords(
        label="type",
        fact="{{ subj }} is {{ obj | an }}.",
        denied="{{ subj }} is not {{ obj | an }}.",
        questions=("Is {{ subj }} {{ obj | an }}?",),
    ),
}


class Phrasebook:
    """Puts terms and claims in words.

    All text from the graph is made plain first and never rendered as a template, so a label that
    reads ``{{7*7}}`` stays exactly that.

    Args:
        domain: the templates; predicates and classes it does not name get default words.
        labels: the label index of ``graph``.
        graph: what the terms belong to.
        closure: its closure, for types and for predicates that are only inferred; the graph's
            own triples when omitted.
        shapes: for "at most one" in default words and for rules nobody wrote.
        relabelled: predicate IRI → label that replaces the domain's words (``--pred-label``).
    """

    def __init__(
        self,
        domain: Domain,
        labels: Labels,
        graph: Graph,
        closure: Closure | None = None,
        shapes: Shapes | None = None,
        relabelled: dict[str, str] | None = None,
    ) -> None:
        self.domain = domain
        self.labels = labels
        self.graph = graph
        self.closure = closure
        self.shapes = shapes
        self.index = closure.index if closure is not None else graph.index
        self._relabelled = dict(relabelled or {})
        where = str(domain.file or domain.name)
        self._naming: dict[str, Render] = {
            cls: compile_naming(source, f"{where}: naming.{cls}")
            for cls, source in domain.naming.items()
        }
        self._ancestors: dict[str, frozenset[str]] = {}
        self._names: dict[str, str] = {}
        self._words: dict[str, PredicateWords] = {}
        self._compiled: dict[str, CompiledWords] = {}
        self._measures: dict[str, tuple[str, bool]] = {}
        self._naming_by_classes: dict[tuple[int, ...], Render | None] = {}

    def with_label(self, pred: str, label: str) -> Self:
        """The same words, but ``pred`` is called ``label``.

        The domain's own sentences stay when ``label`` is the name they already use.
        """
        if split_name(label) == self.label(pred):
            return self
        relabelled = {**self._relabelled, pred: label}
        return type(self)(
            self.domain, self.labels, self.graph, self.closure, self.shapes, relabelled
        )

    # -- names ---------------------------------------------------------------------------------

    def name(self, term: str, pred: str = "") -> str:
        """How ``term`` is named inside a sentence: "the Rhine", "1,233 km", "3 May 2024".

        Args:
            term: term text.
            pred: the predicate whose value a literal is, for its unit and for years.
        """
        if term.startswith('"'):
            return self._literal(term, pred)
        if term not in self._names:
            self._names[term] = self._entity(term)
        return self._names[term]

    def label(self, iri: str) -> str:
        """The bare name of a predicate, class or entity: "mouth", "river", "Rhine"."""
        if iri in self._relabelled:
            return split_name(self._relabelled[iri])
        known = self.domain.predicates.get(iri) or _SHARED_WORDS.get(iri)
        if known is not None and known.label:
            return plain(known.label)
        text = plain(self.labels.label(iri))
        # Without a label of its own it is called by the tail of its IRI: "flowsInto".
        return text if self.labels.has_label(iri) else split_name(text)

    def class_noun(self, iri: str) -> str:
        """A class as a common noun: ``wm:WaterBody`` → "water body"."""
        text = self.label(iri)
        words = split_name(text) if " " not in text else text
        # A class label in title case ("River System") is a common noun in a sentence.
        return " ".join(
            word if len(word) > 1 and word.isupper() else word[:1].lower() + word[1:]
            for word in words.split(" ")
        )

    def _entity(self, iri: str) -> str:
        if iri.startswith("_:"):
            known = plain(self.labels.label(iri))
            return "something unnamed" if known in ("", iri, iri[2:]) else known
        label = self._unique_label(iri)
        template = self._naming_template(iri)
        if template is None:
            return label
        return plain(template(label=label, iri=iri), NAME_LIMIT + 40) or label

    def _unique_label(self, iri: str) -> str:
        """The label, told apart from other entities of that label where there are any."""
        label = plain(self.labels.label(iri)) or plain(iri)
        rivals = [other for other in self.labels.find(label) if other != iri]
        rivals = [other for other in rivals if plain(self.labels.label(other)) == label]
        if not rivals or self._is_schema(iri):
            return label
        for other_name in self.labels.names(iri):
            name = plain(other_name)
            if name != label and self.labels.find(name) == [iri]:
                return name
        tail = plain(re.split(r"[/#]", iri.rstrip("/#"))[-1]) or plain(iri)
        rival_tails = [re.split(r"[/#]", other.rstrip("/#"))[-1] for other in rivals]
        return f"{label} ({plain(iri) if tail in rival_tails else tail})"

    def _is_schema(self, iri: str) -> bool:
        """Predicates and classes may share a name with an entity without anyone mistaking them."""
        terms = self.graph.index.terms
        node, rdf_type = terms.get(iri), terms.get(RDF_TYPE)
        if node is None:
            return True
        if next(iter(self.index.pairs(node)), None) is not None:
            return True
        return rdf_type is not None and bool(self.index.subjects(rdf_type, node))

    def _naming_template(self, iri: str) -> Render | None:
        """The template of the most specific class of ``iri`` that has one."""
        if not self._naming:
            return None
        classes = self._classes(iri)
        if classes not in self._naming_by_classes:
            self._naming_by_classes[classes] = self._most_specific(self.types(iri))
        return self._naming_by_classes[classes]

    def _most_specific(self, types: frozenset[str]) -> Render | None:
        named = [cls for cls in self._naming if cls in types]
        for cls in named:
            if not any(cls in self.ancestors(other) for other in named if other != cls):
                return self._naming[cls]
        return self._naming[named[0]] if named else None  # Only classes that include each other.

    def types(self, iri: str) -> frozenset[str]:
        """All classes of an entity, through ``rdfs:subClassOf`` whatever the regime."""
        classes = list(map(self.index.terms.text, self._classes(iri)))
        return frozenset(classes).union(*map(self.ancestors, classes))

    def _classes(self, iri: str) -> tuple[int, ...]:
        terms = self.index.terms
        node, rdf_type = terms.get(iri), terms.get(RDF_TYPE)
        if node is None or rdf_type is None:
            return ()
        return tuple(self.index.objects(node, rdf_type))

    def ancestors(self, cls: str) -> frozenset[str]:
        """The strict superclasses of ``cls`` (``cls`` itself when classes include each other)."""
        if cls not in self._ancestors:
            terms = self.index.terms
            sub_class = terms.get(RDFS + "subClassOf")
            found: dict[int, None] = {}
            start = terms.get(cls)
            queue = [] if start is None or sub_class is None else [start]
            while queue and sub_class is not None:
                here = queue.pop()
                for parent in self.index.objects(here, sub_class):
                    # Under OWL RL every class is its own superclass; that says nothing here.
                    if parent not in found and parent != start:
                        found[parent] = None
                        queue.append(parent)
            self._ancestors[cls] = frozenset(map(terms.text, found))
        return self._ancestors[cls]

    # -- sentences -----------------------------------------------------------------------------

    def fact(self, claim: Claim) -> str:
        """The claim as a statement."""
        words = self._sentences(claim.pred)
        return sentence(words.fact(**self._variables(claim)))

    def denied(self, claim: Claim) -> str:
        """The statement that the claim is false."""
        words = self._sentences(claim.pred)
        return sentence(words.denied(**self._variables(claim)))

    def questions(self, claim: Claim) -> list[str]:
        """The claim as yes-no questions, in the domain's order; at least one."""
        variables = self._variables(claim)
        templates = self._sentences(claim.pred).questions
        return [sentence(template(**variables)) for template in templates]

    def question(self, claim: Claim, which: float) -> str:
        """One of ``questions``, by a number from 0 up to 1."""
        templates = self._sentences(claim.pred).questions
        return sentence(templates[int(which * len(templates))](**self._variables(claim)))

    def words_of(self, pred: str) -> PredicateWords:
        """The words in use for a predicate: the domain's, the shared ones, or the default."""
        if pred not in self._words:
            found = None
            if pred not in self._relabelled:
                found = self.domain.predicates.get(pred) or _SHARED_WORDS.get(pred)
            self._words[pred] = found or self._default_words(pred)
        return self._words[pred]

    def clause(self, pred: str, subj: str, obj: str) -> str:
        """The statement about any two names, without capital and full stop, for inside sentences.

        ``clause(flowsInto, "X", "Y")`` → "X flows into Y".
        """
        unit = plain(self.words_of(pred).unit)
        return self._inside(pred, self._sentences(pred).fact(subj=subj, obj=obj, unit=unit))

    def denial(self, pred: str, subj: str, obj: str) -> str:
        """The statement that the claim about any two names is false; see ``clause``."""
        unit = plain(self.words_of(pred).unit)
        return self._sentences(pred).denied(subj=subj, obj=obj, unit=unit)

    def clause_of(self, claim: Claim) -> str:
        """The claim as a clause: "the Rhine flows into the North Sea"."""
        text = self._sentences(claim.pred).fact(**self._variables(claim))
        return self._inside(claim.pred, text)

    def _inside(self, pred: str, text: str) -> str:
        """A statement as it stands inside a sentence: no full stop, no capital of its own."""
        # A template that opens with a name keeps the name's own capital.
        if not self.words_of(pred).fact.lstrip().startswith("{"):
            text = text[:1].lower() + text[1:]
        return text.removesuffix(".")

    def questions_about(self, pred: str, subj: str, obj: str) -> list[str]:
        """The questions about any two names; see ``clause``."""
        unit = plain(self.words_of(pred).unit)
        templates = self._sentences(pred).questions
        return [template(subj=subj, obj=obj, unit=unit) for template in templates]

    def _default_words(self, pred: str) -> PredicateWords:
        terms = self.index.terms
        node = terms.get(pred)
        literal = False
        if node is not None:
            first = next(iter(self.index.pairs(node)), None)
            literal = first is not None and terms.text(first[1]).startswith('"')
        return default_words(self.label(pred), single=self.single_valued(pred), literal=literal)

    def single_valued(self, pred: str) -> bool:
        """Whether axioms or shapes allow a subject at most one value."""
        terms = self.index.terms
        node, rdf_type = terms.get(pred), terms.get(RDF_TYPE)
        functional = terms.get(OWL + "FunctionalProperty")
        if (
            node is not None
            and rdf_type is not None
            and functional is not None
            and self.index.has(node, rdf_type, functional)
        ):
            return True
        if self.shapes is None:
            return False
        return any(
            constraint.component == "MaxCountConstraintComponent"
            and constraint.path.strip("<>") == pred
            and constraint.parameters.get("maxCount") == "1"
            for constraint in self.shapes.constraints()
        )

    def _sentences(self, pred: str) -> CompiledWords:
        if pred not in self._compiled:
            where = f'{self.domain.file or self.domain.name}: predicates."{pred}"'
            self._compiled[pred] = compile_words(self.words_of(pred), where)
        return self._compiled[pred]

    def _variables(self, claim: Claim) -> dict[str, str]:
        subj, obj = self.name(claim.subj), self.name(claim.obj, claim.pred)
        if claim.pred == RDF_TYPE:
            obj = self.class_noun(claim.obj)
        elif claim.pred == RDFS + "subClassOf":
            subj, obj = self.class_noun(claim.subj), self.class_noun(claim.obj)
        return {"subj": subj, "obj": obj, "unit": self._measure(claim.pred)[0]}

    def _literal(self, term: str, pred: str) -> str:
        try:
            lexical, datatype, _language = parse_literal(term)
        except ValueError:
            return plain(term)
        unit, years = self._measure(pred) if pred else ("", False)
        text = format_literal(lexical, datatype, thousands=not years)
        return f"{text} {unit}" if unit and datatype in NUMERIC else text

    def _measure(self, pred: str) -> tuple[str, bool]:
        """The unit of a predicate's values, and whether they are years."""
        if pred not in self._measures:
            years = "year" in split_name(self.label(pred)).lower().split()
            self._measures[pred] = plain(self.words_of(pred).unit), years
        return self._measures[pred]
