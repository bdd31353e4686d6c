"""The parts of the offline agent: naming, asking, the map, ways, telling, accounting."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walked_graph import ODD, claim, iri, open_walked

from eval.synthlink.agents.library import Hit
from eval.synthlink.agents.walking.accounting import accounted, demands, named_subjects
from eval.synthlink.agents.walking.asking import Asking
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.naming import Naming, keys_of
from eval.synthlink.agents.walking.paths import MOST_FACTS, Chosen, Signs, choose
from eval.synthlink.agents.walking.reading import Reading
from eval.synthlink.agents.walking.telling import Teller, in_order
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import CorpusPage


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The small graph."""
    return open_walked(tmp_path_factory.mktemp("walking"))


@pytest.fixture(scope="module")
def facts(kb: KnowledgeBase) -> FactMap:
    """Its map."""
    return FactMap(kb)


@pytest.fixture(scope="module")
def naming(kb: KnowledgeBase, facts: FactMap) -> Naming:
    """The names of its nodes."""
    return Naming(facts.names(kb))


def signs(
    nodes: dict[str, float],
    borne: dict[Claim, float] | None = None,
    least: float = 0.0,
    *asked: str,
) -> Signs:
    """Signs about the small graph."""
    held = borne or {}
    return Signs(
        {iri(name): speaks for name, speaks in nodes.items()},
        lambda one: held.get(one, 0.0),
        frozenset(map(iri, asked)),
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
def test_words_meet_however_inflected_and_acronyms_only_themselves(
    one: str, other: str, same: bool
) -> None:
    assert bool(keys_of(one) & keys_of(other)) is same


def test_a_node_is_named_by_the_share_of_its_words_rare_ones_counting_more(naming: Naming) -> None:
    found = naming.named(keys_of("A flood came over Ems in 1901; the Netherlands mourned."), 0.3)
    assert found[iri("flood")] == 1.0
    assert found[iri("nl")] == 1.0
    assert found['"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'] == 1.0
    assert iri("pump") not in found
    half = naming.covered(iri("storm"), keys_of("Halle"))
    assert half == naming.covered(iri("storm"), keys_of("storm")) == 0.5
    assert naming.named(keys_of("nothing of the kind"), 0.3) == {}


def test_what_leads_on_is_a_way_and_what_never_does_a_trait(facts: FactMap) -> None:
    ways = {one.pred for one in facts.claims if facts.is_way(one)}
    assert ways == {iri("causes")}, "no one walks through a maker, a year or a country"
    assert set(facts.bearers(iri("anna"))) == {iri("pump"), iri("mill")}
    assert facts.bearers(iri("flood")) == [], "what causes it does not bear it"


def test_around_a_way_lies_what_is_before_and_behind_it(facts: FactMap) -> None:
    way = [iri("flood"), iri("dyke")]
    assert facts.around(way, 1, 5) == [iri("pump"), iri("storm")]
    assert set(facts.around(way, 2, 5)) == {iri(n) for n in ("pump", "storm", "polder")}
    assert facts.around([], 3, 5) == []
    assert facts.around([iri("storm")], 1, 1) == [iri("flood"), iri("pump")], "one each way"


def test_two_things_that_are_spoken_of_are_joined_by_what_is_not(facts: FactMap) -> None:
    best = choose(facts, signs({"flood": 1.5, "polder": 1.5}), hops=3)[0]
    assert best.nodes == tuple(map(iri, ("flood", "dyke", "pump", "polder")))
    assert best.way[1] == claim("dyke", "causes", "pump")
    assert best.beside == (), "no page bears a trait, and nobody asked for one"


def test_a_way_ends_where_nothing_speaks_of_what_comes_next(facts: FactMap) -> None:
    assert choose(facts, signs({"storm": 1.0}), hops=5)[0].nodes == (iri("storm"),)
    step = claim("storm", "causes", "fire")
    assert choose(facts, signs({"storm": 1.0}, {step: 1.0}), hops=5)[0].way == (step,)
    assert choose(facts, signs({}), hops=5) == []


def test_hops_bound_a_way_and_no_way_goes_in_a_circle(facts: FactMap) -> None:
    spoken = dict.fromkeys(("storm", "flood", "dyke", "pump"), 1.0)
    for hops in range(4):
        assert len(choose(facts, signs(spoken), hops)[0].way) == hops
    for chosen in choose(facts, signs(spoken), hops=20):
        assert len(set(chosen.nodes)) == len(chosen.nodes)


def test_of_two_ways_the_relation_in_the_question_or_on_a_page_decides(facts: FactMap) -> None:
    both = {"storm": 1.0, "flood": 0.5, "fire": 0.5}
    assert choose(facts, signs(both), 1)[0].nodes[1] == iri("flood"), "first in the graph"
    borne = {claim("storm", "causes", "fire"): 0.7}
    assert choose(facts, signs(both, borne), 1)[0].nodes[1] == iri("fire")
    required = choose(facts, signs(both, borne, 0.5), 3)[0]
    assert required.way == tuple(borne), "no step that no page bears"


def test_traits_are_told_where_a_page_bears_them_or_the_question_asks(facts: FactMap) -> None:
    year = Claim(iri("dyke"), iri("year"), '"1910"^^<http://www.w3.org/2001/XMLSchema#integer>')
    maker = claim("pump", "inventor", "anna")
    spoken = {"dyke": 1.0, "pump": 1.0}
    assert choose(facts, signs(spoken, {year: 0.6, maker: 0.5}), 2)[0].beside == (year,)
    assert choose(facts, signs(spoken, {}, 0.0, "inventor"), 2)[0].beside == (maker,)


def test_ways_share_no_node_and_are_told_best_first(facts: FactMap) -> None:
    found = choose(facts, signs({"dyke": 1.0, "mill": 2.0, "storm": 0.9, "bell": 3.0}), 4)
    assert found[0].nodes == (iri("mill"), iri("tower"), iri("bell"))
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
def test_whatever_is_spoken_of_only_stated_facts_are_chosen(
    facts: FactMap, nodes: dict[str, float], hops: int
) -> None:
    for chosen in choose(facts, signs(nodes, dict.fromkeys(facts.claims, 0.7)), hops):
        assert len(chosen.way) <= hops
        assert len(chosen.way) + len(chosen.beside) <= max(MOST_FACTS, hops)
        assert {*chosen.way, *chosen.beside} <= set(facts.claims)
        ends = [chosen.nodes[0], *(one.obj for one in chosen.way)]
        assert tuple(ends) == chosen.nodes
        assert set(in_order(facts, chosen)) == {*chosen.way, *chosen.beside}


def test_longer_runs_of_a_question_win_and_question_words_ask_for_kinds() -> None:
    shipped = KnowledgeBase.shared("synthlink")
    facts = FactMap(shipped)
    asking = Asking(shipped, facts, Naming(facts.names(shipped)))

    def asked(question: str) -> set[str]:
        return {pred.partition("#")[2] for pred in asking.understand(question).predicates}

    assert asked("How did coal lead to smog?") == {"ledTo"}
    assert asked("By what movement led by Gandhi was salt made?") >= {"ledBy"}
    assert asked("Who made the first LED?") >= {"cameThrough", "ledBy", "signedBy"}
    assert asked("In which country was it?") >= {"country"}
    assert asked("Why is that?") == set()


def test_facts_of_one_thing_are_one_sentence_in_the_order_of_the_way(
    kb: KnowledgeBase, facts: FactMap
) -> None:
    year = '"1901"^^<http://www.w3.org/2001/XMLSchema#integer>'
    chosen = Chosen(
        (iri("storm"), iri("flood")),
        (claim("storm", "causes", "flood"),),
        (
            Claim(iri("storm"), iri("year"), year),
            claim("storm", "causes", "fire"),
            claim("pump", "causes", "storm"),
        ),
    )
    order = in_order(facts, chosen)
    assert [(one.subj, one.obj) for one in order] == [
        (iri("pump"), iri("storm")),
        (iri("storm"), year),
        (iri("storm"), iri("fire")),
        (iri("storm"), iri("flood")),
    ]
    assert Teller(kb).tell(order) == [
        "The steam pump causes the storm of Halle.",
        # Its words do not begin with the subject, so the rest stays apart too.
        "The year of the storm of Halle is 1901.",
        "The storm of Halle causes the fire in Delft.",
        "The storm of Halle causes the flood at Ems.",
    ]


def test_what_a_reader_would_take_otherwise_is_not_joined() -> None:
    shipped = KnowledgeBase.shared("synthlink")
    syn, sl = "https://epoche.example/synthlink/", "https://epoche.example/synthlink#"
    facts = [one for one in FactMap(shipped).claims if one.subj == syn + "cotton-gin"]
    assert Teller(shipped).tell(facts) == [
        "The cotton gin made possible large-scale growing of short-staple cotton, came about "
        "through Eli Whitney and first appeared in 1794."
    ]
    # "without" in a name reaches over the sentence, as far as the reader can tell.
    summer = syn + "year-without-a-summer"
    told = [one for one in FactMap(shipped).claims if one.subj == summer]
    assert len(told) > 1
    assert Teller(shipped).tell(told) == [shipped.words.fact(one) for one in told]
    several = [Claim(syn + "transistor", sl + "cameThrough", syn + name) for name in ("a", "b")]
    assert len(Teller(shipped).tell(several)) == 2, "names the graph does not hold are not read"


def test_hostile_names_stay_plain(kb: KnowledgeBase) -> None:
    assert Teller(kb).tell([claim("mill", "causes", "tower")]) == [f"The tall mill causes {ODD}."]


def test_a_page_bears_a_fact_whose_both_ends_it_names(naming: Naming) -> None:
    reading = Reading(naming)
    ems = CorpusPage("https://p.example/1", "Ems", "After the storm of Halle came the flood.")
    delft = CorpusPage("https://p.example/2", "Delft", "A fire in Delft.\n\nThe storm of Halle.")
    hits = [Hit(ems, ems.text, 4.0), Hit(delft, "A fire in Delft.", 2.0)]
    reading.weigh(hits)
    assert [page.relevance for page in reading.read(hits)] == [1.0, 0.5]
    assert reading.read(hits) == [], "nothing is read twice"
    assert reading.support(claim("storm", "causes", "flood")) == 1.0
    assert reading.support(claim("flood", "causes", "dyke")) == 0.0
    assert reading.nodes[iri("fire")] == 0.5, "the whole page is read, not the passage alone"
    other = CorpusPage("https://p.example/3", "Pumps", "The steam pump.")
    reading.read([Hit(other, other.text, 9.0)])
    assert reading.nodes[iri("pump")] == 0.0, "the question itself did not find it"


def test_names_and_numbers_are_demanded_more_than_words() -> None:
    demanded = demands("Why did Anna Berg drain the polder in 1910?")
    assert demanded == {"anna": 3.0, "berg": 3.0, "1910": 3.0, "drain": 1.0, "pold": 1.0}
    assert accounted(demanded, keys_of("Anna Berg, 1910")) == pytest.approx(9 / 11)
    assert accounted(demanded, keys_of("she drained a polder")) == pytest.approx(2 / 11)
    assert accounted({}, frozenset()) == 1.0


def test_a_title_named_in_full_says_what_a_question_is_about() -> None:
    demanded = demands("Why did Anna Berg build a steam pump?")
    titles = ("Anna Berg", "Steam pump", "Anna Berg (film)", "Berg")
    assert named_subjects(demanded, titles) == {
        "Anna Berg": frozenset(("anna", "berg")),
        "Berg": frozenset(("berg",)),
    }
