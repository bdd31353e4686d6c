"""Renders a graph page as one HTML file: the picture as SVG, its data as tables, and a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from eval.blocks.text_format import shorten_text
from kg.base.provenance import package_version
from kg.difficulty.score import Dimension
from reporting.graph_page.geometry import (
    BELOW_FIRST,
    N_COLOURS,
    RIGHT_FIRST,
    Label,
    build_shape_path,
    compute_caption_box,
    compute_radius,
    format_label,
    place_labels,
)
from reporting.graph_page.layout import HEIGHT, WIDTH, place_nodes
from reporting.graph_page.page import DifficultyDetails, GraphPage, Link, Node
from reporting.page_templates import (
    compute_script_hash,
    get_environment,
    read_scripts,
    render_style,
)
from reporting.visible_text import embed_json, make_visible

MAX_NAME_LENGTH = 160
"""Maximum length of a label, alias or section in tables and panels, in characters."""
MAX_LISTED_NAMES = 12
"""Maximum number of aliases, and of sections, that are listed for a node."""
MAX_TEXT_LENGTH = 2_500
"""Maximum length of a passage, in characters."""
MAX_CAPTION_LINE = 20
"""Captions of links with more characters than this take two lines."""
LINK_BEND = 0.16
"""Distance between the middles of links that connect the same two nodes, as a share of their
length."""


class DrawnNode(NamedTuple):
    """A node with its position, shape and label."""

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
    """A link with its path and caption; (x, y) is the middle of the path."""

    number: int
    link: Link
    path: str
    bend: float
    """Distance of the link's middle from the straight line, as a share of its length."""
    x: float
    y: float
    classes: str
    width: float
    caption: list[str]
    """The lines of the caption."""


class _LegendEntry(NamedTuple):
    group: int
    name: str
    code: str
    path: str
    colour: str
    amount: int


def render_graph(page: GraphPage) -> str:
    """Renders the page as one HTML document."""
    env = get_environment()
    code = read_scripts("graph.js")
    nodes, links = _draw_page(page)
    weights = [link.weight for link in page.links]
    context: dict[str, Any] = {
        "version": package_version(),
        "script_hash": compute_script_hash(code),
        "title": format_name(page.title),
        "subtitle": format_name(page.subtitle),
        "stats": page.stats,
        "notices": [make_visible(text) for text in page.notices],
        "beside": "",
        "sections": [
            ("picture", "Picture"),
            *([("hardness", "Difficulty")] if page.difficulty else []),
            ("nodes", page.node_nouns.capitalize()),
            ("links", "Links"),
            ("how", "How to read this"),
        ],
        "page": page,
        "lede": [make_visible(text) for text in page.lede],
        "width": WIDTH,
        "height": HEIGHT,
        "nodes": nodes,
        "links": links,
        "legend": _build_legend(page),
        "neighbours": _list_neighbours(page),
        "max_weight": max(weights, default=1),
        "main_links": sum(link.main for link in page.links),
        "difficulty_rows": _build_difficulty_rows(page.difficulty) if page.difficulty else [],
        "format_name": format_name,
        "format_list": _format_list,
        # These three are not escaped by the template: the style and the script are package files,
        # and `embed_json` escapes the JSON for a script element.
        "css": render_style() + Markup(env.get_template("graph.css.j2").render()),  # noqa: S704
        "script": Markup(code),  # noqa: S704
        "graph_json": Markup(embed_json(_build_script_data(page, nodes, links))),  # noqa: S704
    }
    return env.get_template("graph.html.j2").render(context) + "\n"


def format_name(text: str) -> str:
    """Formats a name for the page: with visible characters, on one line, cut to length."""
    return shorten_text(" ".join(make_visible(text).split()), MAX_NAME_LENGTH)


def _format_list(names: Sequence[str], max_names: int) -> list[str]:
    listed = [format_name(name) for name in names[:max_names]]
    n_omitted = len(names) - len(listed)
    return [*listed, f"… {n_omitted:,} more"] if n_omitted else listed


