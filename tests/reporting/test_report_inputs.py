"""Files that do not belong together never become a report."""

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
from reporting.report_files import read_formats, refuse_overwriting


@pytest.fixture
def copy(world, tmp_path, kit):
    """The world again, to be damaged."""
    shutil.copytree(world.folder, tmp_path / "copy")
    damaged = type(world)(tmp_path / "copy", world.cards)
    damaged.results = [damaged.folder / path.name for path in world.results]
    return damaged


def test_reads_what_belongs_together(world):
    inputs = read_inputs(world.results, world.metrics)
    assert inputs.systems == ("kg", "careful", "hasty", "always-YES", "always-UNKNOWN")
    assert inputs.controls == {"always-YES", "always-UNKNOWN"}
    assert len(inputs.cards) == 60
    assert len(inputs.runs) == 5
    assert inputs.domain is None
    assert all(len(rows) == 60 for rows in inputs.answers.values())


def test_names_missing_files(world, tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere\.json.*epoche metrics"):
        read_inputs(world.results, tmp_path / "nowhere.json")
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        read_inputs([tmp_path / "none.jsonl"], world.metrics, [world.deck])


def test_wants_cards(copy):
    copy.deck.unlink()
    with pytest.raises(MissingFileError, match="pass --cards"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_metrics_of_another_card_set(copy):
    report = read_metrics(copy.metrics)
    write_json_atomic(copy.metrics, msgspec.structs.replace(report, cards="0123456789ab"))
    with pytest.raises(CardSetMismatchError, match="0123456789ab"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_changed_cards(copy):
    cards = read_cards(copy.deck)
    write_cards(copy.deck, [msgspec.structs.replace(cards[0], question="Other?"), *cards[1:]])
    with pytest.raises(CardSetMismatchError, match="the cards are set"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_other_cards_and_other_gold(copy):
    cards = read_cards(copy.deck)
    write_cards(copy.deck, cards[1:])
    with pytest.raises(CardSetMismatchError, match="is not among the cards"):
        read_inputs(copy.results, copy.metrics)
    changed = msgspec.structs.replace(cards[0], label="U", gold="UNKNOWN")
    write_cards(copy.deck, [changed, *cards[1:]])
    with pytest.raises(CardSetMismatchError, match="another gold"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_results_without_metrics_and_metrics_without_results(copy):
    with pytest.raises(CardSetMismatchError, match="'hasty' has metrics but no results"):
        read_inputs([p for p in copy.results if not p.name.startswith("2")], copy.metrics)
    lines = copy.results[0].read_text(encoding="utf-8").replace('"system":"kg"', '"system":"new"')
    copy.results[0].write_text(lines, encoding="utf-8")
    with pytest.raises(CardSetMismatchError, match="'new' has results but no metrics"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_what_is_given_twice(copy):
    with pytest.raises(DuplicateIdError, match="answers card"):
        read_inputs([*copy.results, copy.results[0]], copy.metrics)
    with pytest.raises(DuplicateIdError, match="occurs twice"):
        read_inputs(copy.results, copy.metrics, [copy.deck, copy.deck])


def test_names_the_line_of_a_torn_result(copy):
    text = copy.results[0].read_text(encoding="utf-8")
    copy.results[0].write_text(text[:-20], encoding="utf-8")
    with pytest.raises(RecordError, match=r"_results\.jsonl:60"):
        read_inputs(copy.results, copy.metrics)


def test_refuses_empty_results(copy):
    empty = copy.folder / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(RecordError, match="no rows"):
        read_inputs([empty], copy.metrics, [copy.deck])


def test_takes_results_from_elsewhere_with_few_fields(copy):
    """As the metrics do: without card set and label, and with replies nobody can read."""
    bare = []
    for line in copy.results[2].read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row = {key: row[key] for key in ("id", "gold", "system", "pred")}
        row["pred"] = {"INVALID": "maybe", "ERROR": None}.get(row["pred"], row["pred"])
        bare.append(json.dumps(row))
    copy.results[2].write_text("\n".join(bare) + "\n", encoding="utf-8")
    before = read_inputs(copy.results, copy.metrics).answers["hasty"]
    assert {reply.pred for reply in before.values()} >= {"INVALID", "ERROR"}


def test_formats_are_read_and_checked():
    assert read_formats("json, HTML") == ["html", "json"]
    with pytest.raises(SettingError, match="'pdf'"):
        read_formats("html,pdf")
    with pytest.raises(SettingError, match="no format"):
        read_formats(" , ")


def test_a_report_never_overwrites_what_it_is_made_from(world):
    with pytest.raises(SettingError, match="overwrite"):
        refuse_overwriting(world.folder / "metrics.html", ["json"], [world.metrics])
    refuse_overwriting(world.folder / "metrics.html", ["html", "csv"], [world.metrics])
