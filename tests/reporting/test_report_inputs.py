"""Tests that files that do not belong together are refused as inputs of a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from stage_calls import check_error_line, run_epoche, write_edited_manifest

from cards.card import hash_card_set, read_cards, write_cards
from eval.abstention.metrics.record import read_metrics
from eval.metrics.record_digest import add_digest
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    MissingFileError,
    RecordError,
    SettingError,
)
from kg.base.files import write_json_atomic, write_jsonl_atomic
from kg.base.provenance import compute_content_digest, manifest_path
from reporting.card_report.inputs import read_inputs
from reporting.card_report.proofs import describe_proof
from reporting.card_report.report_files import (
    ProofSource,
    parse_formats,
    refuse_overwriting,
    write_report,
)


@pytest.fixture
def run_copy(finished_run, tmp_path, report_kit):
    """A copy of the shared inputs that a test may damage."""
    shutil.copytree(finished_run.folder, tmp_path / "copy")
    copied_run = type(finished_run)(tmp_path / "copy", finished_run.cards)
    copied_run.results = [copied_run.folder / path.name for path in finished_run.results]
    return copied_run


def test_matching_files_are_read(finished_run):
    inputs = read_inputs(finished_run.results, finished_run.metrics)
    assert inputs.systems == ("kg", "careful", "hasty", "always-YES", "always-UNKNOWN")
    assert inputs.controls == {"always-YES", "always-UNKNOWN"}
    assert len(inputs.cards) == 60
    assert len(inputs.runs) == 5
    assert inputs.domain is None
    assert all(len(rows) == 60 for rows in inputs.replies.values())


def test_error_message_names_the_missing_file(finished_run, tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere\.json.*epoche metrics"):
        read_inputs(finished_run.results, tmp_path / "nowhere.json")
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        read_inputs([tmp_path / "none.jsonl"], finished_run.metrics, [finished_run.cards_file])


def test_missing_card_file_is_refused(run_copy):
    run_copy.cards_file.unlink()
    with pytest.raises(MissingFileError, match="Pass the card file with --cards"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_metrics_of_another_card_set_are_refused(run_copy):
    report = msgspec.structs.replace(read_metrics(run_copy.metrics), cards="0123456789ab")
    write_json_atomic(run_copy.metrics, add_digest(report))
    with pytest.raises(CardSetMismatchError, match="0123456789ab"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_changed_cards_are_refused(run_copy):
    cards = read_cards(run_copy.cards_file)
    write_cards(
        run_copy.cards_file, [msgspec.structs.replace(cards[0], question="Other?"), *cards[1:]]
    )
    with pytest.raises(CardSetMismatchError, match="the cards are set"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_other_cards_and_other_gold_are_refused(run_copy):
    cards = read_cards(run_copy.cards_file)
    write_cards(run_copy.cards_file, cards[1:])
    with pytest.raises(CardSetMismatchError, match="is not among the cards"):
        read_inputs(run_copy.results, run_copy.metrics)
    changed_card = msgspec.structs.replace(cards[0], label="U", gold="UNKNOWN")
    write_cards(run_copy.cards_file, [changed_card, *cards[1:]])
    with pytest.raises(CardSetMismatchError, match="another gold"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_results_and_metrics_must_match(run_copy):
    with pytest.raises(CardSetMismatchError, match="'hasty' has metrics but no results"):
        # The file name of "hasty", the third system, begins with 2.
        read_inputs([p for p in run_copy.results if not p.name.startswith("2")], run_copy.metrics)
    lines = (
        run_copy.results[0].read_text(encoding="utf-8").replace('"system":"kg"', '"system":"new"')
    )
    run_copy.results[0].write_text(lines, encoding="utf-8")
    with pytest.raises(CardSetMismatchError, match=r"'new' has results but no metrics.*make met"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_duplicate_inputs_are_refused(run_copy):
    with pytest.raises(DuplicateIdError, match="answers card"):
        read_inputs([*run_copy.results, run_copy.results[0]], run_copy.metrics)
    with pytest.raises(DuplicateIdError, match="occurs twice"):
        read_inputs(run_copy.results, run_copy.metrics, [run_copy.cards_file, run_copy.cards_file])


def test_labels_are_called_proved_only_where_a_digest_of_the_cards_says_so(run_copy):
    def read_page() -> str:
        inputs = read_inputs(
            run_copy.results, run_copy.metrics, [run_copy.cards_file], allow_changed=True
        )
        out = run_copy.folder / "proved.html"
        write_report(inputs, out, ProofSource(describe_proof), ["html"])
        return out.read_text("utf-8")

    assert "Nothing shows here that the labels are those" in read_page()
    manifest = {"cards_sha256": hash_card_set(run_copy.cards)}
    path = manifest_path(run_copy.cards_file)
    write_json_atomic(path, manifest)
    assert "is proved twice" not in read_page(), "the manifest has no digest of itself"
    write_json_atomic(path, manifest | {"content_sha256": compute_content_digest(manifest)})
    assert "Its label is proved twice" in read_page()
    # Any other change of a card, which may be one of its label.
    cards = [msgspec.structs.replace(run_copy.cards[0], rules=("None.",)), *run_copy.cards[1:]]
    write_cards(run_copy.cards_file, cards)
    run_copy.results[:] = [write_unnamed_copy(path) for path in run_copy.results]
    run_copy.measure()
    page = read_page()
    assert "is proved twice" not in page
    assert "can be proved" not in page


def write_unnamed_copy(path: Path) -> Path:
    """Writes the rows of a run without the name of their card set, as other programs do."""
    copy = path.with_name(f"unnamed_{path.name}")
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    write_jsonl_atomic(copy, ({**row, "cards": ""} for row in rows))
    return copy


def test_error_message_names_the_torn_line(run_copy):
    text = run_copy.results[0].read_text(encoding="utf-8")
    run_copy.results[0].write_text(text[:-20], encoding="utf-8")
    with pytest.raises(RecordError, match=r"_results\.jsonl:60"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_empty_results_are_refused(run_copy):
    empty = run_copy.folder / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(RecordError, match="no rows"):
        read_inputs([empty], run_copy.metrics, [run_copy.cards_file])


def test_foreign_results_with_few_fields_are_read(run_copy):
    """Rows need no card set or label and may have unreadable replies; metrics allow that too."""
    lines = []
    for line in run_copy.results[2].read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row = {key: row[key] for key in ("id", "gold", "system", "pred")}
        row["pred"] = {"INVALID": "maybe", "ERROR": None}.get(row["pred"], row["pred"])
        lines.append(json.dumps(row))
    run_copy.results[2].write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_copy.measure()
    replies = read_inputs(run_copy.results, run_copy.metrics).replies["hasty"]
    assert {reply.pred for reply in replies.values()} >= {"INVALID", "ERROR"}


def test_formats_are_read_and_checked():
    assert parse_formats("json, HTML") == ["html", "json"]
    with pytest.raises(SettingError, match="'pdf'"):
        parse_formats("html,pdf")
    with pytest.raises(SettingError, match="no format"):
        parse_formats(" , ")


def test_report_never_overwrites_its_inputs(finished_run):
    with pytest.raises(SettingError, match="overwrite"):
        refuse_overwriting(finished_run.folder / "metrics.html", ["json"], [finished_run.metrics])
    refuse_overwriting(
        finished_run.folder / "metrics.html", ["html", "csv"], [finished_run.metrics]
    )


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run and its metrics in ``a``, and an unrelated ``results/metrics.json``.

    It is the current folder. The unrelated metrics are of the same system and cards.
    """
    monkeypatch.chdir(tmp_path)
    cards = Path("a/cards.jsonl")
    made = run_epoche("cards", "--domain", "mayors", "--num-per-type", 5, "--out", cards)
    assert made.code == 0, made.err
    for folder, flags in (("a", ()), ("results", ("--repeat", 2)), ("bare", ("--limit", 9))):
        out = Path(folder, "kg.jsonl")
        files = ("--cards", cards, "--domain", "mayors", "--out", out)
        assert run_epoche("eval", "--system", "kg", *files, *flags).code == 0
        if folder != "bare":
            metrics = ("--out", Path(folder, "metrics.json"), "--resamples", 100)
            assert run_epoche("metrics", out, *metrics).code == 0
    return tmp_path


