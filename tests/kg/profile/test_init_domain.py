"""Tests that ``epoche kg init`` drafts a domain whose rules hold and that gives cards."""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche

from cards.card import read_cards
from eval.questions.parser import ClaimParser, Reading
from kg.base.plain_text import list_words
from kg.claims import Claim
from kg.domain import load_domain
from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.oracle import Oracle
from kg.shapes import Shapes
from kg.terms import RDFS, XSD

EX = "https://example.org/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DCT = "http://purl.org/dc/terms/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
MONTHS = ("January", "March", "May", "July", "October")


def write_people(path: Path) -> Path:
    """Writes people with a birth month, a nationality, a boss, a town and a code."""
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    rng = random.Random(1)
    for n in range(90):
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "Person {chr(65 + n % 26)}{chr(97 + n // 26)}" ; '
            f"ex:nationality ex:c{n % 4} ; ex:friendOf ex:p{n // 2 + 45} ; "
            f'ex:livesIn ex:t{n % 7} ; ex:P1476 "{n % 9}" ; ex:knows ex:p{(n * 7 + 1) % 90} .'
        )
        if n % 3:
            lines.append(f'ex:p{n} ex:birthMonth "{rng.choice(MONTHS)}" .')
        if n:
            lines.append(f"ex:p{n} ex:reportsTo ex:p{n // 3} .")
    lines += [f'ex:c{n} rdfs:label "Land {"ABCD"[n]}" .' for n in range(4)]
    lines += [f'ex:t{n} rdfs:label "Town {"ABCDEFG"[n]}" .' for n in range(7)]
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return write_people(tmp_path / "people.ttl")


def read_defaults(folder: Path) -> set[str]:
    wordings = load_domain(folder).predicates
    return {iri.removeprefix(EX) for iri, wording in wordings.items() if wording.default}


def read_rows(output: str) -> dict[str, dict[str, object]]:
    return {row["iri"].removeprefix(EX): row for row in json.loads(output)["predicates"]}


def test_a_graph_alone_gives_cards_of_three_labels(people: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "mine", tmp_path / "cards.jsonl"
    done = run_epoche("kg", "init", people, "--out", folder)
    assert done.code == 0, done.err
    assert "birth month: up to 20 cards per label (60 of 60 subjects have one value)" in done.out
    assert f"make all DOMAIN={folder}" in done.out
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 6, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 6, "C": 6, "U": 6}
    shapes = {
        v.shape for card in cards if card.label == "C" and card.proof for v in card.proof.violations
    }
    # The proof says that the rule was mined from the data.
    assert shapes
    assert all(shape.startswith("urn:epoche:mined:") for shape in shapes)
    done = run_epoche("kg", "inspect", "--domain", folder, "--json")
    assert json.loads(done.out)["violation_count"] == 0


def test_doubtful_rules_wait_for_an_answer_that_is_kept(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    # A person may live in a district and its town, and have two nationalities. Who reports to whom
    # goes one way; people may know each other, even if none do here. A code says nothing.
    assert read_defaults(folder) == {"birthMonth", "reportsTo"}
    confirm = folder / "confirm.toml"
    answers = tomllib.loads(confirm.read_text("utf-8"))
    assert answers == {
        "one_value": {EX + "livesIn": False, EX + "nationality": False},
        "one_way": {EX + "knows": False},
        "rules": {},
    }
    text = confirm.read_text("utf-8").replace('nationality" = false', 'nationality" = true')
    # An answer takes back a rule that was not in doubt, too.
    text = text.replace("[one_way]", f'"{EX}birthMonth" = false\n\n[one_way]')
    confirm.write_text(text, "utf-8")
    for _ in range(2):
        assert run_epoche(*init).code == 0
        assert read_defaults(folder) == {"reportsTo", "nationality"}
        one_value = tomllib.loads(confirm.read_text("utf-8"))["one_value"]
        assert one_value == {
            EX + "livesIn": False,
            EX + "nationality": True,
            EX + "birthMonth": False,
        }
    shapes = (folder / "shapes.ttl").read_text("utf-8")
    assert "# nationality: 90 of 90 subjects have one value\n<urn:epoche:confirmed:" in shapes
    assert "birth-month" not in shapes


def test_things_that_break_the_users_shapes_are_not_counted(people: Path, tmp_path: Path) -> None:
    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
        [] a sh:NodeShape ; sh:targetSubjectsOf <{EX}birthMonth> ; sh:property [
            sh:path <{EX}birthMonth> ; sh:not [ sh:in ( "March" "May" ) ] ] .""",
        "utf-8",
    )
    folder = tmp_path / "mine"
    done = run_epoche("kg", "init", people, "--shapes", shapes, "--out", folder, "--json")
    row = read_rows(done.out)["birthMonth"]
    n_broken = int(row["subjects"]) - int(row["nameable"])
    assert n_broken > 10
    assert f"{n_broken} things left out for breaking your shapes, {n_broken} of them" in done.out
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 5, "--out", tmp_path / "c")
    assert f"are left out, {n_broken} in all" in done.err


@pytest.mark.parametrize(
    ("facts", "broken", "reason", "advice"),
    [
        (
            'ex:o{n} ex:size {n5} ; rdfs:label "Offer {a}" .',
            40,
            "all of its 40 subjects are left out for breaking your shapes",
            "40 of 40 subjects for which there is a rule break your shapes: correct the data or",
        ),
        (
            'ex:o{n} ex:size {n5} ; rdfs:label "Offer {a}" ; a ex:Thing .',
            37,
            "37 of 40 subjects are left out for breaking your shapes",
            "37 of 40 subjects for which there is a rule break your shapes",
        ),
        (
            "ex:d41d8cd98f00b204e9800998ecf{n:05d} ex:size {n5} .",
            30,
            "none of 40 subjects can be asked about: 30 are left out for breaking your shapes and "
            "none of the others has a unique, readable name",
            "30 of 40 subjects for which there is a rule break your shapes",
        ),
        (
            "ex:d41d8cd98f00b204e9800998ecf{n:05d} ex:size {n5} .",
            1,
            "none of 40 subjects can be asked about: 1 is left out for breaking your shapes and "
            "none of the others has a unique, readable name",
            "Give the things unique, readable names",
        ),
        (
            'ex:o{n} ex:size ex:S{n5} ; rdfs:label "Offer {a}" . ex:S{n5} ex:wrong ex:x , ex:y .',
            0,
            "none of 40 subjects has a value that breaks none of your shapes",
            "",
        ),
    ],
)
def test_breaking_the_users_shapes_is_the_reason_if_it_is_so(
    tmp_path: Path, facts: str, broken: int, reason: str, advice: str
) -> None:
    lines = [
        facts.format(n=n, n5=n % 5, a=f"{'abcdefgh'[n % 8]}o{'klmno'[n // 8]}").replace(
            " ex:size", " a ex:Offer ; ex:wrong ex:x , ex:y ; ex:size" if n < broken else " ex:size"
        )
        for n in range(40)
    ]
    graph, shapes, folder = tmp_path / "g.ttl", tmp_path / "s.ttl", tmp_path / "mine"
    prefixes = f"@prefix ex: <{EX}> . @prefix rdfs: <{RDFS}> .\n"
    graph.write_text(prefixes + "\n".join(lines), "utf-8")
    shapes.write_text(
        f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
        [] a sh:NodeShape ; sh:targetSubjectsOf <{EX}wrong> ; sh:property [
            sh:path <{EX}wrong> ; sh:maxCount 0 ] .
        [] a sh:NodeShape ; sh:targetSubjectsOf <{EX}size> ; sh:property [
            sh:path <{EX}size> ; sh:maxCount 1 ] .""",
        "utf-8",
    )
    done = run_epoche("kg", "init", graph, "--shapes", shapes, "--out", folder)
    assert done.code == 0, done.err
    page = (folder / "readiness.md").read_text("utf-8")
    assert reason in page
    assert advice in page
    assert ("Give the things unique" in page) is advice.startswith("Give")


