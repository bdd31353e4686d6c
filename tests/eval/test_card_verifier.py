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
from stage_calls import check_error_line, run_epoche, write_edited_manifest

from eval.abstention.card_verifier import LabelProver, verify_results
from eval.harness.verification.record import ABSENT, Difference, Verification
from kg.base.errors import MissingFileError

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


def list_card_differences(path: Path) -> list[Difference]:
    """Returns the differences in lines of the card file, without those of its hashes."""
    return [item for item in list_differences(path, "cards.jsonl") if item.line is not None]


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
    assert found.checked == {
        "rows": 24,
        "answers computed again": 24,
        "cards": 12,
        "labels proved over the graph": 12,
        "labels proved over the card alone": 12,
    }
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
    fields = {item.field for item in list_differences(results, "cards.jsonl")}
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
    by_kind, by_proof = list_card_differences(results)
    for found, expected in ((by_kind, "E, by the kind of its proof: "), (by_proof, "E, proved")):
        assert (found.field, found.found, found.line) == ("label", "U", number)
        assert str(found.expected).startswith(expected)
        assert card_id in found.row


def test_labels_over_another_graph_are_not_checked(results: Path) -> None:
    path = results.with_name("cards.manifest.json")
    manifest = json.loads(path.read_bytes())
    write_edited_manifest(path, {**manifest, "graph_sha256": "0" * 64})
    found = verify(results)
    assert found.agrees
    labels = {key: n for key, n in found.checked.items() if "labels" in key}
    assert labels == {"labels proved over the card alone": 12}
    assert found.skipped == ("labels: the graph changed after the cards were made",)
    assert found.unproved == "the graph changed after the cards were made"
    path.unlink()
    assert "there is no cards.manifest.json" in verify(results).skipped[0]


def test_changed_totals_are_found(results: Path) -> None:
    path = results.with_name("kg.manifest.json")
    manifest = json.loads(path.read_bytes())
    manifest["counts"]["YES"] += 1
    write_edited_manifest(path, manifest)
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


def test_copies_of_a_card_are_found(results: Path) -> None:
    cards = results.parent / "cards.jsonl"
    lines = [json.loads(line) for line in cards.read_bytes().splitlines()]
    copies = [{**lines[0], "id": f"copy{n}"} for n in range(5)]
    cards.write_text("".join(json.dumps(card) + "\n" for card in [*lines, *copies]), "utf-8")
    found = list_card_differences(results)
    assert [item.line for item in found] == list(range(len(lines) + 1, len(lines) + 6))
    assert {item.found for item in found} == {f"a copy of card {lines[0]['id']!r} in line 1"}


def test_a_card_whose_own_facts_do_not_prove_its_label_is_found(results: Path) -> None:
    cards = results.with_name("cards.jsonl")
    lines = [json.loads(line) for line in cards.read_bytes().splitlines()]
    number = next(n for n, card in enumerate(lines, start=1) if card["label"] == "E")
    change_line(cards, number, lambda card: card["meta"].update(triples=[]))
    (found,) = list_card_differences(results)
    assert (found.field, found.found, found.line) == ("label", "E", number)
    assert found.expected == "U, proved over the card"
    assert verify(results).checked["labels proved over the card alone"] == len(lines) - 1
