"""Judges of claims on a faulty server and on a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import Behaviour, ChatRequest
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from synthlink_judge_parts import (
    QUESTION_IDS,
    judge_model,
    judge_options,
    read_block,
    read_journal_lines,
)

from eval.model.options import ClientOptions
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement, VerdictLine
from kg.base.errors import (
    SettingError,
)


def verdicts_by_kind(judgement: Judgement) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for line in judgement.lines:
        found.setdefault(line.kind, []).append(line.verdict)
    return found


def test_good_judge_passes_the_anchors(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(judge_model())
    said = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    assert verdicts_by_kind(said) == {
        "claim": ["supported"] * 6,
        "own fact": ["supported"] * 12,
        "other fact": ["not_told"] * 6,
    }
    assert len(scripted_server.requests) == 48, "two votes per item and no deciding vote"
    assert [line.claim for line in said.lines] == [one.view.claim for one in all_judge_items]
    written = (tmp_path / JUDGED_FILE).read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=VerdictLine) for line in written] == list(said.lines)
    assert said.models == (scripted_model,)
    for line in said.lines:
        assert (line.votes[0], len(line.votes), line.planned) == (line.verdict, 2, 2)
        assert line.usage is not None
        assert line.usage.prompt_tokens > 100
        assert line.latency_s is not None
    for asked in scripted_server.requests:
        assert not any(id_ in asked.prompt for id_ in QUESTION_IDS)
        assert "iterations" not in asked.prompt
    prompts = {asked.prompt for asked in scripted_server.requests}
    assert len(prompts) == 48, "every vote has its own prompt"
    params = json.dumps(said.params)
    assert scripted_server.api_key not in params
    assert str(tmp_path) not in params


def vote_in_turn(votes: Sequence[str | None]) -> Callable[[ChatRequest], Behaviour]:
    """A judge that gives these votes in turn for each claim; None is a failed call."""
    seen: dict[str, int] = {}

    def choose_reply(request: ChatRequest) -> Behaviour:
        claim = read_block(request, "claim")
        place = seen.get(claim, 0)
        seen[claim] = place + 1
        vote = votes[min(place, len(votes) - 1)]
        if vote is None:
            return behaviours.http_error(500)
        return behaviours.normal_reply(lambda _: json.dumps({"verdict": vote}))

    return choose_reply


@pytest.mark.parametrize(
    ("votes", "verdict_", "split", "requests"),
    [
        (("supported", "not_told", "supported"), "supported", False, 3),
        (("supported", "not_told", "not_told"), "not_told", False, 3),
        (("supported", "not_told", "contradicted"), None, True, 3),
        (("supported", "not_told", None), None, False, 3),
        (("contradicted", None), "contradicted", False, 2),
        ((None, None), None, False, 2),
    ],
)
def test_third_vote_decides_a_tie(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    votes: tuple[str | None, ...],
    verdict_: str | None,
    split: bool,
    requests: int,
) -> None:
    scripted_server.behave_with(vote_in_turn(votes))
    (line,) = collect_verdicts(all_judge_items[:1], tmp_path, judge_options(scripted_model)).lines
    assert (line.verdict, line.split) == (verdict_, split)
    assert len(scripted_server.requests) == requests
    assert len(line.lost) == line.votes.count(None) == votes[:requests].count(None)
    assert all((one.kind, one.model) == ("call", scripted_model) for one in line.lost)
    # Only failed items are asked again.
    scripted_server.clear_log()
    scripted_server.behave_with(judge_model())
    (again,) = collect_verdicts(all_judge_items[:1], tmp_path, judge_options(scripted_model)).lines
    if line.has_outcome:
        assert again == line
        assert not scripted_server.requests
    else:
        assert again.verdict == "supported"
        assert len(scripted_server.requests) == 2
    assert len(read_journal_lines(tmp_path)) == 1


def reply_with(text: str) -> Callable[[], Behaviour]:
    return lambda: behaviours.normal_reply(lambda _: text)


def to_json_text(**fields: object) -> str:
    return json.dumps(fields)


GOOD = to_json_text(verdict="supported")
FAULTS: dict[str, tuple[str, Callable[[], Behaviour]]] = {
    "another verdict": ("unreadable", reply_with(to_json_text(verdict="true"))),
    "in capitals": ("unreadable", reply_with(to_json_text(verdict="SUPPORTED"))),
    "no verdict": ("unreadable", reply_with(to_json_text(reason="It is so."))),
    "a number": ("unreadable", reply_with(to_json_text(verdict=1))),
    "a list of one": (
        "unreadable",
        reply_with(f"[{GOOD}]"),
    ),
    "two verdicts": (
        "unreadable",
        reply_with('{"verdict": "supported", "verdict": "not_told"}'),
    ),
    "prose": ("unreadable", reply_with("I should say that it is supported.")),
    "a nest": ("unreadable", reply_with("[" * 50_000)),
    "half a character": ("unreadable", reply_with('{"verdict": "\\ud800"}')),
    "empty": ("unreadable", behaviours.empty_text_reply),
    "no text": ("unreadable", behaviours.null_text_reply),
    "megabytes": ("unreadable", lambda: behaviours.huge_reply(1)),
    "refusal": ("refused", behaviours.refusal_reply),
    "filter": ("refused", behaviours.filtered_reply),
    "500": ("call", lambda: behaviours.http_error(500)),
    "reset": ("call", behaviours.reset_connection),
    "half a body": ("call", behaviours.half_json_reply),
    "no choices": ("call", behaviours.reply_without_choices),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_reply_is_a_failed_vote(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    fault: str,
) -> None:
    kind, behaviour = FAULTS[fault]
    bad = all_judge_items[0].view.claim
    scripted_server.behave_with(
        lambda request: (
            behaviour() if read_block(request, "claim") == bad else judge_model()(request)
        )
    )
    first, second = collect_verdicts(
        all_judge_items[:2], tmp_path, judge_options(scripted_model)
    ).lines
    assert (first.verdict, first.split, first.votes) == (None, False, (None, None))
    assert [one.kind for one in first.lost] == [kind] * 2
    assert all(0 < len(one.problem) <= 310 for one in first.lost)
    assert (second.verdict, second.lost) == ("supported", ())


def test_votes_of_several_models_name_their_model(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    other = "custom/scripted-2"
    failing = lambda request: request.body["model"] == "scripted-2"  # noqa: E731
    scripted_server.behave_with(
        lambda request: behaviours.http_error(500) if failing(request) else judge_model()(request)
    )
    said = collect_verdicts(all_judge_items[:2], tmp_path, judge_options(scripted_model, other))
    assert (said.planned, said.models) == (4, (scripted_model, other))
    for line in said.lines:
        assert line.verdict == "supported", "half of the planned votes are enough"
        assert [one.model for one in line.lost] == [other] * 2


def test_answering_model_judges_only_on_request(
    scripted_model: str, all_judge_items: list[JudgeItem], tmp_path: Path
) -> None:
    from eval.synthlink.running.answerer import Answerer

    own, other = Answerer(scripted_model), Answerer(None, by_model=False)
    for answerers in ((own,), (other, own), (other, other, own)):
        with pytest.raises(SettingError, match="is the model that answers"):
            collect_verdicts(
                all_judge_items, tmp_path, judge_options(scripted_model, answerers=answerers)
            )
    assert not (tmp_path / JUDGED_FILE).exists()
    assert judge_options("same", answerers=(own, own)).select_judges().same
    assert not judge_options(scripted_model, answerers=(other,)).select_judges().same
    with pytest.raises(SettingError, match="can vote 1 to"):
        judge_options(scripted_model, answerers=(other,), repeats=26).select_judges()


def test_position_biased_judge_disagrees_with_itself(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    def reply_by_position(request: ChatRequest) -> str:
        content = str(request.body["messages"][1]["content"])
        first = content.index("<claim>") < content.index("<evidence>")
        found = "supported" if first else "not_told"
        return json.dumps({"verdict": found})

    scripted_server.behave(behaviours.normal_reply(reply_by_position))
    said = collect_verdicts(all_judge_items, tmp_path, judge_options(scripted_model))
    differing = [line for line in said.lines if len(line.votes) > 2]
    assert len(differing) > len(said.lines) / 5


def test_deciding_model_varies_when_models_differ(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    def reply_by_model(request: ChatRequest) -> str:
        found = "not_told" if request.body["model"] == "scripted-2" else "supported"
        return json.dumps({"verdict": found})

    scripted_server.behave(behaviours.normal_reply(reply_by_model))
    said = collect_verdicts(
        all_judge_items, tmp_path, judge_options(scripted_model, "custom/scripted-2")
    )
    assert {len(line.votes) for line in said.lines} == {5}
    assert {line.votes[-1] for line in said.lines} == {"supported", "not_told"}
    assert all(line.verdict == line.votes[-1] for line in said.lines)


# --- a real server ----------------------------------------------------------------------------


def test_random_replies_of_a_real_server_are_valid_verdicts(
    llama_server: LlamaServer,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model is random; the server's grammar restricts it to the three verdicts."""
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    few = [all_judge_items[0], all_judge_items[6], all_judge_items[8]]
    chosen = JudgeOptions(
        models=(f"custom/{llama_server.model}",), client=ClientOptions(cache=tmp_path / "c.sqlite")
    )
    said = collect_verdicts(few, tmp_path, chosen)
    assert [line.kind for line in said.lines] == [one.kind for one in few]
    for line in said.lines:
        assert len(line.votes) >= 2
        assert line.votes.count(None) == len(line.lost)
        assert {one.kind for one in line.lost} <= {"unreadable"}, "no call may fail"
        assert set(line.votes) <= {"supported", "contradicted", "not_told", None}
        assert line.usage is not None
        assert line.usage.prompt_tokens > 200
    before = (tmp_path / JUDGED_FILE).read_bytes()
    again = collect_verdicts(few, tmp_path, chosen)
    assert [(line.votes, line.lost) for line in again.lines] == [
        (line.votes, line.lost) for line in said.lines
    ], "from the cache"
    assert len((tmp_path / JUDGED_FILE).read_bytes().splitlines()) == len(before.splitlines())