def test_values_without_a_datatype_have_the_one_that_shapes_demand(tmp_path: Path) -> None:
    graph, shapes, folder = tmp_path / "lines.ttl", tmp_path / "own.ttl", tmp_path / "mine"
    lines = [
        f'<{EX}l{n}> <{RDFS}label> "Line {n}" ; <{EX}length> "{n % 9 + 10}.5" ;'
        f' <{EX}code> "{n:03}" ; a <{EX}Line> .'
        for n in range(60)
    ]
    graph.write_text("\n".join(lines).replace('"10.5"', '"unknown"'), "utf-8")
    shapes.write_text(
        f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <{XSD}> .
        <{EX}LineShape> a sh:NodeShape ; sh:targetClass <{EX}Line> ;
            sh:property [ sh:path <{EX}length> ; sh:datatype xsd:float ; sh:maxCount 1 ] ;
            sh:property [ sh:path <{EX}code> ; sh:datatype xsd:string ] .""",
        "utf-8",
    )
    done = run_epoche("kg", "init", graph, "--shapes", shapes, "--out", folder)
    n_wrong = sum(n % 9 == 0 for n in range(60))
    assert f"{60 - n_wrong} values without a datatype: your shapes give it" in done.out
    assert f"{n_wrong} things left out for breaking your shapes" in done.out
    text = (folder / "prepared-graph.nt").read_text("utf-8")
    assert f'<{EX}l1> <{EX}length> "11.5"^^<{XSD}float> .' in text
    assert f'<{EX}l0> <{EX}length> "unknown" .' in text
    assert f'<{EX}l1> <{EX}code> "001" .' in text
    typed = Graph.load(folder / "prepared-graph.nt")
    assert len(Oracle(typed, Shapes.load(shapes), engine="pyshacl").find_violations()) == n_wrong
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 5, "--out", tmp_path / "c")
    assert done.code == 0
    assert {card.claim.pred for card in read_cards(tmp_path / "c")} == {EX + "length"}


def test_well_known_vocabularies_have_their_own_names(tmp_path: Path) -> None:
    graph = tmp_path / "terms.ttl"
    lines = [
        f'<{EX}t{n}> <{SKOS}broader> <{EX}t{n // 2}> ; <{DCT}modified> "20{n % 20 + 10}" ; '
        f'<{DCT}title> "Term {n}" .\n'
        for n in range(1, 60)
    ]
    graph.write_text("".join(lines), "utf-8")
    rows = read_rows(run_epoche("kg", "init", graph, "--out", tmp_path / "d", "--json").out)
    assert rows[SKOS + "broader"]["label"] == "broader concept"
    assert rows[DCT + "modified"]["label"] == "date modified"


def test_web_pages_and_bare_numbers_are_no_names(tmp_path: Path) -> None:
    """Nor are reports called by a folder."""
    graph, folder = tmp_path / "towns.ttl", tmp_path / "D"
    graph.write_text(
        f"@prefix ex: <{EX}> . @prefix l: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        + "\n".join(
            f'ex:Town{n} a ex:Town ; l:label "Town {chr(97 + n // 26)}{chr(97 + n % 26)}" ; '
            f"ex:homepage <http://towns.example/{n % 9}/welcome> ; ex:townWebpage "
            f"<http://towns.example/town{n}/> ; ex:founded {1700 + n % 7} ; "
            f"ex:geonames <http://places.example/{2657896 + n % 5}/> ; "
            f"ex:elevationFt {100 + n % 9} ; ex:image ex:pic{n % 4} ; ex:mayor ex:Ann{n % 6} . "
            f"ex:pic{n % 4} l:label 'Picture {n % 4}' ."
            for n in range(60)
        ),
        "utf-8",
    )
    rows = read_rows(run_epoche("kg", "init", graph, "--out", folder, "--json").out)
    domain = load_domain(folder)
    assert domain.title == "towns"
    assert not {EX + "homepage", EX + "townWebpage"} & domain.predicates.keys()
    assert {EX + "image", EX + "mayor", EX + "founded"} <= domain.predicates.keys()
    assert domain.predicates[EX + "elevationFt"].label == "elevation (ft)"
    assert not rows["homepage"]["is_asked"]
    assert not rows["geonames"]["is_asked"]
    assert run_epoche("kg", "init", graph, "--out", tmp_path / "E", "--name", "Ours").code == 0
    assert load_domain(tmp_path / "E").title == "Ours"


def test_readiness_says_why_nothing_is_asked(people: Path, tmp_path: Path) -> None:
    done = run_epoche("kg", "init", people, "--out", tmp_path / "mine", "--json")
    rows = read_rows(done.out)
    assert rows["birthMonth"]["ceiling"] == 20
    assert "no readable name" in str(rows["P1476"]["reason"])
    assert "confirm.toml" in str(rows["nationality"]["reason"])
    assert rows["nationality"]["is_doubtful"]
    assert rows["knows"]["ceiling"] == 0
    page = (tmp_path / "mine" / "readiness.md").read_text("utf-8")
    assert "| birth month | 60 | 60 | 60 | 20 | one value: 60 of 60 subjects have" in page
    assert json.loads(done.out)["formula"] in page


def test_files_of_others_and_changed_files_are_kept(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", "utf-8")
    init = ("kg", "init", people, "--out", folder)
    assert "has other files" in check_error_line(run_epoche(*init), 15)
    (folder / "domain.toml").write_text('name = "own"', "utf-8")
    assert "did not write it" in check_error_line(run_epoche(*init), 15)
    assert run_epoche(*init, "--overwrite").code == 0
    assert run_epoche(*init).code == 0
    shapes = folder / "shapes.ttl"
    own = shapes.read_text("utf-8").split("\n", 1)[1]
    shapes.write_text(own, "utf-8")
    assert "was changed" in check_error_line(run_epoche(*init), 15)
    assert shapes.read_text("utf-8") == own
    assert (folder / "notes.txt").read_text("utf-8") == "mine"


@pytest.mark.parametrize("name", ["domain.toml", "shapes.ttl", "readiness.md"])
def test_edited_files_stay_and_a_new_draft_lies_beside(
    people: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    file = folder / name
    beside = file.with_suffix(f".new{file.suffix}")
    edited = file.read_text("utf-8") + "# mine\n"
    file.write_text(edited, "utf-8")
    # The graph is the same, so there is nothing new.
    done = run_epoche(*init)
    assert done.code == 0, done.err
    assert f"{file} was edited, so it stays as it is" in done.err
    assert not beside.exists()

    text = people.read_text("utf-8")
    lines = [f'ex:p{n} ex:openingYear "{1990 + n % 5}" .' for n in range(90)]
    people.write_text("\n".join([text, *lines]), "utf-8")
    for _ in range(2):
        done = run_epoche(*init)
        assert done.code == 0, done.err
        assert f"the new draft is {beside}" in done.err
        assert file.read_text("utf-8") == edited
        assert "opening" in beside.read_text("utf-8")
    assert (folder / "domain.toml").exists()
    assert load_domain(folder).graph_files[0].resolve() == people

    beside.write_text("mine, too", "utf-8")
    assert "was changed" in check_error_line(run_epoche(*init), 15)
    assert file.read_text("utf-8") == edited
    done = run_epoche(*init, "--overwrite")
    assert f"{file} was edited: replaced, because of --overwrite" in done.err
    assert "opening" in file.read_text("utf-8")
    assert beside.read_text("utf-8") == "mine, too"


def edit_answers(folder: Path, *changes: tuple[str, str]) -> None:
    confirm = folder / "confirm.toml"
    text = confirm.read_text("utf-8")
    for old, new in changes:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    confirm.write_text(text, "utf-8")


def test_every_rule_can_be_taken_back(people: Path, tmp_path: Path) -> None:
    text = people.read_text("utf-8")
    lines = [
        f'ex:p{n} ex:status "{("on", "off")[n % 2]}" ; ex:height {n % 7} ; '
        f"ex:employer ex:f{n % 5} ; ex:trusts ex:f{n % 3} ; ex:mood ex:m{n % 2} ."
        for n in range(90)
    ]
    lines += [f'ex:f{n} a ex:Firm ; rdfs:label "Firm {"ABCDE"[n]}" .' for n in range(5)]
    axioms = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
    ex:employer a owl:FunctionalProperty ; rdfs:domain ex:Person .
    ex:trusts a owl:AsymmetricProperty , owl:IrreflexiveProperty .
    ex:mood rdfs:range [ owl:oneOf ( ex:m0 ex:m1 ) ] .
    ex:Person owl:disjointWith ex:Firm ; rdfs:subClassOf [ owl:onProperty ex:employer ;
      owl:maxCardinality 1 ] ."""
    people.write_text("\n".join([text, *lines, axioms]), "utf-8")
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    shapes = folder / "shapes.ttl"
    kinds = set(re.findall(r"^<urn:epoche:[a-z]+:([a-z-]+)", shapes.read_text("utf-8"), re.M))
    assert kinds == {
        "one-value", "no-cycle", "codes", "datatype", "range", "no-reverse", "not-itself",
        "never-both", "subject-class", "restriction",
    }  # fmt: skip
    confirm = folder / "confirm.toml"
    text = confirm.read_text("utf-8")
    # Other moods are excluded by the ontology, other statuses by nobody.
    assert tomllib.loads(text)["rules"] == {"urn:epoche:mined:codes#status": False}
    assert "status: all 90 values are one of off, on" in text
    # What is commented out are the rules that were taken to be true.
    confirm.write_text(re.sub(r'^# "', '"', text, flags=re.M), "utf-8")
    for _ in range(2):
        done = run_epoche(*init)
        assert done.code == 0, done.err
        assert "urn:epoche" not in shapes.read_text("utf-8")
        assert read_defaults(folder) == set()
        answers = tomllib.loads(confirm.read_text("utf-8"))
        assert answers["one_value"].keys() >= {EX + "employer", EX + "status", EX + "height"}
        assert answers["rules"].keys() >= {
            "urn:epoche:mined:codes#status", "urn:epoche:ontology:codes#mood"
        }  # fmt: skip
    # One of them alone comes back.
    edit_answers(folder, ('codes#status" = false', 'codes#status" = true'))
    assert run_epoche(*init).code == 0
    assert re.findall("<urn:epoche:.*>", shapes.read_text("utf-8")) == [
        "<urn:epoche:mined:codes#status>"
    ]


def test_cards_point_to_rules_in_doubt(tmp_path: Path) -> None:
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    lines += [
        f'ex:o{n} rdfs:label "Person {"abcdefgh"[n % 8]}{"klmno"[n // 8]}" ; '
        f"a ex:Person ; ex:nationality ex:Land{n % 5} ; ex:knownAs ex:k{n} ."
        for n in range(40)
    ]
    path, folder = tmp_path / "g.ttl", tmp_path / "mine"
    path.write_text("\n".join(lines), "utf-8")
    assert run_epoche("kg", "init", path, "--out", folder).code == 0
    done = run_epoche("cards", "--domain", folder, "--out", tmp_path / "c.jsonl")
    assert done.code == 10
    assert "Write true for rules in confirm.toml" in done.err


def test_a_rejected_rule_is_no_longer_in_doubt(tmp_path: Path) -> None:
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    lines += [
        f'ex:o{n} a ex:Offer ; rdfs:label "Offer {"abcdefgh"[n % 8]}{"klmno"[n // 8]}" ; '
        f'ex:price {n % 5} ; ex:remark "{n} days" .'
        for n in range(40)
    ]
    path, folder = tmp_path / "g.ttl", tmp_path / "mine"
    path.write_text("\n".join(lines), "utf-8")
    init = ("kg", "init", path, "--out", folder)
    assert run_epoche(*init).code == 0
    assert read_defaults(folder) == {"price"}
    edit_answers(folder, (f'# "{EX}price" = false', f'"{EX}price" = false'))
    for _ in range(2):
        done = run_epoche(*init)
        assert done.code == 0, done.err
        report = json.loads(run_epoche(*init, "--json").out)
        assert report["doubtful"] == 0
        assert "Answer the" not in report["advice"]
        row = next(row for row in report["predicates"] if row["label"] == "price")
        assert row["reason"] == "confirm.toml says that its rule is false in the world"
        assert "could be asked about" not in (folder / "readiness.md").read_text("utf-8")
        done = run_epoche("cards", "--domain", folder, "--out", tmp_path / "c.jsonl")
        assert done.code == 10
        assert "Do what the page advises" in done.err
        assert "confirm.toml" not in done.err
        # The answer stays, with what it is about.
        confirm = (folder / "confirm.toml").read_text("utf-8")
        assert f'\n"{EX}price" = false  # price: 40 of 40 subjects have one value' in confirm


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('nationality"', 'nationalty"', ["nationalty", "[one_value]", 'nationality"']),
        (f'"{EX}nationality"', '"nationality"', ['"nationality"', f'"{EX}nationality"']),
        ("[one_way]", f'"{EX}nobody" = true\n[one_way]', ["nobody", "[one_value]"]),
        (f'"{EX}knows"', f'"{EX}known"', ["known", "[one_way]", f'{EX}knows"']),
        (
            "[rules]",
            '[rules]\n"urn:epoche:mined:cods#status" = false',
            ["[rules]", '"urn:epoche:mined:codes#status"'],
        ),
        (
            "[rules]",
            '[rules]\n"urn:epoche:mined:one-value#status" = false',
            [f'Answer it as "{EX}status" in [one_value]'],
        ),
    ],
)
def test_misspelt_answers_are_refused(
    people: Path, tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    text = people.read_text("utf-8")
    lines = [f'ex:p{n} ex:status "{("on", "off")[n % 2]}" .' for n in range(90)]
    people.write_text("\n".join([text, *lines]), "utf-8")
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    edit_answers(folder, (old, new))
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    line = check_error_line(run_epoche(*init), 10)
    for part in [*parts, "confirm.toml"]:
        assert part in line
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_answers_without_effect_are_named(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    edit_answers(folder, ('nationality" = false', 'nationality" = true'))
    assert run_epoche(*init).code == 0
    text = people.read_text("utf-8")
    people.write_text(f"{text}\nex:p1 ex:nationality ex:c3 .", "utf-8")
    done = run_epoche(*init)
    assert "is true but gives no rule: subjects have several values" in done.err
    # The answer stays; where the predicate is gone, that is said, as nobody misspelt it.
    assert tomllib.loads((folder / "confirm.toml").read_text("utf-8"))["one_value"][
        EX + "nationality"
    ]
    people.write_text(text.replace("nationality", "citizenship"), "utf-8")
    done = run_epoche(*init)
    assert done.code == 0, done.err
    assert f'no longer has "{EX}nationality" in [one_value], which was true' in done.err

    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}S> a sh:NodeShape ; "
        f"sh:targetClass <{EX}Person> ; sh:property [ sh:path <{EX}livesIn> ; sh:maxCount 1 ] .",
        "utf-8",
    )
    done = run_epoche(*init, "--shapes", shapes)
    assert "is false but a rule stays: your shapes state it" in done.err


