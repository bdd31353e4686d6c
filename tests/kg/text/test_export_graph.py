"""``epoche kg export``: a correct thesaurus from which cards can be made."""

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
from stage_calls import check_error_line, run_epoche

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

BOOK = Path(__file__).parents[3] / "retrieval" / "corpora" / "keeping_data" / "book"
ET = rdflib.Namespace("https://epoche.example/text#")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_documents(folder / "documents")
    line = ("kg", "build", folder / "documents", "--out", folder / "runs" / "one", "--no-canonical")
    assert run_epoche(*line).code == 0
    done = run_epoche("kg", "export", "--run", folder / "runs", "--ttl", folder / "x" / "lib.ttl")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def graph(library: Path) -> rdflib.Graph:
    return rdflib.Graph().parse(library / "x" / "lib.ttl")


def concept_iri(name: str) -> rdflib.URIRef:
    return rdflib.URIRef(f"https://epoche.example/concepts/concept/{name}")


# -- exported facts


def test_concepts_have_labels_parents_and_chunks(library: Path, graph: rdflib.Graph) -> None:
    run = open_run(library / "runs")
    waiting = concept_iri("waiting_list")
    assert str(graph.value(waiting, SKOS.prefLabel)) == "Waiting lists"
    assert (waiting, SKOS.broader, concept_iri("reservation")) in graph
    assert (concept_iri("reservation"), SKOS.broader, concept_iri("lending")) in graph
    assert (concept_iri("lending"), RDF.type, ET.TopConcept) in graph
    scheme = rdflib.URIRef("https://epoche.example/concepts/scheme")
    provenance = rdflib.URIRef("http://www.w3.org/ns/prov#wasDerivedFrom")
    identifier = rdflib.URIRef("http://purl.org/dc/terms/identifier")
    labelled = 0
    for node in run.concepts.nodes:
        subject = concept_iri(node.replace(" ", "_"))
        if (subject, SKOS.prefLabel, None) not in graph:
            continue
        labelled += 1
        assert (subject, SKOS.inScheme, scheme) in graph
        passages = {
            str(graph.value(passage, identifier)) for passage in graph.objects(subject, provenance)
        }
        assert passages == set(run.concepts.get_chunk_ids(node))
    assert labelled == len(set(graph.subjects(SKOS.inScheme, scheme))) > 10


def test_related_concepts_share_chunks_and_are_not_nested(
    library: Path, graph: rdflib.Graph
) -> None:
    run = open_run(library / "runs")
    names = {concept_iri(node.replace(" ", "_")): node for node in run.concepts.nodes}
    pairs = list(graph.subject_objects(SKOS.related))
    assert pairs
    for one, other in pairs:
        data = run.concepts.graph.edges[names[one], names[other]]
        assert data["weight"] >= 2
        assert data["npmi"] >= 0.5
        assert other not in graph.transitive_objects(one, SKOS.broader)
        assert one not in graph.transitive_objects(other, SKOS.broader)


def test_everything_flag_exports_all_concepts(library: Path, tmp_path: Path) -> None:
    line = ("kg", "export", "--run", library / "runs", "--ttl")
    assert run_epoche(*line, tmp_path / "a" / "all.ttl", "--everything", "--withhold", 0).code == 0
    found = rdflib.Graph().parse(tmp_path / "a" / "all.ttl")
    run = open_run(library / "runs")
    assert len(set(found.subjects(SKOS.prefLabel, None))) == len(run.concepts)
    kinds = Counter(found.objects(None, RDF.type))
    assert kinds[SKOS.Concept] == len(set(found.subjects(SKOS.broader, None)))


def test_the_same_run_gives_the_same_files_anywhere(library: Path, tmp_path: Path) -> None:
    line = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    assert run_epoche(*line).code == 0
    for name in ("lib.ttl", "lib.shacl.ttl", "domain.toml"):
        assert (tmp_path / name).read_bytes() == (library / "x" / name).read_bytes()


def test_pyshacl_confirms_the_shapes(library: Path) -> None:
    kb = KnowledgeBase.open(library / "x", engine="pyshacl")
    assert not kb.oracle.find_violations()
    assert not list(kb.oracle.closure.find_inconsistencies())


# -- the hierarchy


documents = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 3), st.lists(st.sampled_from("abcdefgh"), max_size=4)
    ),
    min_size=1,
    max_size=14,
)


def build_small_world(rows: list[tuple[int, int, list[str]]]) -> tuple[SectionTree, ConceptGraph]:
    """Sections with one-letter headings, nested at random, and one-letter keywords."""
    chunks, keywords, path = [], [], []  # type: ignore[var-annotated]
    for number, (level, name, found) in enumerate(rows):
        path = [*path[:level], f"{'abcdefgh'[name]} word"]
        metadata = {"document": "d", "section": path[-1], "section_path": path,
                    "section_id": f"d#{number}"}  # fmt: skip
        chunks.append(Chunk(f"d#{number}", "text", metadata))
        keywords.append(ChunkKeywords(f"d#{number}", tuple(f"{k} word" for k in found)))
    concepts = link_concepts(keywords)
    return build_section_tree(chunks, concepts), concepts


@given(documents)
def test_broader_relation_is_a_forest(rows: list[tuple[int, int, list[str]]]) -> None:
    tree, concepts = build_small_world(rows)
    topics = find_section_topics(tree, concepts)
    assert len(set(topics.values())) == len(topics)
    broader = find_broader_concepts(tree, concepts, topics)
    for node in broader:
        above = list(iter_broader_concepts(node, broader))
        assert node not in above
        assert len(above) == len(set(above))
        assert set(above) <= set(topics.values())


