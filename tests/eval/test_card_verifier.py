"""Tests that verifying results of cards finds every change to rows, cards, labels and manifest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche

from cards.card import hash_card_set, read_cards
from eval.abstention.card_verifier import LabelProver, verify_results
from eval.harness.verification.record import ABSENT, Difference, Verification
from kg.base.errors import MissingFileError
from kg.base.files import sha256_file

DIFFERS = 39
"""Exit code of ``epoche verify`` if anything differs."""
REPLIES = (
    '{"answer": "YES", "confidence": 0.75, "reason": "r"}',
    "The answer is NO.",
    "I cannot say anything useful about rivers at this point, sorry",
    '{"answer": "UNKNOWN", "confidence": 0.5, "reason": "r"}',
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with proved cards and the results of two systems, asked twice."""
    folder = tmp_path_factory.mktemp("cards")
    cards = folder / "cards.jsonl"
    for arguments in (
        ("cards", "--domain", "rivers", "--num-per-type", 4, "--out", cards),
        ("eval", "--cards", cards, "--system", "kg", "--repeat", 2, "--out", folder / "kg.jsonl"),
    ):
        done = run_epoche(*arguments)
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def results(finished: Path, tmp_path: Path) -> Path:
    """A copy of the results that a test may change, next to its cards."""
    shutil.copytree(finished, tmp_path / "copy")
    return tmp_path / "copy" / "kg.jsonl"


def verify(path: Path) -> Verification:
    return verify_results(path, prover=LabelProver())


def list_differences(path: Path, file: str) -> list[Difference]:
    """Returns the differences in one file."""
    return [item for item in verify(path).differences if Path(item.file).name == file]


def change_line(path: Path, number: int, change: Callable[[Any], object]) -> None:
    """Changes the object in a line, numbered from 1."""
    lines = path.read_bytes().splitlines()
    row = json.loads(lines[number - 1])
    change(row)
    lines[number - 1] = json.dumps(row, ensure_ascii=False).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")


def update_row(row: dict[str, object], changes: dict[str, object]) -> None:
    row.update(changes)


def test_unchanged_results_agree(results: Path) -> None:
    found = verify(results)
    assert found.agrees, found.differences
    assert found.checked == {"rows": 24, "labels": 12}
    done = run_epoche("verify", results.parent, "--json")
    assert (done.code, json.loads(done.out)["agrees"]) == (0, True)
    without_proofs = run_epoche("verify", results, "--no-proofs")
    assert "not checked: labels" in without_proofs.out


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gold", {"YES": "NO", "NO": "YES", "UNKNOWN": "YES"}),
        ("label", {"E": "C", "C": "E", "U": "E"}),
        ("pass", {True: False, False: True}),
        ("kind", None),
        ("cluster", None),
        ("cards", None),
    ],
)
def test_a_changed_copy_of_a_card_is_found(
    results: Path, field: str, value: dict[object, object] | None
) -> None:
    before: dict[str, object] = {}

    def change(row: Any) -> None:
        before[field] = row[field]
        row[field] = value[row[field]] if value else "changed"

    change_line(results, 3, change)
    (found,) = verify(results).differences
    assert (found.file, found.line, found.field) == (str(results), 3, field)
    assert found.expected == before[field]


def test_a_flipped_pred_is_found(results: Path) -> None:
    other = {"YES": "NO", "NO": "YES", "UNKNOWN": "YES"}

    def flip(row: Any) -> None:
        row["pred"] = other[row["pred"]]

    change_line(results, 3, flip)
    fields = {item.field for item in verify(results).differences}
    assert "pass" in fields
    assert any(field.startswith("counts.") for field in fields)


