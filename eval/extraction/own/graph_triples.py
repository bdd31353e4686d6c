"""Triples read off texts, scored against those that a gold graph has of the same texts.

One text (a chunk, a passage) is one sample; each triple is three fields, and triples are aligned
in whatever order gives the most right fields. Fields earn credit one by one: a triple with the
wrong object still has its subject and predicate right. ``whole_triples`` counts whole ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from eval.extraction.own.predictions import Prediction
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.schema_check import SchemaCheck
from eval.questions.linking import MentionIndex, tokens_of
from eval.skn.rules.statements import statements
from kg.base.errors import RecordError
from kg.claims import Claim
from kg.terms import OWL, RDF_TYPE, is_literal, parse_literal
from retrieval.passages import StatedFact, stated_facts

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.text.chunks import Chunk

PARTS = ("subject", "predicate", "object")

TRIPLES_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "triples": {
            "type": "array",
            "x-match": "bag",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string", "x-match": "exact"} for name in PARTS},
                "required": list(PARTS),
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
"""What a text's triples look like. No triple stated and none found is no field, and no merit."""


class Triple(NamedTuple):
    """A triple by its names."""

    subject: str
    predicate: str
    object: str


class Naming:
    """Puts the claims of a graph in names, each fact in one way.

    "The Weser directly receives the Fulda" and "the Fulda flows into the Weser" are one fact where
    the graph calls the two relations inverse, so one of them (the first by IRI) stands for both;
    of a symmetric relation the ends stand in order. Else whoever read the text rightly would be
    charged with the graph's choice. What follows from a fact in any other way is another fact.

    Args:
        kb: the gold graph.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._turned = dict(self._inverses())
        self._symmetric = frozenset(self._symmetries())

    def triple(self, claim: Claim) -> Triple:
        """A claim by the graph's names; of a literal its value, without type and unit."""
        labels = self._kb.labels
        obj = parse_literal(claim.obj).lexical if is_literal(claim.obj) else labels.label(claim.obj)
        named = Triple(labels.label(claim.subj), self._kb.words.label(claim.pred), obj)
        return self.one_way(named)

    def one_way(self, triple: Triple) -> Triple:
        """A triple of names in the one way in which its fact is put."""
        key = triple.predicate.casefold()
        if key in self._turned:
            return Triple(triple.object, self._turned[key], triple.subject)
        if key in self._symmetric:
            first, second = sorted((triple.subject, triple.object))
            return Triple(first, triple.predicate, second)
        return triple

    def _inverses(self) -> Iterator[tuple[str, str]]:
        """Name of a relation → that of the inverse which stands for it."""
        index = self._kb.graph.index
        inverse = index.terms.get(OWL + "inverseOf")
        for pair in () if inverse is None else index.pairs(inverse):
            first, second = sorted(map(index.terms.text, pair))
            if first != second:
                label = self._kb.words.label
                yield label(second).casefold(), label(first)

    def _symmetries(self) -> Iterator[str]:
        index = self._kb.graph.index
        kind, symmetric = map(index.terms.get, (RDF_TYPE, OWL + "SymmetricProperty"))
        if kind is not None and symmetric is not None:
            for pred in index.subjects(kind, symmetric):
                yield self._kb.words.label(index.terms.text(pred)).casefold()


def one_way(samples: Iterable[Sample], naming: Naming) -> list[Sample]:
    """Samples of somebody's own, their triples put as those of the graph are.

    Raises:
        RecordError: what is expected of one is no triples.
    """
    samples = list(samples)
    check = SchemaCheck.of(TRIPLES_SCHEMA)
    for sample in samples:
        for problem in check.errors(sample.expected, most=1):
            raise RecordError(
                f"gold sample {sample.id!r} expects no triples: {problem}",
                hint='An expected_output is {"triples": [{"subject": …, "predicate": …, …}]}.',
            )
    return [
        msgspec.structs.replace(
            sample,
            expected=written(
                naming.one_way(Triple(*(one[part] for part in PARTS)))
                for one in sample.expected.get("triples", [])
            ),
        )
        for sample in samples
    ]


def written(triples: Iterable[Triple]) -> dict[str, Any]:
    """Triples as JSON of ``TRIPLES_SCHEMA``, each once."""
    found = [triple._asdict() for triple in dict.fromkeys(triples)]
    return {"triples": found} if found else {}


