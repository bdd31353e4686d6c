"""``epoche synthlink score`` and ``run`` with a judge: asked, written, said and survived."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_commands import Forker
from jsonschema import Draft202012Validator
from servers import behaviours as does
from servers.behaviours import Asked, Behaviour
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from stage_calls import call, command, epoche, error_line, starved
from synthlink_judging_parts import (
    IDS,
    TOPICS,
    block,
    judge,
    judging,
    lines_of,
    scoring,
    write_shop,
)

from epoche.schemas import schema
from eval.synthlink.outputs import read_scored
from eval.synthlink.verdicts.record import JUDGED


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_shop(tmp_path)


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return found


def scores_of(folder: Path) -> dict[str, bytes]:
    """All that is made of predictions and verdicts, but for pages and what is of the moment."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name.startswith(("synthlink_", "manifest")) and path.name != JUDGED
    }


def deceived(asked: Asked) -> Behaviour:
    """A judge that takes every other fact for told, contradicts one claim, and fails at another."""
    claim = block(asked, "claim")
    if claim == TOPICS[1].said:
        return does.reply(lambda _: '{"verdict": "contradicted"}')
    if claim == TOPICS[2].said:
        return does.status(500)
    if claim == TOPICS[3].said:
        return does.reply(lambda _: '{"verdict": "not_told"}')
    return does.reply(lambda _: '{"verdict": "supported"}')


