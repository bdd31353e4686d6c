"""``epoche kg export``: a thesaurus that is true, and that cards can be made from at once."""

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
from stage_calls import epoche, error_line

from kg.knowledge import KnowledgeBase
from kg.text.chunks import Chunk
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.linking import link
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.folder import open_run
from kg.text.sections.building import build_section_tree
from kg.text.sections.tree import SectionTree
from kg.text.thesaurus.hierarchy import ancestors_of, broader_of, homes_of, title_of, topics_of
from kg.text.thesaurus.selection import worth_stating

BOOK = Path(__file__).parents[3] / "retrieval" / "corpora" / "keeping_data" / "book"
ET = rdflib.Namespace("https://epoche.example/text#")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_documents(folder / "documents")
    line = ("kg", "build", folder / "documents", "--out", folder / "runs" / "one", "--no-canonical")
    assert epoche(*line).code == 0
    done = epoche("kg", "export", "--run", folder / "runs", "--ttl", folder / "x" / "lib.ttl")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def graph(library: Path) -> rdflib.Graph:
    return rdflib.Graph().parse(library / "x" / "lib.ttl")


def concept(name: str) -> rdflib.URIRef:
    return rdflib.URIRef(f"https://epoche.example/concepts/concept/{name}")


# -- what is stated


def test_concepts_are_labelled_placed_and_traced_to_their_chunks(
    library: Path, graph: rdflib.Graph
) -> None:
    run = open_run(library / "runs")
    waiting = concept("waiting_list")
    assert str(graph.value(waiting, SKOS.prefLabel)) == "Waiting lists"
    assert (waiting, SKOS.broader, concept("reservation")) in graph
    assert (concept("reservation"), SKOS.broader, concept("lending")) in graph
    assert (concept("lending"), RDF.type, ET.TopConcept) in graph
    scheme = rdflib.URIRef("https://epoche.example/concepts/scheme")
    provenance = rdflib.URIRef("http://www.w3.org/ns/prov#wasDerivedFrom")
    identifier = rdflib.URIRef("http://purl.org/dc/terms/identifier")
    labelled = 0
    for node in run.concepts.nodes:
        subject = concept(node.replace(" ", "_"))
        if (subject, SKOS.prefLabel, None) not in graph:
            continue
        labelled += 1
        assert (subject, SKOS.inScheme, scheme) in graph
        passages = {
            str(graph.value(passage, identifier)) for passage in graph.objects(subject, provenance)
        }
        assert passages == set(run.concepts.chunk_ids(node))
    assert labelled == len(set(graph.subjects(SKOS.inScheme, scheme))) > 10


def test_related_concepts_share_chunks_and_fall_under_nothing_of_each_other(
    library: Path, graph: rdflib.Graph
) -> None:
    run = open_run(library / "runs")
    names = {concept(node.replace(" ", "_")): node for node in run.concepts.nodes}
    pairs = list(graph.subject_objects(SKOS.related))
    assert pairs
    for one, other in pairs:
        data = run.concepts.graph.edges[names[one], names[other]]
        assert data["weight"] >= 2
        assert data["npmi"] >= 0.5
        assert other not in graph.transitive_objects(one, SKOS.broader)
        assert one not in graph.transitive_objects(other, SKOS.broader)


def test_everything_and_nothing_withheld(library: Path, tmp_path: Path) -> None:
    line = ("kg", "export", "--run", library / "runs", "--ttl")
    assert epoche(*line, tmp_path / "a" / "all.ttl", "--everything", "--withhold", 0).code == 0
    found = rdflib.Graph().parse(tmp_path / "a" / "all.ttl")
    run = open_run(library / "runs")
    assert len(set(found.subjects(SKOS.prefLabel, None))) == len(run.concepts)
    kinds = Counter(found.objects(None, RDF.type))
    assert kinds[SKOS.Concept] == len(set(found.subjects(SKOS.broader, None)))