def test_a_confirmed_direction_needs_no_further_support(people: Path, tmp_path: Path) -> None:
    lines = [f"ex:p{n} ex:succeeds ex:p{n + 1} ." for n in range(6)]
    people.write_text("\n".join([people.read_text("utf-8"), *lines]), "utf-8")
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    assert "#succeeds" not in (folder / "shapes.ttl").read_text("utf-8")
    edit_answers(folder, ("[rules]", f'"{EX}succeeds" = true\n[rules]'))
    assert run_epoche(*init).code == 0
    shapes = (folder / "shapes.ttl").read_text("utf-8")
    assert "<urn:epoche:confirmed:no-cycle#succeeds>" in shapes


@pytest.mark.parametrize(
    "text",
    [
        "[one_value]\nx = 1",
        "[one_value]\nx = ",
        "one_value = 1",
        "[other]",
        "\x00",
        "é".encode("latin"),
    ],
)
def test_bad_answers_are_refused(people: Path, tmp_path: Path, text: str | bytes) -> None:
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    content = text.encode() if isinstance(text, str) else text
    (folder / "confirm.toml").write_bytes(content)
    assert "confirm.toml" in check_error_line(run_epoche(*init), 10)
    assert (folder / "confirm.toml").read_bytes() == content


def test_own_naming_predicates_give_names(tmp_path: Path) -> None:
    lines = [
        f'<{EX}3fa85f64-5717-4562-b3fc-2c963f66a{n:03d}> <{EX}unitName> "Pump {chr(65 + n)}" ; '
        f'<{EX}installationYear> "{2000 + n % 4}" ; <{EX}maker> <{EX}maker{n % 3}> .'
        for n in range(24)
    ]
    path = tmp_path / "g.ttl"
    path.write_text("\n".join(lines), "utf-8")
    done = run_epoche("kg", "init", path, "--out", tmp_path / "mine", "--json")
    assert read_rows(done.out)["installationYear"]["ceiling"] == 8
    assert load_domain(tmp_path / "mine").naming_predicates == (EX + "unitName",)


