"""Tests that recall and precision of the reply parser reach their lower limits in each class.

``batch`` says when a reply was written. Batches 1 and 2 (``develop``) were used to improve the
parser. Batch 3 (``held-out``) was written afterwards, parsed once, and led to no change.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from eval.replies.parser import read_reply

CORPUS = Path(__file__).parents[2] / "data" / "replies.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
CLASSES = {
    "affirm": {"YES"},
    "deny": {"NO"},
    "abstain": {"UNKNOWN"},
    "hedge": {"YES", "NO", "INVALID"},
    "ramble": {"YES", "NO", "UNKNOWN"},
    "invalid": {"INVALID"},
}
"""The possible gold values of each class of replies."""
PREDS = ("YES", "NO", "UNKNOWN", "INVALID")
PREDICTIONS = {row["id"]: read_reply(row["text"]).pred for row in ROWS}


def select_split(split: str) -> list[dict[str, str]]:
    return [row for row in ROWS if row["split"] == split]


def count_precision(rows: Iterable[dict[str, str]], pred: str) -> tuple[int, int]:
    """Returns the number of correct predictions of a class, and of all its predictions."""
    predicted_rows = [row for row in rows if PREDICTIONS[row["id"]] == pred]
    return sum(row["gold"] == pred for row in predicted_rows), len(predicted_rows)


def count_recall(rows: Iterable[dict[str, str]], **fields: str) -> tuple[int, int]:
    """Returns the number of correct replies and of all replies with these fields."""
    selected_rows = [
        row for row in rows if all(row[field] == value for field, value in fields.items())
    ]
    return sum(PREDICTIONS[row["id"]] == row["gold"] for row in selected_rows), len(selected_rows)


def format_share(correct: int, total: int) -> str:
    return f"{correct}/{total}" + (f" ({correct / total:.3f})" if total else "")


def render_table(split: str) -> str:
    rows = select_split(split)
    lines = [f"replies, {split}: {format_share(*count_recall(rows))} read right"]
    lines += [
        f"  recall of {name:8}{format_share(*count_recall(rows, **{'class': name}))}"
        for name in CLASSES
    ]
    lines += [
        f"  precision of {pred:8}{format_share(*count_precision(rows, pred))}" for pred in PREDS
    ]
    by_lang: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_lang[row["lang"]].append(row)
    lines += [
        f"  {lang}: recall {format_share(*count_recall(language_rows))}, precision "
        + ", ".join(
            f"{pred} {'/'.join(map(str, count_precision(language_rows, pred)))}" for pred in PREDS
        )
        for lang, language_rows in by_lang.items()
    ]
    return "\n".join(lines)


def test_corpus_matches_its_description() -> None:
    assert len(ROWS) >= 400
    assert len({row["lang"] for row in ROWS}) >= 10
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({(row["lang"], row["text"]) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row["gold"] in CLASSES[row["class"]], row
    counts = Counter(row["split"] for row in ROWS)
    assert counts["held-out"] >= 100
    for row in ROWS:
        assert (row["batch"] == 3) == (row["split"] == "held-out")


@pytest.mark.parametrize(
    ("split", "min_recall", "min_precision"), [("develop", 0.99, 0.99), ("held-out", 0.93, 0.95)]
)
def test_recall_and_precision_reach_their_floors(
    split: str,
    min_recall: float,
    min_precision: float,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("figures", render_table(split))
    rows = select_split(split)
    correct, total = count_recall(rows)
    assert correct / total >= min_recall, render_table(split)
    for name in CLASSES:
        correct, total = count_recall(rows, **{"class": name})
        # A single class has few rows, so its limit is lower.
        assert correct / total >= min_recall - 0.1, (name, render_table(split))
    for pred in ("YES", "NO"):
        correct, total = count_precision(rows, pred)
        assert correct / total >= min_precision, (pred, render_table(split))


def test_yes_and_no_are_precise_on_the_whole_corpus() -> None:
    correct_yes, total_yes = count_precision(ROWS, "YES")
    correct_no, total_no = count_precision(ROWS, "NO")
    assert (correct_yes + correct_no) / (total_yes + total_no) >= 0.99


def test_abstention_is_never_read_as_an_answer() -> None:
    """Checks both parts of the corpus, and also that no answer is read as its opposite."""
    wrong_rows = [
        row
        for row in ROWS
        if (row["gold"] == "UNKNOWN" and PREDICTIONS[row["id"]] in ("YES", "NO"))
        or {row["gold"], PREDICTIONS[row["id"]]} == {"YES", "NO"}
    ]
    assert not wrong_rows


def test_invalid_reply_is_never_read_as_an_abstention() -> None:
    assert not [r for r in ROWS if r["gold"] == "INVALID" and PREDICTIONS[r["id"]] == "UNKNOWN"]