def test_the_same_run_gives_the_same_files_anywhere(library: Path, tmp_path: Path) -> None:
    line = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    assert epoche(*line).code == 0
    for name in ("lib.ttl", "lib.shacl.ttl", "domain.toml"):
        assert (tmp_path / name).read_bytes() == (library / "x" / name).read_bytes()


def test_shapes_hold_by_pyshacl_too(library: Path) -> None:
    kb = KnowledgeBase.open(library / "x", engine="pyshacl")
    assert not kb.oracle.violations()
    assert not list(kb.oracle.closure.inconsistencies())


# -- the hierarchy


documents = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 3), st.lists(st.sampled_from("abcdefgh"), max_size=4)
    ),
    min_size=1,
    max_size=14,
)


def small_world(rows: list[tuple[int, int, list[str]]]) -> tuple[SectionTree, ConceptGraph]:
    """Sections with headings of one letter, nested at random, and keywords of one letter."""
    chunks, keywords, path = [], [], []  # type: ignore[var-annotated]
    for number, (level, name, found) in enumerate(rows):
        path = [*path[:level], f"{'abcdefgh'[name]} word"]
        metadata = {"document": "d", "section": path[-1], "section_path": path,
                    "section_id": f"d#{number}"}  # fmt: skip
        chunks.append(Chunk(f"d#{number}", "text", metadata))
        keywords.append(ChunkKeywords(f"d#{number}", tuple(f"{k} word" for k in found)))
    concepts = link(keywords)
    return build_section_tree(chunks, concepts), concepts


@given(documents)
def test_no_concept_falls_under_itself_or_under_two(rows: list[tuple[int, int, list[str]]]) -> None:
    tree, concepts = small_world(rows)
    topics = topics_of(tree, concepts)
    assert len(set(topics.values())) == len(topics)
    broader = broader_of(tree, concepts, topics)
    for node in broader:
        above = list(ancestors_of(node, broader))
        assert node not in above
        assert len(above) == len(set(above))
        assert set(above) <= set(topics.values())


@given(documents)
def test_a_home_holds_nearly_all_and_none_below_it_does(
    rows: list[tuple[int, int, list[str]]],
) -> None:
    tree, concepts = small_world(rows)

    def held(section: str, node: str) -> int:
        inside = {section, *(s for s in tree.nodes if section in tree.ancestors(s))}
        chunks = {c for s in inside for c in tree.nodes[s].chunk_ids}
        return len(chunks.intersection(concepts.chunk_ids(node)))

    homes = homes_of(tree, concepts)
    for node in concepts.nodes:
        enough = {s for s in tree.nodes if 5 * held(s, node) >= 4 * len(concepts.chunk_ids(node))}
        if node in homes:
            assert homes[node] in enough
            assert not any(homes[node] in tree.ancestors(s) for s in enough)
        else:
            assert not enough


@pytest.mark.parametrize(
    ("heading", "title"),
    [("7.3 The B+-tree", "B+-tree"), ("An index", "index"), ("Theory", "Theory"), ("A", "A")],
)
def test_titles(heading: str, title: str) -> None:
    assert title_of(heading) == title


def test_names_are_told_from_verbs_and_torn_ends() -> None:
    text = (
        "The dirty page is written. A dirty page is a page in the pool. Each transaction commits, "
        "and the transaction commits again. To commit is to write. A commit of the transaction is "
        "seen. The normal form of a table is the form of choice, and this form is seldom full. The "
        "pool of the page and of the table."
    )
    chunks = [Chunk(f"d#{n}", text) for n in range(3)]
    keywords = ("dirty", "dirty page", "page", "pool", "transaction", "transaction commits",
                "normal", "normal form", "written", "commit")  # fmt: skip
    concepts = link([ChunkKeywords(chunk.id, keywords) for chunk in chunks])
    stated = worth_stating(concepts, chunks, {"written"})
    assert "dirty page" in stated
    assert "normal form" in stated
    assert "pool" in stated
    assert "written" in stated  # a heading names it
    assert not {"dirty", "normal", "transaction commit"} & set(stated)