def _draw_page(page: GraphPage) -> tuple[list[DrawnNode], list[DrawnLink]]:
    largest = max((node.count for node in page.nodes), default=0)
    # A card's page has few nodes, so they can be larger.
    enlargement = 1.0 if page.weighted else 1.5
    radii = [round(enlargement * compute_radius(node.count, largest), 1) for node in page.nodes]
    asked_nodes = [number for number, node in enumerate(page.nodes) if node.mark == "asked"]
    axis = (
        (asked_nodes[0], asked_nodes[1])
        if page.card is not None and len(asked_nodes) == 2
        else None
    )
    positions = place_nodes(radii, [(x.source, x.target) for x in page.links if x.main], axis)
    bends = _compute_bends(page.links)
    links = [
        _draw_link(number, link, positions, bends[number]) for number, link in enumerate(page.links)
    ]
    labels = _place_all_labels(page, positions, radii, links)
    nodes = [
        DrawnNode(
            number=number,
            node=node,
            x=positions[number][0],
            y=positions[number][1],
            r=radii[number],
            path=build_shape_path(node.group, radii[number]),
            code="" if node.group is None else make_visible(page.groups[node.group].code),
            name=format_name(node.label),
            classes=" ".join(
                ["n", _get_colour_class(node.group), *([node.mark] if node.mark else [])]
            ),
            label=labels[number],
        )
        for number, node in enumerate(page.nodes)
    ]
    return nodes, links


def _place_all_labels(
    page: GraphPage,
    positions: Sequence[tuple[float, float]],
    radii: Sequence[float],
    links: Sequence[DrawnLink],
) -> dict[int, Label]:
    """Places the labels of all nodes; nodes that the question or claim names are placed first."""
    texts = [format_label(node.label) for node in page.nodes]
    order = sorted(range(len(texts)), key=lambda n: (page.nodes[n].mark != "asked", n))
    labels = place_labels(
        [texts[n] for n in order],
        [positions[n] for n in order],
        [radii[n] for n in order],
        RIGHT_FIRST if page.weighted else BELOW_FIRST,
        [compute_caption_box(link.caption, link.x, link.y) for link in links if link.caption],
    )
    return dict(zip(order, labels, strict=True))


def _compute_bends(links: Sequence[Link]) -> list[float]:
    """Computes the bend of each link, so that links between the same two nodes do not coincide."""
    parallel: dict[tuple[int, int], list[int]] = {}
    for index, link in enumerate(links):
        ends = min(link.source, link.target), max(link.source, link.target)
        parallel.setdefault(ends, []).append(index)
    bends = [0.0] * len(links)
    for group in parallel.values():
        for number, index in enumerate(group):
            # A bend is relative to the link's direction, so opposite links need opposite signs.
            sign = 1 if links[index].source <= links[index].target else -1
            bends[index] = round(sign * LINK_BEND * (number - (len(group) - 1) / 2), 3)
    return bends


def _draw_link(
    number: int, link: Link, positions: Sequence[tuple[float, float]], bend: float
) -> DrawnLink:
    (x1, y1), (x2, y2) = positions[link.source], positions[link.target]
    classes = ["l", link.kind]
    classes += ["extra"] if not link.main else []
    classes += ["path"] if link.on_path else []
    classes += ["of-card"] if link.of_card else []
    # The line width grows slower than the weight, from 0.8 to at most 5.
    width = round(min(0.8 + 0.35 * (link.weight - 1) ** 0.8, 5.0), 1)
    # The middle of a quadratic Bézier curve is half as far from the chord as its control point.
    x = round((x1 + x2) / 2 - bend * (y2 - y1), 1)
    y = round((y1 + y2) / 2 + bend * (x2 - x1), 1)
    curve = f"Q{2 * x - (x1 + x2) / 2:.1f} {2 * y - (y1 + y2) / 2:.1f} "
    path = f"M{x1} {y1}{curve if bend else 'L'}{x2} {y2}"
    return DrawnLink(
        number, link, path, bend, x, y, " ".join(classes), width, _split_caption(link.caption)
    )


