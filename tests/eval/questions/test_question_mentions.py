"""Tests that names, numbers and units in questions are recognised in the usual spellings."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.questions.cues import stem_word
from eval.questions.mentions import (
    Mention,
    MentionIndex,
    build_name_key,
    build_unit_key,
    tokenise_text,
)
from eval.questions.parser import ClaimParser, ParseFailure, Reading
from kg.base.plain_text import list_words
from kg.knowledge import KnowledgeBase
from kg.words.name_forms import fold_text

GRAPH = """
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
    (folder / "g.ttl").write_text(GRAPH, encoding="utf-8")
    (folder / "s.ttl").write_text(SHAPES, encoding="utf-8")
    return KnowledgeBase.open(graph=[folder / "g.ttl"], shapes=[folder / "s.ttl"])


@pytest.fixture(scope="module")
def index(kb: KnowledgeBase) -> MentionIndex:
    return MentionIndex(kb)


def describe_mention(mention: Mention) -> str:
    """Returns the number with its unit, or the possible entities separated by ``|``."""
    if mention.number:
        return mention.number + mention.unit
    return "|".join(entity.removeprefix(BASE) for entity in mention.entities)


def find_mentions(index: MentionIndex, text: str) -> list[str]:
    return [describe_mention(mention) for mention in index.find_mentions(tokenise_text(text))]


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
def test_mentions_are_found(index: MentionIndex, text: str, expected: list[str]) -> None:
    assert find_mentions(index, text) == expected


def test_predicates_and_classes_are_not_mentions(index: MentionIndex) -> None:
    assert find_mentions(index, "Is length a river?") == []
    assert index.classes[("river",)] == BASE + "River"


def test_context_resolves_homonyms(kb: KnowledgeBase) -> None:
    parser = ClaimParser(kb)
    reading_with_country = parser.parse_question(
        "Does the Colorado River in Argentina flow into the North Sea?"
    )
    assert isinstance(reading_with_country, Reading)
    assert [claim.subj for claim in reading_with_country.claims] == [BASE + "col2"]
    reading_with_mouth = parser.parse_question(
        "Does the Colorado River flow into the Mediterranean?"
    )
    assert isinstance(reading_with_mouth, Reading)
    assert [claim.subj for claim in reading_with_mouth.claims] == [BASE + "col1"]
    ambiguous_reading = parser.parse_question("Does the Colorado River flow into the North Sea?")
    assert isinstance(ambiguous_reading, Reading)
    assert len(ambiguous_reading.claims) == 2


def test_graph_without_a_wording_uses_default_words(kb: KnowledgeBase) -> None:
    parser = ClaimParser(kb)
    for question, obj in (
        ("Does the Thames flow into the North Sea?", BASE + "north"),
        ("Is it true that the Thames flows into the North Sea?", BASE + "north"),
    ):
        reading = parser.parse_question(question)
        assert isinstance(reading, Reading), reading
        assert reading.claims[0].obj == obj
    integer_reading = parser.parse_question("Is the length of the Rhône 900?")
    assert isinstance(integer_reading, Reading)
    assert integer_reading.claims[0].obj == '"900"^^<http://www.w3.org/2001/XMLSchema#integer>'
    decimal_reading = parser.parse_question("Is the length of the Rhône 900.5?")
    assert isinstance(decimal_reading, Reading)
    assert decimal_reading.claims[0].obj == '"900.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'


def test_words_are_normalised_to_keys() -> None:
    assert fold_text("Łódź") == "lodz"
    assert fold_text("Þór") == "thor"
    # A vowel sign is not an accent: removing it gives another word.
    assert fold_text("कि") != fold_text("क")
    assert fold_text("STRASSE") == fold_text("straße")
    assert build_name_key("The Hague") == ("hague",)
    assert build_name_key("the") == ("the",)
    # Words are not split at combining marks, and other marks make another word.
    assert build_name_key("दिल्ली") != build_name_key("दल्ला")
    assert (
        len(build_name_key("दिल्ली"))
        == len(build_name_key("بَغداد"))
        == len(build_name_key("กรุงเทพ"))
        == 1
    )
    assert build_name_key("Que\u0301bec") == build_name_key("Québec") == ("quebec",)
    assert build_unit_key("m³/s") == build_unit_key("cubic metres per second") == "m3 s"
    assert build_unit_key("parsec") == "parsec"
    assert Mention(0, 1).entities == ()


@pytest.mark.parametrize(
    ("first_word", "second_word"),
    [("flows", "flowing"), ("rises", "rose"), ("empties", "empty"), ("crosses", "crossed"),
     ("traverses", "traversing"), ("springs", "spring"), ("merges", "merged")],
)  # fmt: skip
def test_inflections_share_a_stem(first_word: str, second_word: str) -> None:
    assert stem_word(first_word) == stem_word(second_word)


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(kb: KnowledgeBase, text: str) -> None:
    parser = _PARSERS.setdefault(id(kb), ClaimParser(kb))
    reading = parser.parse_question(text)
    assert isinstance(reading, ParseFailure | Reading)
    if isinstance(reading, Reading):
        assert reading.claims


WORDS = st.sampled_from(
    list_words(
        "is does the rhône thames main colorado river north sea flow into 's of its by mouth "
        "length 5 km in argentina itself not or true that which where"
    )
)


@settings(deadline=None, max_examples=300)
@given(st.lists(WORDS, max_size=14))
def test_any_word_sequence_is_read_or_refused(kb: KnowledgeBase, words: list[str]) -> None:
    parser = _PARSERS.setdefault(id(kb), ClaimParser(kb))
    reading = parser.parse_question(" ".join(words))
    if isinstance(reading, ParseFailure):
        assert reading.reason
    else:
        assert reading.claims


_PARSERS: dict[int, ClaimParser] = {}
"""One parser per knowledge base, because building a parser for every example would be slow."""
