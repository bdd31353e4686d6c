"""Tests the use from Python: evaluate, metrics, compare, frames and reports."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from stage_calls import run_epoche

import epoche
import retrieval


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    assert run_epoche("cards", "--domain", "rivers", "--num-per-type", 8, "--out", path).code == 0
    return path


def always_unknown(card: epoche.CardView) -> str:
    return "UNKNOWN"


async def say_yes(card: epoche.CardView) -> str:
    return "Yes, it does."


class Reader:
    """Says YES if a fact has all words of the question."""

    name = "reader"

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, card: epoche.CardView) -> epoche.Answer:
        return epoche.Answer(pred="YES" if card.question in card.facts else "UNKNOWN")


def test_a_function_a_class_and_an_object_are_systems(cards: Path) -> None:
    for system, name in ((always_unknown, "always_unknown"), (Reader, "reader")):
        run = epoche.evaluate(cards, system)
        assert list(run.metrics(resamples=100)) == [name]
        assert run.metrics(resamples=100)[name]["LA"].value == 0
    run = epoche.evaluate(cards, say_yes)
    metrics = run.metrics(resamples=100)["say_yes"]
    assert metrics["LA"].value == 1
    assert metrics["FAR-NE"].value == 1
    assert metrics["AP"].value is None, "it never abstains"


def test_metrics_are_those_of_the_command(cards: Path, tmp_path: Path) -> None:
    run = epoche.evaluate(cards, "graph_rag", out=tmp_path / "r.jsonl")
    assert run.path == tmp_path / "r.jsonl"
    out = tmp_path / "m.json"
    done = run_epoche("metrics", run.path, "--out", out, "--resamples", 100)
    assert done.code == 0, done.err
    report = json.loads(out.read_bytes())["policies"]["licensed"]
    expected = report["systems"]["graph_rag"]["metrics"]
    estimates = run.metrics(resamples=100)["graph_rag"]
    for name in ("AP", "CVRR", "FAR-NE", "LA", "accuracy"):
        assert (estimates[name].value, estimates[name].low, estimates[name].high) == (
            expected[name]["value"],
            expected[name]["low"],
            expected[name]["high"],
        )


def test_runs_are_compared_as_by_the_command(cards: Path, tmp_path: Path) -> None:
    baseline = epoche.evaluate(cards, always_unknown, out=tmp_path / "a.jsonl")
    candidate = epoche.evaluate(cards, say_yes, out=tmp_path / "b.jsonl")
    differences = {one.metric: one for one in epoche.compare(baseline, candidate, resamples=200)}
    licensed = differences["LA"]
    assert (licensed.candidate, licensed.baseline) == ("say_yes", "always_unknown")
    assert licensed.difference == 1
    assert licensed.better == "say_yes"
    assert differences["FAR-NE"].better == "always_unknown"
    all_cards = list(epoche.read_cards(cards))
    first, others = (epoche.evaluate(part, say_yes) for part in (all_cards[:5], all_cards[5:]))
    with pytest.raises(epoche.EpocheError, match="card"):
        epoche.compare(first, others)


def test_cards_can_be_given_as_objects(cards: Path, tmp_path: Path) -> None:
    some = list(epoche.read_cards(cards))[:6]
    run = epoche.evaluate(some, always_unknown, out=tmp_path / "r.jsonl")
    assert [row["id"] for row in run.rows()] == [card.id for card in some]
    assert [row["pred"] for row in run.rows()] == ["UNKNOWN"] * 6


def test_repeats_limits_and_settings_are_those_of_the_command(cards: Path) -> None:
    run = epoche.evaluate(cards, always_unknown, limit=3, repeats=2)
    assert len(run.rows()) == 6
    with pytest.raises(epoche.EpocheError, match="no_such_setting"):
        epoche.evaluate(cards, "always-YES", settings={"no_such_setting": "1"})


def test_other_benchmarks_are_evaluated() -> None:
    def extract_nothing(view: Any) -> dict[str, Any]:
        assert not hasattr(view, "expected")
        return {}

    run = epoche.evaluate("shipped", extract_nothing, benchmark="extraction", limit=4)
    estimates = run.metrics(resamples=100)["extract_nothing"]
    assert estimates["exact_match"].value == 0
    assert estimates["exact_match"].n == 4

    def say_the_rhine(question: str) -> str:
        assert isinstance(question, str)
        return "The Rhine."

    run = epoche.evaluate("shipped", say_the_rhine, benchmark="synthlink", limit=2)
    assert [row["trail"]["answer"] for row in run.rows()] == ["The Rhine."] * 2
    assert 0 <= (run.metrics(resamples=100)["say_the_rhine"]["f1"].value or 0) < 0.1


def test_skn_systems_are_not_judged() -> None:
    def abstain(view: Any) -> str:
        assert view.question
        return "I don't know."

    run = epoche.evaluate("shipped", abstain, benchmark="skn", limit=6)
    assert {row["outcome"] for row in run.rows()} == {"ABSTAINED"}
    metrics = run.metrics(resamples=100)["abstain"]
    assert metrics["answered"].value == 0
    # One of the first six questions has no answer.
    assert metrics["abstention_accuracy"].value == pytest.approx(1 / 6)
    assert (metrics["accuracy"].value, metrics["accuracy"].why) == (None, "not judged")


class LongestPassages:
    """Returns the longest passages, whatever the query is."""

    name = "longest"

    def __init__(self, options: Any) -> None:
        self._passages = options.passages

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, view: Any) -> list[str]:
        return sorted(self._passages, key=lambda key: -len(self._passages[key]))[: view.k]


def is_about_locking(question: str) -> bool:
    gold = json.loads(question)["gold"]
    return bool(gold) and all(name.startswith("12-locking#") for name in gold)


def test_retrievers_are_evaluated_on_a_text_run(tmp_path: Path) -> None:
    corpus = Path(retrieval.__file__).parent / "corpora" / "keeping_data"
    built = run_epoche("kg", "build", corpus / "book" / "12-locking.md", "--out", tmp_path / "text")
    assert built.code == 0, built.err
    questions = tmp_path / "questions.jsonl"
    lines = (corpus / "questions.jsonl").read_text("utf-8").splitlines(keepends=True)
    questions.write_text("".join(line for line in lines if is_about_locking(line)), "utf-8")
    values: dict[str, float] = {}
    for system in (LongestPassages, "bm25"):
        run = epoche.evaluate(questions, system, benchmark="retrieval", corpus=tmp_path / "text")
        ((name, estimates),) = run.metrics(resamples=100).items()
        values[name] = estimates["nDCG@10"].value or 0.0
    assert values["bm25"] > values["longest"]
    with pytest.raises(epoche.EpocheError, match="corpus"):
        epoche.evaluate(questions, LongestPassages, benchmark="retrieval")


def test_samples_can_be_given_as_dictionaries(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
    samples = [
        {
            "id": str(number),
            "text": f"{town} is a town.",
            "schema": schema,
            "expected_output": {"town": town},
        }
        for number, town in enumerate(("Ulm", "Bonn", "Trier"))
    ]
    run = epoche.evaluate(
        samples,
        lambda view: {"town": view.text.split()[0]},
        benchmark="extraction",
        out=tmp_path / "run",
    )
    (estimates,) = run.metrics(resamples=100).values()
    assert estimates["exact_match"].value == 1


def test_a_report_is_written(cards: Path, tmp_path: Path) -> None:
    page = epoche.evaluate(cards, always_unknown).report(tmp_path / "cards.html")
    assert "always_unknown" in page.read_text()
    run = epoche.evaluate("shipped", lambda view: {}, benchmark="extraction", limit=3)
    assert "extraction" in run.report(tmp_path / "e.html").read_text().lower()


def test_frames_need_pandas_or_polars(cards: Path) -> None:
    run = epoche.evaluate(cards, always_unknown, limit=3)
    if not (find_spec("pandas") or find_spec("polars")):
        with pytest.raises(epoche.EpocheError, match="pandas"):
            run.to_frame()
        return
    frame = run.to_frame()
    assert len(frame) == 3
    assert set(frame["pred"]) == {"UNKNOWN"}


def test_unknown_benchmarks_and_systems_are_refused(cards: Path) -> None:
    with pytest.raises(epoche.EpocheError, match="there is no benchmark 'cardz'"):
        epoche.evaluate(cards, always_unknown, benchmark="cardz")
    with pytest.raises(epoche.EpocheError, match="lacks"):
        epoche.evaluate(cards, object())
    with pytest.raises(epoche.EpocheError, match="no system is called"):
        epoche.evaluate(cards, "no-such-system")


def test_every_public_name_can_be_imported() -> None:
    code = "import epoche; print(all(callable(getattr(epoche, n)) for n in epoche.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