# -- cards from it


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cards made from the shipped corpus, as the documentation says."""
    folder = tmp_path_factory.mktemp("book")
    for line in (
        ("kg", "build", BOOK, "--out", folder / "run", "--no-canonical"),
        ("kg", "export", "--run", folder / "run", "--ttl", folder / "x" / "book.ttl"),
        ("cards", "--domain", folder / "x" / "domain.toml", "--num-per-type", 50, "--strict",
         "--out", folder / "cards.jsonl"),
    ):  # fmt: skip
        done = epoche(*line)
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


def test_nothing_on_their_surface_tells_the_label(book: Path) -> None:
    done = epoche("audit", book / "cards.jsonl", "--max-leak", 0)
    assert done.code == 0, done.out


@pytest.mark.parametrize("system", ["kg", "graph_rag"])
def test_systems_with_the_graph_are_right_on_all_of_them(book: Path, system: str) -> None:
    out = book / f"{system}.jsonl"
    assert (
        epoche("eval", "--cards", book / "cards.jsonl", "--system", system, "--out", out).code == 0
    )
    assert all(json.loads(line)["pass"] for line in out.read_text("utf-8").splitlines())


def test_rag_reads_the_stated_facts(book: Path) -> None:
    out = book / "rag.jsonl"
    assert (
        epoche("eval", "--cards", book / "cards.jsonl", "--system", "rag", "--out", out).code == 0
    )
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert all(row["pred"] == "YES" for row in rows if row["label"] == "E")


# -- bad input


def test_runs_that_state_nothing_are_refused(tmp_path: Path, library: Path) -> None:
    write_documents(tmp_path / "documents")
    line = ("kg", "build", tmp_path / "documents", "--out", tmp_path / "run", "--no-canonical")
    assert epoche(*line, "--no-sections").code == 0
    export = ("kg", "export", "--run", tmp_path / "run", "--ttl", tmp_path / "x.ttl")
    assert "no section tree" in error_line(epoche(*export), 35)
    (tmp_path / "plain.txt").write_text("A drill and a hammer.", "utf-8")
    flat = ("kg", "build", tmp_path / "plain.txt", "--out", tmp_path / "run", "--no-canonical")
    assert epoche(*flat).code == 0
    assert "falls under" in error_line(epoche(*export), 35)
    assert not (tmp_path / "x.ttl").exists()
    base = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "x.ttl", "--base")
    for bad in ("no iri", "https://x", "https://x/<b>/"):
        error_line(epoche(*base, bad), 15)


def test_files_of_yours_are_not_replaced(library: Path, tmp_path: Path) -> None:
    export = ("kg", "export", "--run", library / "runs", "--ttl", tmp_path / "lib.ttl")
    (tmp_path / "domain.toml").write_text('name = "mine"\n')
    assert "not made by" in error_line(epoche(*export), 15)
    assert [path.name for path in tmp_path.iterdir()] == ["domain.toml"]
    assert epoche(*export, "--overwrite").code == 0
    assert epoche(*export).code == 0  # nothing changed since
    with (tmp_path / "domain.toml").open("a") as words:
        words.write("# a better word\n")
    error_line(epoche(*export), 15)
    assert "better word" in (tmp_path / "domain.toml").read_text("utf-8")


@pytest.mark.parametrize("name", ["lib.nt", "lib.json", "lib", "domain.toml"])
def test_only_turtle_is_called_so(library: Path, tmp_path: Path, name: str) -> None:
    done = epoche("kg", "export", "--run", library / "runs", "--ttl", tmp_path / name)
    assert ".ttl" in error_line(done, 19)
    assert list(tmp_path.iterdir()) == []


def test_hostile_words_stay_words(tmp_path: Path) -> None:
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
    assert epoche(*line).code == 0
    out = tmp_path / 'o"dd {{ 1 }}.ttl'
    done = epoche("kg", "export", "--run", tmp_path / "run", "--ttl", out, "--everything",
                  "--withhold", 0)  # fmt: skip
    assert done.code == 0, done.err
    kb = KnowledgeBase.open(tmp_path)
    assert not kb.oracle.violations()
    assert kb.domain.graph_files == (out,)
