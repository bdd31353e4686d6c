"""Tests that result files are read alike by blocks and by rows, with and without repeats."""

from __future__ import annotations

import hashlib
import json
import random
import re
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.abstention.metrics import card_columns, reader, triplets
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.result import PREDS
from kg.base import files
from kg.base.errors import CardSetMismatchError, DuplicateIdError, EpocheError, RecordError

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}


def make_rows(systems: Iterable[str], cards: int = 30, repeats: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(7)
    rows = []
    for card in range(cards):
        label = "ECU"[card % 3]
        for system in systems:
            for repeat in range(repeats):
                rows.append(
                    {
                        "id": f"c{card:03d}",
                        "system": system,
                        "gold": GOLD[label],
                        "label": label,
                        "pred": rng.choice(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"]),
                        "confidence": rng.choice([None, 0.25, 1, 0.9]),
                        "kind": "k",
                        "cluster": f"s{card // 2}",
                        "difficulty": "easy",
                        "cards": "0123456789ab",
                        "raw": "x" * rng.randrange(40),
                    }
                    | ({"repeat": repeat} if repeats > 1 else {})
                )
    return rows


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def remove_fields(
    rows: Iterable[dict[str, Any]], names: Iterable[str] = ("cards",)
) -> list[dict[str, Any]]:
    """Removes fields that rows of other programs may lack."""
    return [{key: row[key] for key in row if key not in names} for row in rows]


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Reads a file by blocks and by rows; returns both results, observations or errors."""
    results = []
    for by_rows in (False, True):
        with monkeypatch.context() as patch:
            if by_rows:
                # If a block cannot be read (None), the reader reads row by row.
                patch.setattr(reader.ResultReader, "_read_block", lambda *_: None)
            try:
                results.append(list_observation_values(read_observations([path])))
            except EpocheError as error:
                results.append((type(error), error.format_line()))
    return results[0], results[1]


def list_observation_values(observations: Observations) -> list[Any]:
    return [
        observations.card_set,
        list(observations.ids),
        observations.labels.tolist(),
        observations.golds.tolist(),
        list(observations.kinds),
        list(observations.difficulties),
        observations.clusters.tolist(),
        {name: codes.tolist() for name, codes in observations.preds.items()},
        {name: repr(values.tolist()) for name, values in observations.confidences.items()},
        observations.sources,
        observations.notes,
    ]


@pytest.mark.parametrize("block_bytes", [1, 700, 1 << 22])
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("absent", [(), ("cards",), ("cards", "label"), ("cards", "gold", "kind")])
def test_block_and_row_readers_agree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block_bytes: int,
    repeats: int,
    absent: tuple[str, ...],
) -> None:
    path = write_rows(
        tmp_path / "r.jsonl", remove_fields(make_rows(["a", "b"], repeats=repeats), absent)
    )
    monkeypatch.setattr(files, "_BLOCK_BYTES", block_bytes)
    by_blocks, by_rows = read_both_ways(path, monkeypatch)
    assert by_blocks == by_rows
    assert by_blocks[1][0] == "c000", "the first card id"


@pytest.mark.parametrize("absent", [(), ("cards",), ("cards", "label"), ("cards", "gold", "kind")])
def test_files_of_alike_rows_are_read_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...]
) -> None:
    rows = remove_fields(make_rows(["a"], repeats=2), absent)
    if absent:
        rows[0]["pred"] = None
    path = write_rows(tmp_path / "r.jsonl", rows)

    def fail_on_row(*_: object) -> int:
        raise AssertionError("read row by row")

    monkeypatch.setattr(reader.ResultReader, "_read_rows", fail_on_row)
    assert read_observations([path]).count_repeats("a") == 2


INVALID_VALUES: list[tuple[str, Any]] = [
    *(("pred", value) for value in ("PERHAPS", None, ["YES"], 3)),
    *(("confidence", value) for value in (1.5, -0.1, "0.5", True, [])),
    *(("label", value) for value in ("X", None, "U")),
    *(("gold", value) for value in ("MAYBE", None, "NO")),
    *(("cards", value) for value in ("ffff", "", None)),
    *(("id", value) for value in ("c000", "new", 3, None)),
    *(("repeat", value) for value in (-1, 1, None, "x")),
    *(("cluster", value) for value in (None, "", "other")),
    *(("system", value) for value in (None, "", "else")),
]


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(("key", "value"), INVALID_VALUES)
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(position=st.integers(0, 29))
def test_block_and_row_readers_agree_on_odd_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    value: Any,
    position: int,
    is_named: bool,
) -> None:
    rows = make_rows(["a"]) if is_named else remove_fields(make_rows(["a"]))
    rows[position] = {**rows[position], key: value}
    path = write_rows(tmp_path / "r.jsonl", rows)
    by_blocks, by_rows = read_both_ways(path, monkeypatch)
    assert by_blocks == by_rows


@pytest.mark.parametrize(
    "tail", ["\n", "  \n\n", '{"id": "c', "[1]\n", '{"id": "a"} {"id": "b"}\n']
)
def test_odd_lines_are_reported_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail: str
) -> None:
    path = write_rows(tmp_path / "r.jsonl", make_rows(["a"]))
    path.write_text(path.read_text("utf-8") + tail, "utf-8")
    monkeypatch.setattr(files, "_BLOCK_BYTES", 1500)
    by_blocks, by_rows = read_both_ways(path, monkeypatch)
    assert by_blocks == by_rows
    if tail.strip():
        # The file has 30 valid lines before the tail. Index 1 holds the error message.
        assert "r.jsonl:31" in by_blocks[1]


def test_invalid_foreign_confidence_is_reported(tmp_path: Path) -> None:
    rows = make_rows(["a"])
    for row in rows:
        del row["cards"]
        row["confidence"] = 0.5
    rows[3]["confidence"], rows[4]["confidence"] = "high", 70
    observations = read_observations([write_rows(tmp_path / "r.jsonl", rows)])
    assert int(np.isnan(observations.confidences["a"]).sum()) == 2
    assert any(note.startswith("2 confidences are not numbers") for note in observations.notes)


def test_epoche_confidences_must_be_probabilities(tmp_path: Path) -> None:
    rows = make_rows(["a"])
    rows[7]["confidence"] = 1.01
    with pytest.raises(RecordError, match=r"confidence 1\.01.*r\.jsonl:8"):
        read_observations([write_rows(tmp_path / "r.jsonl", rows)])


def test_repeats_become_columns(tmp_path: Path) -> None:
    rows = make_rows(["a"], repeats=3) + make_rows(["b"])
    observations = read_observations([write_rows(tmp_path / "r.jsonl", rows)])
    assert observations.preds["a"].shape == observations.confidences["a"].shape == (30, 3)
    assert observations.preds["b"].shape == (30,)
    assert [observations.count_repeats(name) for name in "ab"] == [3, 1]
    random.Random(1).shuffle(rows)
    shuffled_observations = read_observations([write_rows(tmp_path / "r.jsonl", rows)])
    assert shuffled_observations.preds["a"].tolist() == observations.preds["a"].tolist()


def test_missing_repeat_is_an_error_or_excludes_its_card(tmp_path: Path) -> None:
    rows = [row for row in make_rows(["a"], repeats=3) if (row["id"], row["repeat"]) != ("c004", 2)]
    path = write_rows(tmp_path / "r.jsonl", rows)
    with pytest.raises(CardSetMismatchError, match="no answer to 1 of 30 cards in repeat 2"):
        read_observations([path])
    observations = read_observations([path], common=True)
    assert observations.preds["a"].shape == (29, 3)
    assert "c004" not in observations.ids


def test_same_repeat_twice_is_a_duplicate(tmp_path: Path) -> None:
    rows = make_rows(["a"], repeats=2)
    with pytest.raises(DuplicateIdError, match="twice in repeat 1"):
        read_observations([write_rows(tmp_path / "r.jsonl", [*rows, rows[5]])])


@pytest.mark.parametrize("is_named", [True, False])
def test_reading_needs_few_bytes_per_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    monkeypatch.setattr(files, "_BLOCK_BYTES", 1 << 16)

    def measure_peak(n_rows: int) -> int:
        rows = [
            {
                **{"id": f"{card:016x}", "system": "s", "cards": "ab", "label": "E", "gold": "YES"},
                **{"pred": "YES", "kind": "k", "difficulty": "easy", "cluster": f"c{card % 50}"},
                **{"triplet": f"triplet {card // 3}", "confidence": card / n_rows},
            }
            for card in range(n_rows)
        ]
        path = write_rows(tmp_path / f"{n_rows}.jsonl", rows if is_named else remove_fields(rows))
        del rows
        tracemalloc.start()
        try:
            read_observations([path])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    measure_peak(2_000)  # also imports what is imported late
    # As Python strings, these fields took 396 bytes per row; now they take about 140.
    assert measure_peak(42_000) - measure_peak(2_000) < 200 * 40_000


def make_foreign_rows(preds: Iterable[Any], system: str = "own") -> list[dict[str, Any]]:
    return [
        {"id": f"c{number}", "system": system, "label": "ECU"[number % 3], "pred": pred}
        for number, pred in enumerate(preds)
    ]


@pytest.mark.parametrize("preds", [["yes", "maybe", "yes", 3, "no"], [None, "yes", "maybe", 3]])
def test_predictions_of_others_of_which_none_can_be_read_are_refused(
    tmp_path: Path, preds: list[Any]
) -> None:
    rows = [*make_foreign_rows(["YES"] * len(preds), "fine"), *make_foreign_rows(preds)]
    n = sum(pred is not None for pred in preds)
    text = f"{n} of {len(preds)} predictions are no answer (INVALID): 'yes', 'maybe', '3'"
    with pytest.raises(RecordError, match=re.escape(text) + r" \(.*r\.jsonl, field pred of 'own'"):
        read_observations([write_rows(tmp_path / "r.jsonl", rows)])


@pytest.mark.parametrize(
    "preds", [["INVALID"] * 4, [None, "ERROR"], ["yes", "maybe", "NO"], ["yes", "INVALID"]]
)
def test_bad_results_are_scored_where_some_prediction_is_a_label(
    tmp_path: Path, preds: list[Any]
) -> None:
    observations = read_observations(
        [write_rows(tmp_path / "r.jsonl", make_foreign_rows(preds, "own"))]
    )
    assert len(observations.preds["own"]) == len(preds)


def test_run_whose_replies_were_all_unusable_is_scored(tmp_path: Path) -> None:
    rows = [{**row, "pred": "INVALID", "raw": "maybe"} for row in make_rows(["a"])]
    codes = read_observations([write_rows(tmp_path / "r.jsonl", rows)]).preds["a"]
    assert set(codes.tolist()) == {PREDS.index("INVALID")}


def test_cards_without_a_name_are_named_by_their_content(tmp_path: Path) -> None:
    """The name is the hash of one JSON array, however many cards are looked at at once."""
    rows = remove_fields(make_rows(["a"]), ("cards", "difficulty"))
    for number, row in enumerate(rows):
        row["triplet"] = "" if number % 7 == 6 else f"t{number % 4}"
    path = write_rows(tmp_path / "r.jsonl", rows)
    observations = read_observations([path])
    numbers = observations.triplets.tolist()
    cards = [
        [
            *(card, "ECU"[label], GOLD["ECU"[gold]], kind, cluster),
            -1 if triplet < 0 else numbers.index(triplet),
        ]
        for card, label, gold, kind, cluster, triplet in zip(
            observations.ids,
            observations.labels.tolist(),
            observations.golds.tolist(),
            observations.kinds,
            observations.clusters.tolist(),
            numbers,
            strict=True,
        )
    ]
    content = b"kind cluster triplet" + json.dumps(cards, separators=(",", ":")).encode()
    for chunk in (7, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(card_columns, "_CHUNK", chunk)
            name = read_observations([path]).card_set
        assert name == f"ids-{hashlib.sha256(content).hexdigest()[:12]}"


def test_triplets_are_found_however_many_cards_are_looked_at() -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(-1, 24, 60).astype(np.int32)
    labels = rng.integers(0, 3, 60).astype(np.int8)
    expected = []
    for number in range(24):
        cards = np.flatnonzero(numbers == number)
        if sorted(labels[cards]) == [0, 1, 2]:
            expected.append(cards.tolist())
    assert expected
    for chunk in (7, 50_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(triplets, "_CHUNK", chunk)
            assert triplets.find_triplets(numbers, labels).tolist() == sorted(expected)
    assert triplets.find_triplets(numbers[:0], labels[:0]).shape == (0, 3)
    assert triplets.find_triplets(np.full(4, -1, np.int32), labels[:4]).shape == (0, 3)
