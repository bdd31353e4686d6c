"""Judges of claims on a server that fails in every way, and on a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from servers import behaviours as does
from servers.behaviours import Asked, Behaviour
from servers.llama_server import LlamaServer
from servers.scripted_server import ScriptedServer
from synthlink_judging_parts import (
    IDS,
    block,
    file_of,
    judge,
    options,
)

from eval.model.options import ClientOptions
from eval.synthlink.judging.judging_run import JudgeOptions, judge_matters
from eval.synthlink.judging.matters import Matter
from eval.synthlink.verdicts.record import JUDGED, JudgedLine, Judgement
from kg.base.errors import (
    SettingError,
)


def kinds(judgement: Judgement) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for line in judgement.lines:
        found.setdefault(line.kind, []).append(line.verdict)
    return found


def test_a_good_judge_knows_the_anchors(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    scripted_server.behave_by(judge())
    said = judge_matters(all_matters, tmp_path, options(scripted_model))
    assert kinds(said) == {
        "claim": ["supported"] * 6,
        "own fact": ["supported"] * 12,
        "other fact": ["not_told"] * 6,
    }
    assert len(scripted_server.requests) == 48, "two votes each, and none to decide"
    assert [line.claim for line in said.lines] == [one.shown.claim for one in all_matters]
    written = (tmp_path / JUDGED).read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=JudgedLine) for line in written] == list(said.lines)
    assert said.models == (scripted_model,)
    for line in said.lines:
        assert (line.votes[0], len(line.votes), line.planned) == (line.verdict, 2, 2)
        assert line.usage is not None
        assert line.usage.prompt_tokens > 100
        assert line.latency_s is not None
    for asked in scripted_server.requests:
        assert not any(id_ in asked.prompt for id_ in IDS)
        assert "iterations" not in asked.prompt
    prompts = {asked.prompt for asked in scripted_server.requests}
    assert len(prompts) == 48, "no vote is shown what another is"
    params = json.dumps(said.params)
    assert scripted_server.api_key not in params
    assert str(tmp_path) not in params


def third(votes: Sequence[str | None]) -> Callable[[Asked], Behaviour]:
    """A judge that says one thing after the other of each claim; null is a failed call."""
    seen: dict[str, int] = {}

    def pick(asked: Asked) -> Behaviour:
        claim = block(asked, "claim")
        place = seen.get(claim, 0)
        seen[claim] = place + 1
        vote = votes[min(place, len(votes) - 1)]
        if vote is None:
            return does.status(500)
        return does.reply(lambda _: json.dumps({"verdict": vote}))

    return pick


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
def test_where_two_votes_differ_a_third_decides(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
    votes: tuple[str | None, ...],
    verdict_: str | None,
    split: bool,
    requests: int,
) -> None:
    scripted_server.behave_by(third(votes))
    (line,) = judge_matters(all_matters[:1], tmp_path, options(scripted_model)).lines
    assert (line.verdict, line.split) == (verdict_, split)
    assert len(scripted_server.requests) == requests
    assert len(line.lost) == line.votes.count(None) == votes[:requests].count(None)
    assert all((one.kind, one.model) == ("call", scripted_model) for one in line.lost)
    # What came to nothing is asked again, and nothing else is.
    scripted_server.forget()
    scripted_server.behave_by(judge())
    (again,) = judge_matters(all_matters[:1], tmp_path, options(scripted_model)).lines
    if line.came_about:
        assert again == line
        assert not scripted_server.requests
    else:
        assert again.verdict == "supported"
        assert len(scripted_server.requests) == 2
    assert len(file_of(tmp_path)) == 1


def said_badly(text: str) -> Callable[[], Behaviour]:
    return lambda: does.reply(lambda _: text)


def as_text(**fields: object) -> str:
    return json.dumps(fields)


GOOD = as_text(verdict="supported")
FAULTS: dict[str, tuple[str, Callable[[], Behaviour]]] = {
    "another verdict": ("unreadable", said_badly(as_text(verdict="true"))),
    "in capitals": ("unreadable", said_badly(as_text(verdict="SUPPORTED"))),
    "no verdict": ("unreadable", said_badly(as_text(reason="It is so."))),
    "a number": ("unreadable", said_badly(as_text(verdict=1))),
    "a list of one": (
        "unreadable",
        said_badly(f"[{GOOD}]"),
    ),
    "two verdicts": (
        "unreadable",
        said_badly('{"verdict": "supported", "verdict": "not_told"}'),
    ),
    "prose": ("unreadable", said_badly("I should say that it is supported.")),
    "a nest": ("unreadable", said_badly("[" * 50_000)),
    "half a character": ("unreadable", said_badly('{"verdict": "\\ud800"}')),
    "empty": ("unreadable", does.empty_text),
    "no text": ("unreadable", does.null_text),
    "megabytes": ("unreadable", lambda: does.huge(1)),
    "refusal": ("refused", does.refusal),
    "filter": ("refused", does.filtered),
    "500": ("call", lambda: does.status(500)),
    "reset": ("call", does.reset),
    "half a body": ("call", does.half_json),
    "no choices": ("call", does.no_choices),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_reply_is_a_lost_vote_and_never_a_verdict(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
    fault: str,
) -> None:
    kind, behaviour = FAULTS[fault]
    bad = all_matters[0].shown.claim
    scripted_server.behave_by(
        lambda asked: behaviour() if block(asked, "claim") == bad else judge()(asked)
    )
    first, second = judge_matters(all_matters[:2], tmp_path, options(scripted_model)).lines
    assert (first.verdict, first.split, first.votes) == (None, False, (None, None))
    assert [one.kind for one in first.lost] == [kind] * 2
    assert all(0 < len(one.problem) <= 310 for one in first.lost)
    assert (second.verdict, second.lost) == ("supported", ())


def test_several_models_vote_and_each_vote_names_its_model(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    other = "custom/scripted-2"
    failing = lambda asked: asked.body["model"] == "scripted-2"  # noqa: E731
    scripted_server.behave_by(lambda asked: does.status(500) if failing(asked) else judge()(asked))
    said = judge_matters(all_matters[:2], tmp_path, options(scripted_model, other))
    assert (said.planned, said.models) == (4, (scripted_model, other))
    for line in said.lines:
        assert line.verdict == "supported", "half of the planned votes are enough"
        assert [one.model for one in line.lost] == [other] * 2


def test_who_answered_does_not_judge_unless_asked_to(
    scripted_model: str, all_matters: list[Matter], tmp_path: Path
) -> None:
    from eval.synthlink.running.answerer import Answerer

    own, other = Answerer(scripted_model), Answerer(None, by_model=False)
    for answerers in ((own,), (other, own), (other, other, own)):
        with pytest.raises(SettingError, match="is the model that answers"):
            judge_matters(all_matters, tmp_path, options(scripted_model, answerers=answerers))
    assert not (tmp_path / JUDGED).exists()
    assert options("same", answerers=(own, own)).choose().same
    assert not options(scripted_model, answerers=(other,)).choose().same
    with pytest.raises(SettingError, match="from 1 to"):
        options(scripted_model, answerers=(other,), repeats=26).choose()


def test_a_judge_who_goes_by_position_disagrees_with_itself(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    def by_position(asked: Asked) -> str:
        content = str(asked.body["messages"][1]["content"])
        first = content.index("<claim>") < content.index("<evidence>")
        found = "supported" if first else "not_told"
        return json.dumps({"verdict": found})

    scripted_server.behave(does.reply(by_position))
    said = judge_matters(all_matters, tmp_path, options(scripted_model))
    differing = [line for line in said.lines if len(line.votes) > 2]
    assert len(differing) > len(said.lines) / 5


def test_where_models_differ_none_is_always_the_one_that_decides(
    scripted_server: ScriptedServer,
    scripted_model: str,
    all_matters: list[Matter],
    tmp_path: Path,
) -> None:
    def by_model(asked: Asked) -> str:
        found = "not_told" if asked.body["model"] == "scripted-2" else "supported"
        return json.dumps({"verdict": found})

    scripted_server.behave(does.reply(by_model))
    said = judge_matters(all_matters, tmp_path, options(scripted_model, "custom/scripted-2"))
    assert {len(line.votes) for line in said.lines} == {5}
    assert {line.votes[-1] for line in said.lines} == {"supported", "not_told"}
    assert all(line.verdict == line.votes[-1] for line in said.lines)


# --- a real server ----------------------------------------------------------------------------


def test_noise_from_a_real_server_has_the_form_of_a_verdict(
    llama_server: LlamaServer,
    all_matters: list[Matter],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model is noise; the server's grammar makes it choose one of three words all the same."""
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", llama_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", llama_server.api_key)
    few = [all_matters[0], all_matters[6], all_matters[8]]
    chosen = JudgeOptions(
        models=(f"custom/{llama_server.model}",), client=ClientOptions(cache=tmp_path / "c.sqlite")
    )
    said = judge_matters(few, tmp_path, chosen)
    assert [line.kind for line in said.lines] == [one.kind for one in few]
    for line in said.lines:
        assert len(line.votes) >= 2
        assert line.votes.count(None) == len(line.lost)
        assert {one.kind for one in line.lost} <= {"unreadable"}, "no call fails"
        assert set(line.votes) <= {"supported", "contradicted", "not_told", None}
        assert line.usage is not None
        assert line.usage.prompt_tokens > 200
    before = (tmp_path / JUDGED).read_bytes()
    again = judge_matters(few, tmp_path, chosen)
    assert [(line.votes, line.lost) for line in again.lines] == [
        (line.votes, line.lost) for line in said.lines
    ], "from the cache"
    assert len((tmp_path / JUDGED).read_bytes().splitlines()) == len(before.splitlines())
