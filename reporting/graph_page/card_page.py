"""The page of a card: its claim, what the card states, and what the graph holds around it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cards.card import Card, read_cards
from kg.base.errors import EpocheError, SettingError
from kg.claims import Claim, Verdict
from kg.difficulty.fact_graph import FactGraph, FactSubgraph
from kg.difficulty.score import score_of
from kg.sayable import sayable_predicates
from kg.words.axioms import is_axiom
from kg.words.plain_text import plain
from reporting.graph_page.page import (
    CardWords,
    GraphPage,
    Group,
    Hardness,
    Link,
    LinkKind,
    Mark,
    Node,
    Text,
)
from reporting.graph_page.term_words import GraphWords, PlainWords, TermWords

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

NEAREST = 3
TEXTS_PER_NODE = 12
_VERDICTS = {
    "E": ("✓", "Entailed: the graph states it, or it follows."),
    "C": ("✗", "Contradictory: the graph rules it out."),
    "U": ("?", "Unknown: the graph neither entails it nor rules it out."),
}
_AT_THE_LINE = {"E": "✓ entailed", "C": "✗ contradictory", "U": "? unknown"}
_GROUPS = (
    Group("asked about", "?"),
    Group("in the card's facts", "F"),
    Group("in the proof", "P"),
    Group("on the shortest path", "W"),
    Group("around in the graph", "G"),
)
_ASKED, _FACTS, _PROOF, _WAY, _AROUND = range(len(_GROUPS))


def find_card(path: Path, card_id: str) -> Card:
    """The card of that id.

    Raises:
        SettingError: there is none; the hint names the ids that are nearest.
        EpocheError: the file cannot be read as cards.
    """
    cards = read_cards(path)
    for card in cards:
        if card.id == card_id:
            return card
    from rapidfuzz import fuzz, process

    ids = [card.id for card in cards]
    near = [hit[0] for hit in process.extract(card_id[:200], ids, scorer=fuzz.ratio, limit=NEAREST)]
    raise SettingError(
        f"no card {plain(card_id)!r} among {len(cards):,}",
        where=str(path),
        hint=f"Nearest: {', '.join(map(plain, near))}.",
    )


def open_graph(
    path: Path, domain: str | None, graph: Sequence[Path], shapes: Sequence[Path]
) -> tuple[KnowledgeBase | None, tuple[str, ...]]:
    """The graph a card file was made from, or the one that is named.

    Returns:
        The graph, or None where nobody named one that can be opened; and what the reader must be
        told about it.

    Raises:
        EpocheError: the user named a graph, and it cannot be opened.
    """
    from eval.card_origin import card_origin, own_source
    from kg.knowledge import KnowledgeBase

    origin = card_origin(path)
    named = bool(domain or graph or shapes)
    if not named:
        domain, graph, shapes = own_source(origin, path)
        if domain is None and not graph:
            return None, (
                "Nothing says which graph the card was made from, so only what the card itself "
                "states is shown. Give --domain, or --kg with --shapes, for what is around it.",
            )
    try:
        base = KnowledgeBase.open(domain, graph, shapes)
    except EpocheError as error:
        if named:
            raise
        return None, (
            "The graph that the card was made from could not be opened, so only what the card "
            f"itself states is shown: {error.one_line()}",
        )
    if origin.graph_sha256 and origin.graph_sha256 != base.graph.sha256:
        return base, (
            f"The card was made from another graph ({origin.graph_sha256[:12]}) than the one shown "
            f"({base.graph.sha256[:12]}): its verdict may not hold here.",
        )
    return base, ()


def card_page(
    card: Card, base: KnowledgeBase | None, *, most: int = 40, notices: Sequence[str] = ()
) -> GraphPage:
    """What the page of a card shows.

    Args:
        card: the card.
        base: the graph around it; None for what the card itself states.
        most: nodes on the page at most; those of claim, facts, proof and paths come first.
        notices: what the reader must be told.
    """
    words: TermWords = GraphWords(base) if base is not None else PlainWords()
    found = _subgraph(card.claim, base)
    told = _Facts(words)
    told.claim(card)
    told.of_card(card)
    if card.proof is not None:
        # Axioms are about predicates, not things; the proof says them in words.
        told.facts((fact for fact in card.proof.premises if not is_axiom(fact)), _PROOF)
    notes: list[str] = []
    if base is not None and found is not None:
        facts, subgraph = found
        text = base.graph.index.terms.text
        told.way([[text(node) for node in way] for way in subgraph.ways])
        triples = [Claim(text(s), text(p), text(o)) for s, p, o in facts.facts_of(subgraph)]
        left = told.around(triples, most)
        if left:
            notes.append(f"{left:,} things that the graph links with one of the two are not shown.")
    symbol, verdict = _VERDICTS[card.label]
    proof = "" if card.proof is None else words.proof(Verdict(card.claim, card.label, card.proof))
    nodes, links, texts = told.page(words)
    features = None if found is None else found[1].features
    return GraphPage(
        title=card.question,
        subtitle=f"card {plain(card.id)}" + (f" · {plain(card.kind)}" if card.kind else ""),
        lede=(
            "The dashed line is what is asked; strong lines are what the card states; the others "
            "stand in the graph.",
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
        groups=_GROUPS,
        texts=texts,
        hardness=None if features is None else Hardness(features, score_of(features)),
        hardness_words=(
            "Read off the claim's subgraph: what the graph links with its two ends, and the "
            "shortest path between them other than the claim itself. Neither the label nor "
            "anybody's answers were used."
        ),
        card=CardWords(
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
        count_words="facts",
        group_words="Where it comes from",
        text_words="In words",
        weighted=False,
        explanation=(
            "Arrows go from a fact's subject to its object and say what the fact says. A dotted "
            "line is a fact that is denied.",
            "Things stand near each other when few facts lie between them (Kamada and Kawai's "
            "layout), the two asked about left and right.",
        ),
        signature=(
            *((("graph", base.graph.sha256),) if base is not None else ()),
            ("card", card.id),
        ),
    )


def _subgraph(claim: Claim, base: KnowledgeBase | None) -> tuple[FactGraph, FactSubgraph] | None:
    if base is None:
        return None
    index = base.graph.index
    facts = FactGraph(index, sayable_predicates(base.domain, index))
    intern = index.terms.intern
    asked = list(dict.fromkeys((intern(claim.subj), intern(claim.obj))))
    return facts, facts.subgraph(asked, intern(claim.pred))


class _Facts:
    """Collects the nodes and links of a card's page, each once."""

    def __init__(self, words: TermWords) -> None:
        self._words = words
        self._groups: dict[str, int] = {}
        self._marks: dict[str, Mark] = {}
        self._preds: dict[str, str] = {}
        """Term → a predicate it is the object of, for the unit of a literal."""
        self._links: dict[tuple[LinkKind, Claim], bool] = {}
        """Kind and fact → whether the card states it."""
        self._ways: set[frozenset[str]] = set()

    def claim(self, card: Card) -> None:
        """The claim, its ends before all other nodes."""
        self._label = _AT_THE_LINE[card.label]
        self._question = card.question
        self._add(card.claim, _ASKED)
        self._marks |= dict.fromkeys((card.claim.subj, card.claim.obj), "asked")
        self._links["claim", card.claim] = False

    def of_card(self, card: Card) -> None:
        """What the card states, as far as it says in triples what its sentences say in words."""
        rows = card.meta.get("triples")
        for row in rows if isinstance(rows, list) else ():
            denied = row.get("denied") if isinstance(row, dict) else None
            triple = denied if isinstance(denied, dict) else row
            claim = _claim(triple)
            if claim is not None:
                self._add(claim, _FACTS)
                self._links["denied" if denied else "fact", claim] = True

    def facts(self, facts: Iterable[Claim], group: int) -> None:
        """Facts that the graph states."""
        for claim in facts:
            self._add(claim, group)
            self._links.setdefault(("fact", claim), False)

    def way(self, ways: Iterable[Sequence[str]]) -> None:
        """Shortest paths between the ends of the claim."""
        for way in ways:
            for term in way:
                self._groups.setdefault(term, _WAY)
                self._marks.setdefault(term, "path")
            self._ways |= {frozenset(pair) for pair in itertools.pairwise(way)}

    def around(self, facts: Sequence[Claim], most: int) -> int:
        """What else the graph holds around; the number of things there was no room for."""
        left: dict[str, None] = {}
        for claim in facts:
            new = [term for term in (claim.subj, claim.obj) if term not in self._groups]
            if len(self._groups) + len(new) <= most:
                self.facts([claim], _AROUND)
            else:
                left.update(dict.fromkeys(new))
        return len(left)

    def _add(self, claim: Claim, group: int) -> None:
        for term in (claim.subj, claim.obj):
            self._groups.setdefault(term, group)
        self._preds.setdefault(claim.obj, claim.pred)

    def page(self, words: TermWords) -> tuple[tuple[Node, ...], tuple[Link, ...], tuple[Text, ...]]:
        """Nodes, links and texts, numbered."""
        at = {term: number for number, term in enumerate(self._groups)}
        texts: dict[str, int] = {}
        said: dict[str, list[int]] = {term: [] for term in at}
        links = []
        for (kind, claim), of_card in self._links.items():
            if kind == "claim":
                sentence, line = self._question, self._label
            else:
                sentence = words.denied(claim) if kind == "denied" else words.fact(claim)
                line = words.line(claim.pred)
                line = f"not: {line}" if kind == "denied" else line
                number = texts.setdefault(sentence, len(texts))
                for term in {claim.subj: None, claim.obj: None}:
                    said[term].append(number)
            links.append(
                Link(
                    source=at[claim.subj],
                    target=at[claim.obj],
                    kind=kind,
                    words=line,
                    sentence=sentence,
                    on_path=kind == "fact" and frozenset((claim.subj, claim.obj)) in self._ways,
                    of_card=of_card,
                )
            )
        nodes = [
            Node(
                key=term,
                label=words.name(term, self._preds.get(term, "")),
                count=max(words.facts_about(term), len(said[term])),
                group=group,
                mark=self._marks.get(term, ""),
                aliases=words.aliases(term),
                places=words.classes(term),
                texts=tuple(said[term][:TEXTS_PER_NODE]),
                texts_left_out=max(len(said[term]) - TEXTS_PER_NODE, 0),
                links=len(said[term]),
            )
            for term, group in self._groups.items()
        ]
        return tuple(nodes), tuple(links), tuple(Text("", sentence) for sentence in texts)


def _claim(row: object) -> Claim | None:
    """A triple of ``meta.triples``; None for what files from elsewhere may hold instead."""
    if not isinstance(row, dict):
        return None
    parts = [row.get(key) for key in ("subj", "pred", "obj")]
    subj, pred, obj = parts
    if isinstance(subj, str) and isinstance(pred, str) and isinstance(obj, str):
        return Claim(subj, pred, obj)
    return None
