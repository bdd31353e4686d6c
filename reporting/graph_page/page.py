"""What a graph page shows: nodes, links, groups and texts, whatever they were taken from.

Everything here is text from documents and graphs, so it is kept as it came; ``rendering`` makes it
safe to look at and cuts it to length.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kg.difficulty.features import QueryFeatures
from kg.difficulty.score import DifficultyScore

Mark = Literal["", "asked", "path"]
"""``asked``: what a question or a claim names. ``path``: on a shortest path between two of these.
"""
LinkKind = Literal["together", "fact", "denied", "claim"]


class Group(msgspec.Struct, frozen=True):
    """Nodes drawn in one colour and shape, such as those of a chapter."""

    name: str
    code: str
    """One to three characters that stand in every node of it, so that colour is never alone."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One circle of the picture."""

    key: str
    """What the graph calls it."""
    label: str
    count: int
    """What its size shows."""
    group: int | None = None
    """Place in ``GraphPage.groups``; None belongs to no single one."""
    mark: Mark = ""
    aliases: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """Sections or classes it belongs to."""
    texts: tuple[int, ...] = ()
    """Places in ``GraphPage.texts``."""
    texts_left_out: int = 0
    links: int = 0
    """Links it has in the whole graph, those that are not on the page among them."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the picture, between two places in ``GraphPage.nodes``."""

    source: int
    target: int
    kind: LinkKind = "together"
    words: str = ""
    """What stands at the line: a predicate, or a claim's verdict."""
    sentence: str = ""
    """The fact or claim in full."""
    weight: int = 1
    npmi: float | None = None
    main: bool = True
    """Whether it is drawn at first; the others when all links are asked for."""
    on_path: bool = False
    of_card: bool = False
    """Whether the card itself states it."""


class Text(msgspec.Struct, frozen=True):
    """A passage or a sentence that nodes refer to."""

    title: str
    text: str


class Hardness(msgspec.Struct, frozen=True):
    """How hard a question or claim is, and what that was read from."""

    features: QueryFeatures | None
    """None where the question names nothing in the graph."""
    score: DifficultyScore
    further: tuple[str, ...] = ()
    """What else is known of it, in sentences."""


class GraphPage(msgspec.Struct, frozen=True, kw_only=True):
    """All that one page holds. Its words are finished sentences."""

    title: str
    subtitle: str
    lede: tuple[str, ...]
    stats: tuple[tuple[str, str], ...]
    """(value, what it counts)."""
    notices: tuple[str, ...] = ()
    nodes: tuple[Node, ...]
    """The most important first: their labels stand where not all have room."""
    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    ungrouped: str = ""
    """What nodes of no single group are, for the legend."""
    texts: tuple[Text, ...] = ()
    hardness: Hardness | None = None
    hardness_words: str = ""
    card: CardWords | None = None
    node_noun: str
    """One node: ``concept``, ``thing``."""
    node_nouns: str
    count_words: str
    """What a node's count counts: ``chunks``, ``facts``."""
    group_words: str
    """What a group is: ``Chapter``."""
    text_words: str
    """What its texts are: ``Passages``."""
    weighted: bool
    """Whether links have weights to filter by."""
    explanation: tuple[str, ...]
    """How the picture was made, for the foot of the page."""
    signature: tuple[tuple[str, str], ...]
    """(what, hash) of what it was made from."""


class CardWords(msgspec.Struct, frozen=True, kw_only=True):
    """A card in words, to stand above the picture of its claim."""

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
