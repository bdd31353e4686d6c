"""Tests that people are called by their given and family names."""

from __future__ import annotations

from pathlib import Path

from stage_calls import run_epoche

from kg.graph import Graph
from kg.knowledge import KnowledgeBase
from kg.profile.graph_changes.person_names import name_people

NAMES = ("Ada", "Ben", "Cyd", "Dov", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon")


def write_people(path: Path, given: str = "foaf:givenName", n_people: int = 40) -> Path:
    lines = [
        "@prefix e: <http://e/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .",
        "@prefix x: <http://www.w3.org/2001/XMLSchema#> .",
    ]
    for n in range(n_people):
        family = f"{NAMES[n // 10]}son"
        lines.append(
            f'e:p{n} a foaf:Person ; {given} "{NAMES[n % 10]}" ; foaf:familyName "{family}" ;'
            f' e:birthDate "19{n + 20}-01-{n % 28 + 1:02}"^^x:date ; e:livesIn e:town{n % 4} .'
        )
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_people_are_called_by_both_names(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    run_epoche("kg", "init", str(write_people(tmp_path / "g.ttl")), "--out", str(folder))
    assert "40 things called by given and family names" in (folder / "readiness.md").read_text(
        "utf-8"
    )
    kb = KnowledgeBase.open(str(folder))
    assert kb.verbaliser.render_term("http://e/p13") == "Dov Benson"


def test_predicates_are_known_by_their_local_names(tmp_path: Path) -> None:
    for given in ("e:first-name", "e:hasFirstName", "e:given_name", "e:forename"):
        _, n_people = name_people(Graph.load(write_people(tmp_path / "g.ttl", given)))
        assert n_people == 40
    for given in ("e:nickName", "e:givenTo"):
        assert name_people(Graph.load(write_people(tmp_path / "g.ttl", given)))[1] == 0


def list_named(path: Path, *more: str) -> set[str]:
    """Names 40 people and what ``more`` describes; lists the local names of those with a label."""
    write_people(path)
    path.write_text("\n".join([path.read_text("utf-8"), *more]), "utf-8")
    graph, n_people = name_people(Graph.load(path))
    labelled = [c.subj for c in graph.iter_claims() if c.pred.endswith("#label")]
    assert n_people == len(labelled)
    return {subject.removeprefix("http://e/") for subject in labelled}


def test_labels_and_several_names_are_left_as_they_are(tmp_path: Path) -> None:
    named = list_named(
        tmp_path / "g.ttl",
        *(f'e:p{n} foaf:name "Dr. {n}" .' for n in range(10)),
        'e:p10 foaf:familyName "Other" . e:p11 foaf:givenName "Abe" .',
    )
    assert named == {f"p{n}" for n in range(12, 40)}


def test_namesakes_blank_nodes_and_unknown_names_get_no_label(tmp_path: Path) -> None:
    named = list_named(
        tmp_path / "g.ttl",
        *(f'e:q{n} foaf:givenName "Ada" ; foaf:familyName "Adason" .' for n in range(2)),
        *('[] foaf:givenName "Zoe" ; foaf:familyName "Zorn" .' for _ in range(3)),
        '[] foaf:givenName "Zed" ; foaf:familyName "Zola" .',
        'e:u foaf:givenName "unknown" ; foaf:familyName "Unknown" .',
        'e:p5 e:middleName "Max" . e:p6 e:nickname "Faye" . e:p7 e:userName "gus7" .',
    )
    assert named == {f"p{n}" for n in range(1, 40)}


def test_few_people_change_nothing(tmp_path: Path) -> None:
    graph = Graph.load(write_people(tmp_path / "g.ttl", n_people=14))
    assert name_people(graph) == (graph, 0)