@pytest.mark.parametrize(
    ("predicate", "is_own"),
    [
        ("authorName", False), ("father_name", False), ("cityName", False),
        ("jobTitle", False), ("captain_name", False), ("birthPlaceName", False),
        ("author_full_name", False), ("publisherShortName", False), ("shelfLabel", False),
        ("bookTitle", True), ("officialName", True), ("scientific_name", True),
        ("fullname", True), ("hasShortBookName", True), ("bookLegalName", True),
        ("display_label", True), ("Volume.name", True), ("title_short", True),
        ("bookTitleLong", True), ("name.official", True), ("authorNameShort", False),
        ("title_page", False), ("labelled", False),
    ],
)  # fmt: skip
def test_names_of_other_things_are_not_those_of_the_subject(
    tmp_path: Path, predicate: str, *, is_own: bool
) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(
        f"@prefix : <{EX}> .\n"
        + "\n".join(
            f':Mill{a}{b} a :Book ; :{predicate} "{a.upper()}{b} Smith" ; '
            f":publicationYear {1950 + n % 9} ."
            for n, (a, b) in enumerate((a, b) for a in "abcdef" for b in "klmnop")
        ),
        "utf-8",
    )
    run_epoche("kg", "init", path, "--out", tmp_path / "mine")
    found = load_domain(tmp_path / "mine").naming_predicates
    assert found == ((EX + predicate,) if is_own else ())


PAPER_WORDS = list_words(
    "alpine birds climb during early frost growth in juniper land moss nests on peaks"
)


@pytest.mark.parametrize(
    ("predicate", "n_words", "are_titles"),
    [
        # Of every ten papers, the last has no title and the one before a very long one.
        ("http://purl.org/dc/terms/title", [4, 5, 6, 8, 10, 11, 12, 14, 60], True),
        ("https://schema.org/name", [9, 10, 11, 12, 13, 14, 14, 20, 60], True),
        ("http://purl.org/dc/terms/title", [40, 45, 50, 55, 60, 65, 70, 4, 5], False),
        (EX + "paperTitle", [40, 45, 50, 55, 60, 65, 70, 4, 5], False),
    ],
)
def test_things_with_titles_are_called_by_them_though_others_have_long_ones_or_none(
    tmp_path: Path, predicate: str, n_words: list[int], *, are_titles: bool
) -> None:
    lines = []
    titles: dict[int, str] = {}
    for n in range(200):
        if n % 10 < 9:
            picked = [PAPER_WORDS[(n * 5 + i * (n % 7 + 1)) % 14] for i in range(n_words[n % 10])]
            titles[n] = " ".join([f"Study {chr(65 + n // 26)}{chr(97 + n % 26)} of", *picked])
            lines.append(f'ex:{1000 + n} <{predicate}> "{titles[n]}" .')
        lines.append(f"ex:{1000 + n} a ex:Paper ; ex:publicationYear {1990 + n % 7} .")
        lines.append(f"ex:{1000 + n} ex:pages {10 + n % 9} .")
    graph, folder = tmp_path / "g.ttl", tmp_path / "mine"
    graph.write_text(f"@prefix ex: <{EX}> .\n" + "\n".join(lines), "utf-8")
    assert run_epoche("kg", "init", graph, "--out", folder).code == 0
    domain = load_domain(folder)
    assert domain.naming_predicates == ((predicate,) if are_titles else ())
    assert domain.coded_names == "numbers"
    out = tmp_path / "cards.jsonl"
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 20, "--out", out)
    assert done.code == 0, done.err
    for card in read_cards(out):
        n = int(card.claim.subj.removeprefix(EX)) - 1000
        title = titles.get(n, "") if are_titles else ""
        assert len(title) <= 200
        assert (title or f"aper {1000 + n}") in card.question
        # A long title is set off from the question.
        assert (f"“{title}”" in card.question) is (len(title.split()) > 10)


