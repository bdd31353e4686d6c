"""A run through a server: what is asked in which order, and every way in which replies go wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import behaviours as does
from servers.behaviours import Asked
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    SAID,
    SKN,
    broken,
    ended,
    model,
    online,
    part_of,
    rows_of,
    shop_of,
    untimed,
)
from stage_calls import Done, epoche, error_line

from eval.skn.pipelines import ABLATION_PIPELINES

COUNT = 4
JUDGE = "custom/judge-1"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_of(tmp_path, COUNT)


@pytest.fixture
def asking(shop: Path, scripted_model: str) -> Callable[..., list[object]]:
    """The command, with another judge than the model that answers."""

    def arguments(*more: object, out: str = "out", judge: str = JUDGE) -> list[object]:
        return online(shop, scripted_model, *more, out=out, judge=judge)

    return arguments


def test_who_is_asked_what_and_when(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(model())
    rows = ended(epoche(*asking("--ablation", "--concurrency", 1)), shop / "out")
    assert len(rows) == COUNT * 8
    assert {row["outcome"] for row in rows} == {"ANSWERED", "ABSTAINED"}
    parts = [part_of(asked) for asked in scripted_server.requests]
    assert parts[:2] == ["warm-up"] * 2, "both models, before anything is measured"
    assert parts.count("warm-up") == 2
    models = {(part_of(asked), str(asked.body["model"])) for asked in scripted_server.requests[2:]}
    judges = {"accuracy", "hallucination", "groundedness"}
    assert {name for part, name in models if part in judges} == {"judge-1"}
    assert {name for part, name in models if part not in judges} == {scripted_server.model}
    extracted = [
        (str(asked.body["messages"][1]["content"]).split("service ")[1][0], part_of(asked))
        for asked in scripted_server.requests
        if part_of(asked) not in {*judges, "agent", "warm-up"}
    ]
    assert len(extracted) == COUNT * 8
    assert extracted != sorted(extracted, key=lambda one: one[0]), "not sample by sample"
    scripted_server.forget()
    again = ended(epoche(*asking("--ablation", "--concurrency", 16, out="b")), shop / "b")
    assert untimed(again) == untimed(rows)
    manifest = json.loads((shop / "out" / "manifest.json").read_bytes())
    assert (manifest["model"], manifest["judge_model"]) == ("custom/scripted-1", JUDGE)
    assert manifest["same_judge"] is False
    tokens = sum(asked_tokens(row) for row in rows)
    anchors = [json.loads(line) for line in (shop / "out/anchors.jsonl").read_bytes().splitlines()]
    assert len(anchors) == sum(1 for number in range(COUNT) if number % 3 != 2)
    tokens += sum(anchor["usage"]["prompt_tokens"] for anchor in anchors)
    assert manifest["calls"]["prompt_tokens"] == tokens, "warming up is in no sum of the rows"
    assert manifest["calls"]["replies"] == len(scripted_server.requests)


def asked_tokens(row: dict[str, Any]) -> int:
    judged = (row["verdicts"] or {}).get("usage") or {"prompt_tokens": 0}
    return int(row["usage"]["prompt_tokens"]) + int(judged["prompt_tokens"])


def test_the_question_is_shown_to_all_extractors_or_none(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(model())
    for flags, out, shown in (((), "a", True), (("--hide-question",), "b", False)):
        scripted_server.forget()
        ended(epoche(*asking("--ablation", "--limit", 1, *flags, out=out)), shop / out)
        extractors = [
            asked
            for asked in scripted_server.requests
            if part_of(asked) in {"skn", "json", "json_conf", "json_meta"}
        ]
        assert len(extractors) == 8
        assert {"<question>\nWhy" in asked.prompt for asked in extractors} == {shown}
        assert {asked.body["max_tokens"] for asked in extractors} == {900}
        assert {asked.response_format for asked in extractors} == {"text"}


def test_as_published(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave(does.reply(as_the_published_prompts_ask))
    arguments = asking("--ablation", "--as-published")
    judge = arguments.index("--judge-model")
    rows = ended(epoche(*arguments[:judge], *arguments[judge + 2 :]), shop / "out")
    assert {row["pipeline"] for row in rows} == set(ABLATION_PIPELINES)
    assert {row["outcome"] for row in rows} == {"ANSWERED"}
    assert all(row["verdicts"]["correct"] is True for row in rows if row["answerable"])
    manifest = json.loads((shop / "out" / "manifest.json").read_bytes())
    assert (manifest["mode"], manifest["same_judge"]) == ("as-published", True)
    metrics = json.loads((shop / "out" / "metrics.json").read_bytes())
    assert metrics["json"]["accuracy_ci"] == {
        "mean": 1.0,
        "ci_low": 1.0,
        "ci_high": 1.0,
        "std": 0.0,
    }
    assert isinstance(metrics["json"]["avg_context_tokens"], int)
    assert "judges its own answers" in (shop / "out" / "summary.txt").read_text()


@pytest.mark.parametrize("more", [("--judge-model", "custom/other"), ("--judge-repeats", 3)])
def test_as_published_nobody_else_judges(
    scripted_server: ScriptedServer,
    shop: Path,
    asking: Callable[..., list[object]],
    more: tuple[object, ...],
) -> None:
    arguments = asking("--as-published")
    judge = arguments.index("--judge-model")
    plain = [*arguments[:judge], *arguments[judge + 2 :]]
    line = error_line(epoche(*plain, *more), 19)
    assert "--as-published" in line
    assert not scripted_server.requests
    assert not (shop / "out").exists()


def as_the_published_prompts_ask(asked: Asked) -> str:
    """One reply for whatever is asked, in the forms of the published prompts."""
    system = str(asked.body["messages"][0]["content"])
    if "[SKN]" in system:
        return SKN
    everything = {
        **{"entities": [], "relationships": [], "claims": []},
        **{"answer": "An open cursor.", "confidence": 0.9, "reasoning": "r"},
        **{"correct": True, "hallucination_detected": False, "hallucination_severity": 0.0},
        **{"total_claims": 1, "fabricated_claims": []},
        **{"groundedness_score": 1.0, "unsupported_fraction": 0.0},
    }
    return json.dumps(everything)


def test_without_a_judge_nothing_is_asked(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    arguments = asking()
    judge = arguments.index("--judge-model")
    line = error_line(epoche(*arguments[:judge], *arguments[judge + 2 :]), 19)
    assert "--judge-model same" in line
    assert not scripted_server.requests
    assert not (shop / "out").exists()


def test_a_model_may_judge_itself_and_every_output_says_so(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(model())
    done = epoche(*asking(judge="same"))
    ended(done, shop / "out")
    assert "also judged" in done.out
    for name in ("summary.txt", "metrics.json", "report.html", "report.md"):
        assert "also judged" in (shop / "out" / name).read_text(), name
    assert json.loads((shop / "out" / "manifest.json").read_bytes())["same_judge"] is True


HALF = SKN[: len(SKN) // 2]
GOOD_SKN = SAID["skn"]


def repaired(asked: Asked) -> str:
    """Half a block, and the whole once it is told what is wrong."""
    return SKN if len(asked.body["messages"]) > 2 else HALF


Fault = tuple[dict[str, Any], dict[str, Any]]
"""What a part says instead, and what then stands in the rows of ``json`` or ``skn``."""

INVALID_AGENT = {"outcome": "INVALID", "stage": "agent", "verdicts": None}
INVALID_SKN = {"outcome": "INVALID", "stage": "extraction", "response": None}
SAID_WRONG: dict[str, Fault] = {
    "a list for an answer": (
        {"agent": '{"answer": ["a", "b"], "confidence": 1, "reasoning": "", "abstained": false}'},
        INVALID_AGENT,
    ),
    "a list for a reply": ({"agent": "[1, 2, 3]"}, INVALID_AGENT),
    "nothing": ({"agent": ""}, INVALID_AGENT),
    "prose": ({"agent": "It was the cursor."}, INVALID_AGENT),
    "no answer": (
        {"agent": '{"answer": " ", "confidence": 1, "reasoning": "", "abstained": false}'},
        INVALID_AGENT,
    ),
    "a nest": ({"agent": "[" * 50_000}, INVALID_AGENT),
    "half a block": ({"skn": HALF}, INVALID_SKN),
    "half a block at first": ({"skn": repaired}, {"validity": "repaired"}),
    "a fenced block": ({"skn": f"Here it is:\n```\n{SKN}```\n"}, {"validity": "tolerant"}),
    "fenced JSON": (
        {"json": f"```json\n{SAID['json'](None)}\n```"},  # type: ignore[arg-type]
        {"validity": "tolerant"},
    ),
    "a list for an extraction": ({"json": "[]"}, {"outcome": "INVALID", "stage": "extraction"}),
    "null counts": (
        {"hallucination": '{"total_claims": null, "fabricated_claims": [], "severity": 0}'},
        {"failed": ["hallucination"]},
    ),
    "eight": (
        {"hallucination": '{"total_claims": "eight", "fabricated_claims": [], "severity": 0}'},
        {"failed": ["hallucination"]},
    ),
    "false in quotes": ({"accuracy": '{"correct": "false"}'}, {"failed": ["accuracy"]}),
    "a list of verdicts": ({"accuracy": '[{"correct": true}]'}, {"failed": ["accuracy"]}),
    "not a number": (
        {"groundedness": '{"makes_claims": true, "groundedness": NaN, "unsupported_fraction": 0}'},
        {"failed": ["groundedness"]},
    ),
}


ALL_WELL = {
    "agent": '{"answer": "A cursor.", "confidence": 0.9, "reasoning": "r", "abstained": false}',
    "accuracy": '{"correct": true}',
    "hallucination": '{"total_claims": 2, "fabricated_claims": [], "severity": 0.0}',
    "groundedness": '{"makes_claims": true, "groundedness": 1.0, "unsupported_fraction": 0.0}',
}

FAULTY = [number for number in range(3 * len(SAID_WRONG)) if number % 3 != 2]
"""Samples with an answer; the n-th of them meets the n-th fault."""


def faulty(asked: Asked) -> does.Behaviour:
    """A model that answers well but for the one fault that the sample asked about meets."""
    named = re.search(r"Why does service (\d+) stall", asked.prompt)
    number = FAULTY.index(int(named[1])) if named and int(named[1]) in FAULTY else len(SAID_WRONG)
    faults = [instead for instead, _ in SAID_WRONG.values()]
    instead = faults[number] if number < len(faults) else {}
    return model(**{**ALL_WELL, **instead})(asked)


def test_no_bad_reply_ends_a_run(
    scripted_server: ScriptedServer, tmp_path: Path, asking: Callable[..., list[object]]
) -> None:
    count = FAULTY[len(SAID_WRONG) - 1] + 1
    shop_of(tmp_path, count)
    scripted_server.behave_by(faulty)
    rows = ended(epoche(*asking()), tmp_path / "out")
    by_id: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    assert len(by_id) == count
    for number, (fault, (instead, wanted)) in zip(FAULTY, SAID_WRONG.items(), strict=False):
        (part,) = instead
        for row in by_id.pop(f"q{number:02}"):
            if part in {"skn", "json"} and row["pipeline"] != part:
                assert row["outcome"] == "ANSWERED", f"{fault}: but not in this format"
            else:
                check(row, wanted, fault)
    others = [row for some in by_id.values() for row in some]
    assert {row["outcome"] for row in others} == {"ANSWERED"}, "no fault touches another sample"
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_bytes())
    outcomes = metrics["report"]["pipelines"]["skn"]["outcomes"]
    assert outcomes["invalid"] == 7
    assert outcomes["unjudged"] == 5
    assert outcomes["answered"] == count - 7
    assert outcomes["judge_failures"] == {"accuracy": 4, "hallucination": 4, "groundedness": 2}
    accuracy = metrics["report"]["pipelines"]["skn"]["metrics"]["accuracy"]
    assert accuracy["worst"] < accuracy["value"] < accuracy["best"]


def check(row: dict[str, Any], wanted: dict[str, Any], fault: str) -> None:
    """Holds a row to what a fault makes of it."""
    if "failed" in wanted:
        assert row["outcome"] == "ANSWERED", fault
        assert row["verdicts"]["failed"] == wanted["failed"], fault
        (judge,) = wanted["failed"]
        name = {"accuracy": "correct", "groundedness": "groundedness"}.get(judge)
        told = row["verdicts"] if name else row["verdicts"]["hallucination"]
        assert told[name or "total_claims"] is None, fault
    elif "validity" in wanted:
        read = (row["outcome"], row["extraction"]["validity"])
        assert read == ("ANSWERED", wanted["validity"]), fault
    else:
        assert {key: row[key] for key in wanted} == wanted, fault


@pytest.mark.parametrize(("part", "stage"), [("skn", "extraction"), ("agent", "agent")])
def test_a_call_that_fails_is_an_error_and_asked_again_when_told(
    scripted_server: ScriptedServer,
    shop: Path,
    asking: Callable[..., list[object]],
    part: str,
    stage: str,
) -> None:
    scripted_server.behave_by(broken(part, does.status(500)))
    done = epoche(*asking("--limit", 2))
    # Without the agent there is not one row that is not an error: no success, but all is there.
    rows = ended(done, shop / "out", code=27 if part == "agent" else 0)
    failed = [row for row in rows if row["outcome"] == "ERROR"]
    assert len(failed) == (2 if part == "skn" else 4)
    assert {row["stage"] for row in failed} == {stage}
    assert all("the server cannot answer" in row["error"] for row in failed)
    assert "--retry-errors" in done.err
    scripted_server.behave_by(model())
    scripted_server.forget()
    if part == "skn":
        assert rows_of_run(epoche(*asking("--limit", 2)), shop) == rows
        assert not scripted_server.requests, "errors are asked again only when told"
    mended = rows_of_run(epoche(*asking("--limit", 2, "--retry-errors")), shop)
    assert "ERROR" not in {row["outcome"] for row in mended}
    kept = [row for row in rows if row["outcome"] != "ERROR"]
    assert all(row in mended for row in kept), "what had its answer was not asked again"


def rows_of_run(done: Done, shop: Path) -> list[dict[str, Any]]:
    return ended(done, shop / "out")


def test_a_judge_that_cannot_be_called_is_asked_again_when_told(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(broken("accuracy", does.status(500)))
    done = epoche(*asking())
    rows = ended(done, shop / "out")
    unjudged = [row for row in rows if "accuracy" in ((row["verdicts"] or {}).get("failed") or ())]
    assert unjudged
    assert {row["outcome"] for row in unjudged} == {"ANSWERED"}
    assert all(row["verdicts"]["correct"] is None for row in unjudged)
    counts = json.loads((shop / "out" / "manifest.json").read_bytes())["counts"]
    assert counts["unjudged"] == len(unjudged)
    assert "lack a judge's call" in done.err
    scripted_server.behave_by(model())
    done = epoche(*asking("--retry-errors"))
    mended = ended(done, shop / "out")
    assert f"{len(unjudged)} rows ({len(rows) - len(unjudged)} were there already)" in done.out
    assert not any((row["verdicts"] or {}).get("failed") for row in mended)
    anchors = [json.loads(line) for line in (shop / "out/anchors.jsonl").read_bytes().splitlines()]
    assert anchors
    assert not any(anchor["problems"] for anchor in anchors)


def test_every_time_of_a_sample_is_asked_for_itself(
    scripted_server: ScriptedServer, shop: Path, asking: Callable[..., list[object]]
) -> None:
    scripted_server.behave_by(model())
    done = epoche(*asking("--repeat", 2))
    assert done.code == 0, done.err
    rows = rows_of(shop / "out")
    assert [(row["id"], row["repeat"]) for row in rows[:4]] == [
        ("q00", 0),
        ("q00", 0),
        ("q00", 1),
        ("q00", 1),
    ]
    assert len(rows) == 4 * COUNT