def test_missing_doubled_and_foreign_rows_are_found(results: Path) -> None:
    original = results.read_bytes()
    lines = original.splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:-1]))
    (found,) = list_differences(results, results.name)
    assert (found.found, ", repeat 1" in found.row) == (ABSENT, True)
    results.write_bytes(original + lines[-1])
    assert list_differences(results, results.name)[0].found == "a second row"
    results.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    assert [item.field for item in list_differences(results, results.name)] == ["order"]
    results.write_bytes(original + b'{"torn')
    (found,) = list_differences(results, results.name)
    assert (found.field, found.line) == ("row", 25)
    foreign: tuple[tuple[dict[str, object], str], ...] = (
        ({"id": "nobody"}, "not in the card file"),
        ({"system": "nobody"}, "not in the manifest"),
        ({"repeat": 2}, "more than --repeat 2"),
    )
    for changes, problem in foreign:
        results.write_bytes(original)
        change_line(results, 1, partial(update_row, changes=changes))
        assert problem in str(list_differences(results, results.name)[0].found)


def test_another_card_set_is_found(results: Path) -> None:
    cards = results.with_name("cards.jsonl")
    change_line(cards, 2, lambda card: card.update(question=card["question"] + " Really?"))
    fields = {item.field for item in list_differences(results, "kg.manifest.json")}
    assert fields == {"cards_sha256", "cards_file_sha256"}
    change_line(cards, 2, lambda card: card.update(kind="changed"))
    assert [item.field for item in list_differences(results, results.name)] == ["kind"] * 2
    cards.write_bytes(b"".join(cards.read_bytes().splitlines(keepends=True)[:6]))
    found = verify(results)
    assert "card_count" in {item.field for item in found.differences}
    assert "not in the card file" in str(found.differences)


def test_a_label_that_the_graph_does_not_prove_is_found(results: Path) -> None:
    cards = results.with_name("cards.jsonl")
    lines = cards.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if '"label":"E"' in line)
    card_id = json.loads(lines[number - 1])["id"]
    change_line(cards, number, lambda card: card.update(label="U", gold="UNKNOWN"))
    (found,) = list_differences(results, "cards.jsonl")
    assert (found.field, found.expected, found.found) == ("label", "E", "U")
    assert card_id in found.row


def test_labels_over_another_graph_are_not_checked(results: Path) -> None:
    path = results.with_name("cards.manifest.json")
    manifest = json.loads(path.read_bytes())
    path.write_text(json.dumps({**manifest, "graph_sha256": "0" * 64}))
    found = verify(results)
    assert (found.agrees, "labels" in found.checked) == (True, False)
    assert found.skipped == ("labels: the graph changed after the cards were made",)
    path.unlink()
    assert "names a graph that is there" in verify(results).skipped[0]


def test_changed_totals_are_found(results: Path) -> None:
    path = results.with_name("kg.manifest.json")
    manifest = json.loads(path.read_bytes())
    manifest["counts"]["YES"] += 1
    path.write_text(json.dumps(manifest))
    (found,) = verify(results).differences
    n_yes = manifest["counts"]["YES"]
    assert (found.field, found.expected, found.found) == ("counts.YES", n_yes - 1, n_yes)


def test_cards_that_moved_are_named(results: Path) -> None:
    cards = results.with_name("cards.jsonl")
    moved = cards.rename(results.with_name("moved.jsonl"))
    cards.with_name("cards.manifest.json").rename(cards.with_name("moved.manifest.json"))
    with pytest.raises(MissingFileError, match="--cards"):
        verify(results)
    assert run_epoche("verify", results, "--cards", moved).code == 0


