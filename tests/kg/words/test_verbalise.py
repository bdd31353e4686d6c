"""Tests that sentences about a graph are grammatical, state every value and contain no markup."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from shipped import open_shipped

from kg.base.plain_text import add_article, capitalise_sentence, clean_text, join_list
from kg.claims import Claim
from kg.domain import Domain, list_shipped_domains, load_domain
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.literals import format_literal, format_number, parse_number
from kg.predicate_words import PredicateWording
from kg.terms import RDF_TYPE, RDFS, XSD, write_literal
from kg.words.axioms import render_axiom
from kg.words.default_sentences import make_default_wording
from kg.words.label_grammar import get_base_form, parse_label, split_name
from kg.words.labels import Labels
from kg.words.verbaliser import Verbaliser

BASE = "https://example.org/"
OWL = "http://www.w3.org/2002/07/owl#"


def make_iri(name: str) -> str:
    return BASE + name


def make_label_claim(name: str, text: str) -> Claim:
    return Claim(make_iri(name), RDFS + "label", write_literal(text))


def make_verbaliser(*claims: Claim, **domain_fields: object) -> Verbaliser:
    graph = Graph.from_claims(claims)
    test_domain = Domain(name="test", graph_files=(), shapes_files=(), **domain_fields)  # type: ignore[arg-type]  # test values
    return Verbaliser(test_domain, Labels(graph), graph)


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "is_quoted"),
    [
        ("bnodes are not existentials", True),
        ("two literals have the same value", True),
        ("blank nodes cannot be shared", True),
        ("Plain literals do not match", True),
        ("simple triple pattern", False),
        ("cell that is dividing", False),
        ("Al Has River", False),
        ("is a test", False),
        ("what it has", False),
        ("“X” is quoted", False),
        ("Rio do Sul", False),
    ],
)
def test_a_name_that_is_a_clause_is_quoted(label: str, is_quoted: bool) -> None:
    claim = Claim(make_iri("s"), make_iri("status"), make_iri("o"))
    verbaliser = make_verbaliser(
        make_label_claim("s", label), make_label_claim("o", "Approved"), claim
    )
    name = f"“{label}”" if is_quoted else label
    assert verbaliser.render_questions(claim)[0] == f"Does {name} have Approved as a status?"


@pytest.mark.parametrize(
    ("value", "is_quoted"),
    [
        ("Units are defined in other schemas.", True),
        ("Old Papers. A Review", True),
        ("Mayer & Sons Inc.", False),
        ("see the first page", False),
    ],
)
def test_a_text_that_is_a_sentence_is_quoted(value: str, is_quoted: bool) -> None:
    claim = Claim(make_iri("s"), make_iri("intent"), write_literal(value))
    verbaliser = make_verbaliser(make_label_claim("s", "Dome"), claim)
    text = f"“{value}”" if is_quoted else value
    assert verbaliser.render_fact(claim) == f"Dome has {text} as its intent."


@pytest.mark.parametrize("is_labelled", [True, False])
def test_a_class_in_facts_has_one_spelling(is_labelled: bool) -> None:
    spicy = Claim(make_iri("NotSpicy"), RDFS + "subClassOf", make_iri("TasteKind"))
    claims = [
        spicy,
        Claim(make_iri("s"), make_iri("taste"), make_iri("NotSpicy")),
        Claim(make_iri("t"), RDF_TYPE, make_iri("TasteKind")),
    ]
    if is_labelled:
        claims += [make_label_claim(name, name) for name in ("NotSpicy", "TasteKind")]
    words = {make_iri("taste"): PredicateWording(label="taste")}
    verbaliser = make_verbaliser(*claims, predicates=words)
    assert verbaliser.render_fact(claims[1]) == "S has NotSpicy as a taste."
    assert render_axiom(verbaliser, spicy) == "Every NotSpicy is a taste kind."
    verbaliser = make_verbaliser(*claims)  # no fact can be stated
    assert render_axiom(verbaliser, spicy) == "Every not spicy is a taste kind."


# -- default wording -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fact", "denial", "question"),
    [
        ("hasMouth", "S has O as a mouth.", "S does not have O as a mouth.",
         "Does S have O as a mouth?"),
        ("inflow", "S has O as an inflow.", "S does not have O as an inflow.",
         "Does S have O as an inflow?"),
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
        ("partOfSystem", "S is part of the system O.", "S is not part of the system O.",
         "Is S part of the system O?"),
        ("isPartOf", "S is part of O.", "S is not part of O.", "Is S part of O?"),
        ("memberOf", "S is a member of O.", "S is not a member of O.", "Is S a member of O?"),
        ("isAMemberOf", "S is a member of O.", "S is not a member of O.", "Is S a member of O?"),
        ("near", "S is near O.", "S is not near O.", "Is S near O?"),
        ("birthDate", "S has O as a birth date.", "S does not have O as a birth date.",
         "Does S have O as a birth date?"),
        ("parents", "S has O among its parents.", "S does not have O among its parents.",
         "Does S have O among its parents?"),
        ("isOrWasPartOf", "S is or was part of O.", "S is not and was not part of O.",
         "Is or was S part of O?"),
        ("diedIn", "S died in O.", "S did not die in O.", "Did S die in O?"),
        ("{{7*7}}", "S has O as a value of “{{7*7}}”.",
         "S does not have O as a value of “{{7*7}}”.", "Does S have O as a value of “{{7*7}}”?"),
    ],
)  # fmt: skip
def test_default_wording_follows_the_predicate_name(
    name: str, fact: str, denial: str, question: str
) -> None:
    verbaliser = make_verbaliser(
        make_label_claim("s", "S"),
        make_label_claim("o", "O"),
        Claim(make_iri("s"), make_iri("p"), make_iri("o")),
    )
    verbaliser = verbaliser.with_label(make_iri("p"), name)
    claim = Claim(make_iri("s"), make_iri("p"), make_iri("o"))
    assert verbaliser.render_fact(claim) == fact
    assert verbaliser.render_denial(claim) == denial
    assert verbaliser.render_questions(claim)[0] == question
    assert len(verbaliser.render_questions(claim)) >= 2


def test_predicates_with_one_value_per_subject_take_the_definite_article() -> None:
    verbaliser = make_verbaliser(
        make_label_claim("s", "S"), make_label_claim("o", "O"),
        Claim(make_iri("s"), make_iri("mayor"), make_iri("o")),
        Claim(make_iri("mayor"), RDF_TYPE, OWL + "FunctionalProperty"),
        Claim(make_iri("s"), make_iri("area"), write_literal("7", XSD + "integer")),
    )  # fmt: skip
    assert (
        verbaliser.render_fact(Claim(make_iri("s"), make_iri("mayor"), make_iri("o")))
        == "S has O as its mayor."
    )
    assert (
        verbaliser.render_questions(Claim(make_iri("s"), make_iri("mayor"), make_iri("o")))[0]
        == "Does S have O as its mayor?"
    )
    area = Claim(make_iri("s"), make_iri("area"), write_literal("7", XSD + "integer"))
    assert verbaliser.render_fact(area) == "S has 7 as its area."
    assert verbaliser.render_questions(area)[0] == "Does S have 7 as its area?"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("species", "noun"), ("address", "noun"), ("status", "noun"), ("GPSPosition", "noun"),
     ("knows", "verb"), ("drains into", "verb"), ("has", "quoted"), ("is", "quoted"),
     ("mouths of rivers near", "quoted"),
     ("country traversed", "noun"), ("parents", "plural"), ("made in", "copula"),
     ("top speed", "noun"), ("", "quoted"),
     ("a b c d e f g h i", "quoted")],
)  # fmt: skip
def test_kind_of_a_label_is_recognised(text: str, kind: str) -> None:
    assert parse_label(text).kind == kind


def test_names_are_split_into_words() -> None:
    assert split_name("hasURLOfPage_x") == "has URL of page x"
    assert split_name("A Label with Spaces") == "A Label with Spaces"
    assert get_base_form("watches over") == "watch over"
    assert get_base_form("has") == "have"


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_sentences_are_one_plain_line_for_any_labels(pred: str, subj: str, obj: str) -> None:
    wording = make_default_wording(pred)
    verbaliser = make_verbaliser(
        make_label_claim("s", subj), make_label_claim("o", obj), predicates={make_iri("p"): wording}
    )
    claim = Claim(make_iri("s"), make_iri("p"), make_iri("o"))
    for text, end in [(verbaliser.render_fact(claim), "."), (verbaliser.render_denial(claim), "."),
                      *((q, "?") for q in verbaliser.render_questions(claim))]:  # fmt: skip
        assert text.endswith(end)
        assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e]", text)
        assert "  " not in text
        text.encode("utf-8")


# -- names ---------------------------------------------------------------------------------------

NAMING_TEMPLATES = {
    make_iri("Water"): "the {{ label }}",
    make_iri("Lake"): "{{ 'the ' if label.endswith('Sea') }}{{ label }}",
}


def test_naming_template_of_the_most_specific_class_is_used() -> None:
    subclass = Claim(make_iri("Lake"), RDFS + "subClassOf", make_iri("Water"))
    verbaliser = make_verbaliser(
        subclass,
        make_label_claim("c", "Constance"),
        Claim(make_iri("c"), RDF_TYPE, make_iri("Lake")),
        Claim(make_iri("c"), RDF_TYPE, make_iri("Water")),
        make_label_claim("r", "Rhine"),
        Claim(make_iri("r"), RDF_TYPE, make_iri("Water")),
        make_label_claim("x", "Xyz"),
        naming=NAMING_TEMPLATES,
    )
    assert verbaliser.render_term(make_iri("c")) == "Constance"
    assert verbaliser.render_term(make_iri("r")) == "the Rhine"
    assert verbaliser.render_term(make_iri("x")) == "Xyz"
    assert verbaliser.render_term(make_iri("unheard%20of")) == "unheard of"
    assert verbaliser.render_term("_:b7") == "something unnamed"


def test_homonyms_get_different_names() -> None:
    verbaliser = make_verbaliser(
        make_label_claim("a/colorado", "Colorado"), make_label_claim("b/colorado", "Colorado"),
        make_label_claim("c", "Colorado"),
        Claim(make_iri("c"), "http://www.w3.org/2004/02/skos/core#altLabel",
              write_literal("Third one")),
        make_label_claim("plain", "Rhine"),
    )  # fmt: skip
    names = [
        verbaliser.render_term(make_iri(n)) for n in ("a/colorado", "b/colorado", "c", "plain")
    ]
    assert len(set(names)) == 4
    assert names[2] == "Third one"
    assert names[3] == "Rhine"
    assert all(name.startswith("Colorado (") for name in names[:2])


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_hostile_labels_stay_plain_text(text: str, expected: str) -> None:
    wording = PredicateWording(
        label="p",
        fact="{{ subj }} p {{ obj }}.",
        denied="{{ subj }} not p {{ obj }}.",
        questions=("{{ subj }} p {{ obj }}?",),
    )
    verbaliser = make_verbaliser(
        make_label_claim("s", text),
        make_label_claim("o", "O"),
        naming={make_iri("C"): "the {{ label }}"},
        predicates={make_iri("p"): wording},
    )
    assert verbaliser.render_term(make_iri("s")) == expected
    fact = verbaliser.render_fact(Claim(make_iri("s"), make_iri("p"), make_iri("o")))
    assert fact.endswith(f"{expected[1:]} p O.")  # The first letter may be capitalised.


@pytest.mark.parametrize(
    ("lexical", "datatype", "expected"),
    [
        ("1233", "integer", "1,233"), ("+12", "integer", "12"), ("-1234567", "int", "-1,234,567"),
        ("007", "integer", "7"), ("0", "integer", "0"), ("1234.50", "decimal", "1,234.50"),
        ("899402.0", "decimal", "899,402"), ("12.00", "decimal", "12.00"),
        ("5.0", "double", "5"), ("5.25", "double", "5.25"), ("-0.0", "decimal", "-0"),
        ("1.5E10", "double", "1.5E10"), ("INF", "double", "INF"), ("12a", "integer", "12a"),
        ("2024-05-03", "date", "3 May 2024"), ("2024-13-03", "date", "2024-13-03"),
        ("2024-05-03T10:20:00", "dateTime", "3 May 2024, 10:20"),
        ("2024-05-03T10:20:30Z", "dateTime", "3 May 2024, 10:20:30 UTC"),
        ("2024-05-03T10:20:00+02:00", "dateTime", "3 May 2024, 10:20 +02:00"),
        ("2024-05-03T00:00:00Z", "dateTime", "3 May 2024, 00:00 UTC"),
        ("1998", "gYear", "1998"), ("2024-05", "gYearMonth", "May 2024"),
        ("1", "boolean", "true"), ("false", "boolean", "false"), ("a  b", "string", "a b"),
    ],
)  # fmt: skip
def test_literals_are_formatted_for_readers(lexical: str, datatype: str, expected: str) -> None:
    assert format_literal(lexical, XSD + datatype) == expected


@pytest.mark.parametrize(
    ("others", "text"),
    [
        (["2024-05-04T00:00:00Z"], "3 May 2024"),
        # Of one day, midnight and the evening must differ on a card.
        (["2024-05-03T18:00:00Z"], "3 May 2024, 00:00 UTC"),
        (["2024-05-03T00:00:00+02:00"], "3 May 2024, 00:00 UTC"),
        (["2024-05-03T00:00:00.5Z"], "3 May 2024, 00:00 UTC"),
    ],
)
def test_midnights_are_days_if_there_are_no_other_times(others: list[str], text: str) -> None:
    moments = [
        write_literal(lexical, XSD + "dateTime") for lexical in ("2024-05-03T00:00:00Z", *others)
    ]
    verbaliser = make_verbaliser(*(Claim(make_iri("s"), make_iri("p"), o) for o in moments))
    assert verbaliser.render_term(moments[0], make_iri("p")) == text
    assert verbaliser.render_term(moments[0]) == "3 May 2024, 00:00 UTC"


def test_german_nouns_keep_their_capitals() -> None:
    verbaliser = make_verbaliser(
        Claim(make_iri("Berg"), RDFS + "label", write_literal("Berg", language="de")),
        Claim(make_iri("Peak"), RDFS + "label", write_literal("High Peak", language="en")),
        Claim(make_iri("Lieu"), RDFS + "label", write_literal("Lieu", language="fr")),
    )
    nouns = [verbaliser.get_class_noun(make_iri(name)) for name in ("Berg", "Peak", "Lieu")]
    assert nouns == ["Berg", "high peak", "lieu"]
    fact = verbaliser.render_fact(Claim(make_iri("Eiger"), RDF_TYPE, make_iri("Berg")))
    assert fact == "Eiger is a Berg."


def test_units_years_and_languages_are_rendered() -> None:
    verbaliser = make_verbaliser(
        predicates={
            make_iri("len"): PredicateWording(
                label="length", fact="{{ subj }} is {{ obj }} long.", denied="no",
                questions=("q?",), unit="km"),
        },
    )  # fmt: skip
    length = write_literal("12345", XSD + "integer")
    assert (
        verbaliser.render_fact(Claim(make_iri("s"), make_iri("len"), length))
        == "S is 12,345 km long."
    )
    assert verbaliser.render_term(write_literal("unknown"), make_iri("len")) == "unknown"
    assert (
        verbaliser.render_term(write_literal("1998", XSD + "integer"), make_iri("foundingYear"))
        == "1998"
    )
    release = make_iri("releaseDate")
    assert verbaliser.render_term(write_literal("1924", XSD + "integer"), release) == "1924"
    assert verbaliser.render_term(write_literal("19240", XSD + "integer"), release) == "19,240"
    assert verbaliser.render_term(write_literal("Rhin", language="fr")) == "Rhin"
    assert verbaliser.render_term('"torn literal') == '"torn literal'


@pytest.mark.parametrize(
    ("lexical", "datatype", "expected"),
    [
        ("PT1H30M", "duration", "1 hour 30 minutes"),
        ("PT90M", "dayTimeDuration", "90 minutes"),
        ("P01Y2M", "yearMonthDuration", "1 year 2 months"),
        ("PT0.5S", "duration", "0.5 seconds"),
        ("PT0S", "duration", "0 seconds"),
        ("PT1H0M", "string", "1 hour"),
        ("PTO", "string", "PTO"),
        ("P1D", "string", "P1D"),
        ("-P1D", "duration", "-P1D"),
        ("P", "duration", "P"),
        ("1897-03-05Z", "date", "5 March 1897"),
        ("1897-03-05+02:00", "date", "5 March 1897"),
        ("1897-03Z", "gYearMonth", "March 1897"),
    ],
)
def test_durations_and_dates_with_zones_are_formatted(
    lexical: str, datatype: str, expected: str
) -> None:
    assert format_literal(lexical, XSD + datatype) == expected


def test_long_numbers_are_formatted_and_only_numbers_parsed() -> None:
    assert format_number("9" * 1_000_000).startswith("9")
    assert parse_number(write_literal("12.5", XSD + "decimal")) == 12.5
    assert parse_number(write_literal("x", XSD + "decimal")) is None
    assert parse_number(write_literal("12")) is None
    assert parse_number(make_iri("s")) is None


# -- the shared vocabulary and the shipped domains -----------------------------------------------


def test_types_and_subclasses_are_rendered() -> None:
    verbaliser = make_verbaliser(
        make_label_claim("rhine", "Rhine"),
        make_label_claim("River", "River"),
        make_label_claim("Inlet", "Inlet"),
    )
    assert (
        verbaliser.render_fact(Claim(make_iri("rhine"), RDF_TYPE, make_iri("River")))
        == "Rhine is a river."
    )
    assert verbaliser.render_questions(Claim(make_iri("rhine"), RDF_TYPE, make_iri("Inlet"))) == [
        "Is Rhine an inlet?"
    ]
    assert (
        verbaliser.render_denial(Claim(make_iri("rhine"), RDF_TYPE, make_iri("River")))
        == "Rhine is not a river."
    )
    subclass_claim = Claim(make_iri("Inlet"), RDFS + "subClassOf", make_iri("River"))
    assert verbaliser.render_fact(subclass_claim) == "Every inlet is a river."


@pytest.fixture(scope="module")
def rivers() -> KnowledgeBase:
    return KnowledgeBase.open_cached()


@pytest.mark.parametrize("name", list_shipped_domains())
def test_no_shipped_sentence_is_malformed(name: str) -> None:
    kb = open_shipped(name)
    malformed_text = re.compile(
        r"\b(the the|a the|an the|the an|a an|the a|of of|is is)\b|\s[.,?]|[.?]{2}|[{}]|\bNone\b"
        r"|  |\ba (?=[aeio]\w)|\ban (?=[bcdfgjklmnpqrstvwxyz]\w)", re.IGNORECASE,
    )  # fmt: skip
    n_checked = 0
    for pred in kb.domain.predicates:
        for claim in kb.graph.iter_claims(pred):
            questions = kb.verbaliser.render_questions(claim)
            statements = [kb.verbaliser.render_fact(claim), kb.verbaliser.render_denial(claim)]
            labels = [kb.labels.get_label(term) for term in (claim.subj, claim.obj)]
            for text in (*statements, *questions):
                n_checked += 1
                # Names are not checked; they may have any form ("Huai'an", "’s-Gravenzande").
                for label in sorted(labels, key=len, reverse=True):
                    text = text.replace(label, "Name", 1)
                assert text[0].isupper() or text[0].isdigit(), text
                assert not malformed_text.search(text), text
            assert all(text.endswith("?") for text in questions)
            assert all(text.endswith(".") for text in statements)
            assert len({*statements, *questions}) == len(questions) + 2
    assert n_checked > 50


def test_river_names_are_unique(rivers: KnowledgeBase) -> None:
    river_class = load_domain("rivers").expand_iri("wm:River")
    names = [
        rivers.verbaliser.render_term(c.subj)
        for c in rivers.graph.iter_claims(RDF_TYPE)
        if c.obj == river_class
    ]
    assert len(set(names)) == len(names) > 30


def test_with_label_replaces_the_wording_of_a_predicate() -> None:
    verbaliser = make_verbaliser(
        make_label_claim("s", "S"), make_label_claim("o", "O"),
        predicates={make_iri("p"): PredicateWording(
            label="mouth", fact="{{ subj }} → {{ obj }}.", denied="x", questions=("q?",))},
    )  # fmt: skip
    claim = Claim(make_iri("s"), make_iri("p"), make_iri("o"))
    assert verbaliser.with_label(make_iri("p"), "mouth") is verbaliser
    assert verbaliser.render_fact(claim) == "S → O."
    renamed = verbaliser.with_label(make_iri("p"), "hasOutflow")
    assert renamed.render_fact(claim) == "S has O as an outflow."
    assert renamed.get_label(make_iri("p")) == "has outflow"
    assert verbaliser.render_fact(claim) == "S → O."


# -- plain text ----------------------------------------------------------------------------------


def test_articles_lists_and_capitals_are_written_in_good_english() -> None:
    nouns = ("apple", "hour", "university", "umbrella", "European", "one-way")
    assert [add_article(noun) for noun in nouns] == [
        "an apple", "an hour", "a university", "an umbrella", "a European", "a one-way",
    ]  # fmt: skip
    assert join_list([]) == ""
    assert join_list(["a", "b", "c"], "or") == "a, b or c"
    assert capitalise_sentence("the Rhine") == "The Rhine"
    assert capitalise_sentence("iPhone sales") == "iPhone sales"
    for text in ("accf22061de is open", "road_works.csv is a file", "p53 binds DNA", "e:x is y"):
        assert capitalise_sentence(text) == text
    for text in ("l'étang is", "well-known is", "(as", "yes, it", "überall"):
        assert capitalise_sentence(text) == text[:1].upper() + text[1:]
    assert clean_text("\ud800") == "\ufffd"


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=500), st.integers(2, 100))
def test_clean_text_is_idempotent_and_bounded(text: str, limit: int) -> None:
    cleaned = clean_text(text, limit)
    assert clean_text(cleaned, limit) == cleaned
    assert len(cleaned) <= limit
    cleaned.encode("utf-8")


def test_people_have_their_dates_and_things_have_theirs() -> None:
    facts = [
        Claim(make_iri(name), RDF_TYPE, make_iri(cls))
        for name, cls in (("moore", "FootballPlayer"), ("adams", "Person"), ("match", "Match"))
    ]
    date = write_literal("1992-08-08", XSD + "date")
    birth = Claim(make_iri("moore"), make_iri("dateOfBirth"), date)
    start = Claim(make_iri("match"), make_iri("startDate"), date)
    other_start = Claim(make_iri("adams"), make_iri("startDate"), date)
    verbaliser = make_verbaliser(*facts, birth, start, other_start)
    assert verbaliser.render_fact(birth) == "Moore has 8 August 1992 as their date of birth."
    assert verbaliser.render_fact(start) == "Match has 8 August 1992 as its start date."


def test_a_literal_that_is_one_of_several_is_not_the_only_one() -> None:
    names = [
        Claim(make_iri("s"), make_iri("nickname"), write_literal(text)) for text in ("Al", "Bo")
    ]
    assert make_verbaliser(*names).render_fact(names[0]) == "S has Al as a nickname."
    assert make_verbaliser(names[0]).render_fact(names[0]) == "S has Al as its nickname."


def test_a_label_in_another_language_is_quoted_unless_the_user_gives_one() -> None:
    pred = make_iri("p")
    label = Claim(pred, RDFS + "label", write_literal("Geburtsort", language="de"))
    claim = Claim(make_iri("s"), pred, make_iri("o"))
    verbaliser = make_verbaliser(label, claim)
    assert verbaliser.render_fact(claim) == "S has o as a value of “Geburtsort”."
    renamed = verbaliser.with_label(pred, "birthplace")
    assert renamed.render_fact(claim) == "S has o as a birthplace."


def test_rules_leave_out_what_says_nothing_to_a_reader() -> None:
    """Two predicates of one name are one for a reader; sixty kinds of a domain are no help."""
    code, other, shape = make_iri("code"), make_iri("otherCode"), make_iri("shape")
    axioms = [
        Claim(code, OWL + "equivalentProperty", other),
        make_label_claim("code", "code"),
        make_label_claim("otherCode", "code"),
        Claim(code, RDFS + "domain", make_iri("Type")),
        Claim(make_iri("Type"), RDFS + "subClassOf", make_iri("Entry")),
        *(Claim(make_iri(f"Kind{n}"), RDFS + "subClassOf", make_iri("Type")) for n in range(20)),
        Claim(shape, RDFS + "domain", make_iri("Form")),
        Claim(make_iri("Round"), RDFS + "subClassOf", make_iri("Form")),
    ]
    verbaliser = make_verbaliser(*axioms)
    assert [rule.text for rule in verbaliser.get_rules(code)] == [
        "If X has Y as a code, then X is a type.",
        "Every type is an entry.",
    ]
    assert [rule.text for rule in verbaliser.get_rules(shape)] == [
        "If X has Y as a shape, then X is a form.",
        "Every round is a form.",
    ]
