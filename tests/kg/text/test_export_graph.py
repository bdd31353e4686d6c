"""Tests that ``epoche kg export`` writes a correct thesaurus from which cards can be made."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from library_documents import write_documents
from rdflib.namespace import RDF, SKOS
from stage_calls import PRODUCT, check_error_line, run_epoche

from kg.knowledge import KnowledgeBase
from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.folder import open_run
from kg.text.sections.builder import build_section_tree
from kg.text.sections.tree import SectionTree
from kg.text.thesaurus.hierarchy import (
    extract_title,
    find_broader_concepts,
    find_home_sections,
    find_section_topics,
    iter_broader_concepts,
)
from kg.text.thesaurus.selection import select_concepts

BOOK = PRODUCT / "retrieval" / "corpora" / "keeping_data" / "book"
EPOCHE_TEXT = rdflib.Namespace("https://epoche.example/text#")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_documents(folder / "documents")
    command = (
        "kg",
        "build",
        folder / "documents",
        "--out",
        folder / "runs" / "one",
        "--no-canonical",
    )
    assert run_epoche(*command).code == 0
    result = run_epoche("kg", "export", "--run", folder / "runs", "--ttl", folder / "x" / "lib.ttl")
    assert result.code == 0, result.err
    return folder


@pytest.fixture(scope="module")
def graph(library: Path) -> rdflib.Graph:
    return rdflib.Graph().parse(library / "x" / "lib.ttl")


def concept_iri(name: str) -> rdflib.URIRef:
    return rdflib.URIRef(f"https://epoche.example/concepts/concept/{name}")


# -- exported facts


def test_concepts_have_labels_parents_and_chunks(library: Path, graph: rdflib.Graph) -> None:
    run = open_run(library / "runs")
    waiting_list = concept_iri("waiting_list")
    assert str(graph.value(waiting_list, SKOS.prefLabel)) == "Waiting lists"
    assert (waiting_list, SKOS.broader, concept_iri("reservation")) in graph
    assert (concept_iri("reservation"), SKOS.broader, concept_iri("lending")) in graph
    assert (concept_iri("lending"), RDF.type, EPOCHE_TEXT.TopConcept) in graph
    scheme = rdflib.URIRef("https://epoche.example/concepts/scheme")
    provenance = rdflib.URIRef("http://www.w3.org/ns/prov#wasDerivedFrom")
    identifier = rdflib.URIRef("http://purl.org/dc/terms/identifier")
    n_labelled = 0
    for node in run.concepts.nodes:
        subject = concept_iri(node.replace(" ", "_"))
        if (subject, SKOS.prefLabel, None) not in graph:
            continue
        n_labelled += 1
        assert (subject, SKOS.inScheme, scheme) in graph
        passages = {
            str(graph.value(passage, identifier)) for passage in graph.objects(subject, provenance)
        }
        assert passages == set(run.concepts.get_chunk_ids(node))
    assert n_labelled == len(set(graph.subjects(SKOS.inScheme, scheme))) > 10


def test_related_concepts_share_chunks_and_are_not_nested(
    library: Path, graph: rdflib.Graph
) -> None:
    run = open_run(library / "runs")
    names = {concept_iri(node.replace(" ", "_")): node for node in run.concepts.nodes}
    pairs = list(graph.subject_objects(SKOS.related))
    assert pairs
    for first_concept, second_concept in pairs:
        edge = run.concepts.graph.edges[names[first_concept], names[second_concept]]
        assert edge["weight"] >= 2
        assert edge["npmi"] >= 0.5
        assert second_concept not in graph.transitive_objects(first_concept, SKOS.broader)
        assert first_concept not in graph.transitive_objects(second_concept, SKOS.broader)


def test_everything_flag_exports_all_concepts(library: Path, tmp_path: Path) -> None:
    # --withhold is the share of concepts whose broader concepts are left out, none by default.
    command = ("kg", "export", "--run", library / "runs", "--ttl")
    assert (
        run_epoche(*command, tmp_path / "a" / "all.ttl", "--everything", "--withhold", 0).code == 0
    )
    exported_graph = rdflib.Graph().parse(tmp_path / "a" / "all.ttl")
    run = open_run(library / "runs")
    assert len(set(exported_graph.subjects(SKOS.prefLabel, None))) == len(run.concepts)
    type_counts = Counter(exported_graph.objects(None, RDF.type))
    assert type_counts[SKOS.Concept] == len(set(exported_graph.subjects(SKOS.broader, None)))


def test_the_same_run_gives_the_same_files_anywhere(library: Path, tmp_path: Path) -> None:
    command = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    assert run_epoche(*command).code == 0
    for name in ("lib.ttl", "lib.shacl.ttl", "domain.toml"):
        assert (tmp_path / name).read_bytes() == (library / "x" / name).read_bytes()


def test_pyshacl_confirms_the_shapes(library: Path) -> None:
    kb = KnowledgeBase.open(library / "x", engine="pyshacl")
    assert not kb.oracle.find_violations()
    assert not list(kb.oracle.closure.find_inconsistencies())


# -- the hierarchy


random_sections = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 3), st.lists(st.sampled_from("abcdefgh"), max_size=4)
    ),
    min_size=1,
    max_size=14,
)


def build_random_tree(rows: list[tuple[int, int, list[str]]]) -> tuple[SectionTree, ConceptGraph]:
    """Builds a section tree and concepts from (heading level, heading letter, keyword letters)."""
    chunks, keywords, path = [], [], []  # type: ignore[var-annotated]
    for number, (level, name, letters) in enumerate(rows):
        path = [*path[:level], f"{'abcdefgh'[name]} word"]
        metadata = {"document": "d", "section": path[-1], "section_path": path,
                    "section_id": f"d#{number}"}  # fmt: skip
        chunks.append(Chunk(f"d#{number}", "text", metadata))
        keywords.append(ChunkKeywords(f"d#{number}", tuple(f"{letter} word" for letter in letters)))
    concepts = link_concepts(keywords)
    return build_section_tree(chunks, concepts), concepts


@given(random_sections)
def test_broader_relation_is_a_forest(rows: list[tuple[int, int, list[str]]]) -> None:
    tree, concepts = build_random_tree(rows)
    topics = find_section_topics(tree, concepts)
    assert len(set(topics.values())) == len(topics)
    broader = find_broader_concepts(tree, concepts, topics)
    for node in broader:
        ancestors = list(iter_broader_concepts(node, broader))
        assert node not in ancestors
        assert len(ancestors) == len(set(ancestors))
        assert set(ancestors) <= set(topics.values())


@given(random_sections)
def test_home_section_is_the_deepest_with_most_chunks(
    rows: list[tuple[int, int, list[str]]],
) -> None:
    tree, concepts = build_random_tree(rows)

    def count_chunks_inside(section: str, node: str) -> int:
        subtree = {section, *(s for s in tree.nodes if section in tree.list_ancestors(s))}
        chunks = {c for s in subtree for c in tree.nodes[s].chunk_ids}
        return len(chunks.intersection(concepts.get_chunk_ids(node)))

    # A home section contains at least 4/5 of the chunks of its concept.
    homes = find_home_sections(tree, concepts)
    for node in concepts.nodes:
        sections_with_enough_chunks = {
            s
            for s in tree.nodes
            if 5 * count_chunks_inside(s, node) >= 4 * len(concepts.get_chunk_ids(node))
        }
        if node in homes:
            assert homes[node] in sections_with_enough_chunks
            assert not any(
                homes[node] in tree.list_ancestors(s) for s in sections_with_enough_chunks
            )
        else:
            assert not sections_with_enough_chunks


@pytest.mark.parametrize(
    ("heading", "title"),
    [("7.3 The B+-tree", "B+-tree"), ("An index", "index"), ("Theory", "Theory"), ("A", "A")],
)
def test_section_titles_are_cleaned(heading: str, title: str) -> None:
    assert extract_title(heading) == title


def test_verbs_and_fragments_are_not_exported() -> None:
    text = (
        "The dirty page is written. A dirty page is a page in the pool. Each transaction commits, "
        "and the transaction commits again. To commit is to write. A commit of the transaction is "
        "seen. The normal form of a table is the form of choice, and this form is seldom full. The "
        "pool of the page and of the table."
    )
    chunks = [Chunk(f"d#{n}", text) for n in range(3)]
    keywords = ("dirty", "dirty page", "page", "pool", "transaction", "transaction commits",
                "normal", "normal form", "written", "commit")  # fmt: skip
    concepts = link_concepts([ChunkKeywords(chunk.id, keywords) for chunk in chunks])
    selected = select_concepts(concepts, chunks, {"written"})
    assert "dirty page" in selected
    assert "normal form" in selected
    assert "pool" in selected
    assert "written" in selected  # a heading names it
    assert not {"dirty", "normal", "transaction commit"} & set(selected)


# -- cards from the exported thesaurus


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes cards from the shipped corpus with the commands of the documentation."""
    folder = tmp_path_factory.mktemp("book")
    for command in (
        ("kg", "build", BOOK, "--out", folder / "run", "--no-canonical"),
        ("kg", "export", "--run", folder / "run", "--ttl", folder / "x" / "book.ttl"),
        ("cards", "--domain", folder / "x" / "domain.toml", "--num-per-type", 30, "--strict",
         "--out", folder / "cards.jsonl"),
    ):  # fmt: skip
        result = run_epoche(*command)
        assert result.code == 0, result.err
    return folder