@pytest.mark.parametrize(("n_formal", "name"), [(30, "Lupus 7"), (28, "Lupus 7"), (20, "wolf 7")])
def test_common_names_are_used_where_there_is_no_formal_one(
    tmp_path: Path, n_formal: int, name: str
) -> None:
    path = tmp_path / "g.ttl"
    lines = [
        f'<{EX}t{n}9> a <{EX}Taxon> ; <{EX}vernacularName> "wolf {n}"@en ; <{EX}found> {n % 5} .'
        + (f' <{EX}t{n}9> <{EX}scientificName> "Lupus {n}" .' if n < n_formal else "")
        for n in range(30)
    ]
    path.write_text("\n".join(lines), "utf-8")
    run_epoche("kg", "init", path, "--out", tmp_path / "mine")
    kb = KnowledgeBase.open(tmp_path / "mine")
    assert kb.labels.get_label(f"{EX}t79") == name


@pytest.mark.parametrize(
    "iri",
    [
        "http://data.europa.eu/eli/ontology#title_short", "http://schema.org/headline",
        "https://schema.org/headline", "http://www.w3.org/2006/vcard/ns#fn",
        "http://www.w3.org/ns/lemon/ontolex#writtenRep",
        "http://purl.obolibrary.org/obo/IAO_0000111", "http://xmlns.com/foaf/0.1/name",
        "http://www.w3.org/ns/regorg#legalName", "http://purl.org/dc/terms/title",
        "http://www.geonames.org/ontology#name", "http://vocab.gtfs.org/terms#longName",
    ],
)  # fmt: skip
def test_vocabularies_have_naming_predicates(tmp_path: Path, iri: str) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(
        f"@prefix : <{EX}> .\n"
        + "\n".join(
            f':q{n}7 a :Work ; <{iri}> "Mill {a}{b}" ; :publicationYear {1950 + n % 5} ; '
            f":knownAs :k{n} ."
            for n, (a, b) in enumerate((a, b) for a in "abcdef" for b in "klmnop")
        ),
        "utf-8",
    )
    done = run_epoche("kg", "init", path, "--out", tmp_path / "mine", "--json")
    assert load_domain(tmp_path / "mine").naming_predicates == (iri,)
    assert read_rows(done.out)["publicationYear"]["nameable"] == 36


def test_what_reading_merges_and_leaves_out_is_said(tmp_path: Path) -> None:
    path = tmp_path / "g.trig"
    towns = [f":Mill{a}{b}" for a in "abcdef" for b in "klmnop"]
    years = "\n".join(
        f"{town} :foundingYear {1900 + n % 5} ; :seenBy [ :year 1 ] ."
        for n, town in enumerate(towns)
    )
    path.write_text(
        f"@prefix : <{EX}> .\n:current {{ {years} }}\n:retracted {{ {towns[0]} :size 3 }}\n",
        "utf-8",
    )
    done = run_epoche("kg", "init", path, "--out", tmp_path / "mine")
    assert done.code == 0, done.err
    assert "2 named graphs merged into one" in done.err
    assert "blank nodes, which have no name (facts: 72" in done.err
    page = (tmp_path / "mine" / "readiness.md").read_text("utf-8")
    assert "Reading the files: g.trig: 2 named graphs merged into one" in page


def test_the_language_of_a_drafted_label_is_that_of_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(
        f"@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':named rdfs:label "wurde benannt im Jahr"@de . :founded rdfs:label "founded"@en .\n'
        ':postalCode rdfs:label "postal code"@en . :rock rdfs:label "Gestein"@de .\n'
        + "\n".join(
            f':Mill{a}{b} rdfs:label "Mill {a}{b}"@de ; :named {1900 + n % 9} ; '
            f":founded {1700 + n % 7} ; :postalCode {90201 + n % 8} ; :rock 'Gneis' ."
            for n, (a, b) in enumerate((a, b) for a in "abcdef" for b in "klmnop")
        ),
        "utf-8",
    )
    folder = tmp_path / "mine"
    assert run_epoche("kg", "init", path, "--out", folder).code == 0
    render = KnowledgeBase.open(str(folder)).verbaliser.render_fact
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    texts = [
        render(Claim(EX + "Millak", EX + name, f'"{value}"^^<{integer}>'))
        for name, value in (("named", 1900), ("founded", 1703), ("postalCode", 90201))
    ]
    assert texts == [
        "Mill ak has 1900 as its value of “wurde benannt im Jahr”.",
        "Mill ak was founded in 1703.",
        "Mill ak has 90201 as its postal code.",
    ]
    # The capital belongs to the noun.
    fact = render(Claim(EX + "Millak", EX + "rock", '"Gneis"'))
    assert fact == "Mill ak has Gneis as its value of “Gestein”."


RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def test_what_names_contain_is_not_asked_about(tmp_path: Path) -> None:
    """ "Does Megavolt have Mega as its prefix?" needs no fact, but its dimension does."""
    lines = [f"@prefix ex: <{EX}> . @prefix l: <http://www.w3.org/2000/01/rdf-schema#> ."]
    prefixes = ("Mega", "Kilo", "Nano", "Giga")
    units = ("volt", "watt", "gram", "metre", "joule", "pascal", "lumen", "henry")
    for number, unit in enumerate(units):
        lines += [
            f'ex:{p}{unit} a ex:Unit ; l:label "{p}{unit}" ; ex:prefix ex:{p} ; '
            f"ex:dimension {number % 3} . ex:{p} l:label '{p}' ."
            for p in prefixes
        ]
    graph, folder = tmp_path / "g.ttl", tmp_path / "mine"
    graph.write_text("\n".join(lines), "utf-8")
    rows = read_rows(run_epoche("kg", "init", graph, "--out", folder, "--json").out)
    assert rows["dimension"]["ceiling"] == 10
    assert rows["prefix"]["reason"] == "the names of its subjects have its values in them"