def test_preds_of_models_follow_from_raw(
    finished: Path, tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> None:
    numbers: dict[str, int] = {}

    def reply(request: behaviours.ChatRequest) -> str:
        # The repair turn after an unreadable reply gets the same reply as the first turn.
        question = str(request.body["messages"][1]["content"])
        return REPLIES[numbers.setdefault(question, len(numbers)) % len(REPLIES)]

    scripted_server.behave(behaviours.normal_reply(reply))
    out = tmp_path / "raw.jsonl"
    flags = ("--model", scripted_model, "--no-cache", "--concurrency", 1)
    cards = finished / "cards.jsonl"
    done = run_epoche("eval", "--cards", cards, "--system", "raw", *flags, "--out", out)
    assert done.code == 0, done.err
    preds = {json.loads(line)["pred"] for line in out.read_text().splitlines()}
    assert preds >= {"YES", "NO", "UNKNOWN"}
    found = verify(out)
    assert found.agrees, found.differences
    assert found.checked["preds read again from raw"] == 12
    original = out.read_bytes()
    for number in range(1, 13):
        change_line(out, number, flip_unnoticed)
        (pred,) = [item for item in list_differences(out, out.name) if item.field == "pred"]
        assert pred.line == number
        out.write_bytes(original)


def flip_unnoticed(row: Any) -> None:
    """Changes the prediction of a row together with ``pass``."""
    row["pred"] = {"YES": "NO", "NO": "UNKNOWN"}.get(row["pred"], "YES")
    row["pass"] = row["pred"] == row["gold"]


def test_the_command_names_file_line_field_and_values(results: Path) -> None:
    change_line(results, 3, lambda row: row.update(cluster="changed"))
    done = run_epoche("verify", results)
    assert "1 difference in 1 of 1 run " in check_error_line(done, DIFFERS)
    assert f"{results}:3: card " in done.out
    assert "cluster is changed, should be https://epoche.example/rivers" in done.out
    refused = run_epoche("verify", results, "--out", results)
    assert "would overwrite" in check_error_line(refused, 15)


OTHER_ANSWERS = {"YES": "NO", "NO": "YES", "UNKNOWN": "YES"}


def change_rows(folder: Path, change: Callable[[list[Any]], list[Any]]) -> None:
    path = folder / "kg.jsonl"
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)), "utf-8")


def set_fields(numbers: slice, **fields: object) -> Callable[[Path], None]:
    """Returns a change that sets fields of some rows; a function computes one from the row."""

    def change(rows: list[Any]) -> list[Any]:
        for row in rows[numbers]:
            values = {k: v(row) if callable(v) else v for k, v in fields.items()}
            row.update(values)
        return rows

    return partial(change_rows, change=change)


def edit_manifest(folder: Path, **fields: object) -> None:
    path = folder / "kg.manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}), "utf-8")


def make_consistent(folder: Path) -> None:
    """Enters the hashes of the changed files into the manifest, as a careful forger would."""
    cards, rows = folder / "cards.jsonl", folder / "kg.jsonl"
    card_set = hash_card_set(read_cards(cards))
    set_fields(slice(None), cards=card_set[:12])(folder)
    edit_manifest(
        folder,
        cards_sha256=card_set,
        cards_file_sha256=sha256_file(cards),
        rows_sha256=sha256_file(rows),
    )


def swap_labels(folder: Path) -> None:
    swapped = {"E": "C", "C": "E", "U": "U", "YES": "NO", "NO": "YES", "UNKNOWN": "UNKNOWN"}
    cards = folder / "cards.jsonl"
    lines = [json.loads(line) for line in cards.read_bytes().splitlines()]
    for card in lines:
        card.update(label=swapped[card["label"]], gold=swapped[card["gold"]])
    cards.write_text("".join(json.dumps(card) + "\n" for card in lines), "utf-8")
    set_fields(
        slice(None),
        label=lambda row: swapped[row["label"]],
        gold=lambda row: swapped[row["gold"]],
        pred=lambda row: swapped[row["pred"]],
    )(folder)
    make_consistent(folder)


