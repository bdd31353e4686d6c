"""Tests that rules speak of the class of their subjects, and and how strangers are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.claims import MINED_RULE_PREFIX, Claim
from kg.knowledge import KnowledgeBase
from kg.terms import XSD
from kg.words.default_sentences import make_default_wording
from kg.words.name_forms import find_distinct_ending
from kg.words.readable_names import is_readable_label
from kg.words.subject_nouns import find_subject_nouns

HEAD = (
    "@prefix e: <http://e/> .\n@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
)
SHAPES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <http://e/> .\n"
    "e:S a sh:PropertyShape ; sh:targetSubjectsOf e:size ; sh:path e:size ; sh:maxCount 1 ."
)


def open_graph(folder: Path, lines: list[str]) -> KnowledgeBase:
    graph, shapes = folder / "g.ttl", folder / "s.ttl"
    graph.write_text(HEAD + "\n".join(lines), "utf-8")
    shapes.write_text(SHAPES, "utf-8")
    return KnowledgeBase.open(graph=[graph], shapes=[shapes])


@pytest.mark.parametrize(
    ("classes", "nouns", "rule"),
    [
        (
            ["e:RiverArm"],
            ("river arm",),
            "Every river arm (or anything else) has at most one size.",
        ),
        (
            ["e:Song", "e:Album"],
            ("album", "song"),
            "Every album or song (or anything else) has at most one size.",
        ),
        # The most specific class that all have.
        (
            ["e:Song, e:Work", "e:Album, e:Work"],
            ("work",),
            "Every work (or anything else) has at most one size.",
        ),
        (["owl:Thing"], (), "Everything has at most one size."),
        (["e:C12345"], (), "Everything has at most one size."),
        (["e:A", "e:B", "e:D", "e:E"], (), "Everything has at most one size."),
        ([""], (), "Everything has at most one size."),
    ],
)
def test_rules_speak_of_the_class(
    tmp_path: Path, classes: list[str], nouns: tuple[str, ...], rule: str
) -> None:
    lines = []
    for n in range(20):
        cls = classes[n % len(classes)]
        lines.append(f'e:x{n} r:label "Thing {n}" ; e:size {n} .')
        lines += [f"e:x{n} a {cls} ."] if cls else []
    verbaliser = open_graph(tmp_path, lines).verbaliser
    assert find_subject_nouns(verbaliser, "http://e/size") == nouns
    assert [r.text for r in verbaliser.get_rules("http://e/size")] == [rule]


@pytest.mark.parametrize("prefix", ["http://e/", MINED_RULE_PREFIX, "urn:epoche:confirmed:"])
def test_rules_of_all_subjects_do_not_need_the_class(tmp_path: Path, prefix: str) -> None:
    """A card does not always say which class its subject is of."""
    open_graph(tmp_path, [f"e:x{n} a e:Song ; e:size {n} ." for n in range(20)])
    shapes = tmp_path / "s.ttl"
    shapes.write_text(SHAPES.replace("e:S a", f"<{prefix}one-value#size> a"))
    kb = KnowledgeBase.open(graph=[tmp_path / "g.ttl"], shapes=[shapes])
    rules = [rule.text for rule in kb.verbaliser.get_rules("http://e/size")]
    assert rules == ["Every song (or anything else) has at most one size."]


def test_numbers_are_no_objects_of_verbs() -> None:
    assert make_default_wording("wins").fact == "{{ subj }} wins {{ obj }}."
    wording = make_default_wording("wins", values="numbers", single_valued=True)
    assert wording.fact == "{{ subj }} has {{ obj }} as its value of “wins”."
    assert make_default_wording("size", values="numbers").fact.endswith("as a size.")


@pytest.mark.parametrize("value", ["3", '"3"', '"4"^^<http://www.w3.org/2001/XMLSchema#byte>'])
def test_numbers_written_as_texts_are_numbers(tmp_path: Path, value: str) -> None:
    kb = open_graph(tmp_path, [f"e:x{n} e:wins {value} ; e:size 1 ." for n in range(5)])
    assert "value of “wins”" in kb.verbaliser.get_wording("http://e/wins").fact


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", "1,234,567"),
        ("VIAF", "1234567"),
        ("recordVersion", "1234567"),
        ("isbn", "1234567"),
        ("versionCount", "1,234,567"),
    ],
)
def test_numbers_of_registers_have_no_separators(tmp_path: Path, name: str, value: str) -> None:
    kb = open_graph(tmp_path, [f"e:x e:{name} 1234567 ; e:size 1 ."])
    claim = Claim("http://e/x", f"http://e/{name}", f'"1234567"^^<{XSD}integer>')
    assert f" {value} " in kb.verbaliser.render_fact(claim)


def test_a_label_with_an_iri_is_not_readable() -> None:
    assert not is_readable_label("Player <http://example.com/p42> of team 7")
    assert is_readable_label("Either/Or: a fragment")


def test_namesakes_are_told_apart_by_the_end_of_their_iri(tmp_path: Path) -> None:
    kb = open_graph(
        tmp_path,
        ['<http://e/tag#Point> r:label "Point" .', '<http://e/brick#Point> r:label "Point" .'],
    )
    names = {kb.verbaliser.render_term(f"http://e/{n}#Point") for n in ("tag", "brick")}
    assert names == {"Point (tag#Point)", "Point (brick#Point)"}


def test_namesakes_are_not_told_apart_by_names_of_other_languages(tmp_path: Path) -> None:
    kb = open_graph(
        tmp_path,
        [
            '<http://e/a#E5> r:label "Event"@en, "Ereignis"@de .',
            '<http://e/a#F8> r:label "Event"@en, "Happening"@en .',
        ],
    )
    assert kb.verbaliser.render_term("http://e/a#E5") == "Event (E5)"
    assert kb.verbaliser.render_term("http://e/a#F8") == "Happening"


def test_only_one_of_namesakes_with_a_qualifier_is_not_called_by_the_bare_name(
    tmp_path: Path,
) -> None:
    """Brick calls the quantity and QUDT's quantity kind "Temperature"; only one has a class."""
    lines = ["<http://e/brick#Heat> a e:Quantity .", '<http://e/qudt/Heat> e:unit "K" .']
    open_graph(tmp_path, [f'{line} {line.split()[0]} r:label "Heat" .' for line in lines])
    domain = tmp_path / "domain.toml"
    domain.write_text(
        'name = "d"\ngraph = ["g.ttl"]\nshapes = ["s.ttl"]\nqualifiers = ["rdf:type"]\n',
        "utf-8",
    )
    render = KnowledgeBase.open(domain).verbaliser.render_term
    assert render("http://e/brick#Heat") == "Heat (quantity)"
    assert render("http://e/qudt/Heat") == "Heat (qudt/Heat)"


@given(st.lists(st.from_regex(r"http://e(/[ab]{1,2}){1,3}[/#][abA]", fullmatch=True)))
def test_distinct_endings_differ(iris: list[str]) -> None:
    iris = list({re.sub("#", "/", iri).lower(): iri for iri in iris}.values())
    endings = [find_distinct_ending(iri, [o for o in iris if o != iri]) for iri in iris]
    assert all(iri.endswith(ending) for iri, ending in zip(iris, endings, strict=True))
    assert len({re.sub("#", "/", ending).lower() for ending in endings}) == len(iris)


def test_the_class_of_a_late_subject_is_named_too(tmp_path: Path) -> None:
    lines = [f"e:x{n} a e:{'Song' if n < 300 else 'Album'} ; e:size {n} ." for n in range(301)]
    verbaliser = open_graph(tmp_path, lines).verbaliser
    (rule,) = verbaliser.get_rules("http://e/size")
    assert rule.text == "Every album or song (or anything else) has at most one size."