@pytest.mark.parametrize(
    ("name", "values", "is_asked"),
    [
        # A stop time is called by its line, its trip and its number on the trip.
        ("U7-{number}-{value}", "{value}", False),
        ("Line {number} stop {value}", "{value}", False),
        # The ends of a wire are numbered by a digit that follows a letter.
        ("Wire {number} - T{value}", "{value}", False),
        # A number that is in many names by chance is not in them.
        ("Stop {number} 1 2 3 4 5", "{value}", True),
        # Words that are joined by capitals.
        ("gauge{number}-Water{value}", "water {value}", False),
    ],
)
def test_short_and_joined_values_in_names_are_found(
    tmp_path: Path, name: str, values: str, *, is_asked: bool
) -> None:
    words = ["Level", "Flow", "Depth", "Heat", "Speed"]
    lines = [f"@prefix ex: <{EX}> . @prefix l: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for number in range(60):
        value = words[number % 5] if "water" in values else str(number % 5 + 1)
        label = name.format(number=number + 10, value=value)
        text = values.format(value=value.lower())
        lines.append(
            f'ex:s{number} a ex:Stop ; l:label "{label}" ; ex:code "{text}" ; '
            f"ex:platform {number % 3} ."
        )
    graph, folder = tmp_path / "g.ttl", tmp_path / "mine"
    graph.write_text("\n".join(lines), "utf-8")
    rows = read_rows(run_epoche("kg", "init", graph, "--out", folder, "--json").out)
    is_in_names = rows["code"].get("reason") == "the names of its subjects have its values in them"
    assert is_in_names is not is_asked


def test_things_of_one_name_are_told_apart_everywhere(tmp_path: Path) -> None:
    """Records and their copies share a title, and the parts of several files share one, too."""
    lines = [f"@prefix ex: <{EX}> ."]
    for n in range(60):
        title = f'"File {chr(65 + n % 26)}{chr(65 + n // 26)}"@fr'
        for kind in ("Record", "Copy"):
            lines.append(
                f"ex:{kind}{n} a ex:{kind} ; ex:title {title} ; ex:endDate {1980 + n % 5} ; "
                f"ex:startDate {1970 + n % 4} ."
            )
        lines.append(
            f'ex:x{n} a ex:Record ; ex:title "Letters" ; ex:partOf ex:b{n} ; '
            f"ex:endDate {1980 + n % 3} ; ex:startDate {1970 + n % 4} . "
            f'ex:b{n} ex:title "Box {chr(97 + n // 26)}{chr(97 + n % 26)}"@fr .'
        )
    graph, folder = tmp_path / "g.ttl", tmp_path / "mine"
    graph.write_text("\n".join(lines), "utf-8")
    done = run_epoche("kg", "init", graph, "--out", folder, "--json")
    rows = read_rows(done.out)
    assert rows["endDate"]["nameable"] == 180
    assert not rows["partOf"]["is_asked"]
    assert "names of things say it" in str(rows["partOf"]["reason"])
    assert load_domain(folder).naming_predicates == (EX + "title",)
    assert load_domain(folder).qualifiers == (RDF_TYPE, EX + "partOf")

    out = tmp_path / "cards.jsonl"
    made = run_epoche("cards", "--domain", folder, "--num-per-type", 30, "--out", out)
    assert made.code == 0, made.err
    kb = KnowledgeBase.open(folder)
    parser = ClaimParser(kb)
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 30, "C": 30, "U": 30}
    for card in cards:
        name = kb.labels.get_label(card.claim.subj)
        assert name.endswith(("(record)", "(copy)")) or name.startswith("Letters (Box ")
        assert name in card.question
        assert kb.labels.find_entities(name) == [card.claim.subj]
        reading = parser.parse_question(card.question)
        assert isinstance(reading, Reading)
        assert reading.claims == (card.claim,)


def test_uuids_are_neither_names_nor_values(tmp_path: Path) -> None:
    uuid = "3fa85f64-5717-4562-b3fc-2c963f66a"
    lines = [
        f'<{EX}{uuid}{n:03d}> <{EX}year> "{2000 + n % 4}" ; <{EX}size> "{n % 3}" .\n'
        f'<{EX}pump{chr(65 + n)}> <{EX}code> "{uuid}{n % 4:03d}" ; <{EX}size> "{n % 3}" .'
        for n in range(24)
    ]
    graph = tmp_path / "g.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    rows = read_rows(run_epoche("kg", "init", graph, "--out", tmp_path / "mine", "--json").out)
    assert [rows[name]["nameable"] for name in ("year", "code", "size")] == [0, 0, 24]
    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}S> a sh:NodeShape ; "
        f"sh:targetSubjectsOf <{EX}year> ; sh:property [ sh:path <{EX}year> ; sh:maxCount 1 ] .",
        "utf-8",
    )
    made = run_epoche(
        "cards", "--kg", graph, "--shapes", shapes, "--pred", f"{EX}year", "--out", tmp_path / "c"
    )
    assert made.code == 11


def test_own_shapes_are_used_and_say_what_can_be_asked(people: Path, tmp_path: Path) -> None:
    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}S> a sh:NodeShape ; "
        f"sh:targetClass <{EX}Person> ; sh:property [ sh:path <{EX}livesIn> ; sh:maxCount 1 ] .",
        "utf-8",
    )
    folder = tmp_path / "deep" / "mine"
    done = run_epoche("kg", "init", people, "--out", folder, "--shapes", shapes, "--json")
    assert done.code == 0, done.err
    assert read_rows(done.out)["livesIn"]["support"] == "your shapes state it"
    domain = load_domain(folder)
    assert [file.resolve() for file in domain.shapes_files] == [folder / "shapes.ttl", shapes]
    assert [file.resolve() for file in domain.graph_files] == [people]
    assert domain.predicates[EX + "livesIn"].default


def test_a_shape_that_only_warns_gives_no_rule(people: Path, tmp_path: Path) -> None:
    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}S> a sh:PropertyShape ; "
        f"sh:targetClass <{EX}Person> ; sh:path <{EX}livesIn> ; sh:maxCount 1 ; "
        "sh:severity sh:Warning .",
        "utf-8",
    )
    done = run_epoche("kg", "init", people, "--out", tmp_path / "d", "--shapes", shapes, "--json")
    assert not read_rows(done.out)["livesIn"]["is_asked"]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("command", ["cards", "near-miss"])
