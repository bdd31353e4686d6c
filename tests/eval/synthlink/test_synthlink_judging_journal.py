"""The journal of a judge of claims: its lines, and when judging stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer
from synthlink_judge_parts import (
    judge_model,
    judge_options,
    list_items_to_judge,
    read_journal_lines,
    without_latency,
)

from eval.model.options import ClientOptions
from eval.running.session import RunLimits
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.verdicts.judge_report import build_judge_report, is_unreliable
from eval.synthlink.verdicts.record import JUDGED_FILE
from kg.base.errors import (
    CostLimitError,
    DuplicateIdError,
    ModelAccessError,
    RecordError,
    TooManyErrorsError,
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
    scripted_server.behave_with(judge_model())
    whole = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    before = read_journal_lines(tmp_path)
    scripted_server.clear_log()
    fewer = list_items_to_judge(catalog, pages, [4])
    some = collect_verdicts(fewer, tmp_path, judge_options(scripted_model))
    assert not scripted_server.requests, "known already"
    assert [one.claim for one in some.lines] == [one.view.claim for one in fewer]
    assert sorted(map(str, read_journal_lines(tmp_path))) == sorted(map(str, before))
    collect_verdicts(fewer, tmp_path, judge_options(scripted_model, repeats=1))
    assert len(scripted_server.requests) == len(fewer), "verdicts of another judge are not reused"
    assert len(read_journal_lines(tmp_path)) == len(before) + len(fewer)
    scripted_server.clear_log()
    assert collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model)) == whole
    assert not scripted_server.requests


@pytest.mark.parametrize("count", [0, 1, 7, 23])
def test_truncated_journal_is_completed(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    count: int,
) -> None:
    scripted_server.behave_with(judge_model())
    whole = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    lines = (tmp_path / JUDGED_FILE).read_bytes().splitlines(True)
    (tmp_path / JUDGED_FILE).write_bytes(b"".join(lines[:count]) + lines[count][:-30])
    scripted_server.clear_log()
    again = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    assert list(map(without_latency, again.lines)) == list(map(without_latency, whole.lines))
    assert len(scripted_server.requests) == 2 * (len(lines) - count)


@pytest.mark.parametrize(
    ("spoil", "error"),
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
    spoil: bytes | None,
    error: type[Exception],
) -> None:
    scripted_server.behave_with(judge_model())
    collect_verdicts(all_judge_items[:2], tmp_path, judge_options(scripted_model))
    path = tmp_path / JUDGED_FILE
    first = path.read_bytes().splitlines(True)[0]
    path.write_bytes(path.read_bytes() + (spoil or first))
    before = path.read_bytes()
    with pytest.raises(error):
        collect_verdicts(all_judge_items[:2], tmp_path, judge_options(scripted_model))
    assert path.read_bytes() == before


def test_a_second_judge_in_the_folder_is_refused(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    from eval.running.journal import Journal

    scripted_server.behave_with(judge_model())
    with (
        Journal(tmp_path / JUDGED_FILE, 1),
        pytest.raises(WriteError, match="another run"),
    ):
        collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    assert not scripted_server.requests


def test_nothing_to_judge_is_not_a_failure(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    said = collect_verdicts([], tmp_path, judge_options(scripted_model))
    assert said.lines == ()
    assert not scripted_server.requests
    report = build_judge_report(said, ())
    assert (report.open, report.agreed, report.kappa, report.usage) == (0, None, None, None)
    assert not is_unreliable(report)


# --- limits -----------------------------------------------------------------------------------


def priced_options(tmp_path: Path) -> ClientOptions:
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
    scripted_server.behave_with(judge_model())
    dear = JudgeOptions(
        models=(scripted_model,),
        client=priced_options(tmp_path),
        limits=RunLimits(max_cost=1.5, concurrency=1),
    )
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, dear)
    held = read_journal_lines(tmp_path)
    assert 0 < len(held) < len(all_judge_items)
    paid = sum(line["usage"]["cost_usd"] for line in held)
    assert paid >= 1.5
    scripted_server.clear_log()
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, dear)
    assert not scripted_server.requests, "what is held was paid for"
    more = JudgeOptions(
        models=(scripted_model,), client=priced_options(tmp_path), limits=RunLimits()
    )
    assert len(collect_verdicts(all_judge_items, tmp_path, more).lines) == len(all_judge_items)
    assert len(scripted_server.requests) == 2 * (len(all_judge_items) - len(held))


def test_cost_of_answers_counts_towards_max_cost(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    from eval.running.totals import CallTotals

    scripted_server.behave_with(judge_model())
    spent = JudgeOptions(
        models=(scripted_model,),
        client=priced_options(tmp_path),
        limits=RunLimits(max_cost=1.5),
        earlier_totals=CallTotals(spent_usd=1.5),
    )
    with pytest.raises(CostLimitError):
        collect_verdicts(all_judge_items, tmp_path, spent)
    assert not scripted_server.requests


def test_judging_stops_after_repeated_failures(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave(behaviours.http_error(500))
    few = RunLimits(max_consecutive_errors=5, concurrency=1)
    with pytest.raises(TooManyErrorsError, match="5 claims in a row got no verdict") as caught:
        collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model, limits=few))
    assert "--retry-errors" not in str(caught.value.hint)
    assert len(read_journal_lines(tmp_path)) == 5
    scripted_server.behave_with(judge_model())
    said = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model, limits=few))
    assert all(line.verdict for line in said.lines), "a repeated call judges the missing items"


def test_refused_key_stops_judging_at_once(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave(behaviours.expired_key_error())
    with pytest.raises(ModelAccessError):
        collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    assert len(scripted_server.requests) <= 2 * 16
    assert read_journal_lines(tmp_path) == []
