"""Tests the parts of ``graph_walk``: names, questions, fact map, paths, wording and coverage."""

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


def make_evidence(
    nodes: dict[str, float],
    fact_support: dict[Claim, float] | None = None,
    minimum_support: float = 0.0,
    *requested_predicates: str,
) -> PathEvidence:
    """Returns path evidence with given weights for nodes and facts of the small graph."""
    support = fact_support or {}
    return PathEvidence(
        {make_iri(name): weight for name, weight in nodes.items()},
        lambda claim: support.get(claim, 0.0),
        frozenset(map(make_iri, requested_predicates)),
        minimum_support,
    )


@pytest.mark.parametrize(
    ("text", "other_text", "matches"),
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
def test_inflected_words_match_but_acronyms_only_exactly(
    text: str, other_text: str, matches: bool
) -> None:
    assert bool(extract_keys(text) & extract_keys(other_text)) is matches


def test_node_mention_score_weights_rare_words_more(node_names: NodeNames) -> None:
    scores = node_names.find_named_nodes(
        extract_keys("A flood came over Ems in 1901; the Netherlands mourned."), 0.3
    )
    assert scores[make_iri("flood")] == 1.0
    assert scores[make_iri("nl")] == 1.0
    assert scores['"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'] == 1.0
    assert make_iri("pump") not in scores
    halle_share = node_names.compute_name_share(make_iri("storm"), extract_keys("Halle"))
    assert (
        halle_share
        == node_names.compute_name_share(make_iri("storm"), extract_keys("storm"))
        == 0.5
    )
    assert node_names.find_named_nodes(extract_keys("nothing of the kind"), 0.3) == {}


def test_relations_are_split_into_paths_and_attributes(fact_map: FactMap) -> None:
    path_predicates = {claim.pred for claim in fact_map.claims if fact_map.can_be_path_step(claim)}
    # Inventors, years and countries are attributes, not steps of a path.
    assert path_predicates == {make_iri("causes")}
    assert set(fact_map.find_nodes_with_trait(make_iri("anna"))) == {
        make_iri("pump"),
        make_iri("mill"),
    }
    assert fact_map.find_nodes_with_trait(make_iri("flood")) == [], "a cause is not an attribute"


def test_neighbourhood_of_a_path_includes_both_ends(fact_map: FactMap) -> None:
    path = [make_iri("flood"), make_iri("dyke")]
    # The numbers are the maximum of steps from the path and of nodes per step and direction.
    assert fact_map.find_nodes_around(path, 1, 5) == [make_iri("pump"), make_iri("storm")]
    assert set(fact_map.find_nodes_around(path, 2, 5)) == {
        make_iri(n) for n in ("pump", "storm", "polder")
    }
    assert fact_map.find_nodes_around([], 3, 5) == []
    assert fact_map.find_nodes_around([make_iri("storm")], 1, 1) == [
        make_iri("fire"),
        make_iri("pump"),
    ], "the limit of one node counts for each direction"


def test_mentioned_nodes_are_joined_by_an_unmentioned_one(fact_map: FactMap) -> None:
    best_path = choose_paths(fact_map, make_evidence({"flood": 1.5, "polder": 1.5}), hops=3)[0]
    assert best_path.nodes == tuple(map(make_iri, ("flood", "dyke", "pump", "polder")))
    assert best_path.steps[1] == make_claim("dyke", "causes", "pump")
    assert best_path.side_facts == (), "neither page nor question supports an attribute"


def test_path_ends_before_an_unsupported_node(fact_map: FactMap) -> None:
    assert choose_paths(fact_map, make_evidence({"storm": 1.0}), hops=5)[0].nodes == (
        make_iri("storm"),
    )
    step = make_claim("storm", "causes", "fire")
    assert choose_paths(fact_map, make_evidence({"storm": 1.0}, {step: 1.0}), hops=5)[0].steps == (
        step,
    )
    assert choose_paths(fact_map, make_evidence({}), hops=5) == []


def test_path_length_is_limited_and_paths_are_acyclic(fact_map: FactMap) -> None:
    node_weights = dict.fromkeys(("storm", "flood", "dyke", "pump"), 1.0)
    for hops in range(4):
        assert len(choose_paths(fact_map, make_evidence(node_weights), hops)[0].steps) == hops
    for chosen_path in choose_paths(fact_map, make_evidence(node_weights), hops=20):
        assert len(set(chosen_path.nodes)) == len(chosen_path.nodes)


def test_relation_words_decide_between_two_paths(fact_map: FactMap) -> None:
    node_weights = {"storm": 1.0, "flood": 0.5, "fire": 0.5}
    best_path = choose_paths(fact_map, make_evidence(node_weights), 1)[0]
    assert best_path.nodes[1] == make_iri("fire"), "equal nodes are chosen in graph order"
    fact_support = {make_claim("storm", "causes", "flood"): 0.7}
    best_path = choose_paths(fact_map, make_evidence(node_weights, fact_support), 1)[0]
    assert best_path.nodes[1] == make_iri("flood")
    supported_path = choose_paths(fact_map, make_evidence(node_weights, fact_support, 0.5), 3)[0]
    assert supported_path.steps == tuple(fact_support), "every step needs the support of a page"


def test_attributes_need_support_of_a_page_or_the_question(fact_map: FactMap) -> None:
    year = Claim(
        make_iri("dyke"), make_iri("year"), '"1910"^^<http://www.w3.org/2001/XMLSchema#integer>'
    )
    maker = make_claim("pump", "inventor", "anna")
    node_weights = {"dyke": 1.0, "pump": 1.0}
    page_evidence = make_evidence(node_weights, {year: 0.6, maker: 0.5})
    # A side fact needs a support of MIN_SUPPORT = 0.6, unless the question requests its predicate.
    assert choose_paths(fact_map, page_evidence, 2)[0].side_facts == (year,)
    question_evidence = make_evidence(node_weights, {}, 0.0, "inventor")
    assert choose_paths(fact_map, question_evidence, 2)[0].side_facts == (maker,)


def test_paths_share_no_node_and_are_ordered_by_score(fact_map: FactMap) -> None:
    paths = choose_paths(
        fact_map, make_evidence({"dyke": 1.0, "mill": 2.0, "storm": 0.9, "bell": 3.0}), 4
    )
    assert paths[0].nodes == (make_iri("mill"), make_iri("tower"), make_iri("bell"))
    nodes = [node for chosen_path in paths for node in chosen_path.nodes]
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
    for chosen_path in choose_paths(
        fact_map, make_evidence(nodes, dict.fromkeys(fact_map.claims, 0.7)), hops
    ):
        assert len(chosen_path.steps) <= hops
        assert len(chosen_path.steps) + len(chosen_path.side_facts) <= max(MAX_FACTS, hops)
        assert {*chosen_path.steps, *chosen_path.side_facts} <= set(fact_map.claims)
        ends = [chosen_path.nodes[0], *(claim.obj for claim in chosen_path.steps)]
        assert tuple(ends) == chosen_path.nodes
        assert set(order_facts(fact_map, chosen_path)) == {
            *chosen_path.steps,
            *chosen_path.side_facts,
        }


def test_longest_relation_words_win_and_question_words_request_predicates() -> None:
    shipped_knowledge = KnowledgeBase.open_cached("synthlink")
    facts = FactMap(shipped_knowledge)
    analyser = QuestionAnalyser(
        shipped_knowledge, facts, NodeNames(facts.collect_names(shipped_knowledge))
    )

    def find_requested_predicates(question: str) -> set[str]:
        return {pred.partition("#")[2] for pred in analyser.analyse_question(question).predicates}

    assert find_requested_predicates("How did coal lead to smog?") == {"ledTo"}
    assert find_requested_predicates("By what movement led by Gandhi was salt made?") >= {"ledBy"}
    assert find_requested_predicates("Who made the first LED?") >= {
        "cameThrough",
        "ledBy",
        "signedBy",
    }
    assert find_requested_predicates("In which country was it?") >= {"country"}
    assert find_requested_predicates("Why is that?") == set()


def test_facts_of_one_node_are_joined_in_path_order(kb: KnowledgeBase, fact_map: FactMap) -> None:
    year = '"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'
    chosen_path = ChosenPath(
        (make_iri("storm"), make_iri("flood")),
        (make_claim("storm", "causes", "flood"),),
        (
            Claim(make_iri("storm"), make_iri("year"), year),
            make_claim("storm", "causes", "fire"),
            make_claim("pump", "causes", "storm"),
        ),
    )
    order = order_facts(fact_map, chosen_path)
    assert [(claim.subj, claim.obj) for claim in order] == [
        (make_iri("pump"), make_iri("storm")),
        (make_iri("storm"), year),
        (make_iri("storm"), make_iri("fire")),
        (make_iri("storm"), make_iri("flood")),
    ]
    assert SentenceWriter(kb).write_sentences(order) == [
        "The steam pump causes the storm of Halle.",
        "The storm of Halle has 1901 as its year and causes the fire in Delft and the flood at "
        "Ems.",
    ]


def test_ambiguous_facts_are_not_joined() -> None:
    shipped_knowledge = KnowledgeBase.open_cached("synthlink")
    entity_prefix, predicate_prefix = (
        "https://epoche.example/synthlink/",
        "https://epoche.example/synthlink#",
    )
    facts = [
        claim
        for claim in FactMap(shipped_knowledge).claims
        if claim.subj == entity_prefix + "cotton-gin"
    ]
    assert SentenceWriter(shipped_knowledge).write_sentences(facts) == [
        "The cotton gin first appeared in 1794, came about through Eli Whitney and made possible "
        "large-scale growing of short-staple cotton."
    ]
    # The parser may apply "without" in a name to the whole sentence.
    summer_node = entity_prefix + "year-without-a-summer"
    summer_facts = [
        claim for claim in FactMap(shipped_knowledge).claims if claim.subj == summer_node
    ]
    assert len(summer_facts) > 1
    assert SentenceWriter(shipped_knowledge).write_sentences(summer_facts) == [
        shipped_knowledge.verbaliser.render_fact(claim) for claim in summer_facts
    ]
    facts_of_unknown_nodes = [
        Claim(entity_prefix + "transistor", predicate_prefix + "cameThrough", entity_prefix + name)
        for name in ("a", "b")
    ]
    assert len(SentenceWriter(shipped_knowledge).write_sentences(facts_of_unknown_nodes)) == 2, (
        "names that the graph lacks cannot be parsed, so they are not joined"
    )


def test_hostile_names_are_rendered_as_plain_text(kb: KnowledgeBase) -> None:
    assert SentenceWriter(kb).write_sentences([make_claim("mill", "causes", "tower")]) == [
        f"The tall mill causes {HOSTILE_LABEL}."
    ]


def test_page_supports_a_fact_if_it_names_both_ends(node_names: NodeNames) -> None:
    reader = PageReader(node_names)
    ems_page = CorpusPage("https://p.example/1", "Ems", "After the storm of Halle came the flood.")
    delft_page = CorpusPage(
        "https://p.example/2", "Delft", "A fire in Delft.\n\nThe storm of Halle."
    )
    hits = [Hit(ems_page, ems_page.text, 4.0), Hit(delft_page, "A fire in Delft.", 2.0)]
    reader.record_relevance(hits)
    assert [page.relevance for page in reader.read_pages(hits)] == [1.0, 0.5]
    assert reader.read_pages(hits) == [], "a page is read only once"
    assert reader.compute_support(make_claim("storm", "causes", "flood")) == 1.0
    assert reader.compute_support(make_claim("flood", "causes", "dyke")) == 0.0
    assert reader.node_weights[make_iri("fire")] == 0.5, (
        "the whole page is read, not only the passage"
    )
    pump_page = CorpusPage("https://p.example/3", "Pumps", "The steam pump.")
    reader.read_pages([Hit(pump_page, pump_page.text, 9.0)])
    assert reader.node_weights[make_iri("pump")] == 0.0, "the question itself did not find it"


def test_names_and_numbers_weigh_more_than_words() -> None:
    word_weights = weigh_question_words("Why did Anna Berg drain the polder in 1910?")
    assert word_weights == {"anna": 3.0, "berg": 3.0, "1910": 3.0, "drain": 1.0, "pold": 1.0}
    assert question_coverage(word_weights, extract_keys("Anna Berg, 1910")) == pytest.approx(9 / 11)
    assert question_coverage(word_weights, extract_keys("she drained a polder")) == pytest.approx(
        2 / 11
    )
    assert question_coverage({}, frozenset()) == 1.0


def test_full_title_determines_the_topic_of_a_question() -> None:
    word_weights = weigh_question_words("Why did Anna Berg build a steam pump?")
    titles = ("Anna Berg", "Steam pump", "Anna Berg (film)", "Berg")
    assert find_named_subjects(word_weights, titles) == {
        "Anna Berg": frozenset(("anna", "berg")),
        "Berg": frozenset(("berg",)),
    }
