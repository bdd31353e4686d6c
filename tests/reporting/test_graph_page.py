"""``epoche kg plot``: what is chosen, where it stands, and what a wrong command line is told."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plotted_graphs import card_labelled, hostile_cards, library_run, mayor_cards
from stage_calls import call, command, epoche, error_line

from cards.card import read_cards
from cards.difficulty import difficulty_of
from kg.difficulty.fact_graph import FactGraph
from kg.knowledge import KnowledgeBase
from kg.sayable import sayable_predicates
from kg.text.run.folder import open_run
from reporting.graph_page.card_page import card_page
from reporting.graph_page.choosing import (
    MOST_LINKS,
    STRONGEST_PER_NODE,
    around,
    choose_links,
    most_central,
    strength,
)
from reporting.graph_page.drawing import label_text, place_labels, shape
from reporting.graph_page.layout import HEIGHT, WIDTH, place
from reporting.graph_page.run_page import run_page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_run(tmp_path_factory.mktemp("plotted"))


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mayor_cards(tmp_path_factory.mktemp("asked"))


def data_of(page: Path) -> dict:
    found = re.search(
        r'<script type="application/json" id="graph-data">(.*?)</script>',
        page.read_text(encoding="utf-8"),
    )
    assert found
    return json.loads(found[1])


def spoken(page: Path) -> str:
    """The words of a page, without its tags."""
    body = page.read_text(encoding="utf-8").split("<body>")[1].split("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


# -- what is chosen ------------------------------------------------------------------------------


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
def test_drawn_links_join_what_the_graph_joins_and_hold_each_nodes_strongest(graph):
    nodes = most_central(graph, 100)
    assert sorted(nodes) == sorted(graph)
    chosen = choose_links(graph, nodes)
    drawn = nx.Graph(sorted(chosen.main))
    drawn.add_nodes_from(graph)
    parts = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(part) for part in nx.connected_components(drawn)} == parts
    assert chosen.main.isdisjoint(chosen.more)
    assert len(chosen.main | chosen.more) == graph.number_of_edges() == chosen.links_among
    for node in graph:
        strengths = sorted((strength(edge) for edge in graph.adj[node].values()), reverse=True)
        shown = sorted(
            (strength(graph.edges[pair]) for pair in chosen.main if node in pair), reverse=True
        )
        assert shown[:STRONGEST_PER_NODE] == strengths[:STRONGEST_PER_NODE]


@given(concept_graphs(), st.randoms(use_true_random=False), st.integers(2, 8))
def test_what_is_chosen_does_not_depend_on_the_order_of_the_graph(graph, rng, most):
    edges = list(graph.edges(data=True))
    rng.shuffle(edges)
    other = nx.Graph()
    other.add_nodes_from(rng.sample(list(graph), len(graph)))
    other.add_edges_from((b, a, row) for a, b, row in edges)
    nodes = most_central(graph, most)
    assert nodes == most_central(other, most)
    assert choose_links(graph, nodes) == choose_links(other, nodes)
    seeds = nodes[:1]
    assert around(graph, seeds, 2, most) == around(other, seeds, 2, most)


@given(concept_graphs(), st.integers(0, 3), st.integers(1, 20))
def test_around_goes_as_far_as_its_hops_and_says_how_many_there_are(graph, hops, most):
    seed = min(graph)
    found, near = around(graph, [seed], hops, most)
    reached = nx.single_source_shortest_path_length(graph, seed, cutoff=hops)
    assert near == len(reached)
    assert len(found) == min(most, near)
    lengths = [reached[node] for node in found]
    assert lengths == sorted(lengths)


def test_a_page_has_room_for_so_many_links_only():
    graph = nx.complete_graph([f"{n:02}" for n in range(80)])
    nx.set_edge_attributes(graph, 2, "weight")
    nx.set_edge_attributes(graph, 0.5, "npmi")
    chosen = choose_links(graph, sorted(graph))
    assert len(chosen.main) + len(chosen.more) == MOST_LINKS
    assert chosen.links_among == 80 * 79 // 2


def test_meeting_once_is_weaker_than_meeting_often():
    rare = strength({"weight": 1, "npmi": 1.0})
    assert rare < strength({"weight": 3, "npmi": 0.3})
    assert strength({"weight": 9, "npmi": -0.2}) == (0.0, 0.0)


# -- where it stands -----------------------------------------------------------------------------


@settings(max_examples=15)
@given(concept_graphs(), st.booleans())
def test_nodes_stand_in_the_box_apart_and_in_the_same_places_again(graph, turned):
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    radii = [8.0] * len(graph)
    links = sorted(graph.edges)
    axis = (0, 1) if turned else None
    places = place(radii, links, axis)
    assert places == place(radii, links, axis)
    for x, y in places:
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    for (x, y), (u, v) in itertools.combinations(places, 2):
        assert (x - u) ** 2 + (y - v) ** 2 > 16**2
    if axis:
        assert places[0][0] < places[1][0]


def test_nothing_and_one_thing_have_a_place():
    assert place([], []) == []
    assert place([5.0], []) == [(WIDTH / 2, HEIGHT / 2)]


def test_linked_nodes_stand_nearer_than_others():
    links = [(n, n + 1) for n in range(9)]
    places = place([7.0] * 10, links)
    distances = {
        pair: (
            (places[pair[0]][0] - places[pair[1]][0]) ** 2
            + (places[pair[0]][1] - places[pair[1]][1]) ** 2
        )
        ** 0.5
        for pair in itertools.combinations(range(10), 2)
    }
    linked = max(distances[pair] for pair in links)
    assert linked < distances[0, 9] / 3


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
def test_labels_that_fit_cover_neither_each_other_nor_a_node(spots):
    texts = [label_text(text) or "-" for text, _, _ in spots]
    places = [(float(x), float(y)) for _, x, y in spots]
    labels = place_labels(texts, places, [6.0] * len(spots))
    boxes = []
    for label, (x, y) in zip(labels, places, strict=True):
        if not label.fits:
            continue
        wide = len(label.text) * 6.3
        left = x + label.x - {"start": 0.0, "end": wide, "middle": wide / 2}[label.anchor]
        boxes.append((left, y + label.y - 9, left + wide, y + label.y + 2))
    for one, two in itertools.combinations(boxes, 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
    for left, top, right, bottom in boxes:
        assert not any(left < x < right and top < y < bottom for x, y in places)


def test_groups_of_one_colour_have_different_shapes():
    assert len({shape(group, 8.0) for group in (0, 8, 16, 24)}) == 4


# -- a run -----------------------------------------------------------------------------------------


def test_the_central_concepts_are_shown_and_the_rest_is_counted(run, tmp_path):
    out = tmp_path / "graph.html"
    done = epoche("kg", "plot", "--run", run, "--most", 20, "--out", out)
    assert done.code == 0, done.err
    assert done.out.startswith("20 concepts, ")
    total = len(open_run(run).concepts)
    assert f"Shown are the 20 concepts whose links are strongest; {total - 20} others" in spoken(
        out
    )
    data = data_of(out)
    assert len(data["nodes"]) == 20
    assert {node["label"] for node in data["nodes"]} >= {"loan", "member"}
    text = data["texts"][data["nodes"][0]["texts"][0]][1]
    assert text in {chunk.text for chunk in open_run(run).chunks}


def test_all_of_a_small_run_is_shown(run, tmp_path):
    page = run_page(open_run(run))
    graph = open_run(run).concepts.graph
    assert {node.key for node in page.nodes} == set(graph)
    assert len(page.links) == graph.number_of_edges()
    assert page.lede == ("All concepts of the run are shown.",)
    for link in page.links:
        edge = graph.edges[page.nodes[link.source].key, page.nodes[link.target].key]
        assert link.weight == edge["weight"]
        assert link.npmi == pytest.approx(edge["npmi"], abs=5e-4)


def test_around_shows_what_is_linked_with_a_concept(run):
    graph = open_run(run).concepts.graph
    page = run_page(open_run(run), around_texts=["reservation lists"], most=400)
    keys = [node.key for node in page.nodes]
    assert keys[0] == "reservation list"
    assert set(keys) == {"reservation list", *graph["reservation list"]}
    assert page.nodes[0].mark == "asked"


def test_a_question_shows_its_paths_and_the_difficulty_that_analyze_tells(run, tmp_path):
    question = "Does a volunteer of the workshop set the due date of a loan?"
    analysis = json.loads(epoche("kg", "analyze", question, "--run", run).out)
    page = run_page(open_run(run), query=question, most=400)
    asked = {node.key for node in page.nodes if node.mark == "asked"}
    assert asked == {node["id"] for node in analysis["matched"]}
    assert page.hardness is not None
    assert page.hardness.score.level == analysis["score"]["level"]
    assert page.hardness.features is not None
    assert page.hardness.features.doc_count == analysis["features"]["doc_count"]
    on_path = {
        frozenset((page.nodes[x.source].key, page.nodes[x.target].key))
        for x in page.links
        if x.on_path
    }
    assert on_path == {frozenset((x["source"], x["target"])) for x in analysis["links"]}
    assert all(link.main for link in page.links if link.on_path)


def test_a_question_that_names_nothing_is_said_to(run, tmp_path):
    out = tmp_path / "graph.html"
    assert epoche("kg", "plot", "--run", run, "--query", "Zebra?", "--out", out).code == 0
    assert "names no concept of the run" in spoken(out)
    assert "How hard it is: unanswerable" in spoken(out)


def test_the_same_bytes_whatever_the_hash_seed(run, cards, tmp_path):
    card = card_labelled(cards, "C").id
    for what in (
        ("--run", run, "--query", "Is a fee due for a loan?"),
        ("--cards", cards, "--card", card),
    ):
        pages = []
        for seed in ("1", "77"):
            out = tmp_path / f"{seed}.html"
            done = call(command("kg", "plot", *what, "--out", out), tmp_path, PYTHONHASHSEED=seed)
            assert done.code == 0, done.err
            pages.append(out.read_bytes())
        assert pages[0] == pages[1]


# -- a card ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["E", "C", "U"])
def test_a_cards_claim_its_facts_and_what_is_around_it(cards, label, tmp_path):
    card = card_labelled(cards, label)
    base = KnowledgeBase.open("mayors")
    page = card_page(card, base)
    assert [node.key for node in page.nodes[:2]] == [card.claim.subj, card.claim.obj]
    assert [node.mark for node in page.nodes[:2]] == ["asked", "asked"]
    (claim,) = [link for link in page.links if link.kind == "claim"]
    assert (claim.source, claim.target) == (0, 1)
    assert claim.words.split()[0] == {"E": "✓", "C": "✗", "U": "?"}[label]
    stated = {link.sentence for link in page.links if link.of_card}
    assert stated == set(card.facts)
    index = base.graph.index
    facts = FactGraph(index, sayable_predicates(base.domain, index))
    level, told = difficulty_of(facts, index.terms, card.claim)
    assert page.hardness is not None
    assert page.hardness.score.level == level.upper()
    assert page.hardness.score.total == told["score"]
    for link in page.links:
        if link.kind == "fact" and not link.of_card:
            s, o = page.nodes[link.source].key, page.nodes[link.target].key
            ids = [index.terms.get(term) for term in (s, o)]
            assert any(index.has(ids[0], p, ids[1]) for p in index.predicates() if None not in ids)


def test_few_are_shown_when_few_are_asked_for_and_the_rest_is_counted(cards):
    card = card_labelled(cards, "E")
    base = KnowledgeBase.open("mayors")
    all_of_it = card_page(card, base, most=400)
    few = card_page(card, base, most=2)
    told = [int(line.split()[0]) for line in few.lede if line.endswith("are not shown.")]
    left = len(all_of_it.nodes) - len(few.nodes)
    assert told == ([left] if left else [])


def test_the_graph_of_the_manifest_is_found_and_another_is_told_of(cards, tmp_path):
    card = card_labelled(cards, "C").id
    out = tmp_path / "card.html"
    flags = ("kg", "plot", "--cards", cards, "--card", card, "--out", out)
    assert epoche(*flags).code == 0
    assert "around in the graph" in spoken(out) or "in the card's facts" in spoken(out)
    assert "another graph" not in spoken(out)
    assert epoche(*flags, "--domain", "rivers").code == 0
    assert "made from another graph" in spoken(out)


def test_a_card_without_a_graph_shows_what_it_states(cards, tmp_path):
    hostile = hostile_cards(tmp_path, cards)
    card = read_cards(hostile)[5]
    out = tmp_path / "card.html"
    assert epoche("kg", "plot", "--cards", hostile, "--card", card.id, "--out", out).code == 0
    assert "Nothing says which graph the card was made from" in spoken(out)
    assert "How hard it is" not in spoken(out)
    assert len(data_of(out)["links"]) == 3


# -- wrong command lines --------------------------------------------------------------------------


def test_neither_both_and_flags_of_the_other_kind_are_refused(run, cards, tmp_path):
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
        assert epoche("kg", "plot", *flags, "--out", out).code == 2
    assert not out.exists()


def test_an_unknown_card_is_told_the_nearest_ids(cards, tmp_path):
    known = read_cards(cards)[3].id
    wrong = known[:-1] + ("0" if known[-1] != "0" else "1")
    line = error_line(
        epoche("kg", "plot", "--cards", cards, "--card", wrong, "--out", tmp_path / "x.html"), 19
    )
    assert f"no card '{wrong}'" in line
    assert known in line


def test_a_concept_that_is_not_there_is_told_the_nearest(run, tmp_path):
    done = epoche(
        "kg", "plot", "--run", run, "--around", "reservatoin", "--out", tmp_path / "x.html"
    )
    line = error_line(done, 19)
    assert "'reservatoin' names no concept of the run" in line
    assert "reservation" in line.split("Nearest:")[1]


def test_no_input_is_written_over_and_no_folder_is_a_page(cards, run, tmp_path):
    card = read_cards(cards)[0].id
    before = cards.read_bytes()
    over = epoche("kg", "plot", "--cards", cards, "--card", card, "--out", cards)
    assert over.code != 0
    assert cards.read_bytes() == before
    error_line(epoche("kg", "plot", "--run", run, "--out", tmp_path), 15)
    error_line(epoche("kg", "plot", "--run", tmp_path, "--out", tmp_path / "x.html"), 31)
