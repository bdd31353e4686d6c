"""Builds samples and predictions for triple extraction, scored against a gold graph.

One text (a chunk, a passage) is one sample and each triple is three fields. Triples are aligned so
that as many fields as possible are right, in any order. Fields are scored separately: a triple with
the wrong object still has its subject and predicate right. ``count_whole_triples`` counts triples
that are right as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.harness.reply import Reply
from eval.questions.mentions import MentionIndex, tokenise_text
from eval.skn.retention.statements import split_statements
from kg.base.errors import RecordError
from kg.claims import Claim
from kg.terms import OWL, RDF_TYPE, is_literal, parse_literal
from retrieval.passages import GraphFact, iter_graph_facts

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.text.chunks import Chunk

TRIPLE_PARTS = ("subject", "predicate", "object")

TRIPLES_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "triples": {
            "type": "array",
            "x-match": "bag",
            "items": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "x-match": "exact"} for name in TRIPLE_PARTS
                },
                "required": list(TRIPLE_PARTS),
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
"""Schema of a text's triples. A text with no expected and no extracted triples has no fields, so it
does not raise any score."""


class Triple(NamedTuple):
    """A triple of labels."""

    subject: str
    predicate: str
    object: str


class TripleNormaliser:
    """Converts the claims of a graph to triples of labels, with one form for each fact.

    "The Weser directly receives the Fulda" and "the Fulda flows into the Weser" are the same fact
    if the graph declares the two relations inverse; the relation with the smaller IRI is used for
    both. Subject and object of a symmetric relation are sorted. Otherwise a correct extraction
    would be wrong only because the graph chose the other direction. No other inference is applied.

    Args:
        kb: the gold graph.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._inverse_names = dict(self._iter_inverse_names())
        self._symmetric_names = frozenset(self._iter_symmetric_names())

    def triple_from_claim(self, claim: Claim) -> Triple:
        """Converts a claim to labels; a literal becomes its value, without type and unit."""
        labels = self._kb.labels
        obj = (
            parse_literal(claim.obj).lexical
            if is_literal(claim.obj)
            else labels.get_label(claim.obj)
        )
        triple = Triple(
            labels.get_label(claim.subj), self._kb.verbaliser.get_label(claim.pred), obj
        )
        return self.normalise_triple(triple)

    def normalise_triple(self, triple: Triple) -> Triple:
        """Returns the triple in the one form that is used for its fact."""
        key = triple.predicate.casefold()
        if key in self._inverse_names:
            return Triple(triple.object, self._inverse_names[key], triple.subject)
        if key in self._symmetric_names:
            first, second = sorted((triple.subject, triple.object))
            return Triple(first, triple.predicate, second)
        return triple

    def _iter_inverse_names(self) -> Iterator[tuple[str, str]]:
        """Yields pairs of a relation's label and the label of the inverse that replaces it."""
        index = self._kb.graph.index
        inverse_id = index.terms.get(OWL + "inverseOf")
        for pair in () if inverse_id is None else index.iter_pairs(inverse_id):
            kept_iri, replaced_iri = sorted(map(index.terms.get_text, pair))
            if kept_iri != replaced_iri:
                get_label = self._kb.verbaliser.get_label
                yield get_label(replaced_iri).casefold(), get_label(kept_iri)

    def _iter_symmetric_names(self) -> Iterator[str]:
        index = self._kb.graph.index
        type_id, symmetric_id = map(index.terms.get, (RDF_TYPE, OWL + "SymmetricProperty"))
        if type_id is not None and symmetric_id is not None:
            for pred in index.find_subjects(type_id, symmetric_id):
                yield self._kb.verbaliser.get_label(index.terms.get_text(pred)).casefold()


def normalise_samples(samples: Iterable[Sample], normaliser: TripleNormaliser) -> list[Sample]:
    """Normalises the expected triples of the user's own samples.

    Raises:
        RecordError: the expected output of a sample is not a list of triples.
    """
    samples = list(samples)
    validator = SchemaValidator.from_schema(TRIPLES_SCHEMA)
    for sample in samples:
        for problem in validator.list_errors(sample.expected, max_errors=1):
            raise RecordError(
                f"expected output of gold sample {sample.id!r} has no valid triples: {problem}",
                hint='Write expected_output as {"triples": [{"subject": …, "predicate": …, …}]}.',
            )
    return [
        msgspec.structs.replace(
            sample,
            expected=triples_to_json(
                normaliser.normalise_triple(Triple(*(item[part] for part in TRIPLE_PARTS)))
                for item in sample.expected.get("triples", [])
            ),
        )
        for sample in samples
    ]


def triples_to_json(triples: Iterable[Triple]) -> dict[str, Any]:
    """Converts triples to JSON of ``TRIPLES_SCHEMA``, without duplicates."""
    items = [triple._asdict() for triple in dict.fromkeys(triples)]
    return {"triples": items} if items else {}


