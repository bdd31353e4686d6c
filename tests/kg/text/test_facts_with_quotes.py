"""Tests of the words that state a fact, of passages, and of the kinds that facts say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg.claims import Claim
from kg.embedding.factory import open_embedder
from kg.text.canonical.verifier import RuleVerifier
from kg.text.facts.domain import build_fact_domain, read_extracted_facts
from kg.text.facts.evidence import Evidence, SourcePassage, read_passages
from kg.text.facts.fact import Fact
from kg.text.facts.kinds import find_head_noun, find_kinds
from kg.text.facts.quotes import QuoteChecker
from kg.text.keywords.yake_extractor import Yake
from kg.text.run.pipeline import BuildPlan, build_run
from kg.text.run.sources import find_source_files

BERG = "Anna Berg was born in Berlin."
WOLF = "Karl Wolf was born in Paris."
CAPITALS = "- Oslo: Norway\n- Bern: Switzerland"
SEATS = "- Oslo: capital of Norway\n- Bern: capital of Switzerland"


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
        (CAPITALS, "", "Bern | is the capital of | Switzerland", ""),  # nothing says "capital"
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
        (
            *(SEATS, "", "Bern | is the capital of | Switzerland", SEATS),
            "- Bern: capital of Switzerland",
        ),
        ("So Ann met Bo in May.", "", "Ann | met | Bo", "Ann met Bo", "Ann met Bo"),
        ("Ann is old. She met Bo.", "", "Ann | met | Bo", "She met Bo.", "Ann is old. She met Bo."),
        # The title names the subject.
        ("The park was sold to Bo.", "The Park", "The Park | was sold to | Bo", "", ""),
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
    noun = state("Park", "was", "cheap", passage="p")  # no name: the texts have "park" too
    facts = [read_fact(fact, quote), noun]
    passages = [SourcePassage("p", text, title), SourcePassage("q", "They sold a park.")]
    found = list(QuoteChecker(facts, passages).iter_quoted_facts(facts))
    assert [fact.quote for fact in found] == [expected or text]


def find_quote(text: str, fact: str, title: str = "", *, implied: bool = False) -> str:
    """Returns the words of a passage that state a fact; empty if there are none."""
    facts = [read_fact(fact, "")]
    checker = QuoteChecker(facts, [SourcePassage("p", text, title)], accept_implied=implied)
    return next((found.quote for found in checker.iter_quoted_facts(facts)), "")


@pytest.mark.parametrize(
    "text",
    [
        # Questions and headings in their place
        *("Will Borg run on Solaris?\n\nSadly not.", "Is Borg built on Solaris\n\nNo."),
        *("How Borg runs on Solaris", "Running Borg on Solaris", "Run Borg on Solaris first."),
        # Conditions, plans, possibilities
        "If Borg runs on Solaris, the lock is slow.",
        "Borg runs on Solaris provided that FUSE is there.",
        "The lock works unless Borg runs on Solaris.",
        "It depends on whether Borg runs on Solaris.",
        *("Borg could run on Solaris.", "Borg may run on Solaris.", "Borg will run on Solaris."),
        *("Borg was to run on Solaris.", "Borg is intended to run on Solaris."),
        *("Borg should run on Solaris.", "Borg almost runs on Solaris."),
        *("Had Borg run on Solaris, we had used it.", "Borg is planned to run on Solaris."),
        # Reported, disputed, over
        "Many think that Borg runs on Solaris.",
        *("Borg allegedly runs on Solaris.", "It is rumoured that Borg runs on Solaris."),
        "Borg has been wrongly said to run on Solaris.",
        *("Borg used to run on Solaris.", "That Borg runs on Solaris is a misconception."),
        # Negations before the subject, between, and after the object
        "No Borg release runs on Solaris.",
        "It is untrue that since 2019 Borg runs on Solaris.",
        "Nothing that Borg needs runs on Solaris.",
        "Neither Restic nor Borg runs on Solaris.",
        *(
            "Borg can't run on Solaris.",
            "Borg won’t run on Solaris.",
            "Borg couldnt run on Solaris.",
        ),
        *("Borg never runs on Solaris.", "Borg rarely runs on Solaris."),
        *("Borg is unable to run on Solaris.", "Borg declines to run on Solaris."),
        *("Borg has ceased to run on Solaris.", "Borg dropped support, but runs on Solaris."),
        *("Borg runs on no 32-bit Solaris.", "Borg runs on non-Solaris systems."),
        *("Borg running on Solaris is unavailable.", "A Borg that runs on Solaris does not exist."),
        *(
            "Borg | runs on Solaris | no",
            "Borg | runs on Solaris | n/a",
            "Borg runs on Solaris: ❌",
        ),
        "Borg | runs on Solaris | – |",
        # Other subjects, and one of two
        *("Unlike Borg, Restic runs on Solaris.", "Borg's rival runs on Solaris."),
        *("The rival of Borg runs on Solaris.", "Borg runs on Solaris or Linux."),
        # Another relation, and its reverse
        *("Borg was tested on Solaris.", "Borg, Solaris and others"),
        # German
        *("Auch wenn Borg auf Solaris läuft.", "Borg läuft angeblich auf Solaris."),
        *("Borg läuft auf Solaris leider nicht.", "Kein Borg läuft auf Solaris."),
    ],
)
def test_a_sentence_that_is_no_plain_statement_proves_nothing(text: str) -> None:
    assert not find_quote(text, "Borg | runs on | Solaris")
    assert not find_quote(text, "Borg | läuft auf | Solaris")


def test_the_german_past_is_told_from_what_would_be() -> None:
    fact = "Borg | betrieben auf | Solaris"
    for text in ("Borg würde auf Solaris betrieben.", "Borg soll auf Solaris betrieben werden."):
        assert not find_quote(text, fact)
    assert find_quote("Borg wurde auf Solaris betrieben.", fact)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Borg runs on Solaris.", "Borg | runs on | Solaris"),
        ("Since 2019, Borg has been running on Solaris.", "Borg | runs on | Solaris"),
        ("Borg runs on Solaris; Restic does not.", "Borg | runs on | Solaris"),
        ("Borg runs on Solaris, and Restic was never built.", "Borg | runs on | Solaris"),
        ("Borg, a tool by Ann, runs on Solaris.", "Borg | runs on | Solaris"),
        ("Borg läuft auch auf Solaris.", "Borg | läuft auf | Solaris"),
        # Names of such words, a month, and a man
        ("Never Let Me Go was written by Ann.", "Never Let Me Go | was written by | Ann"),
        ("Bo sang in No Doubt.", "Bo | sang in | No Doubt"),
        ("Will Smith was born in May 1968.", "Will Smith | was born in | May 1968"),
        ("Bo lives at No. 5 in Bath.", "Bo | lives in | Bath"),
        # What the relation says, too
        ("Borg may run on Solaris.", "Borg | may run on | Solaris"),
        ("Borg does not run on Solaris.", "Borg | never runs on | Solaris"),
        ("Bo is a former mayor of Bath.", "Bo | is a former mayor of | Bath"),
        # What is planned after all is said
        ("Bo moved to Bath to found what would be Acme.", "Bo | moved to | Bath"),
        # Forms of the relation's words
        ("Acme's founder is Bo.", "Acme | has founder | Bo"),
        ("The population of Bath is 94,782.", "Bath | has a population of | 94,782"),
        ("Bath stopped trains at Acme.", "Bath | stops trains at | Acme"),
    ],
)
def test_plain_statements_are_found(text: str, fact: str) -> None:
    assert find_quote(text, fact) == text


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Acme was sold to Bo.", "Acme | was founded by | Bo"),
        ("Bo founded Acme.", "Bo | was founded by | Acme"),
        ("Acme was founded by Bo.", "Acme | founded | Bo"),
        ("Bo (3 May 1900 – 1980) was a judge.", "Bo | was born on | 3 May 1900"),
        ("Bo lived in Bath, and died in Rome.", "Bo | died in | Bath"),
        ("The Founder Bo sold Acme.", "The Founder Bo | founded | Acme"),
    ],
)
def test_a_sentence_without_the_relation_only_implies_it(text: str, fact: str) -> None:
    assert not find_quote(text, fact)
    assert find_quote(text, fact, implied=True) == text


@pytest.mark.parametrize(("name", "wrong"), [("first", 0), ("second", 3)])
def test_what_sentences_of_other_subjects_orders_and_conditions_state(
    name: str, wrong: int
) -> None:
    """The first list was known when the rules were made, the second was written after them.

    It tells what to expect elsewhere, though a later mistake that it showed was mended.
    """
    path = Path(__file__).parents[2] / "data" / "fact_sentences.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    chosen = [row for row in rows if row["list"] == name]
    found = {row["text"] for row in chosen if find_quote(row["text"], row["fact"])}
    assert found >= {row["text"] for row in chosen if row["is_stated"]}
    assert len([row for row in chosen if not row["is_stated"] and row["text"] in found]) <= wrong


HEAT = "Heat is a 1995 crime film. "


@pytest.mark.parametrize(
    ("sentence", "is_about"),
    [
        ("It was directed by Mann.", True),
        ("In May 1994 it was directed by Mann.", True),
        ("Although it was cheap, the film was directed by Mann.", True),
        ("The film was directed by Mann.", True),
        ("Directed by Mann, the film is long.", True),
        ("Heat in 1995 was directed by Mann.", True),
        ("The sequel was directed by Mann.", False),
        ("Its sequel was directed by Mann.", False),
        ("The film's sequel was directed by Mann.", False),
        ("Traffic in the city was directed by Mann.", False),
        ("In Bath it was directed by Mann.", False),
        ("Ann left, and it was directed by Mann.", False),
    ],
)
def test_a_sentence_about_the_title_begins_with_what_stands_for_it(
    sentence: str, is_about: bool
) -> None:
    assert bool(find_quote(HEAT + sentence, "Heat | was directed by | Mann", "Heat")) == is_about


def test_a_sentence_of_an_article_alone_is_read() -> None:
    assert not find_quote("It is old. The.", "Heat | has | The", "Heat")


def test_a_pronoun_after_another_name_is_not_about_the_title() -> None:
    facts = [read_fact("Ann | was born in | Rome", ""), read_fact("Cy Berg | was | a judge", "")]
    for before, number in (
        ("Ann was a judge.", 1),
        ("Cy Berg was a judge.", 0),
        ("Cy Berg was what?", 0),
    ):
        passages = [SourcePassage("p", f"{before} She was born in Rome.", "Ann")]
        found = QuoteChecker(facts, passages).iter_quoted_facts(facts[:1])
        assert len(list(found)) == number


def test_passages_in_languages_without_lists_prove_nothing() -> None:
    french = (
        "Borg est un outil de sauvegarde qui a été écrit pour les serveurs de la ville, et il ne "
        "fonctionne pas avec les bandes que nous avons dans la cave de la maison. "
    )
    short = "Borg ne fonctionne pas sous Solaris."
    fact = read_fact("Borg | fonctionne sous | Solaris", "")
    checker = QuoteChecker([fact], [SourcePassage("q", french), SourcePassage("p", short)])
    assert not list(checker.iter_quoted_facts([fact]))
    assert checker.refused == {"whose passage is neither in English nor in German": 1}


def test_why_facts_are_left_out_is_counted() -> None:
    facts = [
        read_fact(text, "")
        for text in ("Ann | founded | Acme", "Ann | sold | Acme", "Bo | sold | Acme")
    ]
    checker = QuoteChecker(facts, [SourcePassage("p", "Ann founded Acme.")])
    assert len(list(checker.iter_quoted_facts(facts))) == 1
    assert checker.refused == {
        "whose passage names both things together, but not as they are related": 1,
        "whose passage has no sentence that states them": 1,
    }


def test_code_of_a_run_is_no_passage(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Borg\n\nBorg is a tool.\n\n```sh\n# Borg runs on Solaris\n```\n\nIt is old.\n", "utf-8"
    )
    plan = BuildPlan(documents=tuple(find_source_files([tmp_path], [".md"])), out=tmp_path / "run")
    build_run(plan, Yake(), RuleVerifier(), open_embedder("lexical"))
    (passage,) = read_passages(tmp_path / "run")
    assert "Borg is a tool." in passage.text
    assert "Solaris" not in passage.text


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
        text = f"Town {number}, {subordinate}was moved to Peru."
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


@pytest.mark.parametrize(
    ("text", "refused", "stated"),
    [
        # The second verb is left out.
        (
            "Redis is written in C, Cassandra in Java.",
            ["Redis | is written in | Java"],
            ["Redis | is written in | C", "Cassandra | is written in | Java"],
        ),
        (
            "Redis is written in C and Cassandra in Java.",
            ["Redis | is written in | Java"],
            ["Redis | is written in | C"],
        ),
        (
            "Lyon lies on the Rhône, and Paris on the Seine.",
            ["Lyon | lies on | Seine"],
            ["Lyon | lies on | Rhône"],
        ),
        (
            "Ann was born in Rome in 1950, her brother in Paris in 1953.",
            ["Ann | was born in | Paris", "Ann | was born in | 1953"],
            ["Ann | was born in | Rome", "Ann | was born in | 1950"],
        ),
        (
            "Anna wurde 1950 in Rom geboren und ihr Bruder 1953 in Paris.",
            ["Anna | wurde geboren in | Paris"],
            ["Anna | wurde geboren in | Rom"],
        ),
        # A clause ends before the verb.
        ("Berlin, where Ann lives, lies on the Spree.", ["Ann | lies on | Spree"], []),
        ("The firm for which Ann works, Acme, lies in Bath.", ["Ann | lies in | Bath"], []),
        ("Ann won gold in 1950, silver in 1952.", ["Ann | won gold in | 1952"], []),
        # Another subject, or another object
        (
            "Version 1 supports Linux and version 2 supports Windows.",
            ["Version 1 | supports | Windows"],
            ["Version 1 | supports | Linux", "version 2 | supports | Windows"],
        ),
        ("Ann played a woman born in Rome.", ["Ann | was born in | Rome"], []),
        ("Ann and Bob's son was born in Rome.", ["Ann | was born in | Rome"], []),
        ("Ann was born before Bob was born in Rome.", ["Ann | was born in | Rome"], []),
        ("Ann was born outside Rome.", ["Ann | was born in | Rome"], []),
        ("Acme was sold to Bo's rival Cy.", ["Acme | was sold to | Bo"], []),
        ("The area around Lyon elected Bo.", ["Lyon | elected | Bo"], []),
        ("The client for the server runs on Solaris.", ["server | runs on | Solaris"], []),
        ("Acme resembles Globex, which runs on Solaris.", ["Acme | runs on | Solaris"], []),
        ("Acme closely resembles Globex, which owns Bo.", ["Acme | owns | Bo"], []),
        ("Version 1 supports Linux, version 2 Windows.", ["Version 1 | supports | Windows"], []),
        ("Ann wrote the plan, but the jury chose Bo.", ["Ann | chose | Bo"], []),
        ("Ann met Bo, while her rival Cy sang in Rome.", ["Ann | sang in | Rome"], []),
        ("Ann ran, whereas Cy fell and met Bo.", ["Ann | met | Bo"], ["Cy | met | Bo"]),
        # Planned, reported, over
        ("The ship was designed to carry Bo.", ["ship | carried | Bo"], []),
        ("Acme considered acquiring Globex.", ["Acme | acquired | Globex"], []),
        ("Ann, some writers have argued, was born in Rome.", ["Ann | was born in | Rome"], []),
        ("Acme was owned by Bo until 1990.", ["Acme | is owned by | Bo"], []),
        ("From 1980 to 1990 Acme was owned by Bo.", ["Acme | is owned by | Bo"], []),
        # What only looks alike
        ("Acme was owned by Bo.", [], ["Acme | is owned by | Bo"]),
        ("In Lyon, Ann met Bo.", [], ["Ann | met | Bo"]),
        ("It was founded by Ann, who was born in Rome.", [], ["Ann | was born in | Rome"]),
        ("Acme supports Linux, FreeBSD, Mac OS and Windows.", [], ["Acme | supports | Mac OS"]),
        ("Unlike its rival, Borg runs on Solaris.", [], ["Borg | runs on | Solaris"]),
        ("Ann is a singer born in Rome.", [], ["Ann | was born in | Rome"]),
        ("Ann made her debut in Rome.", [], ["Ann | made debut in | Rome"]),
        ("It is bordered on the east and south by Ulm.", [], ["It | is bordered by | Ulm"]),
        ("Ann was born in Rome, Italy in 1950.", [], ["Ann | was born in | 1950"]),
        ("Borg runs on Linux, and with FUSE on Solaris.", [], ["Borg | runs on | Solaris"]),
        ("Borg runs on Linux, FreeBSD and Solaris.", [], ["Borg | runs on | Solaris"]),
        ("Borg runs on Linux and, since May, on Solaris.", [], ["Borg | runs on | Solaris"]),
        ("In 1950, when Ann moved, she lived in Rome.", [], ["Ann | lived in | Rome"]),
        ("Black Lake lies in Ulm and Neu counties in Ohio.", [], ["Black Lake | lies in | Ohio"]),
    ],
)
def test_a_thing_whose_verb_is_left_out_has_its_own_object(
    text: str, refused: list[str], stated: list[str]
) -> None:
    assert [fact for fact in refused if find_quote(text, fact)] == []
    assert [fact for fact in stated if not find_quote(text, fact)] == []
