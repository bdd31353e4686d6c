"""Tests of ``epoche kg plot``: selected nodes, their layout, and errors of the command line."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plot_inputs import (
    build_library_run,
    find_card_with_label,
    make_mayor_cards,
    write_hostile_cards,
)
from stage_calls import check_error_line, command_line, run_epoche, run_process

from cards.card import read_cards
from cards.generation.difficulty import compute_difficulty
from kg.difficulty.fact_graph import FactGraph
from kg.fact_predicates import find_fact_predicates
from kg.knowledge import KnowledgeBase
from kg.text.run.folder import open_run
from reporting.graph_page.card_page import build_card_page
from reporting.graph_page.geometry import build_shape_path, format_label, place_labels
from reporting.graph_page.layout import HEIGHT, WIDTH, place_nodes
from reporting.graph_page.run_page import build_run_page
from reporting.graph_page.selection import (
    MAX_LINKS,
    MIN_DRAWN_LINKS_PER_NODE,
    choose_links,
    compute_strength,
    find_neighbourhood,
    select_central_nodes,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library_run(tmp_path_factory.mktemp("plotted"))


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_mayor_cards(tmp_path_factory.mktemp("asked"))


def read_page_data(page: Path) -> dict:
    match = re.search(
        r'<script type="application/json" id="graph-data">(.*?)</script>',
        page.read_text(encoding="utf-8"),
    )
    assert match
    return json.loads(match[1])


def read_page_text(page: Path) -> str:
    """Returns the text of a page without its tags."""
    body = page.read_text(encoding="utf-8").split("<body>")[1].split("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


# -- selected nodes and links --------------------------------------------------------------------


@st.composite
def concept_graphs(draw: st.DrawFn) -> nx.Graph:
    count = draw(st.integers(2, 14))
    nodes = [f"n{number:02}" for number in range(count)]
    pairs = list(itertools.combinations(nodes, 2))
    graph = nx.Graph()
    graph.add_nodes_from(draw(st.permutations(nodes)))
    for a, b in draw(st.lists(st.sampled_from(pairs), unique=True)):
        npmi = draw(st.sampled_from([-0.5, 0.0, 0.2, 0.7, 1.0]))
        graph.add_edge(a, b, weight=draw(st.integers(1, 5)), npmi=npmi)
    return graph


@given(concept_graphs())
def test_drawn_links_exist_and_include_each_nodes_strongest(graph):
    nodes = select_central_nodes(graph, 100)
    assert sorted(nodes) == sorted(graph)
    # The main links are drawn at first, the extra ones when the reader asks for all links.
    selection = choose_links(graph, nodes)
    drawn_graph = nx.Graph(sorted(selection.main))
    drawn_graph.add_nodes_from(graph)
    components = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(part) for part in nx.connected_components(drawn_graph)} == components
    assert selection.main.isdisjoint(selection.extra)
    assert len(selection.main | selection.extra) == graph.number_of_edges() == selection.n_links
    for node in graph:
        strengths = sorted(
            (compute_strength(edge) for edge in graph.adj[node].values()), reverse=True
        )
        drawn_strengths = sorted(
            (compute_strength(graph.edges[pair]) for pair in selection.main if node in pair),
            reverse=True,
        )
        assert drawn_strengths[:MIN_DRAWN_LINKS_PER_NODE] == strengths[:MIN_DRAWN_LINKS_PER_NODE]


@given(concept_graphs(), st.randoms(use_true_random=False), st.integers(2, 8))
def test_selection_is_independent_of_graph_order(graph, rng, max_nodes):
    edges = list(graph.edges(data=True))
    rng.shuffle(edges)
    shuffled_graph = nx.Graph()
    shuffled_graph.add_nodes_from(rng.sample(list(graph), len(graph)))
    shuffled_graph.add_edges_from((b, a, row) for a, b, row in edges)
    nodes = select_central_nodes(graph, max_nodes)
    assert nodes == select_central_nodes(shuffled_graph, max_nodes)
    assert choose_links(graph, nodes) == choose_links(shuffled_graph, nodes)
    seeds = nodes[:1]
    assert find_neighbourhood(graph, seeds, 2, max_nodes) == find_neighbourhood(
        shuffled_graph, seeds, 2, max_nodes
    )


@given(concept_graphs(), st.integers(0, 3), st.integers(1, 20))
def test_neighbourhood_respects_hops_and_counts_all_nodes(graph, hops, max_nodes):
    seed = min(graph)
    nodes, n_within_reach = find_neighbourhood(graph, [seed], hops, max_nodes)
    distances = nx.single_source_shortest_path_length(graph, seed, cutoff=hops)
    assert n_within_reach == len(distances)
    assert len(nodes) == min(max_nodes, n_within_reach)
    node_distances = [distances[node] for node in nodes]
    assert node_distances == sorted(node_distances)


def test_links_of_a_page_are_limited():
    graph = nx.complete_graph([f"{n:02}" for n in range(80)])
    nx.set_edge_attributes(graph, 2, "weight")
    nx.set_edge_attributes(graph, 0.5, "npmi")
    selection = choose_links(graph, sorted(graph))
    assert len(selection.main) + len(selection.extra) == MAX_LINKS
    assert selection.n_links == 80 * 79 // 2


def test_rare_cooccurrence_is_weaker_than_frequent():
    rare_strength = compute_strength({"weight": 1, "npmi": 1.0})
    assert rare_strength < compute_strength({"weight": 3, "npmi": 0.3})
    assert compute_strength({"weight": 9, "npmi": -0.2}) == (0.0, 0.0)


# -- layout --------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(concept_graphs(), st.booleans())
def test_layout_is_bounded_separated_and_reproducible(graph, has_axis):
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    radii = [8.0] * len(graph)
    links = sorted(graph.edges)
    axis = (0, 1) if has_axis else None  # the nodes that stand at the left and at the right
    positions = place_nodes(radii, links, axis)
    assert positions == place_nodes(radii, links, axis)
    for x, y in positions:
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    for (x, y), (other_x, other_y) in itertools.combinations(positions, 2):
        assert (x - other_x) ** 2 + (y - other_y) ** 2 > 16**2  # 16 is twice the radius.
    if axis:
        assert positions[0][0] < positions[1][0]


def test_empty_and_single_node_graphs_have_a_layout():
    assert place_nodes([], []) == []
    assert place_nodes([5.0], []) == [(WIDTH / 2, HEIGHT / 2)]


def test_linked_nodes_are_nearer_than_others():
    links = [(n, n + 1) for n in range(9)]
    positions = place_nodes([7.0] * 10, links)
    distances = {
        pair: (
            (positions[pair[0]][0] - positions[pair[1]][0]) ** 2
            + (positions[pair[0]][1] - positions[pair[1]][1]) ** 2
        )
        ** 0.5
        for pair in itertools.combinations(range(10), 2)
    }
    max_linked_distance = max(distances[pair] for pair in links)
    assert max_linked_distance < distances[0, 9] / 3


@given(
    st.lists(
        st.tuples(
            st.text("abc ", min_size=1, max_size=30),
            st.integers(0, WIDTH),
            st.integers(0, HEIGHT),
        ),
        max_size=25,
    )
)
def test_shown_labels_do_not_overlap(entries):
    texts = [format_label(text) or "-" for text, _, _ in entries]
    positions = [(float(x), float(y)) for _, x, y in entries]
    labels = place_labels(texts, positions, [6.0] * len(entries))
    boxes = []
    for label, (x, y) in zip(labels, positions, strict=True):
        if not label.fits:
            continue
        width = len(label.text) * 6.3  # average width of a character, in pixels
        left = x + label.x - {"start": 0.0, "end": width, "middle": width / 2}[label.anchor]
        boxes.append((left, y + label.y - 9, left + width, y + label.y + 2))
    for box, other_box in itertools.combinations(boxes, 2):
        assert (
            box[2] <= other_box[0]
            or other_box[2] <= box[0]
            or box[3] <= other_box[1]
            or other_box[3] <= box[1]
        )
    for left, top, right, bottom in boxes:
        assert not any(left < x < right and top < y < bottom for x, y in positions)


def test_groups_of_one_colour_have_different_shapes():
    assert len({build_shape_path(group, 8.0) for group in (0, 8, 16, 24)}) == 4


# -- page of a run -------------------------------------------------------------------------------


def test_central_concepts_are_shown_and_others_counted(run, tmp_path):
    out = tmp_path / "graph.html"
    result = run_epoche("kg", "plot", "--run", run, "--most", 20, "--out", out)
    assert result.code == 0, result.err
    assert result.out.startswith("20 concepts, ")
    total = len(open_run(run).concepts)
    assert (
        f"The picture shows the 20 concepts with the strongest links; the other {total - 20} of "
        "the run are not shown."
    ) in read_page_text(out)
    data = read_page_data(out)
    assert len(data["nodes"]) == 20
    assert {node["label"] for node in data["nodes"]} >= {"loan", "member"}
    text = data["texts"][data["nodes"][0]["texts"][0]][1]
    assert text in {chunk.text for chunk in open_run(run).chunks}


def test_small_run_is_shown_completely(run, tmp_path):
    page = build_run_page(open_run(run))
    graph = open_run(run).concepts.graph
    assert {node.key for node in page.nodes} == set(graph)
    assert len(page.links) == graph.number_of_edges()
    assert page.lede == ("All concepts of the run are shown.",)
    for link in page.links:
        edge = graph.edges[page.nodes[link.source].key, page.nodes[link.target].key]
        assert link.weight == edge["weight"]
        assert link.npmi == pytest.approx(edge["npmi"], abs=5e-4)


def test_concepts_linked_to_the_centre_are_shown(run):
    graph = open_run(run).concepts.graph
    page = build_run_page(open_run(run), centre_texts=["reservation lists"], max_nodes=400)
    keys = [node.key for node in page.nodes]
    assert keys[0] == "reservation list"
    assert set(keys) == {"reservation list", *graph["reservation list"]}
    assert page.nodes[0].mark == "asked"


def test_question_shows_its_paths_and_difficulty(run, tmp_path):
    question = "Does a volunteer of the workshop set the due date of a loan?"
    analysis = json.loads(run_epoche("kg", "analyze", question, "--run", run).out)
    page = build_run_page(open_run(run), query=question, max_nodes=400)
    asked_nodes = {node.key for node in page.nodes if node.mark == "asked"}
    assert asked_nodes == {node["id"] for node in analysis["matched"]}
    assert page.difficulty is not None
    assert page.difficulty.score.level == analysis["score"]["level"]
    assert page.difficulty.features is not None
    assert page.difficulty.features.doc_count == analysis["features"]["doc_count"]
    path_ends = {
        frozenset((page.nodes[link.source].key, page.nodes[link.target].key))
        for link in page.links
        if link.on_path
    }
    assert path_ends == {frozenset((link["source"], link["target"])) for link in analysis["links"]}
    assert all(link.main for link in page.links if link.on_path)


def test_question_without_concepts_is_reported(run, tmp_path):
    out = tmp_path / "graph.html"
    assert run_epoche("kg", "plot", "--run", run, "--query", "Zebra?", "--out", out).code == 0
    assert "names no concept of the run" in read_page_text(out)
    assert "Difficulty: unanswerable" in read_page_text(out)


def test_hash_seed_does_not_change_the_bytes(run, cards, tmp_path):
    card = find_card_with_label(cards, "C").id
    for input_flags in (
        ("--run", run, "--query", "Is a fee due for a loan?"),
        ("--cards", cards, "--card", card),
    ):
        pages = []
        for seed in ("1", "77"):
            out = tmp_path / f"{seed}.html"
            result = run_process(
                command_line("kg", "plot", *input_flags, "--out", out),
                tmp_path,
                PYTHONHASHSEED=seed,
            )
            assert result.code == 0, result.err
            pages.append(out.read_bytes())
        assert pages[0] == pages[1]


# -- page of a card ------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["E", "C", "U"])
def test_card_page_shows_claim_facts_and_neighbourhood(cards, label, tmp_path):
    card = find_card_with_label(cards, label)
    base = KnowledgeBase.open("mayors")
    page = build_card_page(card, base)
    assert [node.key for node in page.nodes[:2]] == [card.claim.subj, card.claim.obj]
    assert [node.mark for node in page.nodes[:2]] == ["asked", "asked"]
    (claim_link,) = [link for link in page.links if link.kind == "claim"]
    assert (claim_link.source, claim_link.target) == (0, 1)
    assert claim_link.caption.split()[0] == {"E": "✓", "C": "✗", "U": "?"}[label]
    card_sentences = {link.sentence for link in page.links if link.of_card}
    assert card_sentences == set(card.facts)
    index = base.graph.index
    facts = FactGraph(index, find_fact_predicates(base.domain, index))
    level, features = compute_difficulty(facts, index.terms, card.claim)
    assert page.difficulty is not None
    assert page.difficulty.score.level == level.upper()
    assert page.difficulty.score.total == features["score"]
    for link in page.links:
        if link.kind == "fact" and not link.of_card:
            subject, object_ = page.nodes[link.source].key, page.nodes[link.target].key
            ids = [index.terms.get(term) for term in (subject, object_)]
            assert any(
                index.has_triple(ids[0], predicate, ids[1])
                for predicate in index.list_predicates()
                if None not in ids
            )


def test_node_limit_is_applied_and_others_counted(cards):
    card = find_card_with_label(cards, "E")
    base = KnowledgeBase.open("mayors")
    full_page = build_card_page(card, base, max_nodes=400)
    small_page = build_card_page(card, base, max_nodes=2)
    stated_counts = [
        int(line.split()[0]) for line in small_page.lede if line.endswith("are not shown.")
    ]
    n_hidden = len(full_page.nodes) - len(small_page.nodes)
    assert stated_counts == ([n_hidden] if n_hidden else [])


def test_manifest_graph_is_used_and_another_graph_reported(cards, tmp_path):
    card = find_card_with_label(cards, "C").id
    out = tmp_path / "card.html"
    flags = ("kg", "plot", "--cards", cards, "--card", card, "--out", out)
    assert run_epoche(*flags).code == 0
    assert re.search("nearby in the graph|in the card.{1,5}s facts", read_page_text(out))
    assert "another graph" not in read_page_text(out)
    assert run_epoche(*flags, "--domain", "rivers").code == 0
    assert "made from another graph" in read_page_text(out)


def test_card_without_a_graph_shows_its_facts(cards, tmp_path):
    hostile_cards = write_hostile_cards(tmp_path, cards)
    card = read_cards(hostile_cards)[5]
    out = tmp_path / "card.html"
    assert (
        run_epoche("kg", "plot", "--cards", hostile_cards, "--card", card.id, "--out", out).code
        == 0
    )
    assert "It is not known which graph the card was made from" in read_page_text(out)
    assert 'id="hardness' not in out.read_text("utf-8")
    # The claim, and the stated and the denied triple of the card's metadata.
    assert len(read_page_data(out)["links"]) == 3


# -- wrong command lines --------------------------------------------------------------------------


def test_conflicting_flags_are_refused(run, cards, tmp_path):
    out = tmp_path / "graph.html"
    for flags in (
        (),
        ("--run", run, "--cards", cards),
        ("--cards", cards),
        ("--run", run, "--card", "x"),
        ("--run", run, "--domain", "mayors"),
        ("--cards", cards, "--card", "x", "--around", "y"),
        ("--cards", cards, "--card", "x", "--query", "y"),
        ("--run", run, "--most", 1),
    ):
        assert run_epoche("kg", "plot", *flags, "--out", out).code == 2
    assert not out.exists()


def test_unknown_card_suggests_the_nearest_ids(cards, tmp_path):
    known_id = read_cards(cards)[3].id
    wrong_id = known_id[:-1] + ("0" if known_id[-1] != "0" else "1")
    line = check_error_line(
        run_epoche(
            "kg", "plot", "--cards", cards, "--card", wrong_id, "--out", tmp_path / "x.html"
        ),
        19,
    )
    assert f"no card '{wrong_id}'" in line
    assert known_id in line


def test_unknown_concept_suggests_the_nearest(run, tmp_path):
    result = run_epoche(
        "kg", "plot", "--run", run, "--around", "reservatoin", "--out", tmp_path / "x.html"
    )
    line = check_error_line(result, 19)
    assert "'reservatoin' names no concept of the run" in line
    assert "reservation" in line.split("Similar concepts:")[1]


def test_inputs_and_folders_are_not_overwritten(cards, run, tmp_path):
    card = read_cards(cards)[0].id
    old_bytes = cards.read_bytes()
    result = run_epoche("kg", "plot", "--cards", cards, "--card", card, "--out", cards)
    assert result.code != 0
    assert cards.read_bytes() == old_bytes
    check_error_line(run_epoche("kg", "plot", "--run", run, "--out", tmp_path), 15)
    check_error_line(run_epoche("kg", "plot", "--run", tmp_path, "--out", tmp_path / "x.html"), 31)
