"""Converts a graph to a corpus of passages, so that text retrieval can search it.

There are two groupings: ``fact``, one sentence per passage, and ``subject``, all sentences about
one subject in one passage, as in an encyclopedia. Only *asserted* facts are included: no inferences
and no constraints, because a document collection has neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from kg.claims import Claim
from kg.denials import iter_denials
from kg.terms import OWL, RDF_TYPE
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
        Passages with the ids ``f000001`` … (facts) or the subject's term text; one sentence per
        line.
    """
    sentences = _iter_sentences(graph, phrasebook)
    if grouping == "fact":
        return [
            Passage(f"f{number:06d}", text) for number, (_, text) in enumerate(sentences, start=1)
        ]
    grouped: dict[str, list[str]] = {}
    for subj, text in sentences:
        grouped.setdefault(subj, []).append(text)
    return [Passage(subj, "\n".join(texts)) for subj, texts in grouped.items()]


class GraphFact(NamedTuple):
    """An asserted or denied claim of a graph."""

    claim: Claim
    denied: bool


def iter_graph_facts(graph: Graph) -> Iterator[GraphFact]:
    """Yields the asserted facts, then the denied ones; the n-th is that of passage ``f00000n``."""
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
    """Whether a triple is a fact about an entity, not schema or labelling."""
    if claim.pred in (OWL + "sameAs", OWL + "differentFrom"):
        return True
    if claim.pred == RDF_TYPE:
        # "The Rhine is a river", but not "River is a class".
        return not is_vocabulary(claim.obj)
    return not is_vocabulary(claim.pred)


def _iter_denied_claims(graph: Graph) -> Iterator[Claim]:
    """Yields the claims that negative property assertions deny, in the graph's order."""
    text = graph.index.terms.get_text
    for denial in iter_denials(graph.index):
        yield Claim(text(denial.s), text(denial.p), text(denial.o))
