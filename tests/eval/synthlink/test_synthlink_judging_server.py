"""Tests judges of claims with faulty replies and with a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from servers import behaviours
from servers.behaviours import Behaviour, ChatRequest
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from synthlink_judge_parts import (
    QUESTION_IDS,
    make_judge_model,
    make_judge_options,
    read_block,
    read_journal,
)

from eval.harness.session import RunLimits
from eval.model.options import ClientOptions
from eval.synthlink.judges.judge_items import JudgeItem
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement, VerdictLine
from kg.base.errors import SettingError


def group_verdicts_by_kind(judgement: Judgement) -> dict[str, list[str | None]]:
    verdicts: dict[str, list[str | None]] = {}
    for line in judgement.lines:
        verdicts.setdefault(line.kind, []).append(line.verdict)
    return verdicts


def test_good_judge_passes_the_anchors(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_judge_model())
    judgement = collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    assert group_verdicts_by_kind(judgement) == {
        "claim": ["supported"] * 6,
        "own fact": ["supported"] * 12,
        "other fact": ["not_told"] * 6,
        "negated": ["contradicted"] * 6,
        "reversed": ["contradicted"] * 6,
        "swapped": ["not_told"] * 6,
    }
    assert len(scripted_server.requests) == 2 * len(all_judge_items), (
        "two votes per item and no deciding vote"
    )
    assert [line.claim for line in judgement.lines] == [item.view.claim for item in all_judge_items]
    journal_lines = (tmp_path / JUDGED_FILE).read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=VerdictLine) for line in journal_lines] == list(
        judgement.lines
    )
    assert judgement.models == (scripted_model,)
    for line in judgement.lines:
        assert (line.votes[0], len(line.votes), line.planned) == (line.verdict, 2, 2)
        assert line.usage is not None
        assert line.usage.prompt_tokens > 100
        assert line.latency_s is not None
    for request in scripted_server.requests:
        assert not any(id_ in request.prompt for id_ in QUESTION_IDS)
        assert "iterations" not in request.prompt
    prompts = {request.prompt for request in scripted_server.requests}
    assert len(prompts) == len(scripted_server.requests), "every vote has its own prompt"
    params = json.dumps(judgement.params)
    assert scripted_server.api_key not in params
    assert str(tmp_path) not in params


def make_voting_judge(votes: Sequence[str | None]) -> Callable[[ChatRequest], Behaviour]:
    """Makes a judge that gives these votes in turn for each claim; None is a failed call."""
    vote_counts: dict[str, int] = {}

    def choose_reply(request: ChatRequest) -> Behaviour:
        claim = read_block(request, "claim")
        position = vote_counts.get(claim, 0)
        vote_counts[claim] = position + 1
        vote = votes[min(position, len(votes) - 1)]
        if vote is None:
            return behaviours.http_error(500)
        return behaviours.normal_reply(lambda _: json.dumps({"verdict": vote}))

    return choose_reply


@pytest.mark.parametrize(
    ("votes", "expected_verdict", "split", "expected_requests"),
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
    expected_verdict: str | None,
    split: bool,
    expected_requests: int,
) -> None:
    scripted_server.behave_with(make_voting_judge(votes))
    (line,) = collect_verdicts(
        all_judge_items[:1], tmp_path, make_judge_options(scripted_model)
    ).lines
    assert (line.verdict, line.split) == (expected_verdict, split)
    assert len(scripted_server.requests) == expected_requests
    assert len(line.lost) == line.votes.count(None) == votes[:expected_requests].count(None)
    assert all(
        (lost_vote.kind, lost_vote.model) == ("call", scripted_model) for lost_vote in line.lost
    )
    # A second call asks only the items without an outcome.
    scripted_server.clear_log()
    scripted_server.behave_with(make_judge_model())
    (repeated_line,) = collect_verdicts(
        all_judge_items[:1], tmp_path, make_judge_options(scripted_model)
    ).lines
    if line.has_outcome:
        assert repeated_line == line
        assert not scripted_server.requests
    else:
        assert repeated_line.verdict == "supported"
        assert len(scripted_server.requests) == 2
    assert len(read_journal(tmp_path)) == 1


def make_reply_behaviour(text: str) -> Callable[[], Behaviour]:
    return lambda: behaviours.normal_reply(lambda _: text)


def to_json_text(**fields: object) -> str:
    return json.dumps(fields)


SUPPORTED_REPLY = to_json_text(verdict="supported")
FAULTY_REPLIES: dict[str, tuple[str, Callable[[], Behaviour]]] = {
    "another verdict": ("unreadable", make_reply_behaviour(to_json_text(verdict="true"))),
    "in capitals": ("unreadable", make_reply_behaviour(to_json_text(verdict="SUPPORTED"))),
    "no verdict": ("unreadable", make_reply_behaviour(to_json_text(reason="It is so."))),
    "a number": ("unreadable", make_reply_behaviour(to_json_text(verdict=1))),
    "a list of one": (
        "unreadable",
        make_reply_behaviour(f"[{SUPPORTED_REPLY}]"),
    ),
    "two verdicts": (
        "unreadable",
        make_reply_behaviour('{"verdict": "supported", "verdict": "not_told"}'),
    ),
    "prose": ("unreadable", make_reply_behaviour("I should say that it is supported.")),
    "a nest": ("unreadable", make_reply_behaviour("[" * 50_000)),
    "half a character": ("unreadable", make_reply_behaviour('{"verdict": "\\ud800"}')),
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


@pytest.mark.parametrize("fault", FAULTY_REPLIES)
def test_faulty_reply_is_a_failed_vote(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
    fault: str,
) -> None:
    kind, behaviour = FAULTY_REPLIES[fault]
    faulty_claim = all_judge_items[0].view.claim
    scripted_server.behave_with(
        lambda request: (
            behaviour()
            if read_block(request, "claim") == faulty_claim
            else make_judge_model()(request)
        )
    )
    faulty_line, next_line = collect_verdicts(
        all_judge_items[:2], tmp_path, make_judge_options(scripted_model)
    ).lines
    assert (faulty_line.verdict, faulty_line.split, faulty_line.votes) == (
        None,
        False,
        (None, None),
    )
    assert [lost_vote.kind for lost_vote in faulty_line.lost] == [kind] * 2
    assert all(0 < len(lost_vote.problem) <= 310 for lost_vote in faulty_line.lost)
    assert (next_line.verdict, next_line.lost) == ("supported", ())


def test_votes_of_several_models_name_their_model(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    other_model = "custom/scripted-2"
    is_other_model = lambda request: request.body["model"] == "scripted-2"  # noqa: E731
    scripted_server.behave_with(
        lambda request: (
            behaviours.http_error(500) if is_other_model(request) else make_judge_model()(request)
        )
    )
    judgement = collect_verdicts(
        all_judge_items[:2], tmp_path, make_judge_options(scripted_model, other_model)
    )
    assert (judgement.planned, judgement.models) == (4, (scripted_model, other_model))
    for line in judgement.lines:
        assert line.verdict == "supported", "half of the planned votes are enough"
        assert [lost_vote.model for lost_vote in line.lost] == [other_model] * 2


def test_answering_model_judges_only_on_request(
    scripted_model: str, all_judge_items: list[JudgeItem], tmp_path: Path
) -> None:
    from eval.synthlink.answer_source import AnswerSource

    own, other = AnswerSource(scripted_model), AnswerSource(None, by_model=False)
    for answerers in ((own,), (other, own), (other, other, own)):
        with pytest.raises(SettingError, match="is the model that answers"):
            collect_verdicts(
                all_judge_items, tmp_path, make_judge_options(scripted_model, answerers=answerers)
            )
    assert not (tmp_path / JUDGED_FILE).exists()
    # ``same`` says that the model that answers also judges.
    assert make_judge_options("same", answerers=(own, own)).select_judges().same
    assert not make_judge_options(scripted_model, answerers=(other,)).select_judges().same
    with pytest.raises(SettingError, match="can vote 1 to"):
        make_judge_options(scripted_model, answerers=(other,), repeats=26).select_judges()


def test_position_biased_judge_disagrees_with_itself(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    def reply_by_position(request: ChatRequest) -> str:
        content = str(request.body["messages"][1]["content"])
        claim_first = content.index("<claim>") < content.index("<question>")
        verdict = "supported" if claim_first else "not_told"
        return json.dumps({"verdict": verdict})

    scripted_server.behave(behaviours.normal_reply(reply_by_position))
    judgement = collect_verdicts(all_judge_items, tmp_path, make_judge_options(scripted_model))
    tied_lines = [line for line in judgement.lines if len(line.votes) > 2]
    assert len(tied_lines) > len(judgement.lines) / 5


def test_items_with_the_same_evidence_are_judged_one_after_another(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    scripted_server.behave_with(make_judge_model())
    # Interleaved, so that their own order does not keep them together.
    items = all_judge_items[::2] + all_judge_items[1::2]
    options = make_judge_options(scripted_model, repeats=1, limits=RunLimits(concurrency=1))
    collect_verdicts(items, tmp_path, options)
    evidence = [
        (read_block(request, "question"), frozenset(read_block(request, "evidence").splitlines()))
        for request in scripted_server.requests
    ]
    blocks = [
        frozenset(line.partition(". ")[2] for line in lines) | {question}
        for question, lines in evidence
    ]
    assert len(blocks) == len(items)
    changes = sum(first != second for first, second in pairwise(blocks))
    assert changes == len(set(blocks)) - 1 < len(blocks) - 1


def test_either_of_two_disagreeing_models_casts_the_fifth_vote(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_judge_items: list[JudgeItem],
    tmp_path: Path,
) -> None:
    def reply_by_model(request: ChatRequest) -> str:
        verdict = "not_told" if request.body["model"] == "scripted-2" else "supported"
        return json.dumps({"verdict": verdict})

    scripted_server.behave(behaviours.normal_reply(reply_by_model))
    judgement = collect_verdicts(
        all_judge_items, tmp_path, make_judge_options(scripted_model, "custom/scripted-2")
    )
    assert {len(line.votes) for line in judgement.lines} == {5}
    assert {line.votes[-1] for line in judgement.lines} == {"supported", "not_told"}
    assert all(line.verdict == line.votes[-1] for line in judgement.lines)


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
    # A claim, an own fact and a fact of another question.
    items = [all_judge_items[0], all_judge_items[6], all_judge_items[8]]
    options = JudgeOptions(
        models=(f"custom/{llama_server.model}",), client=ClientOptions(cache=tmp_path / "c.sqlite")
    )
    judgement = collect_verdicts(items, tmp_path, options)
    assert [line.kind for line in judgement.lines] == [item.kind for item in items]
    for line in judgement.lines:
        assert len(line.votes) >= 2
        assert line.votes.count(None) == len(line.lost)
        assert {lost_vote.kind for lost_vote in line.lost} <= {"unreadable"}, "no call may fail"
        assert set(line.votes) <= {"supported", "contradicted", "not_told", None}
        assert line.usage is not None
        assert line.usage.prompt_tokens > 200
    before = (tmp_path / JUDGED_FILE).read_bytes()
    cached_judgement = collect_verdicts(items, tmp_path, options)
    assert [(line.votes, line.lost) for line in cached_judgement.lines] == [
        (line.votes, line.lost) for line in judgement.lines
    ], "the cache replays the same replies"
    assert len((tmp_path / JUDGED_FILE).read_bytes().splitlines()) == len(before.splitlines())
