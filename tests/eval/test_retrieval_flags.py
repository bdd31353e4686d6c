"""Tests the retrieval flags: rag over a run or recorded searches, graph_rag on retrieved facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from cards.card import CardView
from eval.abstention.answers import read_answer
from eval.abstention.manifest import read_manifest
from eval.abstention.result import read_results
from eval.abstention.retrieval_plan import RetrievalPlan, open_library
from eval.abstention.retrieved_facts import is_axiom
from eval.abstention.runner import run
from eval.abstention.system import System, SystemOptions
from eval.abstention.systems.graph_rag import GraphRag
from eval.abstention.systems.registry import make_systems
from kg.base.errors import CardSetMismatchError, MissingFileError, RunFolderError, SettingError
from kg.claims import Claim
from kg.embedding.lexical import make_lexical_embedder
from kg.knowledge import KnowledgeBase
from kg.terms import OWL, RDF_TYPE, RDFS
from kg.text.canonical.verifier import RuleVerifier
from kg.text.keywords.yake_extractor import Yake
from kg.text.run.pipeline import BuildPlan, build_run
from retrieval.web_results import FrozenQuery, append_frozen_query, clean_results, hash_query

OPTIONS = SystemOptions()
BOOK = """# 1 Rivers

The Main is a river. It rises in Franconia, and the Main flows into the Rhine at Mainz.

# 2 Seas

