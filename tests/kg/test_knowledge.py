"""Tests of opening knowledge bases, and of finding predicates by different names."""

import os
from pathlib import Path

import msgspec
import pytest

from kg.base.errors import (
    DomainError,
    MissingFileError,
    MissingShapesError,
    UnknownPredicateError,
)
from kg.claims import Claim
from kg.domain import load_domain
from kg.knowledge import KnowledgeBase

BASE = "https://example.org/"
GRAPH = """
@prefix : <https://example.org/> . @prefix o: <https://other.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :flowsInto :b ; :length 5 ; o:length 6 ; :q12 :b . :q12 rdfs:label "Capital City" .
:b :hasMouth :c . :flowsInto rdfs:subPropertyOf :drainsInto .
"""
SHAPES = """
@prefix : <https://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:One a sh:PropertyShape ; sh:targetSubjectsOf :hasMouth ; sh:path :hasMouth ; sh:maxCount 1 .
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("knowledge")
    graph, shapes = folder / "g.ttl", folder / "s.ttl"
    graph.write_text(GRAPH, encoding="utf-8")
    shapes.write_text(SHAPES, encoding="utf-8")
    return graph, shapes


@pytest.fixture(scope="module")
def kb(files: tuple[Path, Path]) -> KnowledgeBase:
    return KnowledgeBase.open(graph=[files[0]], shapes=[files[1]])


def test_rivers_are_the_default_domain() -> None:
    kb = KnowledgeBase.open()
    assert kb.domain.name == "rivers"
    assert kb.oracle.find_violations() == ()
    assert len(kb.predicates) >= 10


def test_own_files_need_no_domain(kb: KnowledgeBase) -> None:
    claim = Claim(BASE + "b", BASE + "hasMouth", BASE + "c")
    assert kb.verbaliser.render_fact(claim) == "B has c as its mouth."
    assert kb.oracle.license(claim).label == "E"
    assert kb.oracle.license(Claim(BASE + "b", BASE + "hasMouth", BASE + "a")).label == "C"
    assert kb.domain.name == "g"


def test_graph_without_shapes_is_refused(files: tuple[Path, Path]) -> None:
    with pytest.raises(MissingShapesError, match="--shapes"):
        KnowledgeBase.open(graph=[files[0]])


def test_missing_domains_and_files_have_their_own_errors(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    with pytest.raises(DomainError):
        KnowledgeBase.open("riverz")
    with pytest.raises(MissingFileError):
        KnowledgeBase.open(graph=[tmp_path / "no.ttl"], shapes=[files[1]])
    with pytest.raises(MissingFileError):
        KnowledgeBase.open(graph=[files[0]], shapes=[tmp_path / "no.ttl"])


def test_parts_of_a_domain_can_be_replaced(files: tuple[Path, Path]) -> None:
    kb = KnowledgeBase.open("rivers", graph=[files[0]], regime="none")
    assert kb.domain.regime == "none"
    assert kb.domain.graph_files == (files[0],)
    assert kb.domain.shapes_files == load_domain("rivers").shapes_files
    domain = msgspec.structs.replace(load_domain("rivers"), shapes_files=())
    with pytest.raises(MissingShapesError):
        KnowledgeBase.open(domain)


def test_inferred_predicates_are_known(kb: KnowledgeBase) -> None:
    assert BASE + "drainsInto" in kb.predicates
    assert kb.predicates.index(BASE + "flowsInto") < kb.predicates.index(BASE + "drainsInto")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (BASE + "flowsInto", "flowsInto"), (f"<{BASE}flowsInto>", "flowsInto"),
        (":flowsInto", "flowsInto"), ("flowsInto", "flowsInto"), ("flows into", "flowsInto"),
        ("FLOWS_INTO", "flowsInto"), ("hasMouth", "hasMouth"), ("capital city", "q12"),
        ("drainsInto", "drainsInto"),
    ],
)  # fmt: skip
def test_predicates_are_found_by_iri_curie_name_and_label(
    kb: KnowledgeBase, text: str, name: str
) -> None:
    assert kb.resolve_predicate(text) == BASE + name


def test_unknown_predicates_name_the_nearest(kb: KnowledgeBase) -> None:
    for text in ("flowInto", BASE + "flowInto", "https://elsewhere.org/x#flowsInt"):
        with pytest.raises(UnknownPredicateError, match=r"Nearest: \S*flowsInto") as exc_info:
            kb.resolve_predicate(text)
        assert "g.ttl" in exc_info.value.where
    with pytest.raises(UnknownPredicateError, match="matches several") as ambiguity:
        kb.resolve_predicate("length")
    assert "https://other.org/length" in ambiguity.value.hint
    assert kb.resolve_predicate("o:length") == "https://other.org/length"
    for hostile_text in ("", "x" * 100_000, "\x00\ud800", "((("):
        with pytest.raises(UnknownPredicateError) as exc_info:
            kb.resolve_predicate(hostile_text)
        assert len(exc_info.value.format_line()) < 2_000


def test_labels_of_a_domain_name_predicates() -> None:
    kb = KnowledgeBase.open_cached()
    assert kb.resolve_predicate("mouth") == kb.domain.expand_iri("wm:flowsInto")
    assert kb.resolve_predicate("wm:flowsInto") == kb.domain.expand_iri("wm:flowsInto")


def test_predicate_label_can_be_replaced(kb: KnowledgeBase) -> None:
    renamed = kb.with_predicate_label(BASE + "flowsInto", "outflow")
    claim = Claim(BASE + "a", BASE + "flowsInto", BASE + "b")
    assert renamed.verbaliser.render_fact(claim) == "A has b as an outflow."
    assert renamed.oracle is kb.oracle
    assert kb.verbaliser.render_fact(claim) == "A flows into b."


def test_knowledge_base_is_shared_until_a_file_changes(files: tuple[Path, Path]) -> None:
    graph, shapes = files
    first_kb = KnowledgeBase.open_cached(None, [graph], [shapes])
    assert KnowledgeBase.open_cached(None, [str(graph)], [str(shapes)]) is first_kb
    os.utime(graph, ns=(1, 1))
    assert KnowledgeBase.open_cached(None, [graph], [shapes]) is not first_kb
    with pytest.raises(MissingFileError):
        KnowledgeBase.open_cached(None, [graph.with_name("gone.ttl")], [shapes])
