"""Cards about facts from documents: proved by the graph and by what the passages say."""

from __future__ import annotations

import gzip
import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from stage_calls import run_epoche

from kg.base.errors import DomainError, EmptyGraphError, RecordError
from kg.claims import Claim
from kg.profile.review import Review, read_review
from kg.profile.rules import Answers
from kg.text.facts.domain import build_fact_domain, read_extracted_facts
from kg.text.facts.evidence import (
    Evidence,
    Quote,
    SourcePassage,
    pad_words,
    read_passages,
)
from kg.text.facts.fact import Fact

TRADES = ("painter", "chemist", "sailor", "judge")
GIVEN_NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hal", "Ida", "Jon")
FAMILY_NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir")


def write_people(folder: Path) -> tuple[Path, Path]:
    """Writes passages about sixty people, and the facts that an extractor found in them."""
    rng = random.Random(7)
    facts, passages = [], []
    for number, (given, family) in enumerate(
        (given, family) for given in GIVEN_NAMES for family in FAMILY_NAMES
    ):
        name, trade = f"{given} {family}", rng.choice(TRADES)
        year, town = 1900 + number % 12, rng.choice(("Ulm", "Bath", "Lyon", "Gent", "Cork"))
        date = f"{number % 27 + 1} May {year}"
        passages.append(
            {
                "id": f"p{number}",
                "title": name,
                "text": f"{name} (born {date}) is a {trade}. "
                f"{given} lives in {town}. Little else is known.",
            }
        )
        for relation, target in (
            ("is", f"a {trade}"),
            ("was born on", date),
            ("lives in", town),
        ):
            facts.append(
                {"subject": name, "relation": relation, "object": target, "passage": f"p{number}"}
            )
    # What no passage states.
    facts.append({"subject": "Ada Elm", "relation": "lives in", "object": "Oslo", "passage": "p4"})
    paths = folder / "facts.jsonl", folder / "passages.jsonl"
    for path, rows in zip(paths, (facts, passages), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return paths


def run_cli(*arguments: object) -> str:
    """Runs a command that must succeed; returns what it prints."""
    result = run_epoche(*arguments)
    assert result.code == 0, result.err
    return str(result.out)


def read_rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return rows


def check_cards(folder: Path, n: int) -> list[dict[str, Any]]:
    """Checks that passages state what the answers YES and NO rest on, and nothing of the others."""
    cards = read_rows(folder / "cards.jsonl")
    assert [sum(card["label"] == label for card in cards) for label in "ECU"] == [n] * 3
    left = Evidence(read_passages(folder / "cards.passages.jsonl"), ())
    for card in cards:
        quotes = card["meta"].get("quotes", [])
        for quote in quotes:
            passage = left.passages[quote["passage"]]
            assert pad_words(quote["text"]).strip() in pad_words(passage.text)
        if card["label"] != "U":
            assert quotes
    return cards


@pytest.fixture
def people(tmp_path: Path) -> Path:
    facts, passages = write_people(tmp_path)
    domain = tmp_path / "domain"
    out = run_cli("kg", "init", facts, "--passages", passages, "--out", domain)
    assert "born in the year: up to" in out
    assert "1 fact left out whose passage has no sentence that states them" in out
    run_cli("cards", "--domain", domain, "--num-per-type", 8, "--out", tmp_path / "cards.jsonl")
    return tmp_path


def test_cards_rest_on_quotes_and_unknowns_on_nothing(people: Path) -> None:
    cards = check_cards(people, 8)
    texts = {row["id"]: row for row in read_rows(people / "cards.passages.jsonl")}
    originals = {row["title"]: row for row in read_rows(people / "passages.jsonl")}
    for card in cards:
        words = card["question"].rstrip("?").split()
        year = words[-1]
        name = " ".join(words[words.index("that") + 1 : words.index("was")])
        text = texts.get(originals[name]["id"], {"text": ""})["text"]
        stated = year in text
        assert stated == (card["label"] == "E")
        if card["label"] == "C":
            assert "born" in text


def test_systems_read_the_passages_that_are_left(people: Path) -> None:
    cards = people / "cards.jsonl"
    texts = people / "cards.passages.jsonl"
    run_cli(
        "eval", "--cards", cards, "--system", "rag", "--set", f"texts={texts}",
        "--out", people / "rag.jsonl",
    )  # fmt: skip
    gold = {card["id"]: card["label"] for card in read_rows(cards)}
    answers = {row["id"]: row["pred"] for row in read_rows(people / "rag.jsonl")}
    assert set(answers) == set(gold)
    # It finds every statement, and none for what was set aside.
    assert {gold[id_] for id_, answer in answers.items() if answer == "YES"} == {"E"}


def write_births(folder: Path) -> tuple[Path, Path]:
    """Writes passages that name town and country, and facts with one of them each."""
    places = (("Munich", "Germany"), ("Lyon", "France"), ("Cork", "Ireland"))
    names = (f"{given} {family}" for given in GIVEN_NAMES for family in FAMILY_NAMES)
    facts, passages = [], []
    for number, name in enumerate(names):
        town, country = places[number % 3]
        school = f"School {number % 4}"
        text = f"{name} was born in {town}, {country}. {name} was a painter who went to {school}."
        passages.append({"id": f"p{number}", "text": text})
        place = (town, country, f"{town}, {country}")[number // 3 % 3]
        for relation, target in (
            ("was born in", place),
            ("was", "a painter"),
            ("went to", school),
        ):
            facts.append(
                {"subject": name, "relation": relation, "object": target, "passage": f"p{number}"}
            )
    paths = folder / "facts.jsonl", folder / "passages.jsonl"
    for path, rows in zip(paths, (facts, passages), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return paths


def test_a_place_within_another_contradicts_nothing(tmp_path: Path) -> None:
    facts, passages = write_births(tmp_path)
    folder = tmp_path / "domain"
    init = ("kg", "init", facts, "--passages", passages, "--out", folder)
    run_cli(*init)
    confirm = folder / "confirm.toml"
    predicate = "urn:epoche:text:relation:born_in"
    answers = tomllib.loads(confirm.read_text("utf-8"))
    assert answers["one_value"][predicate] is False
    # Who says that everybody has one place of birth still gets no NO about a town's country.
    text = confirm.read_text("utf-8")
    confirm.write_text(text.replace(f'"{predicate}" = false', f'"{predicate}" = true'), "utf-8")
    run_cli(*init)
    run_cli("cards", "--domain", folder, "--num-per-type", 6, "--out", tmp_path / "cards.jsonl")
    evidence = Evidence(read_passages(passages), ())
    cards = read_rows(tmp_path / "cards.jsonl")
    assert {card["label"] for card in cards} == {"E", "C", "U"}
    for card in cards:
        name, place = re.fullmatch(r".*that (.+) was born in (.+)\?", card["question"]).groups()  # type: ignore[union-attr]
        if card["label"] == "C":
            assert not evidence.find_mentions([name], [place])


def test_graph_does_not_depend_on_the_order_of_facts(tmp_path: Path) -> None:
    facts_file, passages_file = write_people(tmp_path)
    facts, passages = read_extracted_facts([facts_file]), read_passages(passages_file)
    domain = build_fact_domain(facts, passages)
    for seed in range(5):
        random.Random(seed).shuffle(facts)
        random.Random(seed).shuffle(passages)
        other = build_fact_domain(facts, passages)
        assert (other.ntriples, other.notes) == (domain.ntriples, domain.notes)
        assert set(other.quotes) == set(domain.quotes)


def state(subject: str, relation: str, target: str, passage: str = "", quote: str = "") -> Fact:
    return Fact(subject=subject, relation=relation, object=target, chunk_id=passage, quote=quote)


def test_forms_of_a_name_and_of_a_relation_are_one() -> None:
    names = [f"Town {number}" for number in range(8)]
    facts = [state(name, "is located in", "the Netherlands") for name in names]
    facts += [state(name.upper(), "located in", "Netherlands") for name in names]
    graph = build_fact_domain(facts).ntriples
    assert graph.count("relation:located_in> <urn") == 8
    assert '"is located in' not in graph
    assert graph.count('altLabel> "TOWN') == 0  # only the case differs
    assert build_fact_domain(facts).wordings["urn:epoche:text:relation:located_in"].fact == (
        "{{ subj }} is located in {{ obj }}."
    )


def test_values_of_another_type_are_left_out() -> None:
    facts = [state(f"Person {n}", "died in", str(1900 + n)) for n in range(9)]
    facts.append(state("Person 9", "died in", "Paris"))
    domain = build_fact_domain(facts)
    assert "Paris" not in domain.ntriples
    assert domain.notes == (
        "1 fact left out whose value is of another type than most of its relation",
    )


def test_numbers_that_look_like_years_are_numbers_where_others_are() -> None:
    numbers = ["1500", "1999", "1850", "1,233", "230", "2800", "12", "7", "99999", "31.5"]
    facts = [state(f"Town {n}", "has population", text) for n, text in enumerate(numbers)]
    domain = build_fact_domain(facts)
    assert domain.ntriples.count("XMLSchema#decimal") == len(numbers)
    assert not domain.notes


def test_names_that_differ_in_a_sign_are_different() -> None:
    facts = [
        state(language, "was designed by", person)
        for language, person in (("C", "Ritchie"), ("C++", "Stroustrup"), ("C#", "Hejlsberg"))
    ]
    facts += [state(f"Language {n}", "was designed by", "Ritchie") for n in range(4)]
    graph = build_fact_domain(facts).ntriples
    assert len({line.split()[0] for line in graph.splitlines() if "designed" in line}) == 8
    evidence = Evidence([SourcePassage("a", "C++ is fast."), SourcePassage("b", "C is fast.")], [])
    assert evidence.find_passages(["C"]) == {"b"}
    assert evidence.find_passages(["c++"]) == {"a"}


def test_templates_in_relations_are_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    relation = "was born {{ 7 * 7 }} {% raw %}in"
    rows = [
        {"subject": f"Person {n}", "relation": key, "object": value}
        for n in range(40)
        for key, value in ((relation, str(1900 + n % 5)), ("lives in", f"Town {n % 7}"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = tmp_path / "domain"
    run_cli("kg", "init", path, "--out", out)
    run_cli("cards", "--domain", out, "--num-per-type", 2, "--out", tmp_path / "cards.jsonl")
    question = read_rows(tmp_path / "cards.jsonl")[0]["question"]
    assert "was born 7 * 7 raw in" in question
    assert "49" not in question


def test_rejected_facts_and_confirmed_rules_are_kept(tmp_path: Path) -> None:
    facts_file, passages = write_people(tmp_path)
    out = tmp_path / "domain"
    arguments = ("kg", "init", facts_file, "--passages", passages, "--out", out)
    run_cli(*arguments)
    fact = next(f for f in read_extracted_facts([facts_file]) if f.relation == "was born on")
    page = (out / "review.html").read_text("utf-8")
    assert f'data-fact="{fact.key}" checked' in page
    (out / "review.json").write_text(json.dumps({"rejected": [fact.key]}), "utf-8")
    assert "1 fact left out that you rejected" in run_cli(*arguments)
    page = (out / "review.html").read_text("utf-8")
    assert f'data-fact="{fact.key}">' in page
    assert "Rejected before" in page


def test_rules_left_unticked_on_the_page_leave_confirm_toml_as_it_is() -> None:
    review = Review(one_value={"p": False, "q": True}, one_way={"r": False, "s": False})
    answers = review.merge_answers(Answers({"p": True, "q": False}, {"r": True}))
    assert answers == Answers({"p": True, "q": True}, {"r": True})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"subject": "a", "object": "b"}', "it has no relation"),
        ('{"subject": 1, "relation": "r", "object": "b"}', "Expected `str`"),
        ("[]", "fact"),
        (
            json.dumps({"subject": "a", "relation": "r", "object": "b", "quote": "b " * 2_501}),
            "its quote has more than 5,000 characters",
        ),
    ],
)
def test_lines_that_are_no_facts_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"subject": "a", "relation": "r", "object": "b"}\n' + line + "\n", "utf-8")
    with pytest.raises(RecordError, match=message) as error:
        read_extracted_facts([path])
    assert "facts.jsonl:2" in str(error.value)


def test_proposals_that_were_rejected_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "new.proposals.jsonl"
    row = {"subject": "a", "predicate": "r", "object": "b", "quote": "q", "chunk_id": "c"}
    outcomes = ("admitted", "known", "unusable", "contradicted")
    lines = (json.dumps({**row, "outcome": outcome}) + "\n" for outcome in outcomes)
    path.write_text("".join(lines), "utf-8")
    assert read_extracted_facts([path]) == [state("a", "r", "b", quote="q", passage="c")] * 2


def test_facts_without_content_are_an_error() -> None:
    with pytest.raises(EmptyGraphError, match="no fact says how") as error:
        build_fact_domain([state("Paris", "has", "museums")])
    assert error.value.hint == "1 fact left out whose relation has no content word (“has”, “in”)."


def test_ids_of_passages_may_be_numbers(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    rows = [{"subject": "a", "relation": "r", "object": "b", "passage": n} for n in (0, 12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert [fact.chunk_id for fact in read_extracted_facts([path])] == ["0", "12"]


def test_a_review_that_is_no_review_is_named(tmp_path: Path) -> None:
    path = tmp_path / "review.json"
    path.write_text('{"rejected": 3}', "utf-8")
    with pytest.raises(DomainError, match="not what the page saved"):
        read_review(path)


def test_a_quote_must_stand_in_its_passage() -> None:
    passages = [SourcePassage(f"p{n}", f"Town {n} lies in Peru. It is old.") for n in range(6)]
    facts = [state(f"Town {n}", "lies in", "Peru", passage=f"p{n}") for n in range(6)]
    facts[5] = state("Town 5", "lies in", "Peru", passage="p5", quote="Town 5 is in Peru")
    domain = build_fact_domain([*facts[:5], facts[5]], passages)
    assert {quote.passage for quote in domain.quotes} == {"p0", "p1", "p2", "p3", "p4"}
    assert {quote.text for quote in domain.quotes} == {f"Town {n} lies in Peru." for n in range(5)}


def test_facts_in_other_words_are_used_on_request(tmp_path: Path) -> None:
    facts, passages = write_people(tmp_path)
    facts.write_text(facts.read_text("utf-8").replace("lives in", "has residence"), "utf-8")
    init = ("kg", "init", facts, "--passages", passages, "--out")
    left_out = "facts left out whose passage names both things together"
    assert f"60 {left_out}" in run_cli(*init, tmp_path / "strict")
    assert left_out not in run_cli(*init, tmp_path / "implied", "--implied")
    for name, number in (("strict", 0), ("implied", 60)):
        graph = (tmp_path / name / "graph.nt").read_text("utf-8")
        assert graph.count("relation:has_residence> <urn") == number


def test_a_sentence_that_states_a_fact_has_its_subject_first() -> None:
    text = "Lyon lies in France. It has trams."
    passages = [SourcePassage(f"p{n}", text, "A journey") for n in range(5)]
    passages += [SourcePassage(f"q{n}", "It lies in Peru.", f"Town {n}") for n in range(5)]
    facts = [
        fact
        for n in range(5)
        for fact in (
            state("Lyon", "lies in", "France", passage=f"p{n}"),
            state("France", "lies in", "Lyon", passage=f"p{n}"),
            state("Lyon", "lies in", "trams", passage=f"p{n}"),
            state(f"Town {n}", "lies in", "Peru", passage=f"q{n}"),
        )
    ]
    quotes = build_fact_domain(facts, passages).quotes
    assert {(quote.subj.split(":")[-1], quote.text) for quote in quotes} == {
        ("lyon", "Lyon lies in France."),
        *((f"town_{n}", "It lies in Peru.") for n in range(5)),
    }


def test_first_line_may_be_the_title(tmp_path: Path) -> None:
    path = tmp_path / "passages.jsonl"
    rows = [
        {"id": "a", "text": "Lyon\nIt lies in France."},
        {"id": "b", "text": "It lies in France.\nIt is old."},
        {"id": "c", "text": "Lyon\nIt lies in France.", "title": "Cities"},
        {"id": "d", "text": "Lyon\n\nIt lies in\nFrance."},
        {
            "id": "e",
            "text": "Where is the city of Lyon?\nIt is far.",
            "metadata": {"section": "Where is the city of Lyon?"},
        },
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert read_passages(path) == [
        SourcePassage("a", "It lies in France.", "Lyon"),
        SourcePassage("b", "It lies in France.\nIt is old."),
        SourcePassage("c", "Lyon\nIt lies in France.", "Cities"),
        SourcePassage("d", "It lies in\nFrance.", "Lyon"),
        SourcePassage("e", "It is far.", "Where is the city of Lyon?"),
    ]


def test_what_states_a_fact_is_removed() -> None:
    passages = [
        SourcePassage("a", "Ada was born in 1900. She paints.", "Ada"),
        SourcePassage("b", "In 1900 a war began.", "1900"),
        SourcePassage("c", "Ada, born 1900, met Bo."),
    ]
    quote = Quote("urn:ada", "urn:born", '"1900"', "a", "Ada was born in 1900.")
    evidence = Evidence(passages, [quote])
    left = evidence.remove_mentions({quote.claim: (["Ada"], ["1900"])})
    assert {p.id: p.text for p in left.passages.values()} == {
        "a": "She paints.",
        "b": "In 1900 a war began.",
    }
    assert not left.list_quotes(quote.claim)


def test_what_states_a_number_is_removed_in_any_spelling() -> None:
    passages = [SourcePassage("a", "Bath has 1,233 people. It is old.", "Bath")]
    claim = Claim("urn:bath", "urn:population", '"1233"')
    left = Evidence(passages, []).remove_mentions({claim: (["Bath"], ["1233"])})
    assert [passage.text for passage in left.passages.values()] == ["It is old."]


@pytest.mark.slow
def test_cards_from_facts_that_a_model_extracted(tmp_path: Path, public_data: Path) -> None:
    """MuSiQue's paragraphs with the open information extraction of HippoRAG."""
    folder = public_data / "foreign/retrieval/musique-100"
    file = folder / "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json.gz"
    if not file.is_file():
        pytest.skip("needs foreign/retrieval/musique-100 in the public data")
    facts, passages = [], []
    for number, document in enumerate(json.loads(gzip.decompress(file.read_bytes()))["docs"]):
        passages.append({"id": number, "title": document["title"], "text": document["text"]})
        for triple in document["extracted_triples"]:
            if len(triple) == 3:
                row = dict(zip(("subject", "relation", "object"), triple, strict=True))
                facts.append({**row, "passage": str(number)})
    for name, rows in (("facts", facts), ("passages", passages)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    out = tmp_path / "domain"
    run_cli(
        "kg", "init", tmp_path / "facts.jsonl", "--passages", tmp_path / "passages.jsonl",
        "--out", out,
    )  # fmt: skip
    run_cli("cards", "--domain", out, "--num-per-type", 20, "--out", tmp_path / "cards.jsonl")
    check_cards(tmp_path, 20)


def test_what_is_left_out_does_not_stand_among_the_json(tmp_path: Path) -> None:
    facts, passages = write_people(tmp_path)
    arguments = ("kg", "init", facts, "--passages", passages, "--out", tmp_path / "d", "--json")
    done = run_epoche(*arguments)
    assert done.code == 0, done.err
    assert json.loads(done.out)["asked"]
    assert "1 fact left out whose passage has no sentence" in done.err


def test_the_passages_of_the_domain_are_never_replaced(people: Path) -> None:
    (people / "passages.jsonl").rename(people / "set.passages.jsonl")
    domain = people / "domain" / "domain.toml"
    domain.write_text(domain.read_text("utf-8").replace("/passages.jsonl", "/set.passages.jsonl"))
    before = (people / "set.passages.jsonl").read_bytes()
    done = run_epoche("cards", "--domain", domain, "--out", people / "set.jsonl")
    assert done.code != 0
    assert (people / "set.passages.jsonl").read_bytes() == before