The Rhine flows into the North Sea. The Elbe does not flow into the Rhine.
"""
BOOK_ANSWERS = {
    "Does the Main flow into the Rhine?": "YES",
    "Does the Elbe flow into the Rhine?": "NO",
    "Does the Danube flow into the Rhine?": "UNKNOWN",
}


@pytest.fixture(scope="module")
def book_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    (folder / "rivers.md").write_text(BOOK)
    plan = BuildPlan(documents=(folder / "rivers.md",), out=folder / "run")
    build_run(plan, Yake(), RuleVerifier(), make_lexical_embedder())
    return folder / "run"


def open_system(name: str, options: SystemOptions | None = None, **settings: str) -> System:
    (system,) = make_systems(name, replace(options or SystemOptions(), settings=settings))
    assert isinstance(system, System)
    return system


def answer_book_questions(system: System) -> dict[str, str]:
    return {
        question: read_answer(system.answer(CardView((), (), question)))[0].pred
        for question in BOOK_ANSWERS
    }


@pytest.mark.parametrize("retriever", ["bm25", "hybrid", "facts", "kg", "section_tree", "ensemble"])
def test_rag_reads_the_chunk_sentences_of_a_run(retriever: str, book_run: Path) -> None:
    model = {"embedder": "lexical"} if retriever in ("hybrid", "facts", "ensemble") else {}
    system = open_system("rag", run=str(book_run), passages="chunk", retriever=retriever, **model)
    assert answer_book_questions(system) == BOOK_ANSWERS
    answer = system.answer(CardView((), (), next(iter(BOOK_ANSWERS))))
    assert "the Main flows into the Rhine at Mainz." in str(answer)
    assert "The Rhine flows into the North Sea" not in str(answer), (
        "the answer quotes one sentence, not the whole chunk"
    )


def test_headings_are_sentences_of_their_section(tmp_path: Path) -> None:
    (tmp_path / "deep.md").write_text("# 1 Waters\n\nAll.\n\n## 1.1 Rivers\n\nSome. Others?\n")
    plan = BuildPlan(documents=(tmp_path / "deep.md",), out=tmp_path / "run")
    build_run(plan, Yake(), RuleVerifier(), make_lexical_embedder())
    library = open_library(RetrievalPlan("chunk", "bm25", 5, run=str(tmp_path / "run")), OPTIONS)
    sentences = {passage.id: library.split_sentences(passage) for passage in library.passages}
    assert sentences["deep#1.1"][0] == "1 Waters › 1.1 Rivers"
    assert sentences["deep#1.1"][-2:] == ["Some.", "Others?"]
    assert sentences["deep#1"][0] == "1 Waters"


def test_manifest_names_run_and_retriever(book_run: Path) -> None:
    settings = {
        "retriever": "ensemble",
        "embedder": "lexical",
        "weights": "dense=0,facts=0,kg=2,section_tree=1",
    }
    system = open_system("rag", run=str(book_run), fusion="linear", walk="ppr", **settings)
    params = system.params()
    assert params["passages"] == "chunk", "a run implies chunks"
    assert len(params["run_sha256"]) == 64
    assert "graph_sha256" not in params
    retriever = params["retriever"]
    assert (retriever["name"], retriever["method"]) == ("ensemble", "linear")
    assert [part["name"] for part in retriever["retrievers"]] == ["bm25", "kg", "section_tree"]
    assert retriever["weights"] == [0.25, 0.5, 0.25]
    assert retriever["retrievers"][1]["mode"] == "ppr"
    assert str(book_run) not in str(params), "params must not contain a path"


def test_another_run_is_not_resumed(book_run: Path, tmp_path: Path, card_file: object) -> None:
    cards = card_file(3)  # type: ignore[operator]
    out = tmp_path / "r.jsonl"

    def run_on_folder(folder: Path) -> None:
        run(cards, [open_system("rag", run=str(folder))], out, system_name="rag")

    run_on_folder(book_run)
    assert read_manifest(tmp_path / "r.manifest.json").graph_sha256 is None
    before = out.read_bytes()
    run_on_folder(book_run)
    assert out.read_bytes() == before
    (tmp_path / "other.md").write_text(BOOK.replace("Mainz", "Mayence"))
    plan = BuildPlan(documents=(tmp_path / "other.md",), out=tmp_path / "run")
    build_run(plan, Yake(), RuleVerifier(), make_lexical_embedder())
    with pytest.raises(CardSetMismatchError, match="params"):
        run_on_folder(tmp_path / "run")


def test_rag_reads_recorded_searches_and_fails_without_one(
    tmp_path: Path, card_file: object
) -> None:
    recorded_searches = tmp_path / "web.jsonl"
    page = (
        "The Main",
        "https://example.org/main",
        "The Main is long. The Main flows into the Rhine.",
    )
    for question in list(BOOK_ANSWERS)[:2]:
        results = clean_results([page]) if "Main" in question else ()
        row = FrozenQuery(question, hash_query(question), "2026-01-01T00:00:00+00:00", (), results)
        append_frozen_query(recorded_searches, row)
    system = open_system("rag", frozen=str(recorded_searches))
    assert system.params()["passages"] == "web"
    assert len(system.params()["frozen_sha256"]) == 64
    main_question, elbe_question, _ = BOOK_ANSWERS
    assert read_answer(system.answer(CardView((), (), main_question)))[0].pred == "YES"
    assert read_answer(system.answer(CardView((), (), elbe_question)))[0].pred == "UNKNOWN"
    out = tmp_path / "r.jsonl"
    run(card_file(2), [system], out, system_name="rag")  # type: ignore[operator]
    rows = list(read_results(out))
    assert {row.pred for row in rows} == {"ERROR"}, "an unrecorded search is not an abstention"
    assert "was recorded" in str(rows[0].error)


@pytest.mark.parametrize(
    "settings",
    [
        {"passages": "chunk"},
        {"passages": "web"},
        {"run": "RUN", "passages": "fact"},
        {"run": "RUN", "frozen": "x.jsonl"},
        {"retriever": "kg"},
        {"retriever": "ensemble"},
        {"run": "RUN", "retriever": "web"},
        {"run": "RUN", "walk": "ppr"},
        {"run": "RUN", "retriever": "kg", "walk": "dfs"},
        {"run": "RUN", "retriever": "kg", "weights": "kg=1"},
        {"run": "RUN", "retriever": "ensemble", "weights": "kg"},
        {"run": "RUN", "retriever": "ensemble", "weights": "bm25=0,dense=0,facts=0"},
        {"run": "RUN", "retriever": "kg", "embedder": "lexical"},
        {"weights": "bm25=1"},
    ],
)
def test_invalid_or_unused_settings_are_refused(settings: dict[str, str], book_run: Path) -> None:
    run_settings = {
        key: str(book_run) if value == "RUN" else value for key, value in settings.items()
    }
    with pytest.raises(SettingError):
        open_system("rag", **run_settings)


def test_missing_runs_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        open_system("rag", run=str(tmp_path / "no"))
    with pytest.raises(RunFolderError):
        open_system("rag", run=str(tmp_path))
    with pytest.raises(MissingFileError):
        open_system("rag", frozen=str(tmp_path / "no.jsonl"))


GRAPH = """
@prefix : <urn:x:> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Water a owl:Class ; rdfs:label "water" .
:River a owl:Class ; rdfs:label "river" ; rdfs:subClassOf :Water .
:Sea a owl:Class ; rdfs:label "sea" ; rdfs:subClassOf :Water .
:mouth a owl:ObjectProperty ; rdfs:label "flows into" .
:receives a owl:ObjectProperty ; rdfs:label "receives" ; owl:inverseOf :mouth .
:rhine a :River ; rdfs:label "Rhine" ; :mouth :north .
:main a :River ; rdfs:label "Main" ; :mouth :rhine .
:lahn a :River ; rdfs:label "Lahn" .
:north a :Sea ; rdfs:label "North Sea" .
:baltic a :Sea ; rdfs:label "Baltic Sea" .
:no a owl:NegativePropertyAssertion ;
    owl:sourceIndividual :lahn ; owl:assertionProperty :mouth ; owl:targetIndividual :north .
