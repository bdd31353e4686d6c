"""Tests that files that do not belong together are refused as inputs of a report."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest

from cards.card import read_cards, write_cards
from eval.metrics.record import read_metrics
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    MissingFileError,
    RecordError,
    SettingError,
)
from kg.base.files import write_json_atomic
from reporting.inputs import read_inputs
from reporting.report_files import parse_formats, refuse_overwriting


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
    report = read_metrics(run_copy.metrics)
    write_json_atomic(run_copy.metrics, msgspec.structs.replace(report, cards="0123456789ab"))
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
    with pytest.raises(CardSetMismatchError, match="'new' has results but no metrics"):
        read_inputs(run_copy.results, run_copy.metrics)


def test_duplicate_inputs_are_refused(run_copy):
    with pytest.raises(DuplicateIdError, match="answers card"):
        read_inputs([*run_copy.results, run_copy.results[0]], run_copy.metrics)
    with pytest.raises(DuplicateIdError, match="occurs twice"):
        read_inputs(run_copy.results, run_copy.metrics, [run_copy.cards_file, run_copy.cards_file])


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
