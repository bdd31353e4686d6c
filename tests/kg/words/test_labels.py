"""Names: preference, decoding, look-up, homonyms, hostile text."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from kg.claims import Claim
from kg.graph import Graph
from kg.terms import iri_tail, literal_text
from kg.words.labels import LABEL_PREDICATES, Labels, normalised

RDFS_LABEL, PREF, ALT = LABEL_PREDICATES
E = "http://e/"


def graph(*rows):
    return Graph.from_claims([Claim(E + s, p, o) for s, p, o in rows])


def test_language_comes_before_kind_of_label_and_aliases_last():
    g = graph(
        ("x", ALT, '"Alias"@en'),
        ("x", RDFS_LABEL, '"Rhein"@de'),
        ("x", RDFS_LABEL, '"Rhine"@en-gb'),
        ("x", PREF, '"Plain"'),
    )
    assert Labels(g).label(E + "x") == "Rhine"
    assert Labels(g, ["de"]).label(E + "x") == "Rhein"
    assert Labels(g, ["fr"]).label(E + "x") == "Plain"
    assert Labels(g).names(E + "x") == ["Rhine", "Plain", "Rhein", "Alias"]


def test_exact_language_beats_its_variant():
    g = graph(("x", RDFS_LABEL, '"Colour"@en-gb'), ("x", RDFS_LABEL, '"Color"@en'))
    assert Labels(g).label(E + "x") == "Color"


def test_alias_serves_where_nothing_else_is_stated():
    g = graph(("x", ALT, '"Only"'), ("y", RDFS_LABEL, '"  "'), ("z", RDFS_LABEL, "http://e/no"))
    labels = Labels(g)
    assert labels.label(E + "x") == "Only"
    assert labels.label(E + "y") == "y"
    assert labels.label(E + "z") == "z"
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
def test_iri_tail(iri, tail):
    assert iri_tail(iri) == tail


def test_labels_of_other_terms():
    labels = Labels(graph(("x", RDFS_LABEL, '"two\\n lines"')))
    assert labels.label(E + "x") == "two lines"
    assert labels.label('"5"^^<http://www.w3.org/2001/XMLSchema#integer>') == "5"
    assert labels.label("_:b7") == "_:b7"
    assert labels.label("http://elsewhere/Some_Thing") == "Some Thing"


@pytest.mark.parametrize(
    ("one", "other"),
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
def test_normalised_names_fall_together(one, other):
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"), [("!!!", "???"), ("कि", "की"), ("The", "A"), ("Main", "Maine")]
)
def test_different_names_stay_apart(one, other):
    assert normalised(one) != normalised(other)


@settings(deadline=None)
@given(st.text(max_size=30))
@example("\U0001d6a8")  # a mathematical Alpha: a capital only after decomposition
def test_normalising_settles(name):
    once = normalised(name, ())
    assert normalised(once, ()) == once


def test_find_prefers_labels_over_aliases():
    g = graph(
        ("alias", RDFS_LABEL, '"Rhine"'),
        ("alias", ALT, '"Main"'),
        ("label", RDFS_LABEL, '"Main"'),
        ("no_label", E + "p", E + "The_Elbe"),
    )
    labels = Labels(g)
    assert labels.find("the main") == [E + "label", E + "alias"]
    assert labels.find("Elbe") == [E + "The_Elbe"]
    assert labels.find("No label") == [E + "no_label"]
    assert labels.find("nobody") == []
    assert labels.find("label") == []  # rdfs:label itself is vocabulary, not a thing
    assert "elbe" in set(labels.all_names())


def test_homonyms_are_shared_labels_and_aliases():
    g = graph(
        ("c1", RDFS_LABEL, '"Colorado River"'),
        ("c2", RDFS_LABEL, '"Colorado River (Texas)"'),
        ("c2", ALT, '"the Colorado river"'),
        ("c2", ALT, '"Colorado-River"'),
        ("c3", RDFS_LABEL, '"Rhine"'),
        ("p", RDFS_LABEL, '"Rhine"'),
        ("c3", E + "p", E + "c1"),
    )
    assert Labels(g).homonyms() == {"Colorado River": [E + "c1", E + "c2"]}


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_hostile_labels_neither_crash_nor_get_lost(label, iri):
    g = Graph.from_claims([Claim(E + iri, RDFS_LABEL, literal_text(label))])
    labels = Labels(g)
    shown = labels.label(E + iri)
    assert "\n" not in shown
    if label.split():
        assert shown == " ".join(label.split())
        assert labels.find(label) == [E + iri]


NAMES = st.sampled_from(
    ["Rhine", "the Rhine", "RHINE", "Rhône 2", "Ma in", "Ma  in", " ", "The", "a", "-", 'q"\\', "K"]
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(LABEL_PREDICATES), NAMES)),
    st.lists(st.tuples(st.sampled_from("vwxyz"), st.sampled_from("vwxyz"))),
)
def test_the_name_index_is_what_each_name_says_by_itself(named, edges):
    rows = [(s, p, literal_text(name, language="en")) for s, p, name in named]
    g = graph(*rows, *((s, E + "p", E + o) for s, o in edges))
    labels = Labels(g)
    nodes = dict.fromkeys([*(E + s for s, _, _ in named), *(E + n for edge in edges for n in edge)])
    expected: dict[str, set[str]] = {}
    for node in nodes:
        for name in labels.names(node):
            expected.setdefault(labels.normalise(name), set()).add(node)
    assert {name: set(labels.find(name)) for name in labels.all_names()} == expected
    assert all(len(labels.find(name)) == len(bearers) for name, bearers in expected.items())


def test_a_literal_with_a_line_break_of_its_own_is_no_two_names():
    labels = Labels(graph(("x", RDFS_LABEL, '"One\nTwo"'), ("y", RDFS_LABEL, '"Three"')))
    assert {name: labels.find(name) for name in labels.all_names()} == {
        "one two": [E + "x"],
        "three": [E + "y"],
    }
