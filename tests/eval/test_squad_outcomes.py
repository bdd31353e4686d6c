"""Tests predictions for SQuAD 2.0: grades and scores against the definition of the script."""

from __future__ import annotations

import collections
import gzip
import json
import re
import string
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from stage_calls import check_error_line, run_epoche

from eval.outcomes.squad import compute_f1, normalise_answer, read_squad_answers

GOLD = {
    "q1": ["Denver Broncos", "The Denver Broncos", "Broncos"],
    "q2": ["the"],  # nothing is left of it, so that only the empty answer is right
    "q3": ["1,815 metres"],
    "q4": [],
    "q5": [],
    "q6": ["a Café"],
}
PREDICTIONS = {
    "q1": "denver broncos!",
    "q2": "",
    "q3": "1815",
    "q4": "",
    "q5": "Carolina",
    "q6": "Café",
}


def write_json(path: Path, value: Any) -> Path:
    content = json.dumps(value).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def make_gold(golds: dict[str, list[str]] = GOLD) -> dict[str, Any]:
    """Makes a data set in the form of dev-v2.0.json, with two questions in a paragraph."""
    items = [
        {
            "question": f"What is {id_}?",
            "id": id_,
            "answers": [{"text": text, "answer_start": 0} for text in texts],
            "is_impossible": not texts,
            **({} if texts else {"plausible_answers": [{"text": "Carolina", "answer_start": 3}]}),
        }
        for id_, texts in golds.items()
    ]
    paragraphs = [{"context": "…", "qas": items[n : n + 2]} for n in range(0, len(items), 2)]
    articles = [{"title": "A", "paragraphs": paragraphs[:2]}]
    articles.append({"title": "B", "paragraphs": paragraphs[2:]})
    return {"version": "v2.0", "data": articles}


def score_as_published(golds: dict[str, list[str]], predictions: dict[str, str]) -> dict[str, Any]:
    """Computes exact match and F1 by the definition of evaluate-v2.0.py, question by question."""

    def normalise(text: str) -> str:
        kept = "".join(ch for ch in text.lower() if ch not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())

    def score_words(gold: str, predicted: str) -> float:
        gold_words = normalise(gold).split() if gold else []
        words = normalise(predicted).split() if predicted else []
        n_same = sum((collections.Counter(gold_words) & collections.Counter(words)).values())
        if not gold_words or not words:
            return int(gold_words == words)
        if n_same == 0:
            return 0
        precision, recall = n_same / len(words), n_same / len(gold_words)
        return (2 * precision * recall) / (precision + recall)

    exact, f1 = {}, {}
    for id_, texts in golds.items():
        right = [text for text in texts if normalise(text)] or [""]
        exact[id_] = max(int(normalise(t) == normalise(predictions[id_])) for t in right)
        f1[id_] = max(score_words(t, predictions[id_]) for t in right)
    return {
        "exact": sum(exact.values()) / len(golds),
        "F1": sum(f1.values()) / len(golds),
        "per question": (exact, f1),
    }


def test_the_outcomes_and_scores_of_a_known_file(tmp_path: Path) -> None:
    gold = write_json(tmp_path / "dev.json", make_gold())
    file = write_json(tmp_path / "p.json.gz", PREDICTIONS)
    out = tmp_path / "o.json"
    done = run_epoche("outcomes", "--squad-gold", gold, f"bert={file}", "--out", out)
    assert done.code == 0, done.err
    record = json.loads(out.read_text())
    system = record["systems"]["bert"]
    assert system["counts"] == {"right": 2, "wrong": 2, "abstained": 2, "unusable": 0}
    assert (record["n_questions"], record["n_answerable"], record["n_clusters"]) == (6, 4, 3)
    # Answerable: two right, one wrong, one abstention. Unanswerable: an abstention, an answer.
    assert system["measures"]["skill@.5"]["value"] == pytest.approx((2 - 1) / 4 + (1 - 1) / 2 - 1)
    expected = score_as_published(GOLD, PREDICTIONS)
    assert system["official"]["exact"]["value"] == pytest.approx(expected["exact"]) == 4 / 6
    assert system["official"]["F1"]["value"] == pytest.approx(expected["F1"])
    assert system["official"]["HasAns-F1"]["value"] == pytest.approx((1 + 1 + 2 / 3 + 1) / 4)
    assert system["official"]["NoAns-exact"]["value"] == pytest.approx(1 / 2)
    assert "HasAns-exact" in done.out


