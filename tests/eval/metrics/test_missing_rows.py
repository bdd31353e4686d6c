"""Tests that the rows that a run of cards lacks count as ERROR."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from stage_calls import check_error_line, run_epoche, write_edited_manifest

from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.outcomes import PRED_CODE
from kg.base.errors import CardSetMismatchError, ChangedRunError, MissingFileError
from kg.base.files import sha256_file

N_CARDS = 30
LIMIT = 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a whole run, one with a limit, one with repeats, and one of controls."""
    folder = tmp_path_factory.mktemp("runs")
    cards = folder / "cards.jsonl"
    assert run_epoche("cards", "--domain", "mayors", "--num-per-type", 10, "--out", cards).code == 0
    for name, flags in {
        "whole": ("--system", "kg"),
        "limited": ("--system", "kg", "--limit", LIMIT),
        "repeated": ("--system", "kg", "--repeat", 2),
        "controls": ("--system", "controls"),
    }.items():
        out = folder / f"{name}.jsonl"
        done = run_epoche("eval", "--cards", cards, "--domain", "mayors", *flags, "--out", out)
        assert done.code == 0, done.err
    return folder


def cut(runs: Path, folder: Path, name: str, n_rows: int) -> Path:
    """Copies a run and its cards as if it was interrupted after its first rows.

    Returns the result file.
    """
    for file in ("cards.jsonl", f"{name}.jsonl"):
        shutil.copy(runs / file, folder)
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:n_rows]))
    manifest = json.loads((runs / f"{name}.manifest.json").read_bytes())
    manifest["status"] = "interrupted"
    manifest["counts"] = Counter(
        json.loads(line)["pred"] for line in path.read_bytes().splitlines()
    )
    manifest["rows_sha256"] = sha256_file(path)
    write_edited_manifest(folder / f"{name}.manifest.json", manifest)
    return path


def count_errors(observations: Observations, system: str) -> int:
    return int((observations.preds[system] == PRED_CODE["ERROR"]).sum())


@pytest.mark.parametrize(
    ("name", "system", "n_rows", "n_cards", "n_lost"),
    [
        ("whole", "kg", 12, N_CARDS, 18),
        ("limited", "kg", 12, LIMIT, 8),
        ("repeated", "kg", 25, N_CARDS, 35),
        ("controls", "always-UNKNOWN", 1, N_CARDS, N_CARDS),
        ("controls", "always-YES", 9, N_CARDS, 27),
    ],
)
def test_missing_rows_are_errors(
    runs: Path, tmp_path: Path, name: str, system: str, n_rows: int, n_cards: int, n_lost: int
) -> None:
    whole = read_observations([runs / f"{name}.jsonl"])
    assert count_errors(whole, system) == 0
    found = read_observations([cut(runs, tmp_path, name, n_rows)])
    assert (list(found.ids), list(found.kinds)) == (list(whole.ids), list(whole.kinds))
    assert found.card_set == whole.card_set
    assert len(found.ids) == n_cards
    assert found.labels.tolist() == whole.labels.tolist()
    assert found.clusters.tolist() == whole.clusters.tolist()
    assert list(found.difficulties) == list(whole.difficulties)
    assert found.preds.keys() == whole.preds.keys()
    assert found.preds[system].shape == whole.preds[system].shape
    assert count_errors(found, system) == n_lost
    (note,) = [note for note in found.notes if "missing from" in note]
    assert note.endswith(f"from {name} and count as failed calls: the run is interrupted.")