def test_verdicts_and_what_is_known_of_the_judge_stand_in_every_file(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    assert epoche(*scoring(shop, out="plain")).code == 0
    scripted_server.behave_by(deceived)
    done = epoche(*judging(shop, scripted_model))
    assert done.code == 0, done.err
    out = shop / "out"
    report = read_scored(out).report
    told = report.judge
    assert told is not None
    assert (told.open, told.asked, told.decided, told.lost, told.split) == (6, 6, 5, 1, 0)
    assert (told.models, told.planned, told.same) == ((scripted_model,), 2, False)
    assert (told.own_facts.value, told.own_facts.n) == (1.0, 12)
    assert (told.other_facts.value, told.other_supported.value) == (0.0, 1.0)
    assert told.lost_votes == {"call": 2}
    assert told.unanimous == 1.0
    assert told.usage is not None
    assert told.usage.prompt_tokens == sum(
        line["usage"]["prompt_tokens"] for line in lines_of(out) if line["usage"]
    )
    rows = {row.question_id: row for row in report.modes["corrected"].questions}
    found = [rows[id_].parts.claims[0] for id_ in IDS]
    assert [one.by for one in found] == ["judge", "judge", found[2].by, "judge", "judge", "judge"]
    assert found[2].by != "judge"
    assert [one.verdict for one in found[:2]] == ["licensed", "contradicted"]
    assert found[3].verdict == "unknown"
    # Without a judge the words decide, and that is kept beside.
    plain = read_scored(shop / "plain").report
    words = {row.question_id: row.parts.claims[0] for row in plain.modes["corrected"].questions}
    for id_, one in zip(IDS, found, strict=True):
        if one.by == "judge":
            assert one.words == words[id_].verdict
        else:
            assert one == words[id_]
    with (out / "synthlink_scores.csv").open() as handle:
        table = {r["question_id"]: r for r in csv.DictReader(handle) if r["mode"] == "corrected"}
    assert [int(table[id_]["claims_judged"]) for id_ in IDS] == [1, 1, 0, 1, 1, 1]
    assert table[IDS[1]]["claims_contradicted"] == "1"
    text = (out / "synthlink_overall_score.txt").read_text()
    for said in (
        f"{scripted_model} judged 5 of 6 claims that the graph left open, and agreed with words on",
        "the judge called supported 12 of 12 facts of the questions themselves",
        "the judge called supported 6 of 6 facts of other questions",
        "1 claim got no verdict from the judge: words decide there",
        "it errs so often on what is known",
        "votes of the judge that could not be had: 2 call",
    ):
        assert said in text
    manifest = manifest_of(out)
    held = manifest["judge"]
    assert held["models"][0]["model"] == scripted_model
    assert held["prompt"]["name"] == "synthlink_claim"
    assert (
        f"|judge:{held['sha256'][:12]}|verdicts:{held['verdicts_sha256'][:12]}"
        in (manifest["signature"])
    )
    assert manifest_of(shop / "plain")["judge"] is None
    assert "|judge:" not in manifest_of(shop / "plain")["signature"]
    assert "1 of 6 claims got no verdict from the judge, so words decided" in done.err
    assert f"judge: {told.usage.prompt_tokens:,} + {told.usage.completion_tokens:,} tokens" in (
        done.out
    )
    checker = Draft202012Validator(json.loads(schema("synthlink-judged")))
    for line in lines_of(out):
        checker.validate(line)
    page = (out / "report.html").read_text()
    assert f"{scripted_model} judged what the graph left open: 5 of 6 claims" in page
    assert "It errs so often on what is known" in page
    for name in ("manifest.json", "synthlink_scores.json", JUDGED):
        assert scripted_server.api_key not in (out / name).read_text()
        assert str(shop) not in (out / name).read_text()


def test_the_same_again_asks_nothing_and_gives_the_same_bytes(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    scripted_server.behave_by(judge())
    assert epoche(*judging(shop, scripted_model)).code == 0
    before, journal = scores_of(shop / "out"), (shop / "out" / JUDGED).read_bytes()
    scripted_server.forget()
    assert epoche(*judging(shop, scripted_model)).code == 0
    assert not scripted_server.requests
    assert scores_of(shop / "out") == before
    assert (shop / "out" / JUDGED).read_bytes() == journal
    # Without the judge the journal stays, and plays no part.
    assert epoche(*scoring(shop)).code == 0
    assert read_scored(shop / "out").report.judge is None
    assert (shop / "out" / JUDGED).read_bytes() == journal


def test_compared_files_are_judged_too(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    shop = write_shop(tmp_path)
    other = write_shop(
        tmp_path / "other", lambda place: f"They never heard of {TOPICS[place].said}"
    )
    scripted_server.behave_by(judge())
    compared = ("--compare", other / "predictions.json")
    done = epoche(*judging(shop, scripted_model, *compared))
    assert done.code == 0, done.err
    claims = [line for line in lines_of(shop / "out") if line["kind"] == "claim"]
    assert len(claims) == 12
    scored = read_scored(shop / "out")
    assert scored.report.judge is not None
    assert scored.report.judge.open == 6, "of the first file alone"
    fcs = scored.comparisons[0].modes["corrected"].measures["fcs"]
    assert fcs.value == 0.0, "contradicted, every one"
    first = scored.report.modes["corrected"].overall.measures["fcs"]
    assert first.value == 1.0


def test_refused_before_anything_is_asked(
    scripted_server: ScriptedServer,
    scripted_model: str,
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for more, code, said in (
        (("--mode", "literal"), 19, "literal"),
        (("--judge-repeats", 99), 19, "from 1 to 25"),
        (("--judge-model", scripted_model), 19, "named twice"),
        (("--compare", shop / "none.json"), 3, "none.json"),
    ):
        assert said in error_line(epoche(*judging(shop, scripted_model, *more)), code), more
    cached = [one for one in judging(shop, scripted_model) if one != "--no-cache"]
    assert "cache" in error_line(epoche(*cached, "--cache", shop / "out" / JUDGED), 15)
    assert "--judge-repeats" in error_line(epoche(*scoring(shop, "--judge-repeats", 3)), 19)
    error_line(epoche(*judging(shop, "nobody")), 23)
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    assert "is the model that answers" in error_line(epoche(*judging(shop, scripted_model)), 19)
    assert not scripted_server.requests
    assert not (shop / "out").exists()


def test_a_folder_of_another_kind_is_left_alone(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    (shop / "out").mkdir()
    (shop / "out" / "manifest.json").write_text('{"kind": "skn"}')
    assert "another kind" in error_line(epoche(*judging(shop, scripted_model)), 15)
    assert not scripted_server.requests
    assert not (shop / "out" / JUDGED).exists()


def test_a_judge_that_never_answers_is_a_failure_though_scores_are_there(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    scripted_server.behave(does.status(500))
    said = error_line(epoche(*judging(shop, scripted_model)), 27)
    assert "6 of 6 claims got no verdict" in said
    report = read_scored(shop / "out").report
    assert report.judge is not None
    assert (report.judge.decided, report.judge.own_facts.unjudged) == (0, 12)
    assert report.judge.own_facts.value is None
    scripted_server.behave_by(judge())
    assert epoche(*judging(shop, scripted_model)).code == 0
    again = read_scored(shop / "out").report.judge
    assert again is not None
    assert (again.decided, again.lost) == (6, 0)


# --- run --------------------------------------------------------------------------------------

AGENT = '''
from eval.synthlink.agents.trail import Round, Trail


class Sayer:
    """Answers from a table."""

    name = "sayer"

    def __init__(self, options):
        pass

    def params(self):
        return {}

    async def answer(self, question):
        told = TABLE[question]
        return Trail(answer=told, rounds=(Round(answer=told, done=True),))
'''


def running(shop: Path, model: str, *more: object) -> list[object]:
    files = ("--catalog", shop / "catalog.jsonl", "--pages", shop / "pages.jsonl")
    how = ("--retries", 0, "--no-cache", "--resamples", 100, "--out", shop / "out")
    judges = ("--judge-model", model)
    return ["synthlink", "run", "--system", "sayer_agent:Sayer", *files, *how, *judges, *more]


@pytest.fixture
def sayer(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = {topic.question: topic.said for topic in TOPICS}
    (shop / "sayer_agent.py").write_text(f"TABLE = {table!r}\n{AGENT}")
    monkeypatch.syspath_prepend(str(shop))
    return shop


def test_a_run_is_judged_where_it_is_scored(
    scripted_server: ScriptedServer, scripted_model: str, sayer: Path
) -> None:
    scripted_server.behave_by(judge())
    done = epoche(*running(sayer, scripted_model))
    assert done.code == 0, done.err
    report = read_scored(sayer / "out").report
    assert report.judge is not None
    assert report.judge.decided == 6
    scripted_server.forget()
    assert epoche(*running(sayer, scripted_model)).code == 0
    assert not scripted_server.requests
    # Rows that are asked anew take scores away, and no verdict that was paid for.
    assert epoche(*running(sayer, scripted_model, "--overwrite")).code == 0
    assert not scripted_server.requests
    said = error_line(epoche(*running(sayer, scripted_model, "--no-score")), 19)
    assert "what is judged is scored" in said


def test_a_run_without_a_model_may_be_judged_by_any(
    scripted_server: ScriptedServer,
    scripted_model: str,
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", scripted_model)
    scripted_server.behave_by(judge())
    arguments = running(shop, scripted_model)
    arguments[3] = "extractive"
    done = epoche(*arguments)
    assert done.code == 0, done.err
    report = read_scored(shop / "out").report
    assert report.judge is not None
    assert not report.judge.same
    # The same file scored on its own: its manifest says that no model answered.
    again = judging(shop, scripted_model)
    again[again.index(shop / "predictions.json")] = shop / "out" / "predictions.json"
    done = epoche(*again)
    assert done.code == 0, done.err


def test_the_judge_of_a_run_is_refused_before_the_run(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    arguments = running(shop, scripted_model, "--model", scripted_model)
    arguments[3] = "agent"
    assert "is the model that answers" in error_line(epoche(*arguments), 19)
    assert not scripted_server.requests
    assert not (shop / "out").exists()


# --- stopped ----------------------------------------------------------------------------------


@pytest.fixture
def forks(shop: Path, scripted_server: ScriptedServer, scripted_model: str) -> Iterator[Forker]:
    scripted_server.behave_by(judge())
    with Forker(shop) as forker:
        forker.warm_up(*judging(shop, scripted_model, out="whole"))
        yield forker


def without_times(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k != "latency_s"} for one in lines_of(folder)]


def test_a_judge_that_is_stopped_goes_on_from_there(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path, forks: Forker
) -> None:
    """Killed, interrupted, terminated; ``whole`` was never stopped."""
    codes = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
    for sent, code in codes.items():
        out = shop / sent.name
        scripted_server.behave_by(judge(delay=0.04))
        slow = judging(shop, scripted_model, "--concurrency", 2, out=sent.name)
        process = forks.start(*slow, folder=shop)
        deadline = time.monotonic() + 30
        while not ((out / JUDGED).exists() and (out / JUDGED).read_bytes().count(b"\n") >= 5):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(process.pid, sent)
        assert process.wait() == code
        lines = (out / JUDGED).read_bytes().splitlines(True)
        held = sum(line.endswith(b"\n") for line in lines)
        assert 5 <= held < 24
        assert not (out / "synthlink_scores.json").exists()
        if sent == signal.SIGINT:
            said = (shop / "stderr").read_text().splitlines()[-1]
            assert said == "interrupted: what was finished is saved"
        scripted_server.forget()
        scripted_server.behave_by(judge())
        assert forks.run(*judging(shop, scripted_model, out=sent.name), folder=shop) == 0
        assert len(scripted_server.requests) == 2 * (24 - held)
        assert without_times(out) == without_times(shop / "whole")
        assert scores_of(out) == scores_of(shop / "whole")


def test_a_full_disk_loses_no_verdict(
    scripted_server: ScriptedServer, scripted_model: str, shop: Path
) -> None:
    scripted_server.behave_by(judge())
    arguments = judging(shop, scripted_model, "--concurrency", 1)
    done = call(starved(command(*arguments), 3_000), shop)
    assert "cannot write" in error_line(done, 15)
    held = (shop / "out" / JUDGED).read_bytes()
    assert held.endswith(b"\n")
    assert 0 < held.count(b"\n") < 24
    assert not (shop / "out" / "synthlink_scores.json").exists()
    scripted_server.forget()
    assert epoche(*arguments).code == 0
    assert len(scripted_server.requests) == 2 * (24 - held.count(b"\n"))
    kept = (shop / "out" / JUDGED).read_bytes().splitlines()
    assert len(kept) == 24
    assert set(held.splitlines()) <= set(kept)


def test_a_real_server_is_held_to_the_form_of_a_verdict(
    llama_server: LlamaServer, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    rows = json.loads((shop / "predictions.json").read_bytes())[:1]
    (shop / "predictions.json").write_text(json.dumps(rows))
    arguments = judging(shop, f"custom/{llama_server.model}")
    done = epoche(*arguments)
    assert done.code == 0, done.err
    lines = lines_of(shop / "out")
    assert [line["kind"] for line in lines] == ["claim", "own fact", "own fact", "other fact"]
    for line in lines:
        assert not line["lost"], "noise, in one of three words"
        assert line["split"] or line["verdict"] in {"supported", "contradicted", "not_told"}
        assert line["usage"]["prompt_tokens"] > 200
    before = scores_of(shop / "out")
    shutil.copy(shop / "out" / JUDGED, shop / "journal")
    assert epoche(*arguments).code == 0
    assert scores_of(shop / "out") == before
    assert (shop / "out" / JUDGED).read_bytes() == (shop / "journal").read_bytes()