TEXTS = st.text(alphabet="aAn the.,-é1\u00a0Ω", max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(TEXTS, max_size=3), TEXTS), min_size=1, max_size=8))
def test_scores_are_those_of_the_published_definition(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[str], str]]
) -> None:
    folder = tmp_path_factory.mktemp("squad")
    golds = {f"q{n}": texts for n, (texts, _) in enumerate(rows)}
    predictions = {f"q{n}": text for n, (_, text) in enumerate(rows)}
    graded = read_squad_answers(
        write_json(folder / "dev.json", make_gold(golds)),
        [str(write_json(folder / "p.json", predictions))],
    )
    exact, f1 = score_as_published(golds, predictions)["per question"]
    for answer in graded.answers:
        assert answer.scores == pytest.approx((exact[answer.id], f1[answer.id]))
        assert answer.answerable == bool(golds[answer.id])
        # Of an answer such as "the" nothing is left, so that the empty answer is right.
        is_empty = not any(map(normalise_answer, golds[answer.id]))
        assert (answer.outcome == ("abstained" if is_empty else "right")) == bool(exact[answer.id])
    assert normalise_answer("The  Étude, No. 1") == "étude no 1"
    assert compute_f1("a b", "b c d") == pytest.approx(2 * 1 / (1 + 3))  # "a" is an article


def test_probabilities_of_no_answer_become_confidences(tmp_path: Path) -> None:
    gold = write_json(tmp_path / "dev.json", make_gold())
    file = write_json(tmp_path / "p.json", PREDICTIONS)
    probabilities = write_json(tmp_path / "na.json", dict.fromkeys(GOLD, 0.25))
    graded = read_squad_answers(gold, [f"s={file}"], [f"s={probabilities}"])
    assert {answer.confidence for answer in graded.answers} == {0.75}
    out = tmp_path / "o.json"
    done = run_epoche(
        *("outcomes", "--squad-gold", gold, f"s={file}", "--na-prob", f"s={probabilities}"),
        *("--out", out),
    )
    assert done.code == 0, done.err
    system = json.loads(out.read_text())["systems"]["s"]
    assert system["n_confidences"] == 4
    # Two of four answers are right, each with the confidence .75.
    assert system["confidences"]["ECE"]["value"] == pytest.approx(0.25)


def test_missing_and_foreign_predictions_are_noted(tmp_path: Path) -> None:
    gold = write_json(tmp_path / "dev.json", make_gold())
    file = write_json(tmp_path / "p.json", {"q1": "Broncos", "x": "y"})
    graded = read_squad_answers(gold, [str(file)])
    assert [a.outcome for a in graded.answers] == ["right"] + ["unusable"] * 5
    assert any("1 prediction on other questions left out" in note for note in graded.notes)
    assert any("5 questions without a prediction" in note for note in graded.notes)


@pytest.mark.parametrize(
    ("gold", "predictions", "extra", "code", "message"),
    [
        (make_gold(), {"x": "y"}, (), 12, "none of 1 prediction"),
        (make_gold(), {"q1": None}, (), 12, "no text"),
        (make_gold(), ["q1"], (), 12, "not a JSON object"),
        ({"data": [{"title": "A"}]}, PREDICTIONS, (), 12, "not a SQuAD 2.0 data set"),
        ({"data": []}, PREDICTIONS, (), 12, "no questions"),
        (make_gold(), PREDICTIONS, ("--map", "id=x"), 19, "neither other fields nor grades"),
        (make_gold(), PREDICTIONS, ("--na-prob", "t=na.json"), 19, "no predictions of 't'"),
        (make_gold(), PREDICTIONS, ("--na-prob", "p=na.json"), 12, "no number in"),
    ],
)
def test_what_is_wrong_is_said(
    gold: Any,
    predictions: Any,
    extra: tuple[str, ...],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "na.json", {"q1": -3.5})
    done = run_epoche(
        *("outcomes", "--squad-gold", write_json(tmp_path / "dev.json", gold)),
        *(write_json(tmp_path / "p.json", predictions), *extra),
    )
    assert message in check_error_line(done, code)


def test_a_question_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    gold = make_gold()
    gold["data"].append(gold["data"][0])
    done = run_epoche(
        *("outcomes", "--squad-gold", write_json(tmp_path / "dev.json", gold)),
        write_json(tmp_path / "p.json", PREDICTIONS),
    )
    assert done.code != 0
    assert "occurs twice" in done.err


def test_the_public_predictions(public_data: Path, tmp_path: Path) -> None:
    """Predictions graded by themselves, because the data set is not part of the public data."""
    file = public_data / "foreign/evallogs/squad2-predictions-bert/bert-single.json.gz"
    if not file.is_file():
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    predictions = json.loads(gzip.decompress(file.read_bytes()))
    gold = make_gold({id_: [text] if text else [] for id_, text in predictions.items()})
    graded = read_squad_answers(write_json(tmp_path / "dev.json", gold), [f"bert={file}"])
    outcomes = collections.Counter(answer.outcome for answer in graded.answers)
    assert outcomes == {"right": 6091, "abstained": 5782}
