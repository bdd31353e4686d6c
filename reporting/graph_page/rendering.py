"""The page as one HTML file: the picture as SVG, everything in it as tables, a script for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from kg.base.provenance import package_version
from kg.difficulty.score import Dimension
from reporting.graph_page.drawing import (
    BELOW,
    BESIDE,
    COLOURS,
    Label,
    label_text,
    place_labels,
    radius,
    saying_box,
    shape,
)
from reporting.graph_page.layout import HEIGHT, WIDTH, place
from reporting.graph_page.page import GraphPage, Hardness, Link, Node
from reporting.templating import content_hash, environment, script, style
from reporting.visible import embed, shorten, visible

NAME_LIMIT = 160
"""Characters of a label, alias or section in tables and panels."""
LIST_LIMIT = 12
"""Aliases and sections of a node that are named."""
TEXT_LIMIT = 2_500
"""Characters of a passage."""
SAYING_LINE = 20
"""Characters of what stands at a link before it takes two lines."""
BEND = 0.16
"""How far links between the same two nodes lie apart, as a share of their length."""


class DrawnNode(NamedTuple):
    """A node with its place."""

    number: int
    node: Node
    x: float
    y: float
    r: float
    path: str
    code: str
    name: str
    classes: str
    label: Label


class DrawnLink(NamedTuple):
    """A link with its ends."""

    number: int
    link: Link
    path: str
    bend: float
    """How far its middle is from the straight line, as a share of its length."""
    x: float
    y: float
    """Its middle."""
    classes: str
    width: float
    saying: list[str]
    """What stands at its middle, in lines."""


class _LegendEntry(NamedTuple):
    place: int
    name: str
    code: str
    path: str
    colour: str
    amount: int


def render_graph(page: GraphPage) -> str:
    """The whole page as one HTML document."""
    env = environment()
    code = script("graph.js")
    nodes, links = _draw(page)
    weights = [link.weight for link in page.links]
    context: dict[str, Any] = {
        "version": package_version(),
        "script_hash": content_hash(code),
        "title": name_of(page.title),
        "subtitle": name_of(page.subtitle),
        "stats": page.stats,
        "notices": [visible(text) for text in page.notices],
        "beside": "",
        "sections": [
            ("picture", "Picture"),
            *([("hardness", "Difficulty")] if page.hardness else []),
            ("nodes", page.node_nouns.capitalize()),
            ("links", "Links"),
            ("how", "How to read this"),
        ],
        "page": page,
        "lede": [visible(text) for text in page.lede],
        "width": WIDTH,
        "height": HEIGHT,
        "nodes": nodes,
        "links": links,
        "legend": _legend(page),
        "neighbours": _neighbours(page),
        "most_weight": max(weights, default=1),
        "main_links": sum(link.main for link in page.links),
        "hardness": _hardness_rows(page.hardness) if page.hardness else [],
        "name_of": name_of,
        "few": _few,
        # Our own style and script, and JSON that `embed` made safe.
        "css": style() + Markup(env.get_template("graph.css.j2").render()),  # noqa: S704
        "script": Markup(code),  # noqa: S704
        "graph_json": Markup(embed(_data(page, nodes, links))),  # noqa: S704
    }
    return env.get_template("graph.html.j2").render(context) + "\n"


def name_of(text: str) -> str:
    """A name fit for a page: visible, on one line, cut to length."""
    return shorten(" ".join(visible(text).split()), NAME_LIMIT)


def _few(names: Sequence[str], most: int) -> list[str]:
    shown = [name_of(name) for name in names[:most]]
    return [*shown, f"… {len(names) - most:,} more"] if len(names) > most else shown


def _draw(page: GraphPage) -> tuple[list[DrawnNode], list[DrawnLink]]:
    largest = max((node.count for node in page.nodes), default=0)
    grown = 1.0 if page.weighted else 1.5
    radii = [round(grown * radius(node.count, largest), 1) for node in page.nodes]
    asked = [at for at, node in enumerate(page.nodes) if node.mark == "asked"]
    axis = (asked[0], asked[1]) if page.card is not None and len(asked) == 2 else None
    places = place(radii, [(x.source, x.target) for x in page.links if x.main], axis)
    bends = _bends(page.links)
    links = [_line(at, link, places, bends[at]) for at, link in enumerate(page.links)]
    labels = _labels(page, places, radii, links)
    nodes = [
        DrawnNode(
            number=at,
            node=node,
            x=places[at][0],
            y=places[at][1],
            r=radii[at],
            path=shape(node.group, radii[at]),
            code="" if node.group is None else visible(page.groups[node.group].code),
            name=name_of(node.label),
            classes=" ".join(["n", _colour(node.group), *([node.mark] if node.mark else [])]),
            label=labels[at],
        )
        for at, node in enumerate(page.nodes)
    ]
    return nodes, links


def _labels(
    page: GraphPage,
    places: Sequence[tuple[float, float]],
    radii: Sequence[float],
    links: Sequence[DrawnLink],
) -> dict[int, Label]:
    """Each node's label; those of what was asked about go before all others."""
    texts = [label_text(node.label) for node in page.nodes]
    order = sorted(range(len(texts)), key=lambda at: (page.nodes[at].mark != "asked", at))
    placed = place_labels(
        [texts[at] for at in order],
        [places[at] for at in order],
        [radii[at] for at in order],
        BESIDE if page.weighted else BELOW,
        [saying_box(one.saying, one.x, one.y) for one in links if one.saying],
    )
    return dict(zip(order, placed, strict=True))