@given(documents)
def test_home_section_is_the_deepest_with_most_chunks(
    rows: list[tuple[int, int, list[str]]],
) -> None:
    tree, concepts = build_small_world(rows)

    def count_chunks_inside(section: str, node: str) -> int:
        inside = {section, *(s for s in tree.nodes if section in tree.list_ancestors(s))}
        chunks = {c for s in inside for c in tree.nodes[s].chunk_ids}
        return len(chunks.intersection(concepts.get_chunk_ids(node)))

    homes = find_home_sections(tree, concepts)
    for node in concepts.nodes:
        enough = {
            s
            for s in tree.nodes
            if 5 * count_chunks_inside(s, node) >= 4 * len(concepts.get_chunk_ids(node))
        }
        if node in homes:
            assert homes[node] in enough
            assert not any(homes[node] in tree.list_ancestors(s) for s in enough)
        else:
            assert not enough


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
    stated = select_concepts(concepts, chunks, {"written"})
    assert "dirty page" in stated
    assert "normal form" in stated
    assert "pool" in stated
    assert "written" in stated  # a heading names it
    assert not {"dirty", "normal", "transaction commit"} & set(stated)


# -- cards from it


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cards made from the shipped corpus as the documentation says."""
    folder = tmp_path_factory.mktemp("book")
    for line in (
        ("kg", "build", BOOK, "--out", folder / "run", "--no-canonical"),
        ("kg", "export", "--run", folder / "run", "--ttl", folder / "x" / "book.ttl"),
        ("cards", "--domain", folder / "x" / "domain.toml", "--num-per-type", 50, "--strict",
         "--out", folder / "cards.jsonl"),
    ):  # fmt: skip
        done = run_epoche(*line)
        assert done.code == 0, done.err
    return folder


def test_fifty_cards_of_each_label(book: Path) -> None:
    cards = [json.loads(line) for line in (book / "cards.jsonl").read_text("utf-8").splitlines()]
    assert Counter(card["label"] for card in cards) == {"E": 50, "C": 50, "U": 50}
    for card in cards:
        assert card["question"].endswith("?")
        assert "“" in card["question"]
        assert "_" not in card["question"]
        assert "https:" not in " ".join([card["question"], *card["facts"], *card["rules"]])


def test_book_cards_reveal_no_label(book: Path) -> None:
    done = run_epoche("audit", book / "cards.jsonl", "--max-leak", 0)
    assert done.code == 0, done.out


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


def test_runs_without_relations_are_refused(tmp_path: Path, library: Path) -> None:
    write_documents(tmp_path / "documents")
    line = ("kg", "build", tmp_path / "documents", "--out", tmp_path / "run", "--no-canonical")
    assert run_epoche(*line, "--no-sections").code == 0
    export = ("kg", "export", "--run", tmp_path / "run", "--ttl", tmp_path / "x.ttl")
    assert "no section tree" in check_error_line(run_epoche(*export), 35)
    (tmp_path / "plain.txt").write_text("A drill and a hammer.", "utf-8")
    flat = ("kg", "build", tmp_path / "plain.txt", "--out", tmp_path / "run", "--no-canonical")
    assert run_epoche(*flat).code == 0
    assert "has a broader concept" in check_error_line(run_epoche(*export), 35)
    assert not (tmp_path / "x.ttl").exists()
    base = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "x.ttl", "--base")
    for bad in ("no iri", "https://x", "https://x/<b>/"):
        check_error_line(run_epoche(*base, bad), 15)


def test_files_of_others_are_not_replaced(library: Path, tmp_path: Path) -> None:
    export = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    (tmp_path / "domain.toml").write_text('name = "mine"\n')
    assert "not written by `epoche kg export`" in check_error_line(run_epoche(*export), 15)
    assert [path.name for path in tmp_path.iterdir()] == ["domain.toml"]
    assert run_epoche(*export, "--overwrite").code == 0
    assert run_epoche(*export).code == 0  # nothing changed since
    with (tmp_path / "domain.toml").open("a") as words:
        words.write("# a better word\n")
    check_error_line(run_epoche(*export), 15)
    assert "better word" in (tmp_path / "domain.toml").read_text("utf-8")


@pytest.mark.parametrize("name", ["lib.nt", "lib.json", "lib", "domain.toml"])
def test_output_without_ttl_suffix_is_refused(library: Path, tmp_path: Path, name: str) -> None:
    done = run_epoche("kg", "export", "--run", library / "runs", "--ttl", tmp_path / name)
    assert ".ttl" in check_error_line(done, 19)
    assert list(tmp_path.iterdir()) == []


def test_hostile_words_are_escaped(tmp_path: Path) -> None:
    nasty = 'Q"uote \\ <script> {{ 7*7 }}'
    rows = [
        {"id": f"a b#{n}>.", "text": f"The {nasty} of the tool is here. Of the tool.", "metadata": {
            "document": "a b", "section": heading, "section_path": ["Tool", heading][2 - n:]}}
        for n, heading in ((1, "Tool"), (2, nasty), (2, nasty))
    ]  # fmt: skip
    rows[2]["id"] = "c\u2028d#3"
    rows.pop()
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    line = ("kg", "build", tmp_path / "c.jsonl", "--out", tmp_path / "run", "--no-canonical")
    assert run_epoche(*line).code == 0
    out = tmp_path / 'o"dd {{ 1 }}.ttl'
    done = run_epoche("kg", "export", "--run", tmp_path / "run", "--ttl", out, "--everything",
                  "--withhold", 0)  # fmt: skip
    assert done.code == 0, done.err
    kb = KnowledgeBase.open(tmp_path)
    assert not kb.oracle.find_violations()
    assert kb.domain.graph_files == (out,)
