"""Analyses a question in a graph: the nodes it names, its subgraph, features and difficulty.

The graph is the concept graph of a text or a knowledge graph; the resulting record is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kg.base.plain_text import clean_text
from kg.difficulty.fact_graph import FactGraph
from kg.difficulty.features import QueryFeatures, compute_subgraph_features, find_subgraph
from kg.difficulty.score import DifficultyScore, score_features
from kg.triples.term_table import TermTable
from kg.words.labels import Labels
from kg.words.normaliser import extract_content_words, split_words

if TYPE_CHECKING:
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.run.folder import Run

MAX_NODES = 32
"""Maximum nodes of a question that are analysed: paths are searched for every pair."""
MAX_QUESTION_LENGTH = 2_000
"""Maximum characters of a question that are searched for names."""
MAX_NAME_WORDS = 8
"""Maximum words of a name."""

NO_MATCH_FEATURES = QueryFeatures(
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
"""The features of a question that names no node of the graph."""


class SubgraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the subgraph."""

    id: str
    name: str
    asked: bool
    """Whether the question names the node."""


class SubgraphLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the subgraph: a co-occurrence of concepts, or a fact."""

    source: str
    target: str
    predicate: str | None = None
    """The fact's predicate; None for a co-occurrence."""
    weight: int | None = None
    """Number of chunks with both concepts; None for a fact."""


class CalibratedScore(msgspec.Struct, frozen=True, kw_only=True):
    """The probability of an event that makes a question hard."""

    probability: float
    predicts: str
    """The event whose probability this is."""
    worth: str
    """Quality of the model's predictions on questions that it was not fitted on."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the part of a graph that it touches."""

    question: str
    matched: tuple[SubgraphNode, ...]
    """The nodes that the question names, in the order of the question."""
    left_out: int
    """Number of further nodes that the question names, in excess of ``MAX_NODES``."""
    features: QueryFeatures | None
    """None if it names no node."""
    score: DifficultyScore
    calibrated: CalibratedScore | None
    """None if no chunk shares a word with the question, and on a knowledge graph."""
    nodes: tuple[SubgraphNode, ...]
    links: tuple[SubgraphLink, ...]


class QuestionSubgraph(NamedTuple):
    """The subgraph that a question touches in a concept graph."""

    question_nodes: list[str]
    """The nodes that the question names, at most ``MAX_NODES``."""
    omitted_count: int
    """Number of further nodes it names."""
    neighbours: dict[str, set[str]]
    """The subgraph: node → neighbours."""
    features: QueryFeatures | None
    """None if it names no node."""


def find_question_subgraph(
    concepts: ConceptGraph, question: str, lookup: CanonicalLookup | None = None
) -> QuestionSubgraph:
    """Finds the subgraph of a question in a concept graph.

    Args:
        concepts: the graph.
        question: any text.
        lookup: finds concepts for words that match no concept by spelling.
    """
    matched_nodes = concepts.match_concepts(question[:MAX_QUESTION_LENGTH], lookup)
    question_nodes = matched_nodes[:MAX_NODES]
    subgraph = find_subgraph(concepts.graph, question_nodes)
    features = (
        compute_subgraph_features(subgraph, question_nodes, concepts.get_chunk_ids)
        if question_nodes
        else None
    )
    return QuestionSubgraph(
        question_nodes, len(matched_nodes) - len(question_nodes), subgraph, features
    )


def analyze_in_run(
    run: Run,
    question: str,
    lookup: CanonicalLookup | None = None,
    calibrated: CalibratedScore | None = None,
) -> Analysis:
    """Analyses a question in the concept graph of a run.

    Args:
        run: the run.
        question: any text.
        lookup: finds concepts for words that match no concept by spelling.
        calibrated: the calibrated score of the question.
    """
    concepts, graph = run.concepts, run.concepts.graph
    question_nodes, omitted_count, subgraph, features = find_question_subgraph(
        concepts, question, lookup
    )
    question_node_set = set(question_nodes)
    nodes = {
        node: SubgraphNode(
            id=node, name=clean_text(concepts.get_label(node)), asked=node in question_node_set
        )
        for node in subgraph
    }
    return Analysis(
        question=question,
        matched=tuple(nodes[node] for node in question_nodes),
        left_out=omitted_count,
        features=features,
        score=score_features(features or NO_MATCH_FEATURES),
        calibrated=calibrated,
        nodes=tuple(nodes.values()),
        links=tuple(
            SubgraphLink(source=left, target=right, weight=int(graph.edges[left, right]["weight"]))
            for left, right in itertools.combinations(subgraph, 2)
            if right in subgraph[left]
        ),
    )


def analyze_in_facts(graph: FactGraph, terms: TermTable, labels: Labels, question: str) -> Analysis:
    """Analyses a question in a knowledge graph.

    Args:
        graph: the facts of the knowledge graph.
        terms: its terms.
        labels: its labels.
        question: any text.
    """
    matched_nodes = find_named_entities(graph, terms, labels, question[:MAX_QUESTION_LENGTH])
    question_nodes = matched_nodes[:MAX_NODES]
    subgraph = graph.find_subgraph(question_nodes) if question_nodes else None
    question_node_set = set(question_nodes)

    def make_node(node: int) -> SubgraphNode:
        text = terms.get_text(node)
        return SubgraphNode(
            id=text, name=clean_text(labels.get_label(text)), asked=node in question_node_set
        )

    subgraph_nodes: dict[int, None] = dict.fromkeys(question_nodes)
    links: tuple[SubgraphLink, ...] = ()
    if subgraph is not None:
        for neighbours in subgraph.neighbours.values():
            subgraph_nodes.update(neighbours)
        for path in subgraph.paths:
            subgraph_nodes.update(dict.fromkeys(path))
        links = tuple(
            SubgraphLink(
                source=terms.get_text(s), predicate=terms.get_text(p), target=terms.get_text(o)
            )
            for s, p, o in graph.iter_facts(subgraph)
        )
    return Analysis(
        question=question,
        matched=tuple(map(make_node, question_nodes)),
        left_out=len(matched_nodes) - len(question_nodes),
        features=None if subgraph is None else subgraph.features,
        score=score_features(NO_MATCH_FEATURES if subgraph is None else subgraph.features),
        calibrated=None,
        nodes=tuple(map(make_node, subgraph_nodes)),
        links=links,
    )


def find_named_entities(graph: FactGraph, terms: TermTable, labels: Labels, text: str) -> list[int]:
    """Finds the entities that a text names, in the order of the text, each once.

    Longer names take precedence over shorter ones that overlap with them. A name of several
    entities refers to the first of them; entities with that label precede those with that alias.
    """
    tokens = split_words(text)
    is_used = [False] * len(tokens)
    entity_by_start: dict[int, int] = {}
    for n_words in range(min(MAX_NAME_WORDS, len(tokens)), 0, -1):
        for start in range(len(tokens) - n_words + 1):
            span = slice(start, start + n_words)
            if any(is_used[span]) or not extract_content_words(" ".join(tokens[span])):
                continue
            node = _find_linked_entity(graph, terms, labels.find_entities(" ".join(tokens[span])))
            if node is not None:
                entity_by_start[start] = node
                is_used[span] = [True] * n_words
    return list(dict.fromkeys(entity_by_start[start] for start in sorted(entity_by_start)))


def _find_linked_entity(
    graph: FactGraph, terms: TermTable, candidates: Sequence[str]
) -> int | None:
    """Returns the first candidate that has facts, unlike classes and predicates with that label."""
    nodes = (terms.get(iri) for iri in candidates)
    return next((node for node in nodes if node is not None and node in graph), None)
