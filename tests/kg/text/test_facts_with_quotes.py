"""Tests of the words that state a fact, of passages, and of the kinds that facts say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg.claims import Claim
from kg.text.facts.domain import build_fact_domain, read_extracted_facts
from kg.text.facts.evidence import Evidence, SourcePassage, read_passages
from kg.text.facts.fact import Fact
from kg.text.facts.kinds import find_head_noun, find_kinds
from kg.text.facts.quotes import QuoteChecker

BERG = "Anna Berg was born in Berlin."
WOLF = "Karl Wolf was born in Paris."
CAPITALS = "- Oslo: Norway\n- Bern: Switzerland"


def state(subject: str, relation: str, target: str, passage: str = "", quote: str = "") -> Fact:
    return Fact(subject=subject, relation=relation, object=target, chunk_id=passage, quote=quote)


def read_fact(text: str, quote: str) -> Fact:
    subject, relation, target = text.split(" | ")
    return state(subject, relation, target, passage="p", quote=quote)


@pytest.mark.parametrize(
    ("text", "title", "fact", "quote"),
    [
        (f"{BERG} {WOLF}", "", "Anna Berg | was born in | Paris", f"{BERG} {WOLF}"),
        (f"{BERG} {WOLF}", "", "Anna Berg | was born in | Paris", WOLF),
        (f"{BERG} {WOLF}", "", "Anna Berg | was born in | Paris", "Paris"),
        # In a passage about her, too, the sentence is about him.
        (f"{BERG} {WOLF}", "Anna Berg", "Anna Berg | was born in | Paris", "born in Paris"),
        (f"{BERG} {WOLF}", "Anna Berg", "Anna Berg | was born in | Paris", ""),
        (CAPITALS, "", "Oslo | is the capital of | Switzerland", CAPITALS),
        (CAPITALS, "", "Oslo | is the capital of | Switzerland", ""),
        # The object is a part of the subject's name.
        ("The Bank of Oslo is old.", "", "Bank of Oslo | is located in | Oslo", ""),
        ("The Bank of Oslo is old.", "Bank of Oslo", "Bank of Oslo | is in | Oslo", ""),
        ("Ann was never married to Bo.", "", "Ann | was married to | Bo", ""),
        ("Ann wasn’t married to Bo.", "Ann", "Ann | was married to | Bo", "married to Bo"),
        ("It is not true that Ann met Bo.", "", "Ann | met | Bo", "Ann met Bo"),
        ("Ann heiratete Bo nie.", "", "Ann | heiratete | Bo", ""),
        ("Ann met Bo.", "", "Ann | did not meet | Bo", ""),
        ("Karl met Ann. He left for Bern.", "", "Ann | left for | Bern", "He left for Bern."),
        ("Ann met Karl. He left for Bern.", "", "Ann | left for | Bern", "He left for Bern."),
    ],
)
def test_words_that_do_not_state_a_fact_are_no_quote(
    text: str, title: str, fact: str, quote: str
) -> None:
    others = [state(name, "is", "old", passage="p") for name in ("Karl Wolf", "Karl", "He")]
    facts = [read_fact(fact, quote), *others]
    checker = QuoteChecker(facts, [SourcePassage("p", text, title)])
    assert list(checker.iter_quoted_facts(facts)) == []


@pytest.mark.parametrize(
    ("text", "title", "fact", "quote", "expected"),
    [
        (f"{BERG} {WOLF}", "", "Karl Wolf | was born in | Paris", "", WOLF),
        # Quotes that are too short or too long
        (f"{BERG} {WOLF}", "", "Karl Wolf | was born in | Paris", "Paris", WOLF),
        (f"{BERG} {WOLF}", "", "Anna Berg | was born in | Berlin", f"{BERG} {WOLF}", BERG),
        (CAPITALS, "", "Bern | is the capital of | Switzerland", CAPITALS, "- Bern: Switzerland"),
        ("So Ann met Bo in May.", "", "Ann | met | Bo", "Ann met Bo", "Ann met Bo"),
        ("Ann is old. She met Bo.", "", "Ann | met | Bo", "She met Bo.", "Ann is old. She met Bo."),
        # The title names the subject.
        ("Land was sold to Bo.", "The Park", "The Park | was sold to | Bo", "", ""),
        ("In 1900 Ann moved.", "Ann", "Ann | moved in | 1900", "", ""),
        ("Bath has the Bank of Bath.", "Bath", "Bath | has | Bank of Bath", "", ""),
        # Negations elsewhere, and what only looks like one
        ("Ann met Bo, not Cy.", "", "Ann | met | Bo", "", ""),
        ("Ann did not meet Bo.", "", "Ann | did not meet | Bo", "", ""),
        ("Ann led not only Bo but Cy.", "", "Ann | led | Cy", "", ""),
        ("Ann lives at No. 5 in Bath.", "", "Ann | lives in | Bath", "", ""),
    ],
)
def test_a_quote_is_the_sentence_that_states_the_fact(
    text: str, title: str, fact: str, quote: str, expected: str
) -> None:
    noun = state("Land", "was", "cheap", passage="p")  # no name: the texts have "land" too
    facts = [read_fact(fact, quote), noun]
    passages = [SourcePassage("p", text, title), SourcePassage("q", "They sold land.")]
    found = list(QuoteChecker(facts, passages).iter_quoted_facts(facts))
    assert [fact.quote for fact in found] == [expected or text]


def test_items_of_a_list_are_removed_one_by_one() -> None:
    passages = [
        SourcePassage("a", "Capitals:\n- Oslo: Norway\n- Bern: Switzerland\n\nBoth are old."),
        SourcePassage("b", "Oslo lies in Greater\nNorway."),  # a name in two lines
    ]
    capital = Claim("urn:oslo", "urn:capital", "urn:norway")
    place = Claim("urn:oslo", "urn:lies", "urn:greater_norway")
    left = Evidence(passages[:1], []).remove_mentions({capital: (["Oslo"], ["Norway"])})
    assert [passage.text for passage in left.passages.values()] == [
        "Capitals:\n- Bern: Switzerland\n\nBoth are old."
    ]
    left = Evidence(passages[1:], []).remove_mentions({place: (["Oslo"], ["Greater Norway"])})
    assert not left.passages


def test_long_quotes_and_ids_are_kept_whole(tmp_path: Path) -> None:
    subordinate = "which was hard to find, as everybody said, " * 20
    facts, passages = [], []
    for number in range(6):
        id_ = f"{'folder/' * 40}page  {number}"
        text = f"The office of Town {number}, {subordinate}was moved to Peru."
        passages.append({"id": id_, "text": f"It began so. {text} It ended so."})
        facts.append(
            {"subject": f"Town {number}", "relation": "was moved to", "object": "Peru"}
            | {"passage": id_, "quote": text}
        )
    for name, rows in (("facts", facts), ("passages", passages)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    read = read_extracted_facts([tmp_path / "facts.jsonl"])
    quotes = build_fact_domain(read, read_passages(tmp_path / "passages.jsonl")).quotes
    assert {(quote.passage, quote.text) for quote in quotes} == {
        (fact["passage"], fact["quote"]) for fact in facts
    }


@pytest.mark.parametrize(
    "text",
    [
        "Anna Berg was born in Paris in a small house by the river and later\nmoved to Berlin.",
        "Anna Berg was born in Paris in a small house and later went to\nBerlin with her family.",
        "Anna Berg was born in Paris\nand later moved to Berlin with her family.",
        "Anna Berg was born in Paris\nKarl Wolf was born in Rome",
        "Oslo: Norway\nBern: Switzerland\nBuenos Aires: Argentina",
        "Town | Country\nOslo | Norway and Svalbard",
    ],
)
def test_the_first_line_of_wrapped_text_and_of_lists_is_no_title(tmp_path: Path, text: str) -> None:
    path = tmp_path / "passages.jsonl"
    path.write_text(json.dumps({"id": "a", "text": text}), "utf-8")
    assert read_passages(path) == [SourcePassage("a", text)]


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("1994 American film directed by Quentin Tarantino", "film"),
        ("novel written by Jane Austen in 1813", "novel"),
        ("crime film starring Al Pacino", "film"),
        ("a company founded 1990", "company"),
        ("one of the largest cities in Europe", "city"),
        ("one of 435 congressional districts", "district"),
        ("among the oldest churches of Rome", "church"),
        ("a rare type of bread", "bread"),
        ("one of several species of lizards", "lizard"),
        ("French poet", "poet"),
        ("the peer-reviewed journal of physics", "journal"),
        ("a data set about rivers", "set"),
    ],
)
def test_the_kind_is_the_noun_that_the_rest_describes(text: str, noun: str) -> None:
    assert find_head_noun(text) == noun


@pytest.mark.parametrize(
    "text",
    [
        *("Al Pacino", "a Korean", "Head of State", "President of the Senate", "RDF"),
        *(
            "member of the band",
            "part of the European Union",
            "the name of a town",
            "one",
            "a type",
        ),
        *("located in Ohio", "the largest", "westernmost", "one of the oldest", "80", "", "of"),
    ],
)
def test_names_members_and_adjectives_are_no_kinds(text: str) -> None:
    assert find_head_noun(text) == ""


def test_the_most_frequent_kind_counts() -> None:
    statements = [
        *(("The Ann", "is a", text) for text in ("ship built in Ulm", "large ship", "boat")),
        ("Bo", "was", "a painter"),
        ("Bo", "met", "a sailor"),
    ]
    assert find_kinds(statements) == {"ann": "ship", "bo": "painter"}
