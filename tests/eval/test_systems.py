"""Tests of the systems that need no model: the controls and text retrieval."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cards.card import CardView, read_cards
from eval.abstention.answers import read_answer
from eval.abstention.result import read_results
from eval.abstention.retrieval_plan import PassageLibrary
from eval.abstention.runner import run
from eval.abstention.system import ClaimOracle, System, SystemOptions
from eval.abstention.systems.rag import CardReader, Rag
from eval.abstention.systems.registry import make_systems
from eval.questions.lexical_answerer import Reader
from kg.base.errors import SettingError
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

OPTIONS = SystemOptions()


def make_view(question: str, *facts: str) -> CardView:
    return CardView(facts, (), question)


def predict_answer(system: System, card: CardView) -> str:
    return read_answer(system.answer(card))[0].pred


def make_system(name: str, **settings: str) -> System:
    (system,) = make_systems(name, SystemOptions(settings=settings))
    assert isinstance(system, System)
    assert not isinstance(system, ClaimOracle)
    return system


def test_constant_controls_answer_their_name() -> None:
    for expected in ("YES", "NO", "UNKNOWN"):
        control = make_system(f"always-{expected}")
        assert {predict_answer(control, make_view(f"Q{number}?")) for number in range(5)} == {
            expected
        }


def test_random_control_is_seeded_and_uniform() -> None:
    cards = [make_view(f"Question {number}?", "a fact") for number in range(3_000)]
    control = make_system("random")
    answers = [predict_answer(control, card) for card in cards]
    order = list(range(len(cards)))
    random.Random(3).shuffle(order)
    second_control = make_system("random")
    assert all(predict_answer(second_control, cards[index]) == answers[index] for index in order)
    (control_with_other_seed,) = make_systems("random", SystemOptions(seed=1))
    assert isinstance(control_with_other_seed, System)
    assert [predict_answer(control_with_other_seed, card) for card in cards] != answers
    # 78 is three standard deviations of a binomial with n = 3,000 and p = 1/3.
    assert all(abs(count - 1_000) < 78 for count in Counter(answers).values())
    assert len(set(answers)) == 3


def test_controls_are_interleaved_in_one_file(
    card_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "controls.jsonl"
    cards = card_file(10)
    run_summary = run(cards, make_systems("controls", OPTIONS), out, system_name="controls")
    rows = list(read_results(out))
    names = ["always-YES", "always-NO", "always-UNKNOWN", "random"]
    # For every card, the rows of all controls stand together.
    expected = [(card.id, name) for card in read_cards(cards) for name in names]
    assert [(row.id, row.system) for row in rows] == expected
    assert run_summary.manifest.systems == tuple(names)
    assert run_summary.manifest.params["random"] == {"seed": OPTIONS.seed}
    assert run_summary.manifest.rows_expected == 40
    random_run = run(
        cards, make_systems("random", OPTIONS), tmp_path / "r.jsonl", system_name="random"
    )
    assert random_run.manifest.systems == ("random",)
    random_rows = [row for row in rows if row.system == "random"]
    assert list(read_results(tmp_path / "r.jsonl")) == random_rows


CORPUS = [
    Passage("a", "The Main is a river.\nThe Main flows into the Rhine."),
    Passage("b", "The Rhine is a river.\nThe Rhine flows into the North Sea."),
    Passage("c", "The Elbe is a river.\nThe Elbe does not flow into the Rhine."),
]


def make_rag(corpus: list[Passage], top_k: int) -> Rag:
    return Rag(PassageLibrary(corpus, BM25(corpus), top_k, "f" * 64, {"top_k": top_k}), Reader())


@pytest.fixture
def rag() -> Rag:
    return make_rag(CORPUS, 2)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does the Main flow into the Rhine?", "YES"),
        ("Does the Elbe flow into the Rhine?", "NO"),
        ("Does the Danube flow into the Rhine?", "UNKNOWN"),
        ("Zzz?", "UNKNOWN"),
    ],
)
def test_rag_decides_from_retrieved_sentences(rag: Rag, question: str, expected: str) -> None:
    answer = rag.answer(make_view(question))
    assert answer.pred == expected
    assert answer.confidence is None
    # A YES or NO quotes its sentence and the share of the question that the sentence covers.
    assert ("covers" in answer.raw) == (expected != "UNKNOWN")


def test_rag_reads_the_corpus_and_not_the_card(rag: Rag) -> None:
    question = "Does the Main flow into the Rhine?"
    contradicting_card = make_view(question, "The Main does not flow into the Rhine.")
    assert rag.answer(contradicting_card) == rag.answer(make_view(question))


def test_card_reader_reads_the_card_and_not_the_corpus() -> None:
    reader = make_system("rag", context="card")
    assert isinstance(reader, CardReader)
    facts = ("The Main is a river.", "The Main flows into the Rhine.", "The Ems is a river.")
    assert predict_answer(reader, make_view("Does the Main flow into the Rhine?", *facts)) == "YES"
    assert (
        predict_answer(reader, make_view("Does the Ems flow into the Rhine?", *facts)) == "UNKNOWN"
    )
    facts_with_denial = (*facts[::2], "The Main does not flow into the Rhine.")
    assert (
        predict_answer(reader, make_view("Does the Main flow into the Rhine?", *facts_with_denial))
        == "NO"
    )
    assert predict_answer(reader, make_view("Does the Main flow into the Rhine?")) == "UNKNOWN"
    assert reader.params() == {"context": "card", "threshold": Reader().threshold}


def test_rag_params_name_all_settings(rag: Rag) -> None:
    assert rag.params()["top_k"] == 2
    assert rag.params()["context"] == "retrieved"
    assert rag.graph_sha256 == "f" * 64


def test_only_the_passages_found_first_are_read() -> None:
    # The best passage has each word of the question twice, but no sentence with all of them.
    names = Passage("d", "Main.\nRhine.\nFlow.\nMain.\nRhine.\nFlow.")
    question = make_view("Does the Main flow into the Rhine?")
    hits = BM25([*CORPUS, names]).search(question.question, 2)
    assert [passage_id for passage_id, _ in hits] == ["d", "a"]
    assert make_rag([*CORPUS, names], 1).answer(question).pred == "UNKNOWN"
    assert make_rag([*CORPUS, names], 2).answer(question).pred == "YES"


@pytest.mark.parametrize(
    "settings",
    [
        {"retriever": "magic"},
        {"top_k": "0"},
        {"threshold": "2"},
        {"context": "web"},
        {"passages": "page"},
        {"context": "card", "top_k": "3"},
        {"embedder": "x"},
        {"retriever": "dense", "fusion": "rrf"},
        {"retriever": "hybrid", "dense_weight": "1.5"},
        {"retriever": "hybrid", "fusion": "borda"},
    ],
)
def test_invalid_or_unused_settings_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        make_systems("rag", SystemOptions(settings=settings))
