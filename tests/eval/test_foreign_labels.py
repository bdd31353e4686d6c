"""Tests that predictions under the labels of another set are refused, and read where mapped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche

from eval.abstention.metrics.observations import read_observations
from eval.harness.predictions.foreign_labels import UnreadableTexts
from kg.base.errors import RecordError

CARDS = ("cards", "--domain", "rivers", "--num-per-type", 8, "--num-faithfulness", 0)
FEVER = {"YES": "SUPPORTS", "NO": "REFUTES", "UNKNOWN": "NOT ENOUGH INFO"}
GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    assert run_epoche(*CARDS, "--out", path).code == 0
    return path


def write_predictions(path: Path, cards: Path) -> Path:
    """Writes predictions that are all right, under FEVER's labels."""
    rows = [json.loads(line) for line in cards.read_text("utf-8").splitlines()]
    lines = [{"id": row["id"], "pred": FEVER[GOLD[row["label"]]]} for row in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_labels_of_another_set_are_refused_or_mapped(cards: Path, tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "fever.jsonl", cards)
    out = tmp_path / "r.jsonl"
    score = ("score", "--cards", cards, "--predictions", f"f={path}", "--out", out)
    line = check_error_line(run_epoche(*score, "--resamples", 100), 12)
    assert "'REFUTES' (8) or 'SUPPORTS' (8): labels of another set" in line
    assert "--value THEIRS=PRED" in line
    done = run_epoche(*score, "--value", "supports=YES,Refutes=NO", "--resamples", 100)
    assert done.code == 0, done.err
    preds = [json.loads(row)["pred"] for row in out.read_text("utf-8").splitlines()]
    assert Counter(preds) == {"YES": 8, "NO": 8, "UNKNOWN": 8}
    assert json.loads((tmp_path / "r.manifest.json").read_bytes())["params"]["values"]
    assert "is no pair THEIRS=PRED" in run_epoche(*score, "--value", "supports=TRUE").err


@pytest.mark.parametrize(
    ("texts", "is_foreign"),
    [
        (["REFUTES"] * 4 + ["SUPPORTS"] * 4, True),
        (["entailment"] * 10, True),
        (["2"] * 10, True),
        (["REFUTES", "SUPPORTS"], False),  # too few to be labels
        (["REFUTES"] * 3, False),  # less than a fifth
        ([f"reply {number}" for number in range(9)], False),
        (["{"] * 9, False),
        ([""] * 9, False),
        (["I would say that it depends on the river"] * 9, False),
        (["It is hard to put in one word.", *["REFUTES"] * 9], True),  # one odd row
        (["(?)", "{", *["REFUTES"] * 9], False),
        # A system may be bad, or not reached.
        *(([text] * 9, False) for text in ("Maybe.", "Yes and no", "I'm sorry", "vielleicht")),
        *(([text] * 9, False) for text in ("I can't help with that", "Not always", "None")),
        *(([text] * 9, False) for text in ("Error", "RateLimitError", "N/A", "timeout")),
    ],
)
def test_a_set_of_labels_is_a_few_short_texts(texts: Sequence[str], is_foreign: bool) -> None:
    assert bool(find_labels(texts)) is is_foreign


def find_labels(texts: Sequence[str]) -> dict[str, int]:
    """Finds the labels among 20 predictions of which these cannot be read."""
    unreadable = UnreadableTexts()
    for text in texts:
        unreadable.add(text)
    return unreadable.find_labels(20)


def test_one_odd_reply_hides_no_labels(cards: Path, tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "fever.jsonl", cards)
    lines = path.read_text("utf-8").splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "pred": "This is hard to put in one word."})
    path.write_text("\n".join(lines), "utf-8")
    score = ("score", "--cards", cards, "--predictions", f"f={path}", "--out", tmp_path / "r.jsonl")
    line = check_error_line(run_epoche(*score), 12)
    assert "of 24 predictions are no answer, and 16 of these are" in line


@pytest.mark.parametrize("reply", ["Maybe.", "Yes and no", "None"])
def test_a_bad_system_is_measured(cards: Path, tmp_path: Path, reply: str) -> None:
    rows = [json.loads(row) for row in cards.read_text("utf-8").splitlines()]
    lines = [
        {"id": row["id"], "pred": reply if n % 4 == 0 else "YES"} for n, row in enumerate(rows)
    ]
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    score = ("score", "--cards", cards, "--predictions", path, "--out", tmp_path / "r.jsonl")
    assert run_epoche(*score, "--resamples", 100).code == 0
    rows = [{**line, "label": row["label"]} for line, row in zip(lines, rows, strict=True)]
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert read_observations([own])


def test_rows_of_others_with_labels_of_another_set_are_refused(tmp_path: Path) -> None:
    preds = ["UNKNOWN"] * 10 + ["SUPPORTS"] * 6
    rows = [{"id": str(n), "label": "U", "pred": pred} for n, pred in enumerate(preds)]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(RecordError, match=r"6 of 16 predictions are no answer.*'SUPPORTS'"):
        read_observations([path])


def test_an_unknown_gold_answer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "1", "gold": "yes", "pred": "YES"}\n', "utf-8")
    with pytest.raises(RecordError, match=r"unknown gold 'yes'.*One of YES, NO, UNKNOWN, in"):
        read_observations([path])
