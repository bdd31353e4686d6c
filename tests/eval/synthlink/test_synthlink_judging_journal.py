"""The journal of a judge of claims: what it keeps, and when asking ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers import behaviours as does
from servers.scripted_server import ScriptedServer
from synthlink_judging_parts import (
    asked_about,
    file_of,
    judge,
    options,
    untimed,
)

from eval.model.options import ClientOptions
from eval.running.session import Limits
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judging.judging_run import JudgeOptions, judge_matters
from eval.synthlink.judging.matters import Matter
from eval.synthlink.verdicts.judge_report import errs_often, judge_report
from eval.synthlink.verdicts.record import JUDGED
from kg.base.errors import (
    CostLimitError,
    DuplicateIdError,
    ModelAccessError,
    RecordError,
    TooManyErrorsError,
    WriteError,
)


def test_lines_of_other_claims_and_judges_stay_and_are_not_taken(
    scripted_server: ScriptedServer,
    scripted_model: str,
    catalog: Catalog,
    pages: SourcePages,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    scripted_server.behave_by(judge())
    whole = judge_matters(all_matters, tmp_path, options(scripted_model))
    before = file_of(tmp_path)
    scripted_server.forget()
    fewer = asked_about(catalog, pages, [4])
    some = judge_matters(fewer, tmp_path, options(scripted_model))
    assert not scripted_server.requests, "known already"
    assert [one.claim for one in some.lines] == [one.shown.claim for one in fewer]
    assert sorted(map(str, file_of(tmp_path))) == sorted(map(str, before))
    judge_matters(fewer, tmp_path, options(scripted_model, repeats=1))
    assert len(scripted_server.requests) == len(fewer), "another judge, other verdicts"
    assert len(file_of(tmp_path)) == len(before) + len(fewer)
    scripted_server.forget()
    assert judge_matters(all_matters, tmp_path, options(scripted_model)) == whole
    assert not scripted_server.requests


@pytest.mark.parametrize("count", [0, 1, 7, 23])
def test_a_torn_journal_is_asked_for_the_rest(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
    count: int,
) -> None:
    scripted_server.behave_by(judge())
    whole = judge_matters(all_matters, tmp_path, options(scripted_model))
    lines = (tmp_path / JUDGED).read_bytes().splitlines(True)
    (tmp_path / JUDGED).write_bytes(b"".join(lines[:count]) + lines[count][:-30])
    scripted_server.forget()
    again = judge_matters(all_matters, tmp_path, options(scripted_model))
    assert list(map(untimed, again.lines)) == list(map(untimed, whole.lines))
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
def test_a_damaged_journal_is_refused_and_left_as_it_is(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
    spoil: bytes | None,
    error: type[Exception],
) -> None:
    scripted_server.behave_by(judge())
    judge_matters(all_matters[:2], tmp_path, options(scripted_model))
    path = tmp_path / JUDGED
    first = path.read_bytes().splitlines(True)[0]
    path.write_bytes(path.read_bytes() + (spoil or first))
    before = path.read_bytes()
    with pytest.raises(error):
        judge_matters(all_matters[:2], tmp_path, options(scripted_model))
    assert path.read_bytes() == before


def test_a_second_judge_in_the_folder_is_refused(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    from eval.running.journal import Journal

    scripted_server.behave_by(judge())
    with (
        Journal(tmp_path / JUDGED, 1),
        pytest.raises(WriteError, match="another run"),
    ):
        judge_matters(all_matters, tmp_path, options(scripted_model))
    assert not scripted_server.requests


def test_nothing_to_judge_is_no_failure(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    said = judge_matters([], tmp_path, options(scripted_model))
    assert said.lines == ()
    assert not scripted_server.requests
    report = judge_report(said, ())
    assert (report.open, report.agreed, report.kappa, report.usage) == (0, None, None, None)
    assert not errs_often(report)


# --- limits -----------------------------------------------------------------------------------


def priced(tmp_path: Path) -> ClientOptions:
    prices = tmp_path / "prices.json"
    price = {"prompt": 1000.0, "completion": 0.0}
    prices.write_text(json.dumps({f"custom/{ScriptedServer.model}": price}))
    return ClientOptions(max_retries=0, prices=prices)


def test_nothing_more_is_asked_once_too_much_was_paid(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    scripted_server.behave_by(judge())
    dear = JudgeOptions(
        models=(scripted_model,),
        client=priced(tmp_path),
        limits=Limits(max_cost=1.5, concurrency=1),
    )
    with pytest.raises(CostLimitError):
        judge_matters(all_matters, tmp_path, dear)
    held = file_of(tmp_path)
    assert 0 < len(held) < len(all_matters)
    paid = sum(line["usage"]["cost_usd"] for line in held)
    assert paid >= 1.5
    scripted_server.forget()
    with pytest.raises(CostLimitError):
        judge_matters(all_matters, tmp_path, dear)
    assert not scripted_server.requests, "what is held was paid for"
    more = JudgeOptions(models=(scripted_model,), client=priced(tmp_path), limits=Limits())
    assert len(judge_matters(all_matters, tmp_path, more).lines) == len(all_matters)
    assert len(scripted_server.requests) == 2 * (len(all_matters) - len(held))


def test_what_the_answers_cost_counts(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    from eval.running.totals import CallTotals

    scripted_server.behave_by(judge())
    spent = JudgeOptions(
        models=(scripted_model,),
        client=priced(tmp_path),
        limits=Limits(max_cost=1.5),
        spent=CallTotals(spent_usd=1.5),
    )
    with pytest.raises(CostLimitError):
        judge_matters(all_matters, tmp_path, spent)
    assert not scripted_server.requests


def test_a_judge_that_fails_over_and_over_is_left(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    scripted_server.behave(does.status(500))
    few = Limits(max_consecutive_errors=5, concurrency=1)
    with pytest.raises(TooManyErrorsError, match="5 claims in a row got no verdict") as caught:
        judge_matters(all_matters, tmp_path, options(scripted_model, limits=few))
    assert "--retry-errors" not in str(caught.value.hint)
    assert len(file_of(tmp_path)) == 5
    scripted_server.behave_by(judge())
    said = judge_matters(all_matters, tmp_path, options(scripted_model, limits=few))
    assert all(line.verdict for line in said.lines), "the same again asks what was lost"


def test_a_key_that_is_refused_ends_it_at_once(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    scripted_server.behave(does.expired_key())
    with pytest.raises(ModelAccessError):
        judge_matters(all_matters, tmp_path, options(scripted_model))
    assert len(scripted_server.requests) <= 2 * 16
    assert file_of(tmp_path) == []