def test_thirty_cards_of_each_label(book: Path) -> None:
    cards = [json.loads(line) for line in (book / "cards.jsonl").read_text("utf-8").splitlines()]
    assert Counter(card["label"] for card in cards) == {"E": 30, "C": 30, "U": 30}
    for card in cards:
        assert card["question"].endswith("?")
        assert "“" in card["question"]
        assert "_" not in card["question"]
        assert "https:" not in " ".join([card["question"], *card["facts"], *card["rules"]])


def test_book_cards_reveal_no_label(book: Path) -> None:
    result = run_epoche("audit", book / "cards.jsonl", "--max-leak", 0)
    assert result.code == 0, result.out


@pytest.mark.parametrize("system", ["kg", "graph_rag"])
def test_graph_systems_answer_every_card_correctly(book: Path, system: str) -> None:
    out = book / f"{system}.jsonl"
    assert (
        run_epoche("eval", "--cards", book / "cards.jsonl", "--system", system, "--out", out).code
        == 0
    )
    assert all(json.loads(line)["pass"] for line in out.read_text("utf-8").splitlines())


def test_rag_reads_the_stated_facts(book: Path) -> None:
    out = book / "rag.jsonl"
    assert (
        run_epoche("eval", "--cards", book / "cards.jsonl", "--system", "rag", "--out", out).code
        == 0
    )
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert all(row["pred"] == "YES" for row in rows if row["label"] == "E")


