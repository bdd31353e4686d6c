"""Tests that results are replayed from their stored answers and verdicts, and nothing is asked.

The files have the keys of the published benchmark; its rows have whole numbers as ids and no
questions, which are in ``search_results.json``.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.scripted_server import ScriptedServer
from skn_folders import write_two_pipelines
from skn_run_parts import make_scripted_model, online_command, write_inputs
from stage_calls import CommandResult, check_error_line, run_epoche

from eval.skn.metrics import calculate_metrics
from eval.skn.published.detailed_results import read_detailed_results
from eval.skn.row import SknRow, read_rows
from eval.skn.scoring.metric_definitions import NOT_JUDGED_NOTE
from kg.base.errors import EpocheError

JUDGE = "custom/judge-1"
PIPELINES = ("json", "skn")
ANSWERS = (
    "The lock is never released.",
    "The context does not contain any information about it.",
    "A queue is full; the rows wait.",
)


def make_verdicts(random_: random.Random, name: str, *, answerable: bool) -> dict[str, Any]:
    total = random_.randint(2, 6)
    claims = [f"claim {number}" for number in range(random_.choice((0, 0, 1, 2)))]
    score = random_.randint(1, 9) / 10
    return {
        f"{name}_correct": random_.random() < 0.6 if answerable else None,
        f"{name}_hallucination": {
            "hallucination_detected": bool(claims),
            "hallucination_severity": 0.5 if claims else 0.0,
            "total_claims": total,
            "fabricated_claims": claims,
            "normalized_hallucination": len(claims) / total,
        },
        f"{name}_groundedness": {
            "groundedness_score": score,
            "unsupported_fraction": round(1 - score, 1),
        },
    }


def make_row(number: int) -> dict[str, Any]:
    random_ = random.Random(number)
    answerable = number % 4 != 0
    row: dict[str, Any] = {
        "id": number,
        "category": "diagnostic",
        "raw_text": f"[Result 1]\nTitle: A\nURL: https://a.example\nContent: Lock {number} stays.",
        "ground_truth": "A lock is never released." if answerable else "INSUFFICIENT_INFO",
        "answerable": answerable,
    }
    for name in PIPELINES:
        answer = "" if number % 10 == 9 else random_.choice(ANSWERS)
        row |= {
            f"{name}_answer": answer,
            f"{name}_confidence": round(random_.random(), 2) if answer else 0.0,
            f"{name}_reasoning": "step by step" if answer else "error",
        }
    for name in PIPELINES:
        row |= make_verdicts(random_, name, answerable=answerable)
        row[f"{name}_abstained"] = "does not contain" in row[f"{name}_answer"]
    return row


ROWS = [make_row(number) for number in range(1, 41)]


def write_results(folder: Path, rows: Any = ROWS, name: str = "detailed_results.json") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(rows, indent=2), "utf-8")
    return folder / name


def replay(path: Path, out: Path, *options: object) -> CommandResult:
    command = ("skn", "score", "--results", path, "--out", out, "--resamples", 100, "--no-report")
    return run_epoche(*command, *options)


def read_metrics(out: Path) -> dict[str, Any]:
    metrics: dict[str, Any] = json.loads((out / "metrics.json").read_bytes())
    return metrics


def read_by_key(out: Path) -> dict[tuple[str, str], SknRow]:
    return {(row.id, row.pipeline): row for row in read_rows(out / "rows.jsonl")}


@pytest.mark.parametrize("mode", ["published", "corrected"])
def test_metrics_are_those_of_the_stored_verdicts(tmp_path: Path, mode: str) -> None:
    options = ("--as-published",) if mode == "published" else ()
    result = replay(write_results(tmp_path / "theirs"), tmp_path / "out", *options)
    assert result.code == 0, result.err
    metrics = read_metrics(tmp_path / "out")
    expected = calculate_metrics(copy.deepcopy(ROWS), list(PIPELINES), mode=mode)  # type: ignore[arg-type]
    for name in PIPELINES:
        for key, value in expected[name].items():
            if mode == "corrected" and key.endswith("_ci"):
                continue  # of another number of resamples
            assert metrics[name][key] == value, key
    assert metrics["report"]["pipelines"]["skn"]["outcomes"]["error"] == 4
    verified = run_epoche("verify", tmp_path / "out")
    assert verified.code == 0, verified.out
    assert "agrees" in verified.out


def test_every_command_takes_a_replay(
    tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> None:
    write_results(tmp_path / "theirs")
    out = tmp_path / "out"
    score = ("skn", "score", "--results", tmp_path / "theirs", "--out", out, "--resamples", 100)
    assert run_epoche(*score).code == 0
    for command in ("metrics", "report", "compare"):
        options = ("--out", tmp_path / "page.html") if command == "report" else ()
        options = ("--out", tmp_path / "c.json") if command == "compare" else options
        result = run_epoche(command, out, *options)
        assert result.code == 0, (command, result.err)
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["results_of"] == "../theirs/detailed_results.json"
    assert (manifest["model"], manifest["judge_model"], manifest["offline"]) == (None, None, False)
    summary = (out / "summary.txt").read_text()
    assert "Replayed: answers and verdicts of ../theirs/detailed_results.json" in summary
    assert "Model             unknown" in summary
    assert "Fair:" not in summary
    assert "The results do not say who judged." in summary
    assert "do not say who judged, nor what" in (out / "report.md").read_text()
    scripted_server.behave_with(make_scripted_model())
    judge = ("--judge-model", JUDGE, "--judge-repeats", 1, "--resamples", 100)
    judged = run_epoche("skn", "judge", out, *judge, "--out", tmp_path / "judged")
    assert judged.code == 0, judged.err


def test_files_beside_give_questions_and_sizes(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    write_results(folder)
    searches = [{"id": row["id"], "question": f"Why {row['id']}?", "raw_text": ""} for row in ROWS]
    write_results(folder, searches, "search_results.json")
    flat = {"entities": [], "relationships": [], "claims": [{"statement": "Lock 1 stays."}]}
    extractions = [{"id": n, "json_extraction": flat, "skn_extraction": "Lock"} for n in (1, 2)]
    write_results(folder, extractions, "extractions.json")
    assert replay(folder, tmp_path / "out").code == 0
    samples = [
        json.loads(line) for line in (tmp_path / "out" / "samples.jsonl").read_text().splitlines()
    ]
    assert samples[2]["question"] == "Why 3?"
    row = read_by_key(tmp_path / "out")["1", "json"]
    assert row.extraction is not None
    assert row.extraction.context == json.dumps(flat, indent=2)
    assert row.retention is not None
    rows = read_by_key(tmp_path / "out")
    assert rows["1", "skn"].extraction.validity == "unreadable"  # type: ignore[union-attr]
    assert rows["3", "json"].extraction is None


def test_repeats_have_their_own_extractions(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    write_results(folder, [{**row, "repeat": repeat} for row in ROWS[:2] for repeat in (0, 1)])
    texts = {(1, 0): "Lock 10", (1, 1): "Lock 11", (2, 0): "Lock 20"}
    extractions = [
        {"id": id_, "repeat": repeat, "skn_extraction": text}
        for (id_, repeat), text in texts.items()
    ]
    write_results(folder, extractions, "extractions.json")
    results = read_detailed_results(folder, None)
    found = {
        (int(reply.id), reply.repeat): reply.parts["extraction"].context
        for reply in results.replies
        if reply.system == "skn"
    }
    # The second repeat of sample 2 has no row of its own.
    assert found == {**texts, (2, 1): "Lock 20"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts),
    max_leaves=6,
)
_KEYS = st.sampled_from([*ROWS[0], "skn_outcome", "skn_error", "repeat", "question", "judged_by"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), _KEYS, _JSON), min_size=1, max_size=4))
def test_any_values_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str, Any]]
) -> None:
    rows = copy.deepcopy(ROWS[:4])
    for number, key, value in changes:
        rows[number][key] = value
    path = write_results(tmp_path_factory.mktemp("any"), rows)
    try:
        results = read_detailed_results(path, None)
    except EpocheError as error:
        if "detailed_results.json" not in error.where:
            raise
        return
    assert len(results.replies) == len(rows) * len(results.pipelines)
    for vote in results.votes:
        verdicts = vote.verdict
        assert verdicts.groundedness is None or 0 <= verdicts.groundedness <= 1
        claims = verdicts.hallucination
        assert claims.fabricated is None or claims.fabricated <= claims.total_claims


def change(number: int, **values: Any) -> list[dict[str, Any]]:
    rows = copy.deepcopy(ROWS)
    for key, value in values.items():
        if value is ...:
            del rows[number - 1][key]
        else:
            rows[number - 1][key] = value
    return rows


HALLUCINATION = ROWS[0]["skn_hallucination"]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("skn_answer", ..., "unusable answer, skn_answer is missing"),
        ("skn_answer", None, "unusable answer, skn_answer is missing"),
        ("skn_answer", ["a"], "unusable answer, skn_answer is not a text"),
        ("skn_answer", " ", "unusable answer, skn_answer is empty"),
        ("skn_correct", ..., "no verdict, skn_correct is missing"),
        ("skn_correct", "false", "no verdict, skn_correct is not true or false"),
        ("skn_correct", 1, "no verdict, skn_correct is not true or false"),
        ("skn_hallucination", ..., "no verdict, skn_hallucination is missing"),
        ("skn_hallucination", [], "no verdict, skn_hallucination is not an object"),
        (
            "skn_hallucination",
            {**HALLUCINATION, "total_claims": None},
            "skn_hallucination.total_claims is not a number of at least 0",
        ),
        (
            "skn_hallucination",
            {**HALLUCINATION, "hallucination_severity": 50},
            "skn_hallucination.hallucination_severity is not a number from 0 to 1",
        ),
        (
            "skn_hallucination",
            {**HALLUCINATION, "hallucination_detected": "no"},
            "skn_hallucination.hallucination_detected is not true or false",
        ),
        (
            "skn_hallucination",
            {**HALLUCINATION, "fabricated_claims": 3},
            "skn_hallucination.fabricated_claims is not a list",
        ),
        (
            "skn_hallucination",
            {
                **HALLUCINATION,
                "total_claims": 1,
                "fabricated_claims": ["a", "b"],
                "normalized_hallucination": 2.0,
            },
            "skn_hallucination has more fabricated claims than claims",
        ),
        ("skn_groundedness", {}, "skn_groundedness.groundedness_score is not a number from 0 to 1"),
        ("skn_confidence", "high", "skn_confidence is no number from 0 to 1, left out"),
        ("skn_confidence", 85, "skn_confidence is no number from 0 to 1, left out"),
    ],
)
def test_what_is_missing_is_named_and_counted(
    tmp_path: Path, key: str, value: Any, problem: str
) -> None:
    first, second = read_two_replays(tmp_path, change(1, **{key: value}))
    assert f"{problem}: 1 rows (row 1)" in second.err
    before, after = (read_metrics(tmp_path / name)["report"]["pipelines"] for name in ("a", "b"))
    assert before["json"] == after["json"]
    outcomes = after["skn"]["outcomes"]
    if "answer" in problem:
        assert outcomes["invalid"] == before["skn"]["outcomes"]["invalid"] + 1
    elif "confidence" in problem:
        assert after["skn"]["confidences"] != before["skn"]["confidences"] or first.code == 0
        assert read_by_key(tmp_path / "b")["1", "skn"].response.confidence is None  # type: ignore[union-attr]
    else:
        assert outcomes["unjudged"] == before["skn"]["outcomes"]["unjudged"] + 1


def read_two_replays(folder: Path, rows: Any) -> tuple[CommandResult, CommandResult]:
    """Replays the unchanged results to ``a`` and changed ones to ``b``."""
    first = replay(write_results(folder / "unchanged"), folder / "a")
    second = replay(write_results(folder / "changed", rows), folder / "b")
    assert (first.code, second.code) == (0, 0), second.err
    return first, second


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        (change(3, id=...), 12, "row 3"),
        (change(3, id=1.5), 12, "its id is 1.5"),
        (change(3, id="2"), 13, "two rows on sample '2', here and at"),
        (change(3, answerable="no"), 12, 'its answerable is "no", not true or false'),
        ([{"id": 1, "json_response": {"answer": "x"}}], 12, "no key ends in _answer"),
        ({"json": {"accuracy": 1}}, 12, "one JSON object, with the keys json"),
        ([], 12, "the file has no rows"),
        ([{"id": 1, "a\u202eb_answer": "x"}], 12, "names no pipeline"),
        ([{"id": 1, **{f"p{n}_answer": "x" for n in range(101)}}], 12, "more than 100 pipelines"),
        ([3], 12, "not an object"),
    ],
)
def test_file_that_cannot_be_replayed_is_refused(
    tmp_path: Path, rows: Any, code: int, message: str
) -> None:
    result = replay(write_results(tmp_path / "theirs", rows), tmp_path / "out")
    line = check_error_line(result, code)
    assert message in line
    assert "detailed_results.json" in line
    assert not (tmp_path / "out").exists()


def test_data_set_decides_the_samples(tmp_path: Path) -> None:
    samples = [
        {key: row[key] for key in ("id", "ground_truth", "answerable")} | {"question": "Why?"}
        for row in ROWS[:30]
    ]
    samples.append({"id": 99, "question": "Who?", "ground_truth": "Nobody."})
    dataset = write_results(tmp_path / "data", samples, "samples.json")
    path = write_results(tmp_path / "theirs")
    result = replay(path, tmp_path / "out", "--dataset", dataset)
    assert result.code == 0, result.err
    assert "no such sample in the data set, left out: 10 rows (row 31" in result.err
    assert "no row in the file, counted as ERROR: 2 of 62 answers" in result.err
    assert read_by_key(tmp_path / "out")["99", "skn"].outcome == "ERROR"
    samples[0]["answerable"] = False
    dataset = write_results(tmp_path / "data", samples, "samples.json")
    line = check_error_line(replay(path, tmp_path / "new", "--dataset", dataset), 12)
    assert "its answerable is true, that of sample '1' in the data set is false" in line


def test_lines_gzip_and_unknown_keys_are_read(tmp_path: Path) -> None:
    rows = [{**row, "difficulty": "low", "repeat": 0} for row in ROWS]
    path = tmp_path / "detailed_results.json.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert replay(tmp_path, tmp_path / "a").code == 0
    assert replay(write_results(tmp_path / "plain"), tmp_path / "b").code == 0
    assert read_metrics(tmp_path / "a")["skn"] == read_metrics(tmp_path / "b")["skn"]
    first = json.loads((tmp_path / "a" / "samples.jsonl").read_text().splitlines()[0])
    assert first["difficulty"] == "low"


def test_verdicts_that_may_be_none_are_counted(tmp_path: Path) -> None:
    rows = change(
        1,
        skn_groundedness={"groundedness_score": 0.0, "unsupported_fraction": 1.0},
        json_hallucination={
            "hallucination_detected": False,
            "hallucination_severity": 0.0,
            "total_claims": 1,
            "fabricated_claims": [],
            "normalized_hallucination": 0.0,
        },
    )
    result = replay(write_results(tmp_path / "theirs", rows), tmp_path / "out")
    for judge in ("hallucination", "groundedness"):
        assert f"1 verdicts on {judge} have exactly the values" in result.err


@pytest.fixture
def run_own(
    tmp_path: Path, scripted_server: ScriptedServer, scripted_model: str
) -> Callable[..., Path]:
    """Returns a function that runs two formats on some samples into ``out`` of a folder."""
    scripted_server.behave_with(make_scripted_model())

    def run_formats(count: int, judge: str | None = JUDGE) -> Path:
        folder = write_inputs(tmp_path, count)
        done = run_epoche(*online_command(folder, scripted_model, out="out", judge=judge))
        assert done.code == 0, done.err
        return folder

    return run_formats


def test_own_run_is_replayed_to_the_same_metrics(
    tmp_path: Path, run_own: Callable[..., Path]
) -> None:
    """Rows are computed again from replies and votes, so all outputs but the notes are equal."""
    folder = run_own(6)
    assert replay(folder / "out", tmp_path / "again").code == 0
    for name in ("rows.jsonl", "replies.jsonl", "votes.jsonl", "detailed_results.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()
    first, again = (read_metrics(out)["report"] for out in (folder / "out", tmp_path / "again"))
    assert first["pipelines"] == again["pipelines"]
    assert again["notes"][0].startswith("Answers and verdicts are those of ../out")
    assert run_epoche("verify", tmp_path / "again").code == 0


@pytest.mark.parametrize("name", ["", "detailed_results.json"])
def test_a_run_that_was_not_judged_is_replayed_as_such(
    tmp_path: Path, run_own: Callable[..., Path], name: str
) -> None:
    folder = run_own(6, judge=None)
    result = replay(folder / "out" / name, tmp_path / "again")
    assert (result.code, result.err) == (0, "")
    assert NOT_JUDGED_NOTE in result.out
    first, again = (read_metrics(out) for out in (folder / "out", tmp_path / "again"))
    assert again["skn"]["accuracy"] is None
    assert again["skn"]["abstention_f1"] == first["skn"]["abstention_f1"] is not None
    rows = read_by_key(tmp_path / "again")
    assert {key: row.outcome for key, row in rows.items()} == {
        key: row.outcome for key, row in read_by_key(folder / "out").items()
    }
    assert not any(row.verdicts for row in rows.values())


def test_verdicts_of_rules_are_not_taken_for_those_of_a_model(tmp_path: Path) -> None:
    """Earlier versions had judges that compared words."""
    rows = [{**row, "judged_by": "rules"} for row in ROWS]
    result = replay(write_results(tmp_path / "theirs", rows), tmp_path / "out")
    assert NOT_JUDGED_NOTE in result.out
    assert read_metrics(tmp_path / "out")["skn"]["accuracy"] is None


def test_details_name_the_models(tmp_path: Path) -> None:
    folder = write_two_pipelines(tmp_path / "run")
    assert replay(folder / "detailed_results.json", tmp_path / "again").code == 0
    manifest = json.loads((tmp_path / "again" / "manifest.json").read_bytes())
    assert (manifest["model"], manifest["judge_model"]) == ("loop/answerer", "loop/judge")
    first, again = (read_metrics(out) for out in (folder, tmp_path / "again"))
    for key in ("accuracy", "ece", "normalized_hallucination", "groundedness", "abstention_f1"):
        assert first["skn"][key] == again["skn"][key], key


def test_run_that_lacks_replies_and_votes_is_replayed(
    tmp_path: Path, run_own: Callable[..., Path]
) -> None:
    folder = run_own(6)
    for name, removed in (("replies.jsonl", 3), ("votes.jsonl", 2)):
        lines = (folder / "out" / name).read_bytes().splitlines(keepends=True)
        (folder / "out" / name).write_bytes(b"".join(lines[removed:]))
    result = replay(folder / "out", tmp_path / "again")
    assert result.code == 0, result.err
    assert "no reply in replies.jsonl, counted as ERROR: 3 of 12 rows" in result.err
    assert "replies.jsonl and votes.jsonl changed after the run" in result.err
    outcomes = [row.outcome for row in read_rows(tmp_path / "again" / "rows.jsonl")]
    assert outcomes.count("ERROR") == 3


def test_damaged_line_of_a_run_is_named(tmp_path: Path, run_own: Callable[..., Path]) -> None:
    folder = run_own(3)
    with (folder / "out" / "votes.jsonl").open("ab") as handle:
        handle.write(b'{"id": \n')
    line = check_error_line(replay(folder / "out", tmp_path / "again"), 12)
    assert "votes.jsonl:" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--no-judge",), "nothing is judged"),
        (("--judge-model", "a/b"), "epoche skn judge"),
        (("--predictions", "x=y.csv"), "both --predictions and --results"),
    ],
)
def test_results_are_not_judged(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    path = write_results(tmp_path / "theirs")
    assert message in check_error_line(replay(path, tmp_path / "out", *options), 19)


def test_something_must_be_scored(tmp_path: Path) -> None:
    line = check_error_line(run_epoche("skn", "score", "--out", tmp_path / "out"), 19)
    assert "nothing to score" in line
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "detailed_results.json" in check_error_line(replay(empty, tmp_path / "out"), 12)
    missing = check_error_line(replay(tmp_path / "none", tmp_path / "out"), 3)
    assert "does not exist" in missing


def test_finished_replay_is_not_overwritten(tmp_path: Path) -> None:
    path = write_results(tmp_path / "theirs")
    assert replay(path, tmp_path / "out").code == 0
    assert "--overwrite" in check_error_line(replay(path, tmp_path / "out"), 15)
    assert replay(path, tmp_path / "out", "--overwrite").code == 0
    own = check_error_line(replay(tmp_path / "out", tmp_path / "out", "--overwrite"), 19)
    assert "would be overwritten" in own
    assert "overwrite" in check_error_line(replay(path, tmp_path / "theirs"), 15)
