"""Tests the journal of a judge of claims: its lines, and when judging stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from synthlink_judge_parts import (
    list_items_to_judge,
    make_judge_model,
    make_judge_options,
    read_journal,
    remove_latency,
)

from eval.harness.session import RunLimits
from eval.model.options import ClientOptions
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.verdicts.judge_report import build_judge_report
from eval.synthlink.verdicts.record import JUDGED_FILE
from kg.base.errors import (
    CostLimitError,
    DuplicateIdError,
    RecordError,
    WriteError,
)


def test_lines_of_other_claims_and_judges_are_kept_but_not_used(
    scripted_server: ScriptedServer,
    scripted_model: str,
    catalog: Catalog,
    pages: SourcePages,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_judge_model())
    full_judgement = collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    before = read_journal(tmp_path)
    scripted_server.clear_log()
    one_question_items = list_items_to_judge(catalog, pages, [4])
    partial_judgement = collect_verdicts(
        one_question_items, tmp_path, make_judge_options(scripted_model)
    )
    assert not scripted_server.requests, "the journal has these verdicts already"
    assert [item.claim for item in partial_judgement.lines] == [
        item.view.claim for item in one_question_items
    ]
    assert sorted(map(str, read_journal(tmp_path))) == sorted(map(str, before))
    collect_verdicts(one_question_items, tmp_path, make_judge_options(scripted_model, repeats=1))
    assert len(scripted_server.requests) == len(one_question_items), (
        "verdicts of another judge are not reused"
    )
    assert len(read_journal(tmp_path)) == len(before) + len(one_question_items)
    scripted_server.clear_log()
    assert (
        collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
        == full_judgement
    )
    assert not scripted_server.requests


@pytest.mark.parametrize("count", [0, 1, 7, 23])
def test_truncated_journal_is_completed(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    count: int,
) -> None:
    scripted_server.behave_with(make_judge_model())
    full_judgement = collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    lines = (tmp_path / JUDGED_FILE).read_bytes().splitlines(True)
    (tmp_path / JUDGED_FILE).write_bytes(b"".join(lines[:count]) + lines[count][:-30])
    scripted_server.clear_log()
    resumed = collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    assert list(map(remove_latency, resumed.lines)) == list(
        map(remove_latency, full_judgement.lines)
    )
    assert len(scripted_server.requests) == 2 * (len(lines) - count)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (b'{"id": 1}\n', RecordError),
        (b"\xff\xfe\n", RecordError),
        (b"[" * 100_000 + b"\n", RecordError),
        (None, DuplicateIdError),
    ],
)
def test_damaged_journal_is_refused_and_unchanged(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    damage: bytes | None,
    error: type[Exception],
) -> None:
    scripted_server.behave_with(make_judge_model())
    collect_verdicts(all_judge_items[:2], tmp_path, make_judge_options(scripted_model))
    path = tmp_path / JUDGED_FILE
    first_line = path.read_bytes().splitlines(True)[0]
    # Without a damage, the first line is written a second time.
    path.write_bytes(path.read_bytes() + (damage or first_line))
    before = path.read_bytes()
    with pytest.raises(error):
        collect_verdicts(all_judge_items[:2], tmp_path, make_judge_options(scripted_model))
    assert path.read_bytes() == before


def test_a_second_judge_in_the_folder_is_refused(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    from eval.harness.journals.journal import Journal

    scripted_server.behave_with(make_judge_model())
    # An open journal locks its file, as another run would.
    with (
        Journal(tmp_path / JUDGED_FILE, 1),
        pytest.raises(WriteError, match="another run"),
    ):
        collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    assert not scripted_server.requests


def test_nothing_to_judge_is_not_a_failure(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    judgement = collect_verdicts([], tmp_path, make_judge_options(scripted_model))
    assert judgement.lines == ()
    assert not scripted_server.requests
    report = build_judge_report(judgement, ())
    assert (report.open, report.decided, report.usage) == (0, 0, None)
    assert not report.reliability.passed, "nothing is known of it"


# --- limits -----------------------------------------------------------------------------------


def make_priced_options(tmp_path: Path) -> ClientOptions:
    prices = tmp_path / "prices.json"
    price = {"prompt": 1000.0, "completion": 0.0}
    prices.write_text(json.dumps({f"custom/{ScriptedServer.model}": price}))
    return ClientOptions(max_retries=0, prices=prices)


def test_judging_stops_at_max_cost(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_judge_model())
    options = JudgeOptions(
        models=(scripted_model,),
        client=make_priced_options(tmp_path),
        limits=RunLimits(max_cost=1.5, concurrency=1),
    )
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, options)
    lines = read_journal(tmp_path)
    assert 0 < len(lines) < len(all_judge_items)
    cost = sum(line["usage"]["cost_usd"] for line in lines)
    assert cost >= 1.5
    scripted_server.clear_log()
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, options)
    assert not scripted_server.requests, "the cost of the journal counts towards the limit"
    unlimited_options = JudgeOptions(
        models=(scripted_model,), client=make_priced_options(tmp_path), limits=RunLimits()
    )
    assert len(collect_verdicts(all_judge_items, tmp_path, unlimited_options).lines) == len(
        all_judge_items
    )
    assert len(scripted_server.requests) == 2 * (len(all_judge_items) - len(lines))


def test_cost_of_lost_verdicts_counts_in_all_later_sessions(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave(behaviours.normal_reply(behaviours.write_prose))
    items = all_judge_items[:2]

    def judge(max_cost: float | None) -> None:
        limits = RunLimits(max_cost=max_cost, concurrency=1)
        client = make_priced_options(tmp_path)
        options = JudgeOptions(models=(scripted_model,), client=client, limits=limits)
        assert not any(line.verdict for line in collect_verdicts(items, tmp_path, options).lines)

    cost = 0.0
    for _ in range(3):
        judge(None)
        cost += sum(line["usage"]["cost_usd"] for line in read_journal(tmp_path))
    assert cost > 0
    scripted_server.clear_log()
    with pytest.raises(CostLimitError, match=f"{cost:.4f} USD"):
        judge(cost * 0.99)
    assert not scripted_server.requests
    with pytest.raises(CostLimitError, match=f"{cost:.4f} USD"):
        judge(cost * 0.99)
    judge(cost * 2)
    assert scripted_server.requests


def test_cost_of_answers_counts_towards_max_cost(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    from eval.harness.totals import CallTotals

    scripted_server.behave_with(make_judge_model())
    options = JudgeOptions(
        models=(scripted_model,),
        client=make_priced_options(tmp_path),
        limits=RunLimits(max_cost=1.5),
        earlier_totals=CallTotals(spent_usd=1.5),
    )
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, options)
    assert not scripted_server.requests
