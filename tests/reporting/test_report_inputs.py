"""Files that do not match are refused as inputs of a report."""

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
def world_copy(world, tmp_path, report_kit):
    """A copy of the shared inputs that a test may damage."""
    shutil.copytree(world.folder, tmp_path / "copy")
    damaged = type(world)(tmp_path / "copy", world.cards)
    damaged.results = [damaged.folder / path.name for path in world.results]
    return damaged


def test_matching_files_are_read(world):
    inputs = read_inputs(world.results, world.metrics)
    assert inputs.systems == ("kg", "careful", "hasty", "always-YES", "always-UNKNOWN")
    assert inputs.controls == {"always-YES", "always-UNKNOWN"}
    assert len(inputs.cards) == 60
    assert len(inputs.runs) == 5
    assert inputs.domain is None
    assert all(len(rows) == 60 for rows in inputs.replies.values())


def test_missing_files_are_named(world, tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere\.json.*epoche metrics"):
        read_inputs(world.results, tmp_path / "nowhere.json")
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        read_inputs([tmp_path / "none.jsonl"], world.metrics, [world.deck])


def test_cards_are_required(world_copy):
    world_copy.deck.unlink()
    with pytest.raises(MissingFileError, match="Pass the card file with --cards"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_metrics_of_another_card_set_are_refused(world_copy):
    report = read_metrics(world_copy.metrics)
    write_json_atomic(world_copy.metrics, msgspec.structs.replace(report, cards="0123456789ab"))
    with pytest.raises(CardSetMismatchError, match="0123456789ab"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_changed_cards_are_refused(world_copy):
    cards = read_cards(world_copy.deck)
    write_cards(world_copy.deck, [msgspec.structs.replace(cards[0], question="Other?"), *cards[1:]])
    with pytest.raises(CardSetMismatchError, match="the cards are set"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_other_cards_and_other_gold_are_refused(world_copy):
    cards = read_cards(world_copy.deck)
    write_cards(world_copy.deck, cards[1:])
    with pytest.raises(CardSetMismatchError, match="is not among the cards"):
        read_inputs(world_copy.results, world_copy.metrics)
    changed = msgspec.structs.replace(cards[0], label="U", gold="UNKNOWN")
    write_cards(world_copy.deck, [changed, *cards[1:]])
    with pytest.raises(CardSetMismatchError, match="another gold"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_results_and_metrics_must_match(world_copy):
    with pytest.raises(CardSetMismatchError, match="'hasty' has metrics but no results"):
        read_inputs(
            [p for p in world_copy.results if not p.name.startswith("2")], world_copy.metrics
        )
    lines = (
        world_copy.results[0].read_text(encoding="utf-8").replace('"system":"kg"', '"system":"new"')
    )
    world_copy.results[0].write_text(lines, encoding="utf-8")
    with pytest.raises(CardSetMismatchError, match="'new' has results but no metrics"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_duplicate_inputs_are_refused(world_copy):
    with pytest.raises(DuplicateIdError, match="answers card"):
        read_inputs([*world_copy.results, world_copy.results[0]], world_copy.metrics)
    with pytest.raises(DuplicateIdError, match="occurs twice"):
        read_inputs(world_copy.results, world_copy.metrics, [world_copy.deck, world_copy.deck])


def test_torn_result_line_is_named(world_copy):
    text = world_copy.results[0].read_text(encoding="utf-8")
    world_copy.results[0].write_text(text[:-20], encoding="utf-8")
    with pytest.raises(RecordError, match=r"_results\.jsonl:60"):
        read_inputs(world_copy.results, world_copy.metrics)


def test_empty_results_are_refused(world_copy):
    empty = world_copy.folder / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(RecordError, match="no rows"):
        read_inputs([empty], world_copy.metrics, [world_copy.deck])


def test_foreign_results_with_few_fields_are_read(world_copy):
    """Rows without card set and label, and with unreadable replies, as the metrics accept."""
    bare = []
    for line in world_copy.results[2].read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row = {key: row[key] for key in ("id", "gold", "system", "pred")}
        row["pred"] = {"INVALID": "maybe", "ERROR": None}.get(row["pred"], row["pred"])
        bare.append(json.dumps(row))
    world_copy.results[2].write_text("\n".join(bare) + "\n", encoding="utf-8")
    before = read_inputs(world_copy.results, world_copy.metrics).replies["hasty"]
    assert {reply.pred for reply in before.values()} >= {"INVALID", "ERROR"}


def test_formats_are_read_and_checked():
    assert parse_formats("json, HTML") == ["html", "json"]
    with pytest.raises(SettingError, match="'pdf'"):
        parse_formats("html,pdf")
    with pytest.raises(SettingError, match="no format"):
        parse_formats(" , ")


def test_report_never_overwrites_its_inputs(world):
    with pytest.raises(SettingError, match="overwrite"):
        refuse_overwriting(world.folder / "metrics.html", ["json"], [world.metrics])
    refuse_overwriting(world.folder / "metrics.html", ["html", "csv"], [world.metrics])
