"""Tests of entity labels: their order of preference, decoding, look-up, homonyms, hostile text."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from kg.claims import Claim
from kg.graph import Graph
from kg.terms import iri_tail, write_literal
from kg.words.labels import LABEL_PREDICATES, Labels
from kg.words.name_forms import normalise_name

RDFS_LABEL, PREF, ALT = LABEL_PREDICATES
E = "http://e/"


def make_graph(*rows):
    return Graph.from_claims([Claim(E + s, p, o) for s, p, o in rows])


def test_labels_are_ordered_by_language_then_kind():
    graph = make_graph(
        ("x", ALT, '"Alias"@en'),
        ("x", RDFS_LABEL, '"Rhein"@de'),
        ("x", RDFS_LABEL, '"Rhine"@en-gb'),
        ("x", PREF, '"Plain"'),
    )
    assert Labels(graph).get_label(E + "x") == "Rhine"
    assert Labels(graph, ["de"]).get_label(E + "x") == "Rhein"
    assert Labels(graph, ["fr"]).get_label(E + "x") == "Plain"
    assert Labels(graph).list_names(E + "x") == ["Rhine", "Plain", "Rhein", "Alias"]


def test_exact_language_is_preferred_to_a_variant():
    graph = make_graph(("x", RDFS_LABEL, '"Colour"@en-gb'), ("x", RDFS_LABEL, '"Color"@en'))
    assert Labels(graph).get_label(E + "x") == "Color"


def test_alias_is_used_if_there_is_no_label():
    graph = make_graph(
        ("x", ALT, '"Only"'), ("y", RDFS_LABEL, '"  "'), ("z", RDFS_LABEL, "http://e/no")
    )
    labels = Labels(graph)
    assert labels.get_label(E + "x") == "Only"
    assert labels.get_label(E + "y") == "y"
    assert labels.get_label(E + "z") == "z"
    assert labels.has_label(E + "x")
    assert not labels.has_label(E + "nowhere")


@pytest.mark.parametrize(
    ("iri", "tail"),
    [
        ("http://e/S%C3%A3o_Paulo", "São Paulo"),
        ("http://e/ns#flowsInto", "flowsInto"),
        ("urn:isbn:123", "123"),
        ("http://e/River/", "River"),
        ("http://e/%FF%FE", "\ufffd\ufffd"),
        ("http://e/_", "http://e/_"),
        ("http://dbpedia.org/resource/http_//dbpedia.org/resource/Main", "Main"),
        ("", ""),
        ("z", "z"),
        ("a b", "a b"),
    ],
)
def test_iri_tail_is_the_decoded_last_part(iri, tail):
    assert iri_tail(iri) == tail


def test_literals_blank_nodes_and_unlabelled_iris_have_labels():
    labels = Labels(make_graph(("x", RDFS_LABEL, '"two\\n lines"')))
    assert labels.get_label(E + "x") == "two lines"
    assert labels.get_label('"5"^^<http://www.w3.org/2001/XMLSchema#integer>') == "5"
    assert labels.get_label("_:b7") == "_:b7"
    assert labels.get_label("http://elsewhere/Some_Thing") == "Some Thing"


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("The Rhine", "rhine"),
        ("São Paulo", "sao paulo"),
        ("Łódź", "lodz"),
        ("Saint-Étienne", "saint etienne"),
        ("Straße", "STRASSE"),
        ("Great  Britain!", "great britain"),
        ("Ｒｈｉｎｅ", "rhine"),
    ],
)
def test_equal_names_are_normalised_alike(name, variant):
    assert normalise_name(name) == normalise_name(variant)


@pytest.mark.parametrize(
    ("name", "other_name"), [("!!!", "???"), ("कि", "की"), ("The", "A"), ("Main", "Maine")]
)
def test_different_names_stay_distinct(name, other_name):
    assert normalise_name(name) != normalise_name(other_name)


@settings(deadline=None)
@given(st.text(max_size=30))
@example("\U0001d6a8")  # A mathematical Alpha, which is a capital letter only when decomposed.
def test_normalising_is_idempotent(name):
    normalised = normalise_name(name, ())
    assert normalise_name(normalised, ()) == normalised


def test_find_entities_prefers_labels_over_aliases():
    graph = make_graph(
        ("alias", RDFS_LABEL, '"Rhine"'),
        ("alias", ALT, '"Main"'),
        ("label", RDFS_LABEL, '"Main"'),
        ("no_label", E + "p", E + "The_Elbe"),
    )
    labels = Labels(graph)
    assert labels.find_entities("the main") == [E + "label", E + "alias"]
    assert labels.find_entities("Elbe") == [E + "The_Elbe"]
    assert labels.find_entities("No label") == [E + "no_label"]
    assert labels.find_entities("nobody") == []
    assert labels.find_entities("label") == []  # rdfs:label itself is not an entity.


def test_homonyms_are_shared_labels_and_aliases():
    graph = make_graph(
        ("c1", RDFS_LABEL, '"Colorado River"'),
        ("c2", RDFS_LABEL, '"Colorado River (Texas)"'),
        ("c2", ALT, '"the Colorado river"'),
        ("c2", ALT, '"Colorado-River"'),
        ("c3", RDFS_LABEL, '"Rhine"'),
        ("p", RDFS_LABEL, '"Rhine"'),
        ("c3", E + "p", E + "c1"),
    )
    assert Labels(graph).find_homonyms() == {"Colorado River": [E + "c1", E + "c2"]}


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
@example("", "\n")  # an IRI without a last part is its own name
def test_hostile_labels_are_kept_without_a_crash(label, iri):
    graph = Graph.from_claims([Claim(E + iri, RDFS_LABEL, write_literal(label))])
    labels = Labels(graph)
    shown_label = labels.get_label(E + iri)
    assert "\n" not in shown_label
    if label.split():
        assert shown_label == " ".join(label.split())
        assert labels.find_entities(label) == [E + iri]


NAMES = st.sampled_from(
    ["Rhine", "the Rhine", "RHINE", "Rhône 2", "Ma in", "Ma  in", " ", "The", "a", "-", 'q"\\', "K"]
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(LABEL_PREDICATES), NAMES)),
    st.lists(st.tuples(st.sampled_from("vwxyz"), st.sampled_from("vwxyz"))),
)
def test_name_index_agrees_with_single_lookups(named_nodes, edges):
    rows = [(s, p, write_literal(name, language="en")) for s, p, name in named_nodes]
    graph = make_graph(*rows, *((s, E + "p", E + o) for s, o in edges))
    labels = Labels(graph)
    nodes = dict.fromkeys(
        [*(E + s for s, _, _ in named_nodes), *(E + n for edge in edges for n in edge)]
    )
    expected: dict[str, set[str]] = {}
    for node in nodes:
        for name in labels.list_names(node):
            expected.setdefault(labels.to_normal_form(name), set()).add(node)
    assert {name: set(labels.find_entities(name)) for name in expected} == expected
    assert all(
        len(labels.find_entities(name)) == len(entities) for name, entities in expected.items()
    )


def test_literal_with_a_line_break_is_one_name():
    labels = Labels(make_graph(("x", RDFS_LABEL, '"One\nTwo"'), ("y", RDFS_LABEL, '"Three"')))
    assert labels.find_entities("one two") == [E + "x"]
    assert labels.find_entities("three") == [E + "y"]
    assert labels.find_entities("one") == labels.find_entities("two") == []


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Alix /Hesse/", "Alix Hesse"),
        ("Albert /Saxe-Coburg and Gotha/", "Albert Saxe-Coburg and Gotha"),
        ("John /Smith/ Jr", "John Smith Jr"),
        ("Louis Mountbatten /Mountbatten/", "Louis Mountbatten"),
        # No surname is marked.
        ("and/or/not", "and/or/not"),
        ("/usr/", "/usr/"),
        ("Route /66/", "Route /66/"),
        ("a /b/ /c/", "a /b/ /c/"),
    ],
)
def test_marks_of_surnames_are_no_part_of_names(label: str, name: str):
    labels = Labels(make_graph(("x", RDFS_LABEL, write_literal(label))))
    assert labels.get_label(E + "x") == name
    assert labels.find_entities(name) == [E + "x"]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("http://e/EventScheduled", "Event Scheduled"),  # in the namespace of the predicate
        ("http://other/OfflineEventAttendanceMode", "Offline Event Attendance Mode"),
        ("http://other/YouTube", "YouTube"),  # two words may be a name
        ("http://e/Event2Scheduled", "Event2Scheduled"),
        ("http://e/Described", "Described"),
        ("http://e/DescribedHere", "DescribedHere"),  # has facts of its own
        ("http://e/WaterBody", "WaterBody"),  # is a class
    ],
)
def test_values_of_a_vocabulary_are_split_into_words(value: str, name: str):
    graph = make_graph(
        ("x", E + "status", value),
        ("DescribedHere", E + "status", E + "y"),
        ("x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", E + "WaterBody"),
    )
    assert Labels(graph).get_label(value) == name
    assert Labels(graph).find_entities(name) == [value]


@pytest.mark.parametrize(
    ("iri", "is_readable"),
    [
        ("https://books.example/books?id=pIlC&q=units", False),
        ("https://books.example/Books_and_Games", True),
        ("https://books.example/who?", True),
    ],
)
def test_the_query_of_an_address_is_no_name(iri: str, is_readable: bool) -> None:
    labels = Labels(Graph.from_claims([Claim(iri, "x:p", "x:o")]))
    assert labels.is_readable(iri) is is_readable
