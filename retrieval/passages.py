"""Converts a graph to a corpus of passages, so that text retrieval can search it.

There are two groupings: ``fact``, one sentence per passage, and ``subject``, all sentences about
one subject in one passage, as in an encyclopedia. Only *asserted* facts are included: no inferences
and no constraints, because a document collection has neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from kg.claims import Claim
from kg.terms import OWL, RDF_TYPE
from kg.validation.denials import iter_denials
from kg.vocabulary import is_vocabulary
from retrieval.protocol import Passage

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.words.phrasebook import Phrasebook

Grouping = Literal["fact", "subject"]


def build_passages(
    graph: Graph, phrasebook: Phrasebook, grouping: Grouping = "fact"
) -> list[Passage]:
    """Converts a graph to passages, in the graph's order.

    Args:
        graph: the graph.
        phrasebook: words each claim as a sentence.
        grouping: one sentence per passage, or one subject per passage.

    Returns:
        Passages of one sentence with the ids ``f000001``, ``f000002``, …; or passages with one
        sentence per line, whose id is the subject.
    """
    sentences = _iter_sentences(graph, phrasebook)
    if grouping == "fact":
        return [
            Passage(f"f{number:06d}", text) for number, (_, text) in enumerate(sentences, start=1)
        ]
    texts_by_subject: dict[str, list[str]] = {}
    for subj, text in sentences:
        texts_by_subject.setdefault(subj, []).append(text)
    return [Passage(subj, "\n".join(texts)) for subj, texts in texts_by_subject.items()]


class GraphFact(NamedTuple):
    """An asserted or denied claim of a graph."""

    claim: Claim
    denied: bool


def iter_graph_facts(graph: Graph) -> Iterator[GraphFact]:
    """Yields the asserted facts, then the denied ones.

    The order is that of ``build_passages``: the first fact is the passage ``f000001``.
    """
    for claim in graph.iter_claims():
        if is_factual_claim(claim):
            yield GraphFact(claim, denied=False)
    for claim in _iter_denied_claims(graph):
        yield GraphFact(claim, denied=True)


def _iter_sentences(graph: Graph, phrasebook: Phrasebook) -> Iterator[tuple[str, str]]:
    """Yields (subject, sentence) for each fact."""
    for claim, denied in iter_graph_facts(graph):
        yield (
            claim.subj,
            phrasebook.render_denial(claim) if denied else phrasebook.render_fact(claim),
        )


def is_factual_claim(claim: Claim) -> bool:
    """Whether a triple is a fact about an entity, and not part of the schema or a label."""
    if claim.pred in (OWL + "sameAs", OWL + "differentFrom"):
        return True
    if claim.pred == RDF_TYPE:
        # "The Rhine is a river", but not "River is a class".
        return not is_vocabulary(claim.obj)
    return not is_vocabulary(claim.pred)


def _iter_denied_claims(graph: Graph) -> Iterator[Claim]:
    """Yields the claims that negative property assertions deny, in the graph's order."""
    get_text = graph.index.terms.get_text
    for denial in iter_denials(graph.index):
        yield Claim(get_text(denial.s), get_text(denial.p), get_text(denial.o))