def test_notes_on_an_ontology_and_its_terms_are_no_facts(
    people: Path, tmp_path: Path, seed: int, command: str
) -> None:
    rng = random.Random(seed)
    obsolete = {f"{EX}p{n}" for n in rng.sample(range(90), 12)}
    notes = [f"{EX}curation", f"{OBO_IN_OWL}consider", f"{DCT}modified", f"{EX}weight"]
    people.write_text(
        people.read_text("utf-8")
        + f"\n@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix o: <{OBO_IN_OWL}> .\n"
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
        f"@prefix dct: <{DCT}> . ex:curation a owl:AnnotationProperty ; rdfs:label 'state' .\n"
        f"<{EX}> a owl:Ontology ; rdfs:label 'Folk' ; ex:livesIn ex:t1 ; ex:reportsTo ex:p1 .\n"
        f"ex:p2 ex:knows <{EX}> , ex:sibling .\n"
        "ex:sibling a rdf:Property ; rdfs:label 'Sib' ; ex:weight 2 ; ex:livesIn ex:t1 .\n"
        "ex:Person a owl:Class ; dct:modified '2001' ; rdfs:seeAlso ex:p3 .\n"
        + "".join(f"<{iri}> owl:deprecated true .\n" for iri in sorted(obsolete))
        + "".join(
            f"ex:p{n} ex:curation '{n % 3}' ; o:consider ex:p{n // 2} ; dct:created '{n % 9}' .\n"
            for n in range(90)
        ),
        "utf-8",
    )
    folder, out = tmp_path / "mine", tmp_path / "cards.jsonl"
    done = run_epoche("kg", "init", people, "--out", folder, "--json")
    report = json.loads(done.out)
    assert not {row["iri"] for row in report["predicates"]}.intersection(notes)
    assert {row["iri"] for row in report["predicates"]} >= {f"{DCT}created", f"{EX}reportsTo"}
    left_out = (
        "183 triples that are notes on terms, by 5 predicates: consider 90, state 90, date "
        "modified 1, see also 1, weight 1; 4 triples about the ontology itself; 12 obsolete terms."
    )
    assert "; ".join(report["left_out"]) + "." == left_out
    assert left_out in (folder / "readiness.md").read_text("utf-8")
    sources = [
        ["--domain", folder, "--pred", f"{DCT}created", "--pred", f"{EX}reportsTo"],
        ["--kg", people, "--shapes", folder / "shapes.ttl", "--pred", f"{EX}birthMonth"],
    ]
    size = "--num-per-type" if command == "cards" else "--num"
    done = run_epoche(command, *sources[seed], size, 10, "--num-facts", 15, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert len(cards) >= 5
    hidden = {*notes, *obsolete, EX}
    for card in cards:
        stated = {term for triple in card.meta["triples"] for term in triple.values()}
        assert not hidden & {*stated, card.claim.subj, card.claim.pred, card.claim.obj}


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("[] <urn:p:a> [] .", "no predicate has a rule"),
        ("<urn:c> a <http://www.w3.org/2002/07/owl#Class> .", "states no facts"),
        (
            "<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> 'a' .",
            "describes classes and names, but states no facts",
        ),
        (
            "".join(
                f"<urn:p{n}> a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> ; "
                f"<https://schema.org/domainIncludes> <urn:c{n % 3}> .\n"
                for n in range(40)
            )
            + "<urn:x> <urn:status> '1' .",
            "is a vocabulary, which defines terms (40 of its 41 things are classes and predicates) "
            "and states no facts about things that could be asked.",
        ),
        (
            "\n".join(f'[] <urn:p:year> "{n % 3}" .' for n in range(40)),
            "no unique, readable names",
        ),
    ],
)
def test_a_graph_without_questions_says_why(tmp_path: Path, text: str, summary: str) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(text, "utf-8")
    done = run_epoche("kg", "init", path, "--out", tmp_path / "mine")
    assert done.code == 0
    assert summary in done.err
    assert summary in (tmp_path / "mine" / "readiness.md").read_text("utf-8")


def test_paths_are_checked_before_anything_is_written(people: Path, tmp_path: Path) -> None:
    check_error_line(run_epoche("kg", "init", people, "--out", people), 15)
    check_error_line(run_epoche("kg", "init", people, "--out", people / "mine"), 15)
    out = tmp_path / "a\nb"
    assert "cannot hold" in check_error_line(run_epoche("kg", "init", people, "--out", out), 15)
    missing = ("--out", tmp_path / "mine", "--shapes", tmp_path / "none.ttl")
    check_error_line(run_epoche("kg", "init", people, *missing), 3)
    own = tmp_path / "d" / "shapes.ttl"
    own.parent.mkdir()
    people.rename(own)
    check_error_line(run_epoche("kg", "init", own, "--out", own.parent, "--overwrite"), 15)
    assert list(tmp_path.iterdir()) == [own.parent]


def test_files_of_one_name_give_cards_about_both(tmp_path: Path) -> None:
    """Whose names are sentences, which the parser finds in questions."""
    paths, folder = [], tmp_path / "mine"
    for part in "ab":
        path = tmp_path / part / "manifest.ttl"
        path.parent.mkdir()
        path.write_text(
            "\n".join(
                f'<#t{n}> a <urn:Test> ; <{RDFS}label> "{part}{"klmno"[n % 5]}{"uvwxyz"[n // 5]}s '
                f'are not equal" ; <{EX}approvalYear> "{2000 + n % 3}"^^<{XSD}gYear> ; '
                f"<{EX}knownAs> <{EX}k{part}{n}> ."
                for n in range(30)
            )
        )
        paths.append(path)
    done = run_epoche("kg", "init", *paths, "--out", folder, "--json")
    assert read_rows(done.out)["approvalYear"]["nameable"] == 60
    kb = KnowledgeBase.open(folder)
    subjects = {claim.subj for claim in kb.graph.iter_claims(EX + "approvalYear")}
    assert {iri.split("/manifest")[0] for iri in subjects} == {"file:///a", "file:///b"}
    cards = tmp_path / "cards.jsonl"
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 5, "--out", cards)
    assert done.code == 0, done.err
    parser = ClaimParser(kb)
    for card in read_cards(cards):
        assert "s are not equal” " in card.question
        reading = parser.parse_question(card.question)
        assert isinstance(reading, Reading)
        assert reading.claims == (card.claim,)


def test_an_empty_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text("", "utf-8")
    check_error_line(run_epoche("kg", "init", path, "--out", tmp_path / "mine"), 5)
    assert not (tmp_path / "mine").exists()


ZOO = {
    "brick-office": (["mediumOffice_brick_compiled.ttl.gz"], 102),
    "fibo-institutions": (
        ["FinancialInstitutionExamples.rdf.gz", "BusinessCentersIndividuals.rdf.gz"],
        15,
    ),
    "ics-chart": (["chart.ttl.gz"], 15),
    "manchester-libraries": (["Manchester-Libraries-oct24.rdf.gz"], 100),
    "manchester-spend": (["spend.ttl.gz"], 100),
    "rameau-instruments": (["mop-rameau.ttl.gz"], 100),
    "sport-worldcup": (["world-cup-2018.ttl.gz"], 100),
    "stardog-music": (["music.ttl.gz"], 100),
}
"""Public graphs: their files, and the least estimate for all predicates."""


@pytest.mark.parametrize("name", ZOO)
def test_public_graphs_can_be_asked_about(public_data: Path, tmp_path: Path, name: str) -> None:
    folder = public_data / "zoo" / name
    if not folder.is_dir():
        pytest.skip("needs zoo/ in the folder that EPOCHE_PUBLIC_DATA names")
    names, least = ZOO[name]
    files = [folder / file for file in names]
    done = run_epoche("kg", "init", *files, "--out", tmp_path / "d", "--json")
    assert json.loads(done.out)["ceiling"] >= least
    done = run_epoche("kg", "inspect", "--domain", tmp_path / "d", "--json")
    assert json.loads(done.out)["violation_count"] == 0