# -- bad input


def test_runs_without_relations_and_invalid_base_iris_are_refused(
    tmp_path: Path, library: Path
) -> None:
    write_documents(tmp_path / "documents")
    command = ("kg", "build", tmp_path / "documents", "--out", tmp_path / "run", "--no-canonical")
    assert run_epoche(*command, "--no-sections").code == 0
    export_command = ("kg", "export", "--run", tmp_path / "run", "--ttl", tmp_path / "x.ttl")
    assert "no section tree" in check_error_line(run_epoche(*export_command), 35)
    (tmp_path / "plain.txt").write_text("A drill and a hammer.", "utf-8")
    build_command = (
        "kg",
        "build",
        tmp_path / "plain.txt",
        "--out",
        tmp_path / "run",
        "--no-canonical",
    )
    assert run_epoche(*build_command).code == 0
    assert "has a broader concept" in check_error_line(run_epoche(*export_command), 35)
    assert not (tmp_path / "x.ttl").exists()
    base_iri_command = (
        "kg",
        "export",
        "--run",
        library / "runs",
        "--ttl",
        tmp_path / "x.ttl",
        "--base",
    )
    for invalid_iri in ("no iri", "https://x", "https://x/<b>/"):
        check_error_line(run_epoche(*base_iri_command, invalid_iri), 15)


def test_files_not_written_by_the_command_are_not_replaced(library: Path, tmp_path: Path) -> None:
    export_command = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    (tmp_path / "domain.toml").write_text('name = "mine"\n')
    assert "not written by `epoche kg export`" in check_error_line(run_epoche(*export_command), 15)
    assert [path.name for path in tmp_path.iterdir()] == ["domain.toml"]
    assert run_epoche(*export_command, "--overwrite").code == 0
    assert run_epoche(*export_command).code == 0  # The files are as the command wrote them.
    with (tmp_path / "domain.toml").open("a") as domain_file:
        domain_file.write("# a better word\n")
    check_error_line(run_epoche(*export_command), 15)
    assert "better word" in (tmp_path / "domain.toml").read_text("utf-8")


@pytest.mark.parametrize("name", ["lib.nt", "lib.json", "lib", "domain.toml"])
def test_output_without_ttl_suffix_is_refused(library: Path, tmp_path: Path, name: str) -> None:
    result = run_epoche("kg", "export", "--run", library / "runs", "--ttl", tmp_path / name)
    assert ".ttl" in check_error_line(result, 19)
    assert list(tmp_path.iterdir()) == []


def test_hostile_headings_are_escaped(tmp_path: Path) -> None:
    hostile_heading = 'Q"uote \\ <script> {{ 7*7 }}'
    rows = [
        {
            "id": f"a b#{n}>.",
            "text": f"The {hostile_heading} of the tool is here. Of the tool.",
            "metadata": {"document": "a b", "section": path[-1], "section_path": path},
        }
        for n, path in ((1, ["Tool"]), (2, ["Tool", hostile_heading]))
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ("kg", "build", tmp_path / "c.jsonl", "--out", tmp_path / "run", "--no-canonical")
    assert run_epoche(*command).code == 0
    out = tmp_path / 'o"dd {{ 1 }}.ttl'
    result = run_epoche("kg", "export", "--run", tmp_path / "run", "--ttl", out, "--everything",
                  "--withhold", 0)  # fmt: skip
    assert result.code == 0, result.err
    kb = KnowledgeBase.open(tmp_path)
    assert not kb.oracle.find_violations()
    assert kb.domain.graph_files == (out,)
