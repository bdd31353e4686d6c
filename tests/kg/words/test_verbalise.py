"""Sentences: grammatical for any label, faithful to every value, plain whatever the graph holds."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from shipped import open_shipped

from kg.claims import Claim
from kg.domain import Domain, PredicateWords, load_domain, shipped_domains
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.literals import format_literal, format_number, number
from kg.terms import RDF_TYPE, RDFS, XSD, literal_text
from kg.words.labels import Labels
from kg.words.phrasing import base_form, default_words, parse_label, split_name
from kg.words.plain_text import article, listing, plain, sentence
from kg.words.verbalise import Verbaliser

BASE = "https://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"


def ex(name: str) -> str:
    return BASE + name


def label(name: str, text: str) -> Claim:
    return Claim(ex(name), RDFS + "label", literal_text(text))


def verbaliser(*claims: Claim, **domain: object) -> Verbaliser:
    graph = Graph.from_claims(claims)
    made = Domain(name="test", graph_files=(), shapes_files=(), **domain)  # type: ignore[arg-type]  # test values
    return Verbaliser(made, Labels(graph), graph)


# -- default words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fact", "denied", "question"),
    [
        ("hasMouth", "A mouth of S is O.", "O is not a mouth of S.", "Is O a mouth of S?"),
        ("inflow", "An inflow of S is O.", "O is not an inflow of S.", "Is O an inflow of S?"),
        ("flowsInto", "S flows into O.", "S does not flow into O.", "Does S flow into O?"),
        ("traverses", "S traverses O.", "S does not traverse O.", "Does S traverse O?"),
        ("crosses", "S crosses O.", "S does not cross O.", "Does S cross O?"),
        ("carries", "S carries O.", "S does not carry O.", "Does S carry O?"),
        ("goesTo", "S goes to O.", "S does not go to O.", "Does S go to O?"),
        ("locatedIn", "S is located in O.", "S is not located in O.", "Is S located in O?"),
        ("isLocatedIn", "S is located in O.", "S is not located in O.", "Is S located in O?"),
        ("wasBornIn", "S was born in O.", "S was not born in O.", "Was S born in O?"),
        ("created_by", "S is created by O.", "S is not created by O.", "Is S created by O?"),
        ("partOf", "S is part of O.", "S is not part of O.", "Is S part of O?"),
        ("partOfSystem", "S is part of O.", "S is not part of O.", "Is S part of O?"),
        ("isPartOf", "S is part of O.", "S is not part of O.", "Is S part of O?"),
        ("memberOf", "S is a member of O.", "S is not a member of O.", "Is S a member of O?"),
        ("isAMemberOf", "S is a member of O.", "S is not a member of O.", "Is S a member of O?"),
        ("near", "S is near O.", "S is not near O.", "Is S near O?"),
        ("birthDate", "A birth date of S is O.", "O is not a birth date of S.",
         "Is O a birth date of S?"),
        ("parents", "For S, the value of “parents” is O.",
         "For S, the value of “parents” is not O.",
         "Is O the value of “parents” for S?"),
        ("{{7*7}}", "For S, the value of “{{7*7}}” is O.",
         "For S, the value of “{{7*7}}” is not O.", "Is O the value of “{{7*7}}” for S?"),
    ],
)  # fmt: skip
def test_default_words(name: str, fact: str, denied: str, question: str) -> None:
    words = verbaliser(label("s", "S"), label("o", "O"), Claim(ex("s"), ex("p"), ex("o")))
    words = words.with_label(ex("p"), name)
    claim = Claim(ex("s"), ex("p"), ex("o"))
    assert words.fact(claim) == fact
    assert words.denied(claim) == denied
    assert words.questions(claim)[0] == question
    assert len(words.questions(claim)) >= 2


def test_one_value_takes_the_definite_article() -> None:
    words = verbaliser(
        label("s", "S"), label("o", "O"), Claim(ex("s"), ex("mayor"), ex("o")),
        Claim(ex("mayor"), RDF_TYPE, OWL + "FunctionalProperty"),
        Claim(ex("s"), ex("area"), literal_text("7", XSD + "integer")),
    )  # fmt: skip
    assert words.fact(Claim(ex("s"), ex("mayor"), ex("o"))) == "The mayor of S is O."
    assert words.questions(Claim(ex("s"), ex("mayor"), ex("o")))[0] == "Is O the mayor of S?"
    area = Claim(ex("s"), ex("area"), literal_text("7", XSD + "integer"))
    assert words.fact(area) == "The area of S is 7."
    assert words.questions(area)[0] == "Is the area of S 7?"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("species", "noun"), ("address", "noun"), ("status", "noun"), ("GPSPosition", "noun"),
     ("knows", "verb"), ("drains into", "verb"), ("has", "noun"), ("is", "noun"),
     ("mouths of rivers near", "quoted"),
     ("country traversed", "quoted"), ("top speed", "noun"), ("", "quoted"),
     ("a b c d e f g", "quoted")],
)  # fmt: skip
def test_kinds_of_label(text: str, kind: str) -> None:
    assert parse_label(text).kind == kind


def test_names_are_split_into_words() -> None:
    assert split_name("hasURLOfPage_x") == "has URL of page x"
    assert split_name("A Label with Spaces") == "A Label with Spaces"
    assert base_form("watches over") == "watch over"
    assert base_form("has") == "have"


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_whatever_the_labels_sentences_are_one_plain_line(pred: str, subj: str, obj: str) -> None:
    made = default_words(pred)
    words = verbaliser(label("s", subj), label("o", obj), predicates={ex("p"): made})
    claim = Claim(ex("s"), ex("p"), ex("o"))
    for text, end in [(words.fact(claim), "."), (words.denied(claim), "."),
                      *((q, "?") for q in words.questions(claim))]:  # fmt: skip
        assert text.endswith(end)
        assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e]", text)
        assert "  " not in text
        text.encode("utf-8")


# -- names ---------------------------------------------------------------------------------------

NAMING = {
    ex("Water"): "the {{ label }}",
    ex("Lake"): "{{ 'the ' if label.endswith('Sea') }}{{ label }}",
}


def test_the_most_specific_class_names() -> None:
    sub = Claim(ex("Lake"), RDFS + "subClassOf", ex("Water"))
    words = verbaliser(
        sub, label("c", "Constance"), Claim(ex("c"), RDF_TYPE, ex("Lake")),
        Claim(ex("c"), RDF_TYPE, ex("Water")), label("r", "Rhine"),
        Claim(ex("r"), RDF_TYPE, ex("Water")), label("x", "Xyz"), naming=NAMING,
    )  # fmt: skip
    assert words.name(ex("c")) == "Constance"
    assert words.name(ex("r")) == "the Rhine"
    assert words.name(ex("x")) == "Xyz"
    assert words.name(ex("unheard%20of")) == "unheard of"
    assert words.name("_:b7") == "something unnamed"


def test_homonyms_get_different_names() -> None:
    words = verbaliser(
        label("a/colorado", "Colorado"), label("b/colorado", "Colorado"), label("c", "Colorado"),
        Claim(ex("c"), "http://www.w3.org/2004/02/skos/core#altLabel", literal_text("Third one")),
        label("plain", "Rhine"),
    )  # fmt: skip
    names = [words.name(ex(n)) for n in ("a/colorado", "b/colorado", "c", "plain")]
    assert len(set(names)) == 4
    assert names[2] == "Third one"
    assert names[3] == "Rhine"
    assert all(name.startswith("Colorado (") for name in names[:2])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{7*7}}", "{{7*7}}"),
        ("{% raw %}", "{% raw %}"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("</td>&amp;", "</td>&amp;"),
        ("two\n\tlines\r\n", "two lines"),
        ("nul\x00 and bell\x07", "nul and bell"),
        ("\u202eright to left\u202c", "right to left"),
        ("می‌خواهم", "می‌خواهم"),
        ("x" * 10_000, "x" * 199 + "…"),
    ],
)
def test_hostile_labels_stay_plain_text(text: str, shown: str) -> None:
    words = verbaliser(
        label("s", text), label("o", "O"), naming={ex("C"): "the {{ label }}"},
        predicates={ex("p"): PredicateWords(label="p", fact="{{ subj }} p {{ obj }}.",
                    denied="{{ subj }} not p {{ obj }}.", questions=("{{ subj }} p {{ obj }}?",))},
    )  # fmt: skip
    assert words.name(ex("s")) == shown
    assert words.fact(Claim(ex("s"), ex("p"), ex("o"))).endswith(f"{shown[1:]} p O.")


@pytest.mark.parametrize(
    ("lexical", "datatype", "shown"),
    [
        ("1233", "integer", "1,233"), ("+12", "integer", "12"), ("-1234567", "int", "-1,234,567"),
        ("007", "integer", "7"), ("0", "integer", "0"), ("1234.50", "decimal", "1,234.50"),
        ("1.5E10", "double", "1.5E10"), ("INF", "double", "INF"), ("12a", "integer", "12a"),
        ("2024-05-03", "date", "3 May 2024"), ("2024-13-03", "date", "2024-13-03"),
        ("2024-05-03T10:20:00", "dateTime", "3 May 2024, 10:20"),
        ("2024-05-03T10:20:30Z", "dateTime", "3 May 2024, 10:20:30 UTC"),
        ("2024-05-03T10:20:00+02:00", "dateTime", "3 May 2024, 10:20 +02:00"),
        ("1998", "gYear", "1998"), ("2024-05", "gYearMonth", "May 2024"),
        ("1", "boolean", "true"), ("false", "boolean", "false"), ("a  b", "string", "a b"),
    ],
)  # fmt: skip
def test_literals(lexical: str, datatype: str, shown: str) -> None:
    assert format_literal(lexical, XSD + datatype) == shown


def test_units_years_and_languages() -> None:
    words = verbaliser(
        predicates={
            ex("len"): PredicateWords(
                label="length", fact="{{ subj }} is {{ obj }} long.", denied="no",
                questions=("q?",), unit="km"),
        },
    )  # fmt: skip
    length = literal_text("12345", XSD + "integer")
    assert words.fact(Claim(ex("s"), ex("len"), length)) == "S is 12,345 km long."
    assert words.name(literal_text("unknown"), ex("len")) == "unknown"
    assert words.name(literal_text("1998", XSD + "integer"), ex("foundingYear")) == "1998"
    assert words.name(literal_text("Rhin", language="fr")) == "Rhin"
    assert words.name('"torn literal') == '"torn literal'


def test_a_number_of_a_million_digits_is_quick() -> None:
    assert format_number("9" * 1_000_000).startswith("9")
    assert number(literal_text("12.5", XSD + "decimal")) == 12.5
    assert number(literal_text("x", XSD + "decimal")) is None
    assert number(literal_text("12")) is None
    assert number(ex("s")) is None


# -- the shared vocabulary and the shipped domains -----------------------------------------------


def test_types_and_subclasses() -> None:
    words = verbaliser(label("rhine", "Rhine"), label("River", "River"), label("Inlet", "Inlet"))
    assert words.fact(Claim(ex("rhine"), RDF_TYPE, ex("River"))) == "Rhine is a river."
    assert words.questions(Claim(ex("rhine"), RDF_TYPE, ex("Inlet"))) == ["Is Rhine an inlet?"]
    assert words.denied(Claim(ex("rhine"), RDF_TYPE, ex("River"))) == "Rhine is not a river."
    sub = Claim(ex("Inlet"), RDFS + "subClassOf", ex("River"))
    assert words.fact(sub) == "Every inlet is a river."


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return KnowledgeBase.shared()


@pytest.mark.parametrize("name", shipped_domains())
def test_no_shipped_sentence_is_malformed(name: str) -> None:
    kb = open_shipped(name)
    bad = re.compile(
        r"\b(the the|a the|an the|the an|a an|the a|of of|is is)\b|\s[.,?]|[.?]{2}|[{}]|\bNone\b"
        r"|  |\ba (?=[aeio]\w)|\ban (?=[bcdfgjklmnpqrstvwxyz]\w)", re.IGNORECASE,
    )  # fmt: skip
    seen = 0
    for pred in kb.domain.predicates:
        for claim in kb.graph.claims(pred):
            questions = kb.words.questions(claim)
            statements = [kb.words.fact(claim), kb.words.denied(claim)]
            labels = [kb.labels.label(term) for term in (claim.subj, claim.obj)]
            for text in (*statements, *questions):
                seen += 1
                # A name may be anything ("Huai'an", "’s-Gravenzande"); the words around it may not.
                for label in sorted(labels, key=len, reverse=True):
                    text = text.replace(label, "Name", 1)
                assert text[0].isupper() or text[0].isdigit(), text
                assert not bad.search(text), text
            assert all(text.endswith("?") for text in questions)
            assert all(text.endswith(".") for text in statements)
            assert len({*statements, *questions}) == len(questions) + 2
    assert seen > 50


def test_no_two_rivers_share_a_name(rivers: KnowledgeBase) -> None:
    kind = load_domain("rivers").expand("wm:River")
    named = [rivers.words.name(c.subj) for c in rivers.graph.claims(RDF_TYPE) if c.obj == kind]
    assert len(set(named)) == len(named) > 30


def test_label_override() -> None:
    words = verbaliser(
        label("s", "S"), label("o", "O"),
        predicates={ex("p"): PredicateWords(
            label="mouth", fact="{{ subj }} → {{ obj }}.", denied="x", questions=("q?",))},
    )  # fmt: skip
    claim = Claim(ex("s"), ex("p"), ex("o"))
    assert words.with_label(ex("p"), "mouth") is words
    assert words.fact(claim) == "S → O."
    renamed = words.with_label(ex("p"), "hasOutflow")
    assert renamed.fact(claim) == "An outflow of S is O."
    assert renamed.label(ex("p")) == "has outflow"
    assert words.fact(claim) == "S → O."


# -- plain text ----------------------------------------------------------------------------------


def test_small_words() -> None:
    nouns = ("apple", "hour", "university", "umbrella", "European", "one-way")
    assert [article(noun) for noun in nouns] == [
        "an apple", "an hour", "a university", "an umbrella", "a European", "a one-way",
    ]  # fmt: skip
    assert listing([]) == ""
    assert listing(["a", "b", "c"], "or") == "a, b or c"
    assert sentence("the Rhine") == "The Rhine"
    assert sentence("iPhone sales") == "iPhone sales"
    assert plain("\ud800") == "\ufffd"


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=500), st.integers(2, 100))
def test_plain_is_idempotent_and_bounded(text: str, limit: int) -> None:
    once = plain(text, limit)
    assert plain(once, limit) == once
    assert len(once) <= limit
    once.encode("utf-8")
