"""Tests that every edit of a row is refused with its line, and that forged answers are found.

Every field of a row of each kind of system is edited. Who enters the new hashes in the manifest is
found by ``epoche verify`` where the answer follows from cards and graph.
"""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_runs import FOLDER_COMMANDS
from hypothesis import given
from hypothesis import strategies as st
from servers import behaviours
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche, write_edited_manifest

from cards.card import Card
from eval.abstention.answers import ask_system
from eval.abstention.integrity import repeated_answers
from eval.abstention.manifest import read_manifest
from eval.abstention.result import Result
from eval.abstention.system import AnySystem
from eval.harness.verification.line_digests import MAX_DIGESTS, digest_lines, find_changed_digest
from kg.base.files import sha256_file
from kg.base.provenance import manifest_path

pytestmark = pytest.mark.usefixtures("kept_readers")

CHANGED, DIFFERS, DAMAGED = 40, 39, 12
FEW = ("--resamples", 100)
LINE = 5
COMPUTED_SYSTEMS = ("kg", "graph_rag", "rag", "controls")
Row = dict[str, Any]


def edit_answer(row: Row) -> None:
    """Changes the answer together with ``pass``, so that the row agrees with itself."""
    row["pred"] = {"YES": "NO", "NO": "UNKNOWN"}.get(row["pred"], "YES")
    row["pass"] = row["pred"] == row["gold"]


EDITS: dict[str, Callable[[Row], object]] = {
    "answer": edit_answer,
    "confidence": lambda row: row.update(confidence=0.25),
    "raw": lambda row: row.update(raw=f"{row['raw']}."),
    "latency": lambda row: row.update(latency_s=123.0),
    "usage": lambda row: row.update(usage={"prompt_tokens": 1, "completion_tokens": 1}),
    "error": lambda row: row.update(error="none"),
    "note": lambda row: row.update(note="read as text"),
}


def edit_line(path: Path, edit: Callable[[Row], object], line: int = LINE) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    row = json.loads(lines[line - 1])
    edit(row)
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    lines[line - 1] = text.encode() + b"\n"
    path.write_bytes(b"".join(lines))


