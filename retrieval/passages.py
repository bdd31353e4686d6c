"""A graph put in words, as the corpus that text retrieval works on.

Two ways to cut it: ``fact``, one sentence a passage, and ``subject``, all that the graph states
of one subject in one passage, as an encyclopedia would. Only what is *stated* is written down:
nothing is inferred and no constraint is mentioned, because a document collection holds neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from kg.claims import Claim
from kg.denials import stated_denials
from kg.terms import OWL, RDF_TYPE
from kg.vocabulary import is_vocabulary
from retrieval.protocol import Passage

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.words.phrasebook import Phrasebook

Grouping = Literal["fact", "subject"]


def passages_of(graph: Graph, words: Phrasebook, grouping: Grouping = "fact") -> list[Passage]:
    """The passages of a graph, in its own order.

    Args:
        graph: what is stated.
        words: puts each claim in a sentence.
        grouping: one sentence a passage, or one subject a passage.

    Returns:
        Passages with ids ``f000001`` … (facts) or the subject's term text; one sentence a line.
    """
    sentences = _sentences(graph, words)
    if grouping == "fact":
        return [
            Passage(f"f{number:06d}", text) for number, (_, text) in enumerate(sentences, start=1)
        ]
    grouped: dict[str, list[str]] = {}
    for subj, text in sentences:
        grouped.setdefault(subj, []).append(text)
    return [Passage(subj, "\n".join(texts)) for subj, texts in grouped.items()]


class StatedFact(NamedTuple):
    """What a graph says of one claim."""

    claim: Claim
    denied: bool


def stated_facts(graph: Graph) -> Iterator[StatedFact]:
    """Each stated fact, then each denied one: the n-th is that of the passage ``f00000n``."""
    for claim in graph.claims():
        if states_a_fact(claim):
            yield StatedFact(claim, denied=False)
    for claim in _denied(graph):
        yield StatedFact(claim, denied=True)


def _sentences(graph: Graph, words: Phrasebook) -> Iterator[tuple[str, str]]:
    """(subject, sentence) for each fact."""
    for claim, denied in stated_facts(graph):
        yield claim.subj, words.denied(claim) if denied else words.fact(claim)


def states_a_fact(claim: Claim) -> bool:
    """Whether a triple says what is the case, not how the graph is built or labelled."""
    if claim.pred in (OWL + "sameAs", OWL + "differentFrom"):
        return True
    if claim.pred == RDF_TYPE:
        # "The Rhine is a river", but not "River is a class".
        return not is_vocabulary(claim.obj)
    return not is_vocabulary(claim.pred)


def _denied(graph: Graph) -> Iterator[Claim]:
    """The claims that negative property assertions deny, in the graph's order."""
    text = graph.index.terms.text
    for denial in stated_denials(graph.index):
        yield Claim(text(denial.s), text(denial.p), text(denial.o))
