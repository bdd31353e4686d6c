"""The parts of the offline agent: names, questions, fact map, paths, wording and coverage."""

from __future__ import annotations

import pytest
from causal_graph import HOSTILE_LABEL, make_claim, make_iri, open_small_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.synthlink.agents.library import Hit
from eval.synthlink.agents.walker.coverage import (
    find_named_subjects,
    question_coverage,
    weigh_question_words,
)
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.node_names import NodeNames, extract_keys
from eval.synthlink.agents.walker.page_reader import PageReader
from eval.synthlink.agents.walker.paths import MAX_FACTS, ChosenPath, PathEvidence, choose_paths
from eval.synthlink.agents.walker.question_analysis import QuestionAnalyser
from eval.synthlink.agents.walker.sentence_writer import SentenceWriter, order_facts
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import CorpusPage


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The small graph."""
    return open_small_graph(tmp_path_factory.mktemp("walking"))


@pytest.fixture(scope="module")
def fact_map(kb: KnowledgeBase) -> FactMap:
    """The fact map of the small graph."""
    return FactMap(kb)


@pytest.fixture(scope="module")
def node_names(kb: KnowledgeBase, fact_map: FactMap) -> NodeNames:
    """The node names of the small graph."""
    return NodeNames(fact_map.collect_names(kb))


def make_signs(
    nodes: dict[str, float],
    borne: dict[Claim, float] | None = None,
    least: float = 0.0,
    *asked: str,
) -> PathEvidence:
    """Returns scripted relevance signs for nodes and facts of the small graph."""
    held = borne or {}
    return PathEvidence(
        {make_iri(name): speaks for name, speaks in nodes.items()},
        lambda one: held.get(one, 0.0),
        frozenset(map(make_iri, asked)),
        least,
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("eruption", "erupted", True),
        ("the invention", "inventors", True),
        ("discoveries", "discovered", True),
        ("Karikó", "Kariko", True),
        ("LED", "led", False),
        ("LEDs", "LED", True),
        ("AIDS", "aid", False),
        ("1815", "1816", False),
        ("international", "Internet", False),
    ],
)
def test_inflected_words_match_but_acronyms_only_exactly(one: str, other: str, same: bool) -> None:
    assert bool(extract_keys(one) & extract_keys(other)) is same


def test_node_mention_score_weights_rare_words_more(node_names: NodeNames) -> None:
    found = node_names.find_named_nodes(
        extract_keys("A flood came over Ems in 1901; the Netherlands mourned."), 0.3
    )
    assert found[make_iri("flood")] == 1.0
    assert found[make_iri("nl")] == 1.0
    assert found['"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'] == 1.0
    assert make_iri("pump") not in found
    half = node_names.compute_name_share(make_iri("storm"), extract_keys("Halle"))
    assert half == node_names.compute_name_share(make_iri("storm"), extract_keys("storm")) == 0.5
    assert node_names.find_named_nodes(extract_keys("nothing of the kind"), 0.3) == {}


def test_relations_are_split_into_paths_and_attributes(fact_map: FactMap) -> None:
    ways = {one.pred for one in fact_map.claims if fact_map.is_path_step(one)}
    assert ways == {make_iri("causes")}, "no one walks through a maker, a year or a country"
    assert set(fact_map.find_nodes_with_trait(make_iri("anna"))) == {
        make_iri("pump"),
        make_iri("mill"),
    }
    assert fact_map.find_nodes_with_trait(make_iri("flood")) == [], (
        "what causes it does not bear it"
    )


def test_neighbourhood_of_a_path_includes_both_ends(fact_map: FactMap) -> None:
    way = [make_iri("flood"), make_iri("dyke")]
    assert fact_map.find_nodes_around(way, 1, 5) == [make_iri("pump"), make_iri("storm")]
    assert set(fact_map.find_nodes_around(way, 2, 5)) == {
        make_iri(n) for n in ("pump", "storm", "polder")
    }
    assert fact_map.find_nodes_around([], 3, 5) == []
    assert fact_map.find_nodes_around([make_iri("storm")], 1, 1) == [
        make_iri("flood"),
        make_iri("pump"),
    ], "one each way"


def test_mentioned_nodes_are_joined_by_an_unmentioned_one(fact_map: FactMap) -> None:
    best = choose_paths(fact_map, make_signs({"flood": 1.5, "polder": 1.5}), hops=3)[0]
    assert best.nodes == tuple(map(make_iri, ("flood", "dyke", "pump", "polder")))
    assert best.steps[1] == make_claim("dyke", "causes", "pump")
    assert best.side_facts == (), "no page bears a trait, and nobody asked for one"


def test_path_ends_before_an_unsupported_node(fact_map: FactMap) -> None:
    assert choose_paths(fact_map, make_signs({"storm": 1.0}), hops=5)[0].nodes == (
        make_iri("storm"),
    )
    step = make_claim("storm", "causes", "fire")
    assert choose_paths(fact_map, make_signs({"storm": 1.0}, {step: 1.0}), hops=5)[0].steps == (
        step,
    )
    assert choose_paths(fact_map, make_signs({}), hops=5) == []


def test_path_length_is_limited_and_paths_are_acyclic(fact_map: FactMap) -> None:
    spoken = dict.fromkeys(("storm", "flood", "dyke", "pump"), 1.0)
    for hops in range(4):
        assert len(choose_paths(fact_map, make_signs(spoken), hops)[0].steps) == hops
    for chosen in choose_paths(fact_map, make_signs(spoken), hops=20):
        assert len(set(chosen.nodes)) == len(chosen.nodes)


def test_relation_words_decide_between_two_paths(fact_map: FactMap) -> None:
    both = {"storm": 1.0, "flood": 0.5, "fire": 0.5}
    assert choose_paths(fact_map, make_signs(both), 1)[0].nodes[1] == make_iri("flood"), (
        "first in the graph"
    )
    borne = {make_claim("storm", "causes", "fire"): 0.7}
    assert choose_paths(fact_map, make_signs(both, borne), 1)[0].nodes[1] == make_iri("fire")
    required = choose_paths(fact_map, make_signs(both, borne, 0.5), 3)[0]
    assert required.steps == tuple(borne), "no step that no page bears"


def test_attributes_need_support_of_a_page_or_the_question(fact_map: FactMap) -> None:
    year = Claim(
        make_iri("dyke"), make_iri("year"), '"1910"^^<http://www.w3.org/2001/XMLSchema#integer>'
    )
    maker = make_claim("pump", "inventor", "anna")
    spoken = {"dyke": 1.0, "pump": 1.0}
    assert choose_paths(fact_map, make_signs(spoken, {year: 0.6, maker: 0.5}), 2)[0].side_facts == (
        year,
    )
    assert choose_paths(fact_map, make_signs(spoken, {}, 0.0, "inventor"), 2)[0].side_facts == (
        maker,
    )


def test_paths_share_no_node_and_are_ordered_by_score(fact_map: FactMap) -> None:
    found = choose_paths(
        fact_map, make_signs({"dyke": 1.0, "mill": 2.0, "storm": 0.9, "bell": 3.0}), 4
    )
    assert found[0].nodes == (make_iri("mill"), make_iri("tower"), make_iri("bell"))
    nodes = [node for chosen in found for node in chosen.nodes]
    assert len(nodes) == len(set(nodes))


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(("storm", "flood", "dyke", "pump", "polder", "fire", "mill", "bell")),
        st.floats(0, 3),
    ),
    st.integers(0, 8),
)
def test_only_asserted_facts_are_chosen(
    fact_map: FactMap, nodes: dict[str, float], hops: int
) -> None:
    for chosen in choose_paths(
        fact_map, make_signs(nodes, dict.fromkeys(fact_map.claims, 0.7)), hops
    ):
        assert len(chosen.steps) <= hops
        assert len(chosen.steps) + len(chosen.side_facts) <= max(MAX_FACTS, hops)
        assert {*chosen.steps, *chosen.side_facts} <= set(fact_map.claims)
        ends = [chosen.nodes[0], *(one.obj for one in chosen.steps)]
        assert tuple(ends) == chosen.nodes
        assert set(order_facts(fact_map, chosen)) == {*chosen.steps, *chosen.side_facts}


def test_longest_mentions_win_and_question_words_request_types() -> None:
    shipped = KnowledgeBase.open_cached("synthlink")
    facts = FactMap(shipped)
    asking = QuestionAnalyser(shipped, facts, NodeNames(facts.collect_names(shipped)))

    def requested_types(question: str) -> set[str]:
        return {pred.partition("#")[2] for pred in asking.analyse_question(question).predicates}

    assert requested_types("How did coal lead to smog?") == {"ledTo"}
    assert requested_types("By what movement led by Gandhi was salt made?") >= {"ledBy"}
    assert requested_types("Who made the first LED?") >= {"cameThrough", "ledBy", "signedBy"}
    assert requested_types("In which country was it?") >= {"country"}
    assert requested_types("Why is that?") == set()


def test_facts_of_one_node_are_joined_in_path_order(kb: KnowledgeBase, fact_map: FactMap) -> None:
    year = '"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'
    chosen = ChosenPath(
        (make_iri("storm"), make_iri("flood")),
        (make_claim("storm", "causes", "flood"),),
        (
            Claim(make_iri("storm"), make_iri("year"), year),
            make_claim("storm", "causes", "fire"),
            make_claim("pump", "causes", "storm"),
        ),
    )
    order = order_facts(fact_map, chosen)
    assert [(one.subj, one.obj) for one in order] == [
        (make_iri("pump"), make_iri("storm")),
        (make_iri("storm"), year),
        (make_iri("storm"), make_iri("fire")),
        (make_iri("storm"), make_iri("flood")),
    ]
    assert SentenceWriter(kb).write_sentences(order) == [
        "The steam pump causes the storm of Halle.",
        # Its text does not start with the subject, so the rest is not joined either.
        "The year of the storm of Halle is 1901.",
        "The storm of Halle causes the fire in Delft.",
        "The storm of Halle causes the flood at Ems.",
    ]


def test_ambiguous_facts_are_not_joined() -> None:
    shipped = KnowledgeBase.open_cached("synthlink")
    syn, sl = "https://epoche.example/synthlink/", "https://epoche.example/synthlink#"
    facts = [one for one in FactMap(shipped).claims if one.subj == syn + "cotton-gin"]
    assert SentenceWriter(shipped).write_sentences(facts) == [
        "The cotton gin made possible large-scale growing of short-staple cotton, came about "
        "through Eli Whitney and first appeared in 1794."
    ]
    # The parser may apply "without" in a name to the whole sentence.
    summer = syn + "year-without-a-summer"
    told = [one for one in FactMap(shipped).claims if one.subj == summer]
    assert len(told) > 1
    assert SentenceWriter(shipped).write_sentences(told) == [
        shipped.verbaliser.render_fact(one) for one in told
    ]
    several = [Claim(syn + "transistor", sl + "cameThrough", syn + name) for name in ("a", "b")]
    assert len(SentenceWriter(shipped).write_sentences(several)) == 2, (
        "names the graph does not hold are not read"
    )


def test_hostile_names_are_rendered_as_plain_text(kb: KnowledgeBase) -> None:
    assert SentenceWriter(kb).write_sentences([make_claim("mill", "causes", "tower")]) == [
        f"The tall mill causes {HOSTILE_LABEL}."
    ]


def test_page_supports_a_fact_if_it_names_both_ends(node_names: NodeNames) -> None:
    reading = PageReader(node_names)
    ems = CorpusPage("https://p.example/1", "Ems", "After the storm of Halle came the flood.")
    delft = CorpusPage("https://p.example/2", "Delft", "A fire in Delft.\n\nThe storm of Halle.")
    hits = [Hit(ems, ems.text, 4.0), Hit(delft, "A fire in Delft.", 2.0)]
    reading.record_relevance(hits)
    assert [page.relevance for page in reading.read_pages(hits)] == [1.0, 0.5]
    assert reading.read_pages(hits) == [], "a page is read only once"
    assert reading.compute_support(make_claim("storm", "causes", "flood")) == 1.0
    assert reading.compute_support(make_claim("flood", "causes", "dyke")) == 0.0
    assert reading.node_weights[make_iri("fire")] == 0.5, (
        "the whole page is read, not the passage alone"
    )
    other = CorpusPage("https://p.example/3", "Pumps", "The steam pump.")
    reading.read_pages([Hit(other, other.text, 9.0)])
    assert reading.node_weights[make_iri("pump")] == 0.0, "the question itself did not find it"


def test_names_and_numbers_weigh_more_than_words() -> None:
    demanded = weigh_question_words("Why did Anna Berg drain the polder in 1910?")
    assert demanded == {"anna": 3.0, "berg": 3.0, "1910": 3.0, "drain": 1.0, "pold": 1.0}
    assert question_coverage(demanded, extract_keys("Anna Berg, 1910")) == pytest.approx(9 / 11)
    assert question_coverage(demanded, extract_keys("she drained a polder")) == pytest.approx(
        2 / 11
    )
    assert question_coverage({}, frozenset()) == 1.0


def test_full_title_determines_the_topic_of_a_question() -> None:
    demanded = weigh_question_words("Why did Anna Berg build a steam pump?")
    titles = ("Anna Berg", "Steam pump", "Anna Berg (film)", "Berg")
    assert find_named_subjects(demanded, titles) == {
        "Anna Berg": frozenset(("anna", "berg")),
        "Berg": frozenset(("berg",)),
    }