def test_metrics_beside_the_results_are_used_and_named(two_runs: Path) -> None:
    done = run_epoche("report", "a/kg.jsonl", "--out", "page.html", "--formats", "html,json")
    assert done.code == 0, done.err
    assert f"metrics: {Path('a/metrics.json')}\n" in done.out
    assert "cards: " in done.out
    assert "a/cards.jsonl\n" in done.out
    sources = json.loads(Path("page.json").read_bytes())["metrics"]["sources"]
    assert [source["rows"] for source in sources] == [15]
    done = run_epoche("report", "a", "--out", "page.html", "--formats", "html")
    assert done.code == 0, done.err


def test_metrics_of_the_current_folder_are_not_used(two_runs: Path) -> None:
    line = check_error_line(run_epoche("report", "bare/kg.jsonl", "--out", "page.html"), 3)
    assert "no metrics.json lies beside the results" in line
    assert f"epoche metrics bare/kg.jsonl --out {Path('bare/metrics.json')}" in line
    assert not Path("page.html").exists()


@pytest.mark.parametrize("metrics", ["results/metrics.json", "a/metrics.json"])
def test_metrics_of_another_run_are_refused(two_runs: Path, metrics: str) -> None:
    command = ("report", "bare/kg.jsonl", "--metrics", metrics, "--out", "page.html")
    line = check_error_line(run_epoche(*command), 14)
    assert "computed from another run of kg than this: it has 9 rows, not" in line
    assert metrics in line


def test_metrics_of_a_run_with_another_manifest_are_refused(two_runs: Path) -> None:
    manifest = json.loads(Path("a/kg.manifest.json").read_bytes())
    write_edited_manifest(Path("a/kg.manifest.json"), manifest | {"seed": 7, "resumed": 3})
    line = check_error_line(run_epoche("report", "a/kg.jsonl", "--out", "page.html"), 14)
    assert "their manifests differ in seed (" in line
    write_edited_manifest(Path("a/kg.manifest.json"), manifest | {"resumed": 3})
    done = run_epoche("report", "a/kg.jsonl", "--out", "page.html", "--formats", "html")
    assert done.code == 0, done.err