TAMPERINGS: dict[str, Callable[[Path], None]] = {
    "first row removed": partial(change_rows, change=lambda rows: rows[1:]),
    "last row removed": partial(change_rows, change=lambda rows: rows[:-1]),
    "half removed": partial(change_rows, change=lambda rows: rows[::2]),
    "second repeat removed": partial(
        change_rows, change=lambda rows: [row for row in rows if not row.get("repeat")]
    ),
    "unknown cards removed": partial(
        change_rows, change=lambda rows: [row for row in rows if row["label"] != "U"]
    ),
    "a row doubled": partial(change_rows, change=lambda rows: [*rows, rows[0]]),
    "all rows doubled": partial(change_rows, change=lambda rows: rows * 2),
    "a row replaced by another": partial(change_rows, change=lambda rows: [*rows[:-1], rows[0]]),
    "rows reversed": partial(change_rows, change=lambda rows: rows[::-1]),
    "one answer flipped": set_fields(slice(1), pred=lambda r: OTHER_ANSWERS[r["pred"]]),
    "flipped with pass": set_fields(
        slice(1),
        **{"pred": lambda r: OTHER_ANSWERS[r["pred"]], "pass": lambda r: not r["pass"]},
    ),
    "all answers right": set_fields(slice(None), pred=lambda r: r["gold"], confidence=1.0),
    "all UNKNOWN": set_fields(slice(None), pred="UNKNOWN"),
    "an error written": set_fields(slice(3), pred="ERROR"),
    "gold edited": set_fields(slice(1), gold=lambda r: OTHER_ANSWERS[r["gold"]]),
    "label edited": set_fields(slice(1), label="U"),
    "kind edited": set_fields(slice(1), kind="near-miss/sibling"),
    "all near-misses": set_fields(slice(6), kind="near-miss/sibling"),
    "cluster edited": set_fields(slice(None), cluster="one"),
    "triplet removed": set_fields(slice(None), triplet=""),
    "full label edited": set_fields(slice(None), full_label="E"),
    "confidence added": set_fields(slice(None), confidence=0.5),
    "raw edited": set_fields(slice(1), raw="x"),
    "another system": set_fields(slice(None), system="better"),
    "another system on one row": set_fields(slice(1), system="better"),
    "a foreign card": set_fields(slice(1), id="nobody"),
    "a foreign card set": set_fields(slice(None), cards="0123456789ab"),
    "another repeat": set_fields(slice(1), repeat=7),
    "stale counts": partial(edit_manifest, counts={"YES": 24}),
    "another hash of the rows": partial(edit_manifest, rows_sha256="0" * 64),
    "another hash of the cards": partial(edit_manifest, cards_sha256="0" * 64),
    "more repeats promised": partial(edit_manifest, repeats=3),
    "another card file": partial(edit_manifest, cards_file="none.jsonl"),
    "labels of E and C swapped": swap_labels,
}
ONLY_VERIFY = {
    *("stale counts", "another hash of the cards", "another card file"),
    "labels of E and C swapped",
}
"""What ``metrics`` and ``gate`` do not look at; they find everything else."""


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_tampering_is_refused_or_flagged(results: Path, tampering: str) -> None:
    TAMPERINGS[tampering](results.parent)
    done = run_epoche("verify", results)
    assert done.code != 0, done.out
    if tampering in ONLY_VERIFY:
        return
    metrics = run_epoche("metrics", "--results", results, "--out", results.parent / "m.json")
    assert metrics.code != 0 or "WARNING: The rows of" in metrics.out or "missing" in metrics.out
    assert run_epoche("gate", results, "--metric", "LA>=0").code != 0


def test_copies_of_a_card_are_found(results: Path) -> None:
    cards = results.parent / "cards.jsonl"
    lines = [json.loads(line) for line in cards.read_bytes().splitlines()]
    copies = [{**lines[0], "id": f"copy{n}"} for n in range(5)]
    cards.write_text("".join(json.dumps(card) + "\n" for card in [*lines, *copies]), "utf-8")
    (found,) = list_differences(results, "cards.jsonl")
    assert str(found.found).startswith(f"5 copies of card {lines[0]['id']!r}")
