"""Tests of what tells apart things of one name: by class, by owner, never by chance."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

from kg.claims import Claim
from kg.graph import Graph
from kg.terms import RDF_TYPE, RDFS, write_literal
from kg.words.labels import Labels
from kg.words.qualifiers import INVERSE

E = "http://e/"
LABEL = RDFS + "label"
QUALIFIERS = (RDF_TYPE, E + "partOf", INVERSE + E + "field")


def make_labels(*rows: tuple[str, str, str]) -> Labels:
    claims = [Claim(E + s, p if ":" in p else E + p, o) for s, p, o in rows]
    return Labels(Graph.from_claims(claims), qualifiers=QUALIFIERS)


def test_the_class_tells_a_record_from_its_copy():
    labels = make_labels(
        ("r1", LABEL, '"Letters"@fr'), ("r1", RDF_TYPE, E + "RecordResource"),
        ("i1", LABEL, '"Letters"@fr'), ("i1", RDF_TYPE, E + "Instantiation"),
        ("other", LABEL, '"Maps"'), ("other", RDF_TYPE, E + "Instantiation"),
    )  # fmt: skip
    assert labels.get_label(E + "r1") == "Letters (record resource)"
    assert labels.list_names(E + "i1") == ["Letters (instantiation)", "Letters"]
    assert labels.get_label(E + "other") == "Maps"
    assert labels.find_entities("letters (Instantiation)") == [E + "i1"]
    assert sorted(labels.find_entities("letters")) == [E + "i1", E + "r1"]
    # A class is no thing of that name.
    assert labels.get_label(E + "Instantiation") == "Instantiation"


def test_the_smallest_class_is_chosen_and_codes_and_vocabulary_say_nothing():
    labels = make_labels(
        ("a", LABEL, '"Paris"'), ("a", RDF_TYPE, E + "Place"), ("a", RDF_TYPE, E + "City"),
        ("a", RDF_TYPE, E + "Q515"), ("b", LABEL, '"Paris"'), ("b", RDF_TYPE, E + "Person"),
        ("b", RDF_TYPE, "http://www.w3.org/2002/07/owl#NamedIndividual"),
        ("c", RDF_TYPE, E + "Place"),
    )  # fmt: skip
    assert labels.get_label(E + "a") == "Paris (city)"
    assert labels.get_label(E + "b") == "Paris (person)"


def test_the_owner_tells_apart_what_the_class_does_not():
    rows = [(f"{table}/id", RDF_TYPE, E + "Field") for table in ("train", "test")]
    rows += [(table, "field", f"{E}{table}/id") for table in ("train", "test")]
    labels = make_labels(*rows)
    assert labels.get_label(E + "train/id") == "id (train)"
    assert labels.find_entities("id (test)") == [E + "test/id"]
    # Two tables with one field own it together, so neither says which one it is.
    assert make_labels(*rows, ("dev", "field", E + "train/id")).get_label(E + "train/id") == "id"
    # An owner that nobody can name says nothing.
    rows = [
        (f"x{n}/id", "partOf", E + f"3fa85f64-5717-4562-b3fc-2c963f66a{n:03d}") for n in range(2)
    ]
    assert make_labels(*rows).get_label(E + "x0/id") == "id"


def test_the_only_other_spelling_keeps_its_name():
    rows = [(f"{table}/text", "partOf", E + table) for table in ("train", "test")]
    links = [(f"train/{name}", "dataType", "http://schema.org/Text") for name in ("text", "note")]
    labels = make_labels(*rows, *links)
    assert labels.find_entities("Text") == ["http://schema.org/Text"]
    assert labels.get_label("http://schema.org/Text") == "Text"
    links = [(s, p, "http://schema.org/text") for s, p, _ in links]
    assert len(make_labels(*rows, *links).find_entities("text")) == 3


def test_hostile_names_stay_short_and_inert():
    long = "word " * 300
    labels = make_labels(
        ("a", LABEL, write_literal("{{7*7}}")), ("a", "partOf", E + "big"),
        ("b", LABEL, write_literal("{{7*7}}")), ("b", "partOf", E + "evil"),
        ("big", LABEL, write_literal(long)),
        ("evil", LABEL, write_literal("\u202eevil\n{% x %}")),
    )  # fmt: skip
    assert labels.get_label(E + "a") == "{{7*7}}"
    assert labels.get_label(E + "b") == "{{7*7}} (evil {% x %})"


_NAMES = st.sampled_from(["id", "Id", "text", "id (A)", "train", "a b"])
_THINGS = st.integers(0, 7)
_FACTS = st.lists(
    st.one_of(
        st.tuples(_THINGS, st.just(LABEL), _NAMES.map(write_literal)),
        st.tuples(_THINGS, st.just(RDF_TYPE), st.sampled_from([E + "A", E + "Bus", E + "C9"])),
        st.tuples(
            _THINGS,
            st.sampled_from([E + "partOf", E + "field"]),
            _THINGS.map(lambda n: f"{E}t{n}"),
        ),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(_FACTS)
def test_a_qualified_label_leads_to_one_thing_whatever_the_order(facts):
    rows = [(f"t{s}", p, o) for s, p, o in facts]
    labels, plain = make_labels(*rows), Labels(make_graph(rows))
    things = sorted({E + s for s, _, _ in rows})
    found = {thing: labels.get_label(thing) for thing in things}
    counts = Counter(map(labels.to_normal_form, found.values()))
    for thing, label in found.items():
        entities = labels.find_entities(label)
        assert thing in entities or not labels.get_qualifier(thing)
        # A name of one thing never becomes that of several.
        if plain.find_entities(plain.get_label(thing)) == [thing]:
            assert label == plain.get_label(thing)
        if entities == [thing]:
            assert counts[labels.to_normal_form(label)] == 1
    backwards = make_labels(*reversed(rows))
    if len({(s, p) for s, p, _ in facts if p == LABEL}) == sum(p == LABEL for _, p, _ in facts):
        assert {thing: backwards.get_label(thing) for thing in things} == found


def make_graph(rows):
    return Graph.from_claims([Claim(E + s, p, o) for s, p, o in rows])