def test_the_command_counts_them_unless_told_to_use_common_cards(
    runs: Path, tmp_path: Path
) -> None:
    path, out = cut(runs, tmp_path, "whole", 12), tmp_path / "metrics.json"
    done = run_epoche("metrics", path, "--out", out, "--resamples", 100)
    assert done.code == 0, done.err
    assert f"1 system on {N_CARDS} cards" in done.out
    system = json.loads(out.read_bytes())["policies"]["licensed"]["systems"]["kg"]
    assert system["counts"]["ERROR"] == 18
    done = run_epoche("metrics", path, "--common", "--out", out, "--resamples", 100)
    assert done.code == 0, done.err
    assert "1 system on 12 cards" in done.out
    gated = run_epoche("gate", path, "--metric", "accuracy>=0", "--resamples", 100)
    assert gated.code == 100
    assert "error_rate" in gated.out


def test_comparisons_count_them_and_leave_out_cards_never_asked(runs: Path, tmp_path: Path) -> None:
    path, out = cut(runs, tmp_path, "whole", 12), tmp_path / "c.json"
    for files, flags, n_cards in (
        ((path, runs / "whole.jsonl"), (), N_CARDS),
        ((path, runs / "whole.jsonl"), ("--common",), 12),
        ((path, runs / "limited.jsonl"), (), LIMIT),
    ):
        done = run_epoche("compare", *files, *flags, "--out", out, "--resamples", 100)
        assert done.code == 0, done.err
        report = json.loads(out.read_bytes())
        assert report["n_cards"] == n_cards
        assert any("18 rows are missing" in note for note in report["notes"]) is not bool(flags)
        accuracy = next(c for c in report["comparisons"] if c["metric"] == "accuracy")
        assert (accuracy["difference"] < 0) is not bool(flags)


def test_a_regression_test_counts_them_and_needs_the_cards_of_the_baseline(
    runs: Path, tmp_path: Path
) -> None:
    path, whole, limited = (
        cut(runs, tmp_path, "whole", 12), runs / "whole.jsonl", runs / "limited.jsonl",
    )  # fmt: skip
    flags = ("--resamples", 100, "--baseline")
    gated = run_epoche("gate", path, "--max-failures", 1, *flags, whole)
    assert gated.code == 100, gated.err
    assert "FAIL  kg  accuracy no worse than the baseline's: 0.400 against 1.000" in gated.out
    gated = run_epoche("gate", limited, *flags, whole)
    assert gated.code == 100, gated.err
    assert "FAIL  kg  coverage of the baseline >= 0.95: 10 of the 30 cards" in gated.out
    gated = run_epoche("gate", whole, *flags, limited)
    assert gated.code == 0, gated.err
    # What the baseline lost is an error of it, and a note says so.
    gated = run_epoche("gate", whole, *flags, path)
    assert gated.code == 0, gated.err
    assert "note: with the baseline: 18 rows are missing from whole" in gated.out


def test_cards_that_moved_are_named(runs: Path, tmp_path: Path) -> None:
    path = cut(runs, tmp_path, "whole", 12)
    moved = (tmp_path / "cards.jsonl").rename(tmp_path / "moved.jsonl")
    with pytest.raises(MissingFileError, match="--cards"):
        read_observations([path])
    assert count_errors(read_observations([path], cards=[moved]), "kg") == 18
    done = run_epoche("metrics", path, "--cards", moved, "--out", tmp_path / "m.json")
    assert done.code == 0, done.err


def test_other_cards_are_refused(runs: Path, tmp_path: Path) -> None:
    path = cut(runs, tmp_path, "whole", 12)
    cards = tmp_path / "cards.jsonl"
    cards.write_bytes(b"".join(cards.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(ChangedRunError, match=r"cards\.jsonl is not the card file"):
        read_observations([path])
    with pytest.raises(CardSetMismatchError, match="18 rows are missing"):
        read_observations([path], allow_changed=True)
    check_error_line(run_epoche("metrics", path, "--out", tmp_path / "m.json"), 40)


def test_results_of_other_programs_lack_nothing(runs: Path, tmp_path: Path) -> None:
    path = cut(runs, tmp_path, "whole", 12)
    (tmp_path / "whole.manifest.json").unlink()
    found = read_observations([path])
    assert len(found.ids) == 12
    assert count_errors(found, "kg") == 0
