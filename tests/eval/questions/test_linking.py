"""Mentions in questions: how people spell names, numbers and units."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.questions.cues import stem
from eval.questions.linking import Mention, MentionIndex, name_key, tokens_of, unit_key
from eval.questions.parsing import ClaimParser, Reading, Unread
from kg.knowledge import KnowledgeBase
from kg.words.labels import folded
from kg.words.plain_text import words_of

TTL = """
@prefix : <https://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:River a owl:Class ; rdfs:label "river" . :Sea a owl:Class ; rdfs:label "sea" .
:System a owl:Class ; rdfs:label "river system" . :Country a owl:Class ; rdfs:label "country" .
:flowsInto rdfs:domain :River ; rdfs:range :Sea . :length rdfs:label "length" .
:rhone a :River ; rdfs:label "Rhône"@fr , "Rhone" ; :flowsInto :med ; :length 813 .
:main a :River ; rdfs:label "Main" ; skos:altLabel "River Main" ; :flowsInto :north .
:med a :Sea ; rdfs:label "Mediterranean Sea" .
:north a :Sea ; rdfs:label "North Sea" .
:thames a :River ; rdfs:label "Thames" ; :flowsInto :north .
:col1 a :River ; rdfs:label "Colorado River" ; :in :texas ; :flowsInto :med .
:col2 a :River ; rdfs:label "Colorado River" ; :in :argentina .
:texas a :Country ; rdfs:label "Texas" . :argentina a :Country ; rdfs:label "Argentina" .
:rhonesystem a :System ; rdfs:label "Rhône river system" .
:regex a :River ; rdfs:label "(.*)+ [x]" .
"""
SHAPES = """
@prefix : <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:One a sh:PropertyShape ; sh:targetSubjectsOf :flowsInto ; sh:path :flowsInto ; sh:maxCount 1 .
"""
BASE = "https://example.org/"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder: Path = tmp_path_factory.mktemp("linking")
    (folder / "g.ttl").write_text(TTL, encoding="utf-8")
    (folder / "s.ttl").write_text(SHAPES, encoding="utf-8")
    return KnowledgeBase.open(graph=[folder / "g.ttl"], shapes=[folder / "s.ttl"])


@pytest.fixture(scope="module")
def index(kb: KnowledgeBase) -> MentionIndex:
    return MentionIndex(kb)


def found(index: MentionIndex, text: str) -> list[str]:
    return [
        m.number + m.unit if m.number else "|".join(e.removeprefix(BASE) for e in m.entities)
        for m in index.scan(tokens_of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Does the Rhône flow into the Mediterranean Sea?", ["rhone", "med"]),
        ("does the rhone flow into the MEDITERRANEAN SEA", ["rhone", "med"]),
        ("Is the Rhône's mouth the Mediterranean?", ["rhone", "med"]),
        ("Is the Thames' mouth the North Sea?", ["thames", "north"]),
        ("Is the Thames’s mouth in the North?", ["thames"]),
        ("Is it part of the Rhône's river system?", ["rhonesystem"]),
        ("Is it in the Rhône system?", ["rhonesystem"]),
        ("Does the Main flow into the North Sea?", ["main", "north"]),
        ("Is the North Sea the main mouth of the River Main?", ["north", "main"]),
        ("Does the Colorado River end?", ["col1|col2"]),
        ("Is the (.*)+ [x] a river?", ["regex"]),
        ("Is the Rhône 1,233 km long?", ["rhone", "1233km"]),
        ("Is it 1 233.5 kilometres?", ["1233.5km"]),
        ("Is it -28 m or minus 28 metres?", ["-28m", "-28m"]),
        ("Is it 735 cubic metres per second?", ["735m3 s"]),
        ("Is it 735 m³/s?", ["735m3 s"]),
        ("Is it 12 parsecs?", ["12"]),
    ],
)
def test_mentions(index: MentionIndex, text: str, expected: list[str]) -> None:
    assert found(index, text) == expected


def test_predicates_and_classes_are_no_mentions(index: MentionIndex) -> None:
    assert found(index, "Is length a river?") == []
    assert index.classes[("river",)] == BASE + "River"


def test_context_chooses_among_homonyms(kb: KnowledgeBase) -> None:
    parser = ClaimParser(kb)
    told = parser.parse("Does the Colorado River in Argentina flow into the North Sea?")
    assert isinstance(told, Reading)
    assert [claim.subj for claim in told.claims] == [BASE + "col2"]
    related = parser.parse("Does the Colorado River flow into the Mediterranean?")
    assert isinstance(related, Reading)
    assert [claim.subj for claim in related.claims] == [BASE + "col1"]
    untold = parser.parse("Does the Colorado River flow into the North Sea?")
    assert isinstance(untold, Reading)
    assert len(untold.claims) == 2


def test_a_graph_without_words_is_asked_in_default_words(kb: KnowledgeBase) -> None:
    parser = ClaimParser(kb)
    for question, obj in (
        ("Does the Thames flow into the North Sea?", BASE + "north"),
        ("Is it true that the Thames flows into the North Sea?", BASE + "north"),
    ):
        reading = parser.parse(question)
        assert isinstance(reading, Reading), reading
        assert reading.claims[0].obj == obj
    length = parser.parse("Is the length of the Rhône 900?")
    assert isinstance(length, Reading)
    assert length.claims[0].obj == '"900"^^<http://www.w3.org/2001/XMLSchema#integer>'
    decimal = parser.parse("Is the length of the Rhône 900.5?")
    assert isinstance(decimal, Reading)
    assert decimal.claims[0].obj == '"900.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'


def test_keys() -> None:
    assert folded("Łódź") == "lodz"
    assert folded("Þór") == "thor"
    # A vowel sign is no accent: without it another word would be meant.
    assert folded("कि") != folded("क")
    assert folded("STRASSE") == folded("straße")
    assert name_key("The Hague") == ("hague",)
    assert name_key("the") == ("the",)
    # A word is not cut at its signs, composed or not, and other signs make another word.
    assert name_key("दिल्ली") != name_key("दल्ला")
    assert len(name_key("दिल्ली")) == len(name_key("بَغداد")) == len(name_key("กรุงเทพ")) == 1
    assert name_key("Que\u0301bec") == name_key("Québec") == ("quebec",)
    assert unit_key("m³/s") == unit_key("cubic metres per second") == "m3 s"
    assert unit_key("parsec") == "parsec"
    assert Mention(0, 1).entities == ()


@pytest.mark.parametrize(
    ("one", "two"),
    [("flows", "flowing"), ("rises", "rose"), ("empties", "empty"), ("crosses", "crossed"),
     ("traverses", "traversing"), ("springs", "spring"), ("merges", "merged")],
)  # fmt: skip
def test_inflections_share_a_stem(one: str, two: str) -> None:
    assert stem(one) == stem(two)


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(kb: KnowledgeBase, text: str) -> None:
    parser = _PARSERS.setdefault(id(kb), ClaimParser(kb))
    reading = parser.parse(text)
    assert isinstance(reading, Unread | Reading)
    if isinstance(reading, Reading):
        assert reading.claims


WORDS = st.sampled_from(
    words_of(
        "is does the rhône thames main colorado river north sea flow into 's of its by mouth "
        "length 5 km in argentina itself not or true that which where"
    )
)


@settings(deadline=None, max_examples=300)
@given(st.lists(WORDS, max_size=14))
def test_any_word_salad_is_read_or_refused(kb: KnowledgeBase, words: list[str]) -> None:
    parser = _PARSERS.setdefault(id(kb), ClaimParser(kb))
    reading = parser.parse(" ".join(words))
    if isinstance(reading, Unread):
        assert reading.reason
    else:
        assert reading.claims


_PARSERS: dict[int, ClaimParser] = {}
