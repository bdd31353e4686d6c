"""A question looked at in a graph: what it names, how hard that makes it, and where it lies.

The graph is the concept graph of a text or a knowledge graph; the record is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kg.difficulty.calibrated import calibrated_score, shipped_model
from kg.difficulty.fact_graph import FactGraph
from kg.difficulty.features import QueryFeatures, features_within, subgraph_of
from kg.difficulty.score import DifficultyScore, score_of
from kg.term_table import TermTable
from kg.text.normaliser import content_words, words
from kg.words.labels import Labels
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.run.folder import Run

MAX_NODES = 32
"""Nodes of a question that are looked at: paths are searched for every pair."""
MAX_QUESTION = 2_000
"""Characters of a question that are searched for names."""
LONGEST_NAME = 8
"""Words of the longest name that is looked for."""

NOTHING = QueryFeatures(
    query_node_count=0,
    max_path_length=0,
    avg_path_length=0.0,
    component_count=0,
    avg_degree=0.0,
    max_degree=0,
    subgraph_node_count=0,
    subgraph_edge_count=0,
    doc_count=0,
)
"""The features of a question that names nothing in the graph."""


class SubgraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the subgraph."""

    id: str
    name: str
    asked: bool
    """Whether the question names it."""


class SubgraphLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the subgraph: a joint occurrence, or a fact."""

    source: str
    target: str
    predicate: str | None = None
    """Of a fact."""
    weight: int | None = None
    """How many chunks have both concepts."""


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """The calibrated score."""

    probability: float
    predicts: str
    """Of what it is the probability."""
    worth: str
    """What such predictions were worth on questions the model was not fitted on."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the part of a graph it touches."""

    question: str
    matched: tuple[SubgraphNode, ...]
    """What the question names, in its order."""
    left_out: int
    """Further nodes it names, beyond ``MAX_NODES``."""
    features: QueryFeatures | None
    """None when it names nothing."""
    score: DifficultyScore
    calibrated: Calibrated | None
    """None when it names nothing, and on a knowledge graph, which has no chunks to miss."""
    nodes: tuple[SubgraphNode, ...]
    links: tuple[SubgraphLink, ...]


class Touched(NamedTuple):
    """What a question touches in a concept graph."""

    asked: list[str]
    """Its nodes, at most ``MAX_NODES``."""
    left_out: int
    inside: dict[str, set[str]]
    """Its subgraph: node → neighbours."""
    features: QueryFeatures | None
    """None when it names nothing."""


def touched(
    concepts: ConceptGraph, question: str, lookup: CanonicalLookup | None = None
) -> Touched:
    """Finds the subgraph of a question in a concept graph.

    Args:
        concepts: the graph.
        question: any text.
        lookup: finds concepts for words that none is written like.
    """
    found = concepts.match(question[:MAX_QUESTION], lookup)
    asked = found[:MAX_NODES]
    inside = subgraph_of(concepts.graph, asked)
    features = features_within(inside, asked, concepts.chunk_ids) if asked else None
    return Touched(asked, len(found) - len(asked), inside, features)


def analyze_in_run(run: Run, question: str, lookup: CanonicalLookup | None = None) -> Analysis:
    """Looks a question up in the concept graph of a run.

    Args:
        run: the run.
        question: any text.
        lookup: finds concepts for words that none is written like.
    """
    concepts, graph = run.concepts, run.concepts.graph
    asked, left_out, inside, features = touched(concepts, question, lookup)
    named = set(asked)
    nodes = {
        node: SubgraphNode(id=node, name=plain(concepts.label(node)), asked=node in named)
        for node in inside
    }
    probability = calibrated_score(features) if features is not None else None
    return Analysis(
        question=question,
        matched=tuple(nodes[node] for node in asked),
        left_out=left_out,
        features=features,
        score=score_of(features or NOTHING),
        calibrated=None
        if probability is None
        else Calibrated(
            probability=round(probability, 4),
            predicts=shipped_model().predicts,
            worth=shipped_model().out_of_fold["verdict"],
        ),
        nodes=tuple(nodes.values()),
        links=tuple(
            SubgraphLink(source=one, target=two, weight=int(graph.edges[one, two]["weight"]))
            for one, two in itertools.combinations(inside, 2)
            if two in inside[one]
        ),
    )


def analyze_in_facts(graph: FactGraph, terms: TermTable, labels: Labels, question: str) -> Analysis:
    """Looks a question up in a knowledge graph.

    Args:
        graph: its facts.
        terms: their terms.
        labels: their names.
        question: any text.
    """
    found = named_entities(graph, terms, labels, question[:MAX_QUESTION])
    asked = found[:MAX_NODES]
    around = graph.subgraph(asked) if asked else None
    named = set(asked)

    def shown(node: int) -> SubgraphNode:
        text = terms.text(node)
        return SubgraphNode(id=text, name=plain(labels.label(text)), asked=node in named)

    inside: dict[int, None] = dict.fromkeys(asked)
    links: tuple[SubgraphLink, ...] = ()
    if around is not None:
        for near in around.around.values():
            inside.update(near)
        for way in around.ways:
            inside.update(dict.fromkeys(way))
        links = tuple(
            SubgraphLink(source=terms.text(s), predicate=terms.text(p), target=terms.text(o))
            for s, p, o in graph.facts_of(around)
        )
    return Analysis(
        question=question,
        matched=tuple(map(shown, asked)),
        left_out=len(found) - len(asked),
        features=None if around is None else around.features,
        score=score_of(NOTHING if around is None else around.features),
        calibrated=None,
        nodes=tuple(map(shown, inside)),
        links=links,
    )


def named_entities(graph: FactGraph, terms: TermTable, labels: Labels, text: str) -> list[int]:
    """The entities a text names, in its order, each once; longest names first.

    A name that several bear stands for the first of them, one whose label it is before one whose
    alias it is.
    """
    tokens = words(text)
    taken = [False] * len(tokens)
    found: dict[int, int] = {}
    for size in range(min(LONGEST_NAME, len(tokens)), 0, -1):
        for start in range(len(tokens) - size + 1):
            span = slice(start, start + size)
            if any(taken[span]) or not content_words(" ".join(tokens[span])):
                continue
            node = _bearer(graph, terms, labels.find(" ".join(tokens[span])))
            if node is not None:
                found[start] = node
                taken[span] = [True] * size
    return list(dict.fromkeys(found[start] for start in sorted(found)))


def _bearer(graph: FactGraph, terms: TermTable, bearers: Sequence[str]) -> int | None:
    """The first of those that any fact links: classes and predicates bear names too."""
    nodes = (terms.get(iri) for iri in bearers)
    return next((node for node in nodes if node is not None and node in graph), None)