def stated_in_chunks(chunks: Sequence[Chunk], kb: KnowledgeBase) -> list[Sample]:
    """Samples of a run's chunks: of each the graph's triples whose names stand in it.

    This is distant supervision (Mintz et al., ACL 2009, p. 1003): a chunk that names both ends of
    a triple is taken to state it. Where it does not, an extractor that rightly stays silent is
    charged with an omission; where the graph lacks what the text states, a right statement
    counts as spurious. Samples labelled by hand have neither fault.

    Args:
        chunks: the texts.
        kb: the gold graph.
    """
    mentions, naming = MentionIndex(kb), Naming(kb)
    by_subject: dict[str, list[Claim]] = {}
    for claim, denied in stated_facts(kb.graph):
        if not denied:
            by_subject.setdefault(claim.subj, []).append(claim)
    return [
        _sample(chunk.id, chunk.text, _stated(chunk.text, mentions, by_subject), kb, naming)
        for chunk in chunks
    ]


def _stated(
    text: str, mentions: MentionIndex, by_subject: Mapping[str, Sequence[Claim]]
) -> list[Claim]:
    things: dict[str, None] = {}
    numbers: set[float | None] = set()
    # Sentence by sentence, because so many characters of a piece are read and no more.
    for piece in statements(text):
        for mention in mentions.scan(tokens_of(piece)):
            things.update(dict.fromkeys(mention.entities))
            if mention.number:
                numbers.add(_number(mention.number))
    numbers.discard(None)
    return [
        claim
        for thing in things
        for claim in by_subject.get(thing, ())
        if claim.obj in things
        or (is_literal(claim.obj) and _number(parse_literal(claim.obj).lexical) in numbers)
    ]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def verbalised(kb: KnowledgeBase, limit: int | None = None) -> list[Sample]:
    """Samples made of the graph itself: what it states of one subject, in sentences.

    What is to be extracted is known exactly, since the text was made of it. Denied facts are in
    the text and are no triples: reading them as such is an error that this finds.

    Args:
        kb: the gold graph.
        limit: of so many subjects, taken evenly from all, since a graph's first ones are often of
            one kind; all without it.
    """
    naming, words = Naming(kb), kb.words
    facts: dict[str, list[StatedFact]] = {}
    for fact in stated_facts(kb.graph):
        facts.setdefault(fact.claim.subj, []).append(fact)
    subjects = list(facts)
    if limit is not None and limit < len(subjects):
        subjects = [subjects[at * len(subjects) // limit] for at in range(limit)]
    return [
        _sample(
            subject,
            "\n".join(
                words.denied(claim) if denied else words.fact(claim)
                for claim, denied in facts[subject]
            ),
            [claim for claim, denied in facts[subject] if not denied],
            kb,
            naming,
        )
        for subject in subjects
    ]


def _sample(
    id_: str, text: str, claims: Iterable[Claim], kb: KnowledgeBase, naming: Naming
) -> Sample:
    return Sample(
        id=id_,
        text=text,
        schema=TRIPLES_SCHEMA,
        expected=written(map(naming.triple, claims)),
        domain=kb.domain.name,
    )


class WholeTriples(msgspec.Struct, frozen=True):
    """Triples that are right in all three parts."""

    right: int
    predicted: int
    expected: int

    def in_words(self) -> str:
        """For a reader of the report."""
        return (
            f"whole triples: {self.right:,} of {self.predicted:,} extracted are right, of "
            f"{self.expected:,} expected"
        )


def whole_triples(
    samples: Sequence[Sample], predictions: Iterable[Prediction]
) -> dict[str, WholeTriples]:
    """By system, how many triples are right as a whole, whatever case they are written in."""
    expected = {sample.id: _keys(sample.expected) for sample in samples}
    counts: dict[str, list[int]] = {}
    for one in predictions:
        found = _keys(one.predicted)
        told = counts.setdefault(one.system, [0, 0, 0])
        told[0] += len(found & expected[one.id])
        told[1] += len(found)
        told[2] += len(expected[one.id])
    return {system: WholeTriples(*told) for system, told in counts.items()}


def _keys(value: Any) -> set[tuple[str, ...]]:
    triples = value.get("triples", []) if isinstance(value, dict) else []
    return {
        tuple(" ".join(str(one.get(part, "")).casefold().split()) for part in PARTS)
        for one in triples
        if isinstance(one, dict)
    }