@pytest.mark.parametrize(
    ("target", "n_people", "is_enough"),
    [
        (f"sh:targetClass <{EX}Person>", 90, True),
        (f"sh:targetSubjectsOf <{EX}birthMonth>", 0, True),
        (f"sh:targetClass <{EX}Person>", 40, False),  # it says nothing of the others
    ],
)
def test_a_rule_of_the_users_own_shapes_is_not_drafted_again(
    people: Path, tmp_path: Path, target: str, n_people: int, is_enough: bool
) -> None:
    text = people.read_text("utf-8")
    for number in range(n_people, 90):
        text = text.replace(f"ex:p{number} a ex:Person ;", f"ex:p{number} ")
    people.write_text(text, "utf-8")
    shapes = tmp_path / "own.ttl"
    shapes.write_text(
        f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
        <{EX}S> a sh:NodeShape ; {target} ; sh:property [
            sh:path <{EX}birthMonth> ; sh:maxCount 1 ; sh:message "One birth month each." ] .""",
        "utf-8",
    )
    folder = tmp_path / "mine"
    done = run_epoche("kg", "init", people, "--shapes", shapes, "--out", folder, "--json")
    row = read_rows(done.out)["birthMonth"]
    assert row["is_asked"]
    assert (row["support"] == "your shapes state it") is is_enough
    assert ("one-value#birthMonth" not in (folder / "shapes.ttl").read_text("utf-8")) is is_enough
    out = tmp_path / "cards.jsonl"
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 5, "--out", out)
    assert done.code == 0, done.err
    about = [card for card in read_cards(out) if card.claim.pred == EX + "birthMonth"]
    assert about
    for card in about:
        assert sum("birth month" in rule.lower() for rule in card.rules) == 1 + (not is_enough)


def test_dates_that_nobody_shares_are_asked_about_if_nothing_else_can_be(tmp_path: Path) -> None:
    lines = [
        f'<{EX}p{n}> a <{EX}Person> ; <{RDFS}label> "{"abcdefgh"[n % 8]}o{"klmnop"[n // 8]}" ; '
        f'<{EX}birthDate> "{1900 + n}-03-04"^^<{XSD}date> ; <{EX}likes> "{n % 7} songs" ; '
        f"<{EX}personId> {n} ."
        for n in range(48)
    ]
    graph, folder, out = tmp_path / "people.ttl", tmp_path / "mine", tmp_path / "cards.jsonl"
    graph.write_text("\n".join(lines), "utf-8")
    done = run_epoche("kg", "init", graph, "--out", folder, "--json")
    page = json.loads(done.out)
    assert page["ceiling"] == 12
    assert read_defaults(folder) == {"birthDate"}
    assert run_epoche("cards", "--domain", folder, "--num-per-type", 12, "--out", out).code == 0
    unknown = [card for card in read_cards(out) if card.kind == "absent"]
    assert len(unknown) >= 10
    assert {card.meta["full_label"] for card in unknown} == {"C"}
    # A value that several share can be true of the unknown, so those are asked about if any are.
    shared = [line.replace(f"{1900 + n}-03", f"{1900 + n % 7}-05") for n, line in enumerate(lines)]
    more = [line.replace("birthDate", "deathDate") for line in shared]
    graph.write_text("\n".join([*lines, *more]), "utf-8")
    run_epoche("kg", "init", graph, "--out", folder)
    assert read_defaults(folder) == {"deathDate"}


@pytest.mark.parametrize(
    ("facts", "reason", "advice"),
    [
        (
            "[] a ex:Offer ; ex:price {n5} .",
            "all of its 40 subjects are blank nodes, which have no name",
            "40 of 40 facts for which there is a rule are about blank nodes: give these IRIs",
        ),
        (
            "ex:d41d8cd98f00b204e9800998ecf{n:05d} ex:price {n5} .",
            "none of 40 subjects has a unique, readable name",
            "Give the things unique, readable names: rdfs:label, skos:prefLabel,",
        ),
        (
            'ex:o{n} a ex:Offer ; rdfs:label "Offer {a}" ; ex:price ex:c{n5} ; '
            'ex:remark "{n} days" .',
            "a subject may have several values in the world; confirm.toml can say it has one",
            "Answer the 1 question of confirm.toml (“price”): write true for each whose rule is",
        ),
        (
            'ex:o{n} a ex:Offer ; rdfs:label "Offer {a}" ; ex:offerId {n} ; ex:remark "{n} days" .',
            "none of its values is shared by several subjects",
            "Rules of your own can be added by --shapes.",
        ),
        # Places lie in a country, and the country "in itself".
        (
            'ex:o{n} a ex:Offer ; rdfs:label "Offer {a}" ; ex:price ex:c{n5} , ex:d{n5} . '
            "ex:c{n5} ex:price ex:c{n5} .",
            "subjects have several values, so another value contradicts nothing",
            "Rules of your own can be added by --shapes.",
        ),
        (
            'ex:o{n} a ex:Offer ; rdfs:label "Offer {a}" ; ex:price [ ex:of ex:o{n} ] .',
            "none of 40 subjects has a value that a question can state",
            "Rules of your own can be added by --shapes.",
        ),
        (
            "ex:d41d8cd98f00b204e9800998ecf{n:05d} ex:taxRate {n5} . ex:o{n} a ex:Offer ; "
            'rdfs:label "Offer {a}" ; ex:price ex:c{n5} ; ex:remark "{n} days" .',
            "none of 40 subjects has a unique, readable name",
            "Answer the 1 question of confirm.toml (“price”)",
        ),
        (
            'ex:o{n5} a ex:Offer ; rdfs:label "Offer {n5}" ; ex:price {n5} .',
            "fewer than 15 subjects have a value",
            "Give more data: a predicate needs at least 15 subjects.",
        ),
    ],
)
def test_what_to_do_is_said_if_nothing_can_be_asked(
    tmp_path: Path, facts: str, reason: str, advice: str
) -> None:
    lines = [
        facts.format(n=n, n5=n % 5, a=f"{'abcdefgh'[n % 8]}o{'klmno'[n // 8]}") for n in range(40)
    ]
    lines += [f'ex:c{n} rdfs:label "Kind {"vwxyz"[n]}" .' for n in range(5)]
    path, folder = tmp_path / "g.ttl", tmp_path / "mine"
    prefixes = f"@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    path.write_text(prefixes + "\n".join(lines), "utf-8")
    done = run_epoche("kg", "init", path, "--out", folder)
    assert done.code == 0, done.err
    assert f"No set of cards can be made of {folder} yet. {advice}" in done.err
    page = (folder / "readiness.md").read_text("utf-8")
    assert reason in page
    assert advice.split(" (")[0] in page
    assert ("no unique, readable names" in page) is advice.startswith(("Give the things", "40 of"))
    assert "readiness.md" not in page
    assert "0 more" not in page
    is_offered = "question of confirm.toml" in advice
    assert ("Nothing can be asked yet" in page) is is_offered
    done = run_epoche("cards", "--domain", folder, "--out", tmp_path / "cards.jsonl")
    assert ("confirm.toml" in check_error_line(done, 10)) is is_offered
