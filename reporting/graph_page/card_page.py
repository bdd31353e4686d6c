"""Builds the graph page of a card: its claim, its facts, and the neighbourhood in the graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cards.card import Card, read_cards
from kg.base.errors import EpocheError, SettingError
from kg.base.plain_text import clean_text
from kg.claims import Claim, Verdict
from kg.difficulty.fact_graph import FactGraph, FactSubgraph
from kg.difficulty.score import score_features
from kg.fact_predicates import find_fact_predicates
from kg.words.axioms import is_axiom
from reporting.graph_page.page import (
    CardText,
    DifficultyDetails,
    GraphPage,
    Group,
    Link,
    LinkKind,
    Mark,
    Node,
    Text,
)
from reporting.graph_page.term_verbaliser import GraphVerbaliser, PlainVerbaliser, TermVerbaliser

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_SUGGESTIONS = 3
"""Maximum number of similar card ids in an error message."""
MAX_TEXTS_PER_NODE = 12
_VERDICT_TEXTS = {
    "E": ("✓", "Entailed: the graph asserts or entails the claim."),
    "C": ("✗", "Contradictory: the graph contradicts the claim."),
    "U": ("?", "Unknown: the graph neither entails nor contradicts the claim."),
}
_CLAIM_CAPTIONS = {"E": "✓ entailed", "C": "✗ contradictory", "U": "? unknown"}
_NODE_GROUPS = (
    Group("in the claim", "?"),
    Group("in the card's facts", "F"),
    Group("in the proof", "P"),
    Group("on the shortest path", "W"),
    Group("nearby in the graph", "G"),
)
_CLAIM_GROUP, _FACTS_GROUP, _PROOF_GROUP, _PATH_GROUP, _NEIGHBOUR_GROUP = range(len(_NODE_GROUPS))


def find_card(path: Path, card_id: str) -> Card:
    """Returns the card with the id ``card_id``.

    Raises:
        SettingError: there is no such card; the hint lists the most similar ids.
        EpocheError: the file cannot be read as cards.
    """
    cards = read_cards(path)
    for card in cards:
        if card.id == card_id:
            return card
    from rapidfuzz import fuzz, process

    ids = [card.id for card in cards]
    similar_ids = [
        match[0]
        for match in process.extract(card_id[:200], ids, scorer=fuzz.ratio, limit=MAX_SUGGESTIONS)
    ]
    raise SettingError(
        f"no card {clean_text(card_id)!r} among {len(cards):,}",
        where=str(path),
        hint=f"Similar ids: {', '.join(map(clean_text, similar_ids))}.",
    )


def open_graph(
    path: Path, domain: str | None, graph: Sequence[Path], shapes: Sequence[Path]
) -> tuple[KnowledgeBase | None, tuple[str, ...]]:
    """Opens the graph that the user named, or the one from which the cards were generated.

    Returns:
        The graph, or ``None`` if no graph is known or the card file's graph cannot be opened; and
        notices about it for the reader.

    Raises:
        EpocheError: the user named a graph, and it cannot be opened.
    """
    from cards.card_origin import find_card_sources, read_card_origin
    from kg.knowledge import KnowledgeBase

    origin = read_card_origin(path)
    is_graph_named = bool(domain or graph or shapes)
    try:
        if not is_graph_named:
            domain, graph, shapes = find_card_sources(origin, path)
            if domain is None and not graph:
                return None, (
                    "It is not known which graph the card was made from, so only the card's own "
                    "facts are shown. Pass --domain, or --kg with --shapes, to show the graph "
                    "around them.",
                )
        base = KnowledgeBase.open(domain, graph, shapes)
    except EpocheError as error:
        if is_graph_named:
            raise
        return None, (
            "The graph that the card was made from could not be opened, so only the card's own "
            f"facts are shown: {error.format_line()}",
        )
    if origin.graph_sha256 and origin.graph_sha256 != base.graph.sha256:
        return base, (
            f"The card was made from another graph ({origin.graph_sha256[:12]}) than the one shown "
            f"({base.graph.sha256[:12]}): its label may be wrong for this graph.",
        )
    return base, ()


def build_card_page(
    card: Card, base: KnowledgeBase | None, *, max_nodes: int = 40, notices: Sequence[str] = ()
) -> GraphPage:
    """Builds the page of a card.

    Args:
        card: the card.
        base: the graph around it; ``None`` to show only the card's own facts.
        max_nodes: maximum number of nodes. The nodes of the claim, the facts, the proof and the
            paths are always shown; neighbours are added up to this limit.
        notices: sentences shown in a box at the top.
    """
    verbaliser: TermVerbaliser = GraphVerbaliser(base) if base is not None else PlainVerbaliser()
    graph_part = _find_subgraph(card.claim, base)
    builder = _PageBuilder(verbaliser)
    builder.add_claim(card)
    builder.add_card_facts(card)
    if card.proof is not None:
        # Axioms are about predicates, not about things, so only the proof's text contains them.
        builder.add_facts(
            (fact for fact in card.proof.premises if not is_axiom(fact)), _PROOF_GROUP
        )
    notes: list[str] = []
    if base is not None and graph_part is not None:
        facts, subgraph = graph_part
        get_text = base.graph.index.terms.get_text
        builder.add_paths([[get_text(node) for node in path] for path in subgraph.paths])
        triples = [
            Claim(get_text(s), get_text(p), get_text(o)) for s, p, o in facts.iter_facts(subgraph)
        ]
        n_omitted = builder.add_neighbours(triples, max_nodes)
        if n_omitted:
            notes.append(f"{n_omitted:,} neighbours in the graph are not shown.")
    symbol, verdict = _VERDICT_TEXTS[card.label]
    proof = ""
    if card.proof is not None:
        proof = verbaliser.describe_proof(Verdict(card.claim, card.label, card.proof))
    nodes, links, texts = builder.build_parts(verbaliser)
    features = None if graph_part is None else graph_part[1].features
    return GraphPage(
        title=card.question,
        subtitle=f"card {clean_text(card.id)}"
        + (f" · {clean_text(card.kind)}" if card.kind else ""),
        lede=(
            "The dashed line is the claim, thick lines are the card's own facts, and the other "
            "lines are facts of the graph.",
            *notes,
        ),
        stats=(
            (f"{len(card.facts)}", "facts on the card"),
            (f"{len(nodes)}", "things shown"),
            (f"{len(links)}", "links shown"),
        ),
        notices=tuple(notices),
        nodes=nodes,
        links=links,
        groups=_NODE_GROUPS,
        texts=texts,
        difficulty=None
        if features is None
        else DifficultyDetails(features, score_features(features)),
        difficulty_note=(
            "Computed from the claim's subgraph: the neighbours of its subject and object, and the "
            "shortest path between them other than the claim itself. Neither the label nor any "
            "system's answers were used."
        ),
        card=CardText(
            id=card.id,
            label=card.label,
            symbol=symbol,
            verdict=verdict,
            question=card.question,
            gold=card.gold,
            kind=card.kind,
            proof=proof,
            facts=card.facts,
            rules=card.rules,
        ),
        node_noun="thing",
        node_nouns="things",
        count_noun="facts",
        group_noun="Source",
        text_noun="Facts as sentences",
        weighted=False,
        explanation=(
            "An arrow goes from a fact's subject to its object and is labelled with its predicate. "
            "A dotted line is a denied fact.",
            "Distances in the picture follow the number of links between two things (Kamada and "
            "Kawai's layout); the claim's subject and object are on the left and right.",
        ),
        signature=(
            *((("graph", base.graph.sha256),) if base is not None else ()),
            ("card", card.id),
        ),
    )


def _find_subgraph(
    claim: Claim, base: KnowledgeBase | None
) -> tuple[FactGraph, FactSubgraph] | None:
    """Returns the graph of facts and the part of it around the claim; ``None`` without a graph."""
    if base is None:
        return None
    index = base.graph.index
    facts = FactGraph(index, find_fact_predicates(base.domain, index))
    intern = index.terms.intern
    claim_ends = list(dict.fromkeys((intern(claim.subj), intern(claim.obj))))
    return facts, facts.find_subgraph(claim_ends, intern(claim.pred))


class _PageBuilder:
    """Collects the nodes, links and texts of a card's page, without duplicates.

    The order of calls matters, since a node belongs to the first group that adds it.
    """

    def __init__(self, verbaliser: TermVerbaliser) -> None:
        self._verbaliser = verbaliser
        self._groups: dict[str, int] = {}
        self._marks: dict[str, Mark] = {}
        self._literal_preds: dict[str, str] = {}
        """Object of a fact → the fact's predicate, which decides the unit of a literal."""
        self._links: dict[tuple[LinkKind, Claim], bool] = {}
        """(kind, fact) → whether the card itself contains it."""
        self._path_pairs: set[frozenset[str]] = set()

    def add_claim(self, card: Card) -> None:
        """Adds the claim; its subject and object become the first nodes."""
        self._claim_caption = _CLAIM_CAPTIONS[card.label]
        self._question = card.question
        self._add_terms(card.claim, _CLAIM_GROUP)
        self._marks |= dict.fromkeys((card.claim.subj, card.claim.obj), "asked")
        self._links["claim", card.claim] = False

    def add_card_facts(self, card: Card) -> None:
        """Adds the card's own facts, if ``meta.triples`` contains them as triples."""
        rows = card.meta.get("triples")
        for row in rows if isinstance(rows, list) else ():
            denied_triple = row.get("denied") if isinstance(row, dict) else None
            triple = denied_triple if isinstance(denied_triple, dict) else row
            claim = _parse_triple(triple)
            if claim is not None:
                self._add_terms(claim, _FACTS_GROUP)
                self._links["denied" if denied_triple else "fact", claim] = True

    def add_facts(self, facts: Iterable[Claim], group: int) -> None:
        """Adds facts of the graph."""
        for claim in facts:
            self._add_terms(claim, group)
            self._links.setdefault(("fact", claim), False)

    def add_paths(self, paths: Iterable[Sequence[str]]) -> None:
        """Adds the shortest paths between the claim's subject and object."""
        for path in paths:
            for term in path:
                self._groups.setdefault(term, _PATH_GROUP)
                self._marks.setdefault(term, "path")
            self._path_pairs |= {frozenset(pair) for pair in itertools.pairwise(path)}

    def add_neighbours(self, facts: Sequence[Claim], max_nodes: int) -> int:
        """Adds neighbouring facts up to ``max_nodes`` nodes; returns how many nodes are omitted."""
        omitted_terms: dict[str, None] = {}
        for claim in facts:
            new_terms = [term for term in (claim.subj, claim.obj) if term not in self._groups]
            if len(self._groups) + len(new_terms) <= max_nodes:
                self.add_facts([claim], _NEIGHBOUR_GROUP)
            else:
                omitted_terms.update(dict.fromkeys(new_terms))
        return len(omitted_terms)

    def _add_terms(self, claim: Claim, group: int) -> None:
        for term in (claim.subj, claim.obj):
            self._groups.setdefault(term, group)
        self._literal_preds.setdefault(claim.obj, claim.pred)

    def build_parts(
        self, verbaliser: TermVerbaliser
    ) -> tuple[tuple[Node, ...], tuple[Link, ...], tuple[Text, ...]]:
        """Builds the nodes, links and texts of the page; they refer to each other by index."""
        node_index = {term: index for index, term in enumerate(self._groups)}
        texts: dict[str, int] = {}
        text_indices: dict[str, list[int]] = {term: [] for term in node_index}
        links = []
        for (kind, claim), of_card in self._links.items():
            if kind == "claim":
                sentence, caption = self._question, self._claim_caption
            else:
                sentence = (
                    verbaliser.describe_denial(claim)
                    if kind == "denied"
                    else verbaliser.describe_fact(claim)
                )
                caption = verbaliser.get_link_caption(claim.pred)
                caption = f"not: {caption}" if kind == "denied" else caption
                index = texts.setdefault(sentence, len(texts))
                # A dict, so that a subject equal to the object gets the text once.
                for term in {claim.subj: None, claim.obj: None}:
                    text_indices[term].append(index)
            links.append(
                Link(
                    source=node_index[claim.subj],
                    target=node_index[claim.obj],
                    kind=kind,
                    caption=caption,
                    sentence=sentence,
                    on_path=kind == "fact"
                    and frozenset((claim.subj, claim.obj)) in self._path_pairs,
                    of_card=of_card,
                )
            )
        nodes = [
            Node(
                key=term,
                label=verbaliser.get_name(term, self._literal_preds.get(term, "")),
                count=max(verbaliser.count_facts(term), len(text_indices[term])),
                group=group,
                mark=self._marks.get(term, ""),
                aliases=verbaliser.list_aliases(term),
                locations=verbaliser.list_classes(term),
                texts=tuple(text_indices[term][:MAX_TEXTS_PER_NODE]),
                texts_left_out=max(len(text_indices[term]) - MAX_TEXTS_PER_NODE, 0),
                links=len(text_indices[term]),
            )
            for term, group in self._groups.items()
        ]
        return tuple(nodes), tuple(links), tuple(Text("", sentence) for sentence in texts)


def _parse_triple(row: object) -> Claim | None:
    """Parses a triple of ``meta.triples``; ``None`` for any other value of a third-party file."""
    if not isinstance(row, dict):
        return None
    parts = [row.get(key) for key in ("subj", "pred", "obj")]
    subj, pred, obj = parts
    if isinstance(subj, str) and isinstance(pred, str) and isinstance(obj, str):
        return Claim(subj, pred, obj)
    return None
