"""Tests that ``epoche kg init`` drafts a domain whose rules hold and that gives cards."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stage_calls import check_error_line, run_epoche

from cards.card import read_cards
from kg.graph import Graph
from kg.profile.predicates import GraphProfiler, find_naming_predicates
from kg.profile.readiness import assess_predicates
from kg.words.labels import Labels

EX = "https://example.org/"
MONTHS = ("January", "March", "May", "July", "October")


def write_people(path: Path) -> Path:
    """Writes people with a birth year, a nationality, a boss, a town and a code."""
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    rng = random.Random(1)
    for n in range(90):
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "Person {chr(65 + n % 26)}{chr(97 + n // 26)}" ; '
            f'ex:birthMonth "{rng.choice(MONTHS)}" ; ex:nationality ex:c{n % 4} ; '
            f'ex:livesIn ex:t{n % 7} ; ex:P1476 "{n % 9}" ; ex:knows ex:p{(n * 7 + 1) % 90} .'
        )
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
    table = tomllib.loads((folder / "domain.toml").read_text("utf-8"))
    return {
        iri.strip("<>").removeprefix(EX)
        for iri, row in table["predicates"].items()
        if row.get("default")
    }


def test_a_graph_alone_gives_cards_of_three_labels(people: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "mine", tmp_path / "cards.jsonl"
    done = run_epoche("kg", "init", people, "--out", folder)
    assert done.code == 0, done.err
    assert "birth month: up to 30 cards per label (90 of 90 subjects have one value)" in done.out
    done = run_epoche("cards", "--domain", folder, "--num-per-type", 12, "--out", out)
    assert done.code == 0, done.err
    cards = read_cards(out)
    assert Counter(card.label for card in cards) == {"E": 12, "C": 12, "U": 12}
    (contradicted,) = {
        violation.shape.split(":")[3]
        for card in cards
        if card.label == "C" and card.claim.pred == EX + "birthMonth"
        for violation in card.proof.violations
    }
    # The proof says that the rule was mined from the data.
    assert contradicted == "single-value"


def test_doubtful_rules_wait_for_a_confirmation_that_is_kept(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    init = ("kg", "init", people, "--out", folder)
    assert run_epoche(*init).code == 0
    # Where somebody lives may be stated of a district and its town; a person may have two
    # nationalities; who reports to whom goes one way; a code says nothing to a reader.
    assert read_defaults(folder) == {"birthMonth", "reportsTo"}
    confirm = folder / "confirm.toml"
    assert tomllib.loads(confirm.read_text("utf-8")) == {"one_value": {EX + "nationality": False}}
    confirm.write_text(confirm.read_text("utf-8").replace("= false", "= true"), "utf-8")
    for _ in range(2):
        assert run_epoche(*init).code == 0
        assert read_defaults(folder) == {"birthMonth", "reportsTo", "nationality"}
        assert tomllib.loads(confirm.read_text("utf-8"))["one_value"] == {EX + "nationality": True}
    shapes = (folder / "shapes.ttl").read_text("utf-8")
    assert "confirmed; 90 of 90 subjects have one value" in shapes


def test_readiness_says_why_nothing_is_asked(people: Path, tmp_path: Path) -> None:
    done = run_epoche("kg", "init", people, "--out", tmp_path / "mine", "--json")
    reasons = {row["profile"]["iri"].removeprefix(EX): row for row in json.loads(done.out)}
    assert reasons["birthMonth"]["ceiling"] == 30
    assert "no readable label" in reasons["P1476"]["reason"]
    assert "confirm.toml" in reasons["nationality"]["reason"]
    assert "where something belongs" in reasons["livesIn"]["reason"]
    assert reasons["knows"]["ceiling"] == 0
    page = (tmp_path / "mine" / "readiness.md").read_text("utf-8")
    assert "| birth month | 90 | 90 | 90 | 30 | single value: 90 of 90" in page


def test_domains_of_others_and_bad_answers_are_refused(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "domain.toml").write_text('name = "own"', "utf-8")
    init = ("kg", "init", people, "--out", folder)
    assert "did not write" in check_error_line(run_epoche(*init), 15)
    assert run_epoche(*init, "--overwrite").code == 0
    (folder / "confirm.toml").write_text("[one_value]\nx = 1", "utf-8")
    assert "true and false" in check_error_line(run_epoche(*init), 10)


def test_own_naming_predicates_give_names(tmp_path: Path) -> None:
    lines = [
        f'<{EX}3fa85f64-5717-4562-b3fc-2c963f66a{n:03d}> <{EX}unitName> "Pump {chr(65 + n)}" ; '
        f'<{EX}installationYear> "{2000 + n % 4}" .'
        for n in range(24)
    ]
    path = tmp_path / "g.ttl"
    path.write_text("\n".join(lines), "utf-8")
    graph = Graph.load(path)
    assert find_naming_predicates(graph) == (EX + "unitName",)
    assert run_epoche("kg", "init", path, "--out", tmp_path / "mine").code == 0
    out = tmp_path / "c.jsonl"
    done = run_epoche("cards", "--domain", tmp_path / "mine", "--num-per-type", 4, "--out", out)
    assert done.code == 0, done.err
    assert all("Pump" in card.question for card in read_cards(out))


TERMS = st.sampled_from([f"<{EX}e{n}>" for n in range(6)] + ["_:b", '"1"', '"a \\"b\\""@en'])
TRIPLES = st.lists(
    st.tuples(
        st.sampled_from([f"<{EX}e{n}>" for n in range(6)] + ["_:b"]),
        st.sampled_from([f"<{EX}{name}>" for name in ("date", "boss", "size", "a%22b")]),
        TERMS,
    ),
    min_size=1,
    max_size=40,
)


@given(triples=TRIPLES, seed=st.integers(0, 99))
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mined_shapes_hold_and_do_not_depend_on_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, triples: list[tuple[str, str, str]], seed: int
) -> None:
    import pyshacl

    monkeypatch.setattr("kg.profile.readiness.MIN_SUBJECTS", 1)
    monkeypatch.setattr("kg.profile.readiness.MIN_CEILING", 0)
    shuffled = list(triples)
    random.Random(seed).shuffle(shuffled)
    outputs = []
    for name, rows in (("one", triples), ("two", shuffled)):
        path = tmp_path / "g.nt"
        path.write_text("".join(f"{' '.join(row)} .\n" for row in rows), "utf-8")
        folder = tmp_path / name
        done = run_epoche("kg", "init", path, "--out", folder, "--name", "x")
        assert done.code == 0, done.err
        outputs.append({file.name: file.read_bytes() for file in sorted(folder.iterdir())})
        if (folder / "shapes.ttl").exists():
            conforms, _, text = pyshacl.validate(
                rdflib.Graph().parse(path), shacl_graph=rdflib.Graph().parse(folder / "shapes.ttl")
            )
            assert conforms, text
            (folder / "shapes.ttl").unlink()
    assert outputs[0] == outputs[1]


def test_a_count_with_one_exception_is_no_rule(tmp_path: Path) -> None:
    rows = [f'<{EX}e{n}> <{EX}date> "{n % 3}" .' for n in range(500)]
    path = tmp_path / "g.nt"
    for extra, rule in (("", "single value"), (f'<{EX}e7> <{EX}date> "9" .', "")):
        path.write_text("\n".join([*rows, extra]), "utf-8")
        graph = Graph.load(path)
        (row,) = assess_predicates(GraphProfiler(graph, Labels(graph)).iter_profiles())
        assert row.rule == rule


ZOO = {
    "brick-office": ["mediumOffice_brick_compiled.ttl.gz"],
    "manchester-libraries": ["Manchester-Libraries-oct24.rdf.gz"],
    "manchester-spend": ["spend.ttl.gz"],
    "rameau-instruments": ["mop-rameau.ttl.gz"],
    "sport-worldcup": ["world-cup-2018.ttl.gz"],
}
"""Public graphs from which 50 cards of each label come without any help."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_public_graphs_give_three_labels(public_data: Path, tmp_path: Path, name: str) -> None:
    folder = public_data / "zoo" / name
    if not folder.is_dir():
        pytest.skip("needs zoo/ in the folder that EPOCHE_PUBLIC_DATA names")
    files = [folder / file for file in ZOO[name]]
    assert run_epoche("kg", "init", *files, "--out", tmp_path / "d").code == 0
    out = tmp_path / "cards.jsonl"
    done = run_epoche("cards", "--domain", tmp_path / "d", "--num-per-type", 50, "--out", out)
    assert done.code == 0, done.err
    assert Counter(card.label for card in read_cards(out)) == {"E": 50, "C": 50, "U": 50}
