"""Records of a graph page: nodes, links, groups and texts, for runs and for cards.

Texts are from documents and graphs and are stored unchanged; ``renderer`` makes them safe to read
and cuts them to length.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kg.difficulty.features import QueryFeatures
from kg.difficulty.score import DifficultyScore

Mark = Literal["", "asked", "path"]
"""Why a node is highlighted. ``asked``: the question or claim names it. ``path``: it is on a
shortest path between two such nodes."""
LinkKind = Literal["together", "fact", "denied", "claim"]
"""``together``: two concepts occur in one chunk. The others are triples: an asserted fact, a denied
fact, or the claim of a card."""


class Group(msgspec.Struct, frozen=True):
    """Nodes drawn in one colour and shape, such as those of a chapter."""

    name: str
    code: str
    """One to three characters shown in each node, for readers who cannot see the colour."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One circle of the picture."""

    key: str
    """Identifier of the node in the graph."""
    label: str
    count: int
    """The number that the node's size represents; ``GraphPage.count_noun`` says what it counts."""
    group: int | None = None
    """Index into ``GraphPage.groups``; ``None`` if it belongs to no single group."""
    mark: Mark = ""
    aliases: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    """Sections or classes that it belongs to."""
    texts: tuple[int, ...] = ()
    """Indices into ``GraphPage.texts``."""
    texts_left_out: int = 0
    """Number of the node's texts that are not on the page."""
    links: int = 0
    """Number of the node's links in the whole graph, including those that are not on the page."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the picture, between two nodes (indices into ``GraphPage.nodes``)."""

    source: int
    target: int
    kind: LinkKind = "together"
    caption: str = ""
    """The caption at the line: a predicate, or a claim's label."""
    sentence: str = ""
    """The fact or claim as a sentence."""
    weight: int = 1
    """Number of chunks in which both concepts occur; 1 for facts and claims."""
    npmi: float | None = None
    """Normalised pointwise mutual information of the two concepts; ``None`` for other links."""
    main: bool = True
    """Whether the link is always drawn, or only if the reader selects all links."""
    on_path: bool = False
    of_card: bool = False
    """Whether the card contains this fact or claim."""


class Text(msgspec.Struct, frozen=True):
    """A passage or a sentence that nodes refer to."""

    title: str
    text: str


class DifficultyDetails(msgspec.Struct, frozen=True):
    """The difficulty of a question or claim, and the features from which it was computed."""

    features: QueryFeatures | None
    """``None`` if the question names no node of the graph."""
    score: DifficultyScore
    remarks: tuple[str, ...] = ()
    """Further sentences about the difficulty."""


class GraphPage(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one page; its texts are complete sentences."""

    title: str
    subtitle: str
    lede: tuple[str, ...]
    """Sentences of the opening paragraph."""
    stats: tuple[tuple[str, str], ...]
    """(number, what it counts), such as ``("1,204", "links in the run")``."""
    notices: tuple[str, ...] = ()
    """Sentences shown in a box at the top."""
    nodes: tuple[Node, ...]
    """The most important nodes come first, since their labels are placed first."""
    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    ungrouped: str = ""
    """Legend entry of the nodes that belong to no single group."""
    texts: tuple[Text, ...] = ()
    difficulty: DifficultyDetails | None = None
    difficulty_note: str = ""
    card: CardText | None = None
    node_noun: str
    """What a node is called on the page: ``concept`` or ``thing``."""
    node_nouns: str
    """The plural of ``node_noun``."""
    count_noun: str
    """What ``Node.count`` counts: ``chunks``, ``facts``."""
    group_noun: str
    """Heading for groups: ``Chapter``."""
    text_noun: str
    """Heading for texts: ``Passages``."""
    weighted: bool
    """Whether links have weights to filter by."""
    explanation: tuple[str, ...]
    """Paragraphs on how to read the picture."""
    signature: tuple[tuple[str, str], ...]
    """(type of input, its hash or id), such as ``("run", "5f3a…")``."""


class CardText(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a card, shown above and below the picture of its claim."""

    id: str
    label: str
    symbol: str
    verdict: str
    question: str
    gold: str
    kind: str
    proof: str
    facts: tuple[str, ...]
    rules: tuple[str, ...]