def _bends(links: Sequence[Link]) -> list[float]:
    """How far each link is bent, so that several between the same two nodes lie apart."""
    beside: dict[tuple[int, int], list[int]] = {}
    for at, link in enumerate(links):
        ends = min(link.source, link.target), max(link.source, link.target)
        beside.setdefault(ends, []).append(at)
    found = [0.0] * len(links)
    for group in beside.values():
        for number, at in enumerate(group):
            turn = 1 if links[at].source <= links[at].target else -1
            found[at] = round(turn * BEND * (number - (len(group) - 1) / 2), 3)
    return found


def _line(at: int, link: Link, places: Sequence[tuple[float, float]], bend: float) -> DrawnLink:
    (x1, y1), (x2, y2) = places[link.source], places[link.target]
    classes = ["l", link.kind]
    classes += ["extra"] if not link.main else []
    classes += ["path"] if link.on_path else []
    classes += ["of-card"] if link.of_card else []
    width = round(min(0.8 + 0.35 * (link.weight - 1) ** 0.8, 5.0), 1)
    # The middle of a quadratic curve lies half as far out as its control point.
    x = round((x1 + x2) / 2 - bend * (y2 - y1), 1)
    y = round((y1 + y2) / 2 + bend * (x2 - x1), 1)
    curve = f"Q{2 * x - (x1 + x2) / 2:.1f} {2 * y - (y1 + y2) / 2:.1f} "
    path = f"M{x1} {y1}{curve if bend else 'L'}{x2} {y2}"
    return DrawnLink(at, link, path, bend, x, y, " ".join(classes), width, _lines(link.words))


def _lines(text: str) -> list[str]:
    """A saying in at most two lines of about the same length."""
    words = name_of(text).split()
    if len(" ".join(words)) <= SAYING_LINE or len(words) < 2:
        return [" ".join(words)] if words else []
    half = len(" ".join(words)) / 2
    cut = min(range(1, len(words)), key=lambda at: abs(len(" ".join(words[:at])) - half))
    return [" ".join(words[:cut]), " ".join(words[cut:])]


def _colour(group: int | None) -> str:
    return "g-none" if group is None else f"g{group % COLOURS}"


def _legend(page: GraphPage) -> list[_LegendEntry]:
    counts: dict[int | None, int] = {}
    for node in page.nodes:
        counts[node.group] = counts.get(node.group, 0) + 1
    entries = [
        _LegendEntry(
            at, name_of(group.name), visible(group.code), shape(at, 9.0), _colour(at), counts[at]
        )
        for at, group in enumerate(page.groups)
        if at in counts
    ]
    if None in counts and page.ungrouped:
        entries.append(
            _LegendEntry(-1, page.ungrouped, "", shape(None, 9.0), "g-none", counts[None])
        )
    return entries


def _neighbours(page: GraphPage) -> list[list[str]]:
    """Each node's neighbours by name, the most heavily linked first."""
    found: list[list[tuple[int, int]]] = [[] for _ in page.nodes]
    for link in page.links:
        found[link.source].append((-link.weight, link.target))
        found[link.target].append((-link.weight, link.source))
    return [
        [page.nodes[other].label for other in dict.fromkeys(at for _, at in sorted(near))]
        for near in found
    ]


def _hardness_rows(hardness: Hardness) -> list[tuple[str, str, str]]:
    """(what was counted, how much, points)."""
    features, points = hardness.features, hardness.score.dimensions
    if features is None or points is None:
        return []

    def given(dimension: Dimension) -> str:
        return f"{points[dimension]} of 2"

    return [
        ("Longest shortest path, in hops", f"{features.max_path_length}", given("multihop")),
        ("Separate parts", f"{features.component_count}", given("fragmentation")),
        ("Nodes of the subgraph", f"{features.subgraph_node_count:,}", given("subgraph_size")),
        ("Links per node, on average", f"{features.avg_degree:.1f}", given("branching")),
        ("Sources it is spread over", f"{features.doc_count:,}", given("dispersion")),
    ]


def _data(
    page: GraphPage, nodes: Sequence[DrawnNode], links: Sequence[DrawnLink]
) -> dict[str, Any]:
    """What the script works with; every string of it is shown as text only."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "nodes": [
            {
                "label": one.name,
                "aliases": _few(one.node.aliases, LIST_LIMIT),
                "places": _few(one.node.places, LIST_LIMIT),
                "group": -1 if one.node.group is None else one.node.group,
                "count": one.node.count,
                "texts": one.node.texts,
                "left": one.node.texts_left_out,
                "links": one.node.links,
                "x": one.x,
                "y": one.y,
                "r": one.r,
            }
            for one in nodes
        ],
        "links": [
            [
                x.link.source,
                x.link.target,
                x.link.weight,
                x.link.npmi,
                name_of(x.link.words),
                x.bend,
            ]
            for x in links
        ],
        "groups": [name_of(group.name) for group in page.groups],
        "texts": [[name_of(x.title), shorten(visible(x.text), TEXT_LIMIT)] for x in page.texts],
        "words": {
            "node": page.node_noun,
            "nodes": page.node_nouns,
            "count": page.count_words,
            "group": page.group_words,
            "texts": page.text_words,
            "ungrouped": page.ungrouped,
        },
        "weighted": page.weighted,
    }