"""
SHAPES = """
@prefix : <urn:x:> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:OneMouth a sh:NodeShape ; sh:targetSubjectsOf :mouth ;
    sh:property [ sh:path :mouth ; sh:maxCount 1 ; sh:class :Water ] .
"""
GRAPH_ANSWERS = {
    "Does the Main flow into the Rhine?": "YES",
    "Does the Rhine receive the Main?": "YES",
    "Does the Main flow into the Baltic Sea?": "NO",
    "Does the Lahn flow into the North Sea?": "NO",
    "Does the Lahn flow into the Rhine?": "UNKNOWN",
    "Does the Elbe sing?": "UNKNOWN",
}


@pytest.fixture
def options(tmp_path: Path) -> SystemOptions:
    (tmp_path / "g.ttl").write_text(GRAPH)
    (tmp_path / "s.ttl").write_text(SHAPES)
    return SystemOptions(graph=(tmp_path / "g.ttl",), shapes=(tmp_path / "s.ttl",))


def answer_graph_questions(system: System) -> dict[str, str]:
    return {
        question: read_answer(system.answer(CardView((), (), question)))[0].pred
        for question in GRAPH_ANSWERS
    }


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_graph_rag_uses_retrieved_facts_and_rules(retriever: str, options: SystemOptions) -> None:
    model = {} if retriever == "bm25" else {"embedder": "lexical"}
    settings = {"retriever": retriever, "top_k": "99", **model}
    system = open_system("graph_rag", options, **settings)
    if retriever == "bm25":
        # BM25 finds only facts that share a word with the question; here these suffice.
        assert answer_graph_questions(system) == GRAPH_ANSWERS
    else:
        assert (
            answer_graph_questions(system)
            == answer_graph_questions(open_system("graph_rag", options))
            == GRAPH_ANSWERS
        )
    assert system.params()["retriever"]["name"] == retriever
    assert system.params()["top_k"] == 99


def test_unretrieved_facts_are_unknown(options: SystemOptions) -> None:
    """With ``top_k=1`` the system sees only the fact that is nearest to the question."""
    system = open_system("graph_rag", options, retriever="bm25", top_k="1")
    answers = answer_graph_questions(system)
    assert answers["Does the Main flow into the Rhine?"] == "YES"
    assert answers["Does the Lahn flow into the North Sea?"] == "NO", (
        "the retrieved fact is the denial"
    )
    assert answers["Does the Main flow into the Baltic Sea?"] == "UNKNOWN", (
        "the fact about the mouth of the Main was not retrieved"
    )
    full_answers = answer_graph_questions(open_system("graph_rag", options))
    assert all(pred in ("UNKNOWN", full_answers[question]) for question, pred in answers.items())
    answer = read_answer(system.answer(CardView((), (), list(GRAPH_ANSWERS)[2])))[0]
    assert answer.raw.startswith("The facts found neither entail nor contradict this: ")
    assert "Rhine" not in answer.raw, "the answer must not mention facts that were not retrieved"


def test_fewer_facts_never_invert_an_answer(options: SystemOptions) -> None:
    """Shapes and axioms are always complete, so fewer facts can only turn answers to UNKNOWN."""
    full_answers = answer_graph_questions(open_system("graph_rag", options))
    for top_k in range(1, 9):
        answers = answer_graph_questions(
            open_system("graph_rag", options, retriever="bm25", top_k=str(top_k))
        )
        assert all(
            pred in ("UNKNOWN", full_answers[question]) for question, pred in answers.items()
        )


def test_no_retriever_changes_nothing(options: SystemOptions) -> None:
    system, named_system = (
        open_system("graph_rag", options),
        open_system("graph_rag", options, retriever="none"),
    )
    assert isinstance(system, GraphRag)
    assert system.params() == named_system.params() == {"regime": "owl-rl", "unique_names": True}
    for settings in ({"top_k": "5"}, {"retriever": "kg"}, {"retriever": "bm25", "embedder": "x"}):
        with pytest.raises(SettingError):
            open_system("graph_rag", options, **settings)


def test_rules_are_separated_from_facts_negations_and_names(options: SystemOptions) -> None:
    graph = KnowledgeBase.open(None, options.graph, options.shapes).graph
    rules = {claim for claim in graph.iter_claims() if is_axiom(claim)}
    assert Claim("urn:x:receives", OWL + "inverseOf", "urn:x:mouth") in rules
    assert Claim("urn:x:River", RDFS + "subClassOf", "urn:x:Water") in rules
    assert Claim("urn:x:River", RDF_TYPE, OWL + "Class") in rules
    individuals = {f"urn:x:{name}" for name in ("rhine", "main", "lahn", "north", "baltic", "no")}
    assert not [claim for claim in rules if claim.subj in individuals]
    assert not [claim for claim in rules if claim.pred.endswith("label")]