def samples_from_chunks(chunks: Sequence[Chunk], kb: KnowledgeBase) -> list[Sample]:
    """Builds samples from chunks, expecting the graph's triples whose labels occur in the chunk.

    This is distant supervision (Mintz et al., ACL 2009, p. 1003): a chunk that names both ends of
    a triple is assumed to state it. If it does not, a correct extractor is charged with an
    omission; if the text states a fact that the graph lacks, a correct triple counts as spurious.
    Manually labelled samples have neither problem.

    Args:
        chunks: the texts.
        kb: the gold graph.
    """
    mentions, normaliser = MentionIndex(kb), TripleNormaliser(kb)
    by_subject: dict[str, list[Claim]] = {}
    for claim, is_denied in iter_graph_facts(kb.graph):
        if not is_denied:
            by_subject.setdefault(claim.subj, []).append(claim)
    return [
        _build_sample(
            chunk.id,
            chunk.text,
            _find_stated_claims(chunk.text, mentions, by_subject),
            kb,
            normaliser,
        )
        for chunk in chunks
    ]


def _find_stated_claims(
    text: str, mentions: MentionIndex, by_subject: Mapping[str, Sequence[Claim]]
) -> list[Claim]:
    """Returns the claims whose subject and object, an entity or a number, occur in the text."""
    entities: dict[str, None] = {}
    numbers: set[float | None] = set()
    # Sentence by sentence, because ``tokenise_text`` only reads a limited number of characters.
    for sentence in split_statements(text):
        for mention in mentions.find_mentions(tokenise_text(sentence)):
            entities.update(dict.fromkeys(mention.entities))
            if mention.number:
                numbers.add(_parse_number(mention.number))
    numbers.discard(None)
    return [
        claim
        for entity in entities
        for claim in by_subject.get(entity, ())
        if claim.obj in entities
        or (is_literal(claim.obj) and _parse_number(parse_literal(claim.obj).lexical) in numbers)
    ]


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def samples_from_graph(kb: KnowledgeBase, limit: int | None = None) -> list[Sample]:
    """Builds samples from the graph itself: one text per subject, with its facts as sentences.

    The expected triples are known exactly, since the text is generated from them. Denied facts are
    in the text but not expected, so that reading a denial as a fact is counted as an error.

    Args:
        kb: the gold graph.
        limit: number of subjects, evenly spaced over all of them because the first subjects of a
            graph are often of one kind; ``None`` for all.
    """
    normaliser, verbaliser = TripleNormaliser(kb), kb.verbaliser
    facts: dict[str, list[GraphFact]] = {}
    for fact in iter_graph_facts(kb.graph):
        facts.setdefault(fact.claim.subj, []).append(fact)
    subjects = list(facts)
    if limit is not None and limit < len(subjects):
        subjects = [subjects[index * len(subjects) // limit] for index in range(limit)]
    return [
        _build_sample(
            subject,
            "\n".join(
                verbaliser.render_denial(claim) if is_denied else verbaliser.render_fact(claim)
                for claim, is_denied in facts[subject]
            ),
            [claim for claim, is_denied in facts[subject] if not is_denied],
            kb,
            normaliser,
        )
        for subject in subjects
    ]


def _build_sample(
    id_: str, text: str, claims: Iterable[Claim], kb: KnowledgeBase, normaliser: TripleNormaliser
) -> Sample:
    return Sample(
        id=id_,
        text=text,
        schema=TRIPLES_SCHEMA,
        expected=triples_to_json(map(normaliser.triple_from_claim, claims)),
        domain=kb.domain.name,
    )


class WholeTriples(msgspec.Struct, frozen=True):
    """Counts of triples that are right in all three parts."""

    right: int
    predicted: int
    expected: int

    def describe_counts(self) -> str:
        """Returns the counts as a clause for the report."""
        return (
            f"whole triples: {self.right:,} of {self.predicted:,} extracted are right, of "
            f"{self.expected:,} expected"
        )


def count_whole_triples(
    samples: Sequence[Sample], predictions: Iterable[Reply]
) -> dict[str, WholeTriples]:
    """Counts, by system, the triples that are right as a whole, ignoring case and spacing."""
    expected = {sample.id: _triple_keys(sample.expected) for sample in samples}
    counts: dict[str, list[int]] = {}
    for prediction in predictions:
        predicted = _triple_keys(prediction.value)
        totals = counts.setdefault(prediction.system, [0, 0, 0])
        totals[0] += len(predicted & expected[prediction.id])
        totals[1] += len(predicted)
        totals[2] += len(expected[prediction.id])
    return {system: WholeTriples(*totals) for system, totals in counts.items()}


def _triple_keys(value: Any) -> set[tuple[str, ...]]:
    triples = value.get("triples", []) if isinstance(value, dict) else []
    return {
        tuple(" ".join(str(item.get(part, "")).casefold().split()) for part in TRIPLE_PARTS)
        for item in triples
        if isinstance(item, dict)
    }