def _split_caption(text: str) -> list[str]:
    """Splits a caption into at most two lines of about the same length."""
    words = format_name(text).split()
    if len(" ".join(words)) <= MAX_CAPTION_LINE or len(words) < 2:
        return [" ".join(words)] if words else []
    half_length = len(" ".join(words)) / 2
    split = min(range(1, len(words)), key=lambda n: abs(len(" ".join(words[:n])) - half_length))
    return [" ".join(words[:split]), " ".join(words[split:])]


def _get_colour_class(group: int | None) -> str:
    return "g-none" if group is None else f"g{group % N_COLOURS}"


def _build_legend(page: GraphPage) -> list[_LegendEntry]:
    counts: dict[int | None, int] = {}
    for node in page.nodes:
        counts[node.group] = counts.get(node.group, 0) + 1
    entries = [
        _LegendEntry(
            index,
            format_name(group.name),
            make_visible(group.code),
            build_shape_path(index, 9.0),
            _get_colour_class(index),
            counts[index],
        )
        for index, group in enumerate(page.groups)
        if index in counts
    ]
    if None in counts and page.ungrouped:
        entries.append(
            _LegendEntry(
                -1, page.ungrouped, "", build_shape_path(None, 9.0), "g-none", counts[None]
            )
        )
    return entries


def _list_neighbours(page: GraphPage) -> list[list[str]]:
    """Lists each node's neighbours by label, those with the heaviest links first."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in page.nodes]
    for link in page.links:
        neighbours[link.source].append((-link.weight, link.target))
        neighbours[link.target].append((-link.weight, link.source))
    return [
        [
            page.nodes[other].label
            for other in dict.fromkeys(neighbour for _, neighbour in sorted(weighted_neighbours))
        ]
        for weighted_neighbours in neighbours
    ]


def _build_difficulty_rows(details: DifficultyDetails) -> list[tuple[str, str, str]]:
    """Builds the rows of the difficulty table: feature, value and points."""
    features, points = details.features, details.score.dimensions
    if features is None or points is None:
        return []

    def format_points(dimension: Dimension) -> str:
        return f"{points[dimension]} of 2"

    return [
        (
            "Longest shortest path, in hops",
            f"{features.max_path_length}",
            format_points("multihop"),
        ),
        ("Connected components", f"{features.component_count}", format_points("fragmentation")),
        (
            "Nodes of the subgraph",
            f"{features.subgraph_node_count:,}",
            format_points("subgraph_size"),
        ),
        ("Links per node, on average", f"{features.avg_degree:.1f}", format_points("branching")),
        ("Number of sources", f"{features.doc_count:,}", format_points("dispersion")),
    ]


def _build_script_data(
    page: GraphPage, nodes: Sequence[DrawnNode], links: Sequence[DrawnLink]
) -> dict[str, Any]:
    """Builds the script's data; the script inserts its strings as text nodes, never as HTML."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "nodes": [
            {
                "label": drawn_node.name,
                "aliases": _format_list(drawn_node.node.aliases, MAX_LISTED_NAMES),
                "places": _format_list(drawn_node.node.locations, MAX_LISTED_NAMES),
                "group": -1 if drawn_node.node.group is None else drawn_node.node.group,
                "count": drawn_node.node.count,
                "texts": drawn_node.node.texts,
                "left": drawn_node.node.texts_left_out,
                "links": drawn_node.node.links,
                "x": drawn_node.x,
                "y": drawn_node.y,
                "r": drawn_node.r,
            }
            for drawn_node in nodes
        ],
        "links": [
            [
                link.link.source,
                link.link.target,
                link.link.weight,
                link.link.npmi,
                format_name(link.link.caption),
                link.bend,
            ]
            for link in links
        ],
        "groups": [format_name(group.name) for group in page.groups],
        "texts": [
            [format_name(link.title), shorten_text(make_visible(link.text), MAX_TEXT_LENGTH)]
            for link in page.texts
        ],
        "words": {
            "node": page.node_noun,
            "nodes": page.node_nouns,
            "count": page.count_noun,
            "group": page.group_noun,
            "texts": page.text_noun,
            "ungrouped": page.ungrouped,
        },
        "weighted": page.weighted,
    }