def forge_hashes(path: Path) -> None:
    """Enters hashes and counts of the edited rows, and their digest, in the manifest."""
    manifest_file = path.with_suffix(".manifest.json")
    manifest = json.loads(manifest_file.read_bytes())
    preds = Counter(json.loads(line)["pred"] for line in path.read_bytes().splitlines())
    manifest.update(
        rows_sha256=sha256_file(path),
        line_digests={path.name: digest_lines(path)},
        counts={name: preds[name] for name in manifest["counts"]},
    )
    write_edited_manifest(manifest_file, manifest)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cards and the results of systems that ask no model."""
    folder = tmp_path_factory.mktemp("cards")
    cards = folder / "cards.jsonl"
    made = run_epoche("cards", "--domain", "rivers", "--num-per-type", 4, "--out", cards)
    assert made.code == 0, made.err
    for system in COMPUTED_SYSTEMS:
        out = folder / f"{system}.jsonl"
        done = run_epoche("eval", "--cards", cards, "--system", system, "--out", out)
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "copy")


def check_line(path: Path, line: int = LINE) -> None:
    """Checks that commands refuse the rows and name the line, and that ``verify`` names it."""
    metrics = path.with_name("metrics.json")
    for code, command in (
        (CHANGED, ("metrics", path, *FEW, "--out", metrics)),
        (1, ("gate", path, "--metric", "LA>=0", *FEW)),
    ):
        assert f"{path.name}:{line}" in check_error_line(run_epoche(*command), code)
    verified = run_epoche("verify", path)
    assert verified.code == DIFFERS
    assert f"{path.name}:{line}: " in verified.out


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("system", COMPUTED_SYSTEMS)
def test_an_edited_row_is_refused_with_its_line(folder: Path, system: str, edit: str) -> None:
    path = folder / f"{system}.jsonl"
    edit_line(path, EDITS[edit])
    check_line(path)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_row_of_a_model_is_refused_with_its_line(
    folder: Path, scripted_server: ScriptedServer, scripted_model: str, edit: str
) -> None:
    scripted_server.behave(behaviours.normal_reply(lambda _: '{"answer": "UNKNOWN"}'))
    path = folder / "raw.jsonl"
    flags = ("--system", "raw", "--model", scripted_model, "--no-cache", "--out", path)
    done = run_epoche("eval", "--cards", folder / "cards.jsonl", *flags)
    assert done.code == 0, done.err
    edit_line(path, EDITS[edit])
    check_line(path)


@pytest.mark.parametrize("edit", ["answer", "confidence", "raw"])
@pytest.mark.parametrize("system", COMPUTED_SYSTEMS)
def test_a_forged_answer_that_follows_from_the_card_is_found_by_verify(
    folder: Path, system: str, edit: str
) -> None:
    path = folder / f"{system}.jsonl"
    assert run_epoche("verify", path).code == 0
    edit_line(path, EDITS[edit])
    forge_hashes(path)
    assert run_epoche("metrics", path, *FEW, "--out", folder / "m.json").code == 0
    verified = run_epoche("verify", path)
    assert verified.code == DIFFERS
    field = "pred" if edit == "answer" else edit
    assert f"{path.name}:{LINE}: card " in verified.out
    assert f": {field} is " in verified.out
    assert "answers computed again" in verified.out


@pytest.mark.parametrize("system", COMPUTED_SYSTEMS)
def test_an_answer_that_was_made_an_error_is_found_by_verify(folder: Path, system: str) -> None:
    path = folder / f"{system}.jsonl"
    edit_line(path, lambda row: row.update({"pred": "ERROR", "pass": False, "error": "lost"}))
    forge_hashes(path)
    verified = run_epoche("verify", path)
    assert verified.code == DIFFERS
    assert f"{path.name}:{LINE}: card " in verified.out
    assert ": pred is ERROR, should be " in verified.out


def test_the_repeats_of_a_card_are_computed_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards, out = folder / "cards.jsonl", folder / "many.jsonl"
    flags = ("--system", "controls", "--repeat", 3, "--limit", 4, "--out", out)
    done = run_epoche("eval", "--cards", cards, *flags)
    assert done.code == 0, done.err
    asked: list[tuple[str, str]] = []

    def ask(system: AnySystem, card: Card, *, name: str, card_set: str) -> Result:
        asked.append((card.id, name))
        return ask_system(system, card, name=name, card_set=card_set)

    monkeypatch.setattr(repeated_answers, "ask_system", ask)
    edit_line(out, edit_answer, line=len(out.read_bytes().splitlines()))
    forge_hashes(out)
    assert run_epoche("verify", out).code == DIFFERS, "the last repeat is compared, too"
    assert len(asked) == len(set(asked)) == 4 * len(read_manifest(manifest_path(out)).systems)


def test_answers_of_other_settings_or_versions_are_not_computed_again(folder: Path) -> None:
    path = folder / "rag.jsonl"
    manifest_file = path.with_suffix(".manifest.json")
    manifest = json.loads(manifest_file.read_bytes())
    for changes, reason in (
        ({"params": {"threshold": 0.5}}, "the run had other settings than the default ones"),
        ({"versions": {"epoche": "0.0.1"}}, "version 0.0.1 of Epoché gave them"),
        ({"graph_sha256": "0" * 64}, "the run used another graph or other shapes"),
    ):
        write_edited_manifest(manifest_file, {**manifest, **changes})
        verified = run_epoche("verify", path)
        assert verified.code == 0, verified.out
        assert f"not checked: answers: {reason}" in verified.out


@pytest.fixture(scope="module", params=["retrieval", "skn", "extraction", "synthlink"])
def whole_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp(request.param) / "run"
    command = (part for part in FOLDER_COMMANDS[request.param] if part != "--no-score")
    done = run_epoche(*command, "--out", run)
    assert done.code == 0, done.err
    return run


FOLDER_EDITS: dict[str, Callable[[Row], object]] = {
    "latency": lambda row: row.update(latency_s=123.0),
    "stage": lambda row: row.update(stage="edited"),
    "another key": lambda row: row.update(edited=True),
    "raw": lambda row: row.update(raw="edited"),
}


@pytest.mark.parametrize("edit", FOLDER_EDITS)
@pytest.mark.parametrize("name", ["rows.jsonl", "replies.jsonl"])
def test_an_edited_line_of_a_run_folder_is_refused_with_its_line(
    whole_run: Path, tmp_path: Path, name: str, edit: str
) -> None:
    run = shutil.copytree(whole_run, tmp_path / "run")
    edit_line(run / name, FOLDER_EDITS[edit], line=2)
    measured = run_epoche("metrics", run, *FEW)
    assert measured.code in (CHANGED, DAMAGED)
    assert ".jsonl:2" in check_error_line(measured, measured.code)
    verified = run_epoche("verify", run)
    assert verified.code == DIFFERS
    assert ".jsonl:2: " in verified.out


# Digests of lines.

LINES = st.lists(st.binary(max_size=3).map(lambda line: line.replace(b"\n", b"")), max_size=12)


@given(before=LINES, after=LINES)
def test_the_first_different_line_is_found(
    tmp_path_factory: pytest.TempPathFactory, before: list[bytes], after: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in before))
    recorded = digest_lines(path)
    path.write_bytes(b"".join(line + b"\n" for line in after))
    found = find_changed_digest(path, recorded)
    if before == after:
        assert found is None
        return
    n_equal = next((n for n, (x, y) in enumerate(zip(before, after)) if x != y), None)  # noqa: B905
    expected = min(len(before), len(after)) if n_equal is None else n_equal
    # Two digests of 16 bits may be equal by chance, never those of equal lines.
    if digest_lines(path) == recorded:
        assert found is None
    else:
        assert found is not None
        assert found[0] >= expected + 1


def test_long_files_have_few_digests(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [f"{number}\n" for number in range(3 * MAX_DIGESTS)]
    path.write_text("".join(lines))
    recorded = digest_lines(path)
    assert len(recorded) == len("3:") + 4 * MAX_DIGESTS
    lines[100] = "x\n"
    path.write_text("".join(lines))
    assert find_changed_digest(path, recorded) == (100, "another, or one up to line 102 is")
    path.write_text("".join(lines[:100]))
    assert find_changed_digest(path, recorded) == (100, "another, or one up to line 102 is")
    path.write_text("".join(lines[:99]))
    assert find_changed_digest(path, recorded) == (100, "absent")
    for size in ("", "x", "0", "²", "٣", "-1", " 1", "1\n", "1234567890", str(1 << 64)):
        assert find_changed_digest(path, f"{size}:00") is None
    assert find_changed_digest(path, "3") == (1, "a line too many")
    assert find_changed_digest(path, "3:0") == (1, "another, or one up to line 3 is")
    assert find_changed_digest(tmp_path / "none", recorded) is None


def test_forged_digests_need_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x" * 999 + b"\n")
    path.write_bytes(20_000 * path.read_bytes())
    tracemalloc.start()
    try:
        found = find_changed_digest(path, "999999999:0000")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == (1, "another, or one up to line 999999999 is")
    assert peak < path.stat().st_size / 10
