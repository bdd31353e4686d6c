"""Tests ``epoche synthlink run`` without a model: files, refusals, hidden question fields."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from stage_calls import check_error_line, read_folder_bytes, run_epoche
from synthlink_run_parts import (
    SECRET_MARKS,
    check_finished,
    load_predictions,
    make_question,
    make_run_command,
    page_address,
    question_id,
    read_manifest,
    read_output_files,
    read_rows,
    write_inputs,
)

from eval.synthlink.predictions import read_predictions
from eval.synthlink.scoring.outputs import OUTPUT_FILES

QUESTION_COUNT = 12
FEW_RESAMPLES = ("--resamples", 100)
NO_SCORE = ("--no-score",)


def is_abstained(number: int) -> bool:
    """Whether the agent ``First`` of ``write_inputs`` abstains: on every fifth question."""
    return number % 5 == 4


@pytest.fixture(scope="module")
def finished_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished and scored run in ``out``."""
    folder = write_inputs(tmp_path_factory.mktemp("ran"), QUESTION_COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        result = run_epoche(*make_run_command(folder, *FEW_RESAMPLES))
    assert result.code == 0, result.err
    return folder


@pytest.fixture
def workspace(finished_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the finished workspace that a test may change."""
    shutil.copytree(finished_workspace, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_rows_are_in_catalogue_order(finished_workspace: Path) -> None:
    rows = read_rows(finished_workspace / "out")
    assert [row["id"] for row in rows] == [question_id(number) for number in range(QUESTION_COUNT)]
    assert [row["outcome"] for row in rows] == [
        "ABSTAINED" if is_abstained(number) else "ANSWERED" for number in range(QUESTION_COUNT)
    ]
    assert {row["system"] for row in rows} == {"first"}
    first_round = rows[0]["trail"]["rounds"][0]
    assert first_round["query"] == make_question(0)["question"]
    assert first_round["found"][0] == {"url": page_address(0), "title": "Alcor0 observatory"}


def test_predictions_match_the_specification(finished_workspace: Path) -> None:
    """The specification of the SynthLink benchmark gives the keys of a prediction."""
    predictions = load_predictions(finished_workspace / "out")
    keys = ["question_id", "predicted_answer", "retrieved_docs", "iterations", "sources_verified"]
    assert all(list(prediction) == keys for prediction in predictions)
    assert [prediction["question_id"] for prediction in predictions] == [
        question_id(number) for number in range(QUESTION_COUNT)
    ]
    assert [prediction["predicted_answer"] == "" for prediction in predictions] == [
        is_abstained(number) for number in range(QUESTION_COUNT)
    ]
    answer = "Observatory Alcor0 was founded by Mira Voss0."
    assert predictions[0]["predicted_answer"] == answer
    assert predictions[0]["retrieved_docs"][0] == page_address(0)
    assert predictions[0]["iterations"][0]["answers"] == [answer]
    assert predictions[0]["iterations"][0]["docs"] == predictions[0]["retrieved_docs"]
    assert predictions[0]["sources_verified"] == [answer]
    parsed_file = read_predictions(
        finished_workspace / "out" / "predictions.json",
        {prediction["question_id"] for prediction in predictions},
    )
    assert not parsed_file.refused


def test_run_is_scored_and_has_a_report(finished_workspace: Path) -> None:
    out = finished_workspace / "out"
    assert {path.name for path in out.iterdir()} >= {
        *("rows.jsonl", "run_manifest.json", "predictions.json", "manifest.json", "report.html"),
        *("synthlink_scores.csv", "synthlink_category_scores.csv", "synthlink_overall_score.txt"),
    }
    scores = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert scores["n_questions"] == QUESTION_COUNT
    assert scores["n_abstained"] == sum(map(is_abstained, range(QUESTION_COUNT)))


def test_manifest_is_complete_and_contains_no_local_path(finished_workspace: Path) -> None:
    manifest = read_manifest(finished_workspace / "out")
    assert (manifest["kind"], manifest["status"]) == ("synthlink-run", "complete")
    assert (manifest["system"], manifest["name"]) == ("own_agents:First", "first")
    assert manifest["params"] == {"version": 1}
    assert manifest["dataset"] == "../catalog.jsonl"
    assert (manifest["offline"], manifest["model"], manifest["calls"]) == (True, None, None)
    assert manifest["library"]["retriever"]["name"] == "bm25"
    assert manifest["counts"] == {"ANSWERED": 10, "ABSTAINED": 2, "INVALID": 0, "ERROR": 0}
    for path in (finished_workspace / "out").iterdir():
        assert str(finished_workspace).encode() not in path.read_bytes(), path.name


SPY_AGENT = '''
import gc, inspect, json
from pathlib import Path
from eval.synthlink.agents.trail import Trail

class Spy:
    """Records its arguments and every object that refers to them."""
    name = "spy"
    def __init__(self, options):
        self.seen = [repr(options)]
        self.library = options.library
    def params(self):
        return {}
    async def answer(self, *arguments, **keywords):
        assert not keywords
        self.seen += [repr(arguments)]
        referrers = [obj for obj in gc.get_referrers(arguments[0]) if obj is not arguments]
        self.seen += [repr(obj) for obj in referrers if not inspect.isframe(obj)]
        hits = await self.library.search(arguments[0], 50)
        self.seen += [repr(hits), repr(self.library.params())]
        Path("seen.json").write_text(json.dumps(self.seen))
        return Trail(answer="I saw it.")
'''


def test_agent_gets_only_the_question_text(workspace: Path) -> None:
    (workspace / "spy.py").write_text(SPY_AGENT)
    result = run_epoche(
        *make_run_command(workspace, *NO_SCORE, "--limit", 3, system="spy:Spy", out="spied")
    )
    check_finished(result, workspace / "spied")
    recorded_text = (workspace / "seen.json").read_text()
    for number in range(3):
        assert str(make_question(number)["question"]) in recorded_text
        assert question_id(number) not in recorded_text
    assert not any(mark in recorded_text for mark in SECRET_MARKS)


def test_moved_folder_can_be_resumed(workspace: Path) -> None:
    (workspace / "deep" / "down").mkdir(parents=True)
    shutil.move(workspace / "out", workspace / "deep" / "down" / "moved")
    result = run_epoche(*make_run_command(workspace, *NO_SCORE, out="deep/down/moved"))
    assert result.code == 0, result.err
    assert "0 questions" in result.out


def change_a_question(workspace: Path) -> None:
    text = (workspace / "catalog.jsonl").read_text()
    (workspace / "catalog.jsonl").write_text(text.replace("In which town", "In what town"))


def change_a_page(workspace: Path) -> None:
    text = (workspace / "pages.jsonl").read_text()
    (workspace / "pages.jsonl").write_text(text.replace("a hill", "two hills"))


def change_the_agent(workspace: Path) -> None:
    text = (workspace / "own_agents.py").read_text()
    (workspace / "other_agents.py").write_text(text.replace('"version": 1', '"version": 2'))


@pytest.mark.parametrize(
    ("change", "flags", "system", "message"),
    [
        (change_a_question, (), "own_agents:First", "other questions"),
        (change_a_page, (), "own_agents:First", "library: sha256"),
        (change_the_agent, (), "other_agents:First", "system"),
        (None, (), "own_agents:Slow", "system"),
        (None, ("--rounds", 3), "own_agents:First", "rounds: 5, now 3"),
    ],
    ids=["questions", "pages", "agent", "class", "rounds"],
)
def test_run_with_changed_inputs_or_settings_is_refused(
    workspace: Path, change: Any, flags: tuple[Any, ...], system: str, message: str
) -> None:
    before = read_output_files(workspace / "out")
    if change is not None:
        change(workspace)
    line = check_error_line(
        run_epoche(*make_run_command(workspace, *NO_SCORE, *flags, system=system)), 14
    )
    assert message in line
    assert "--overwrite" in line
    assert read_output_files(workspace / "out") == before


def test_overwrite_replaces_everything(workspace: Path) -> None:
    change_a_page(workspace)
    assert (
        run_epoche(*make_run_command(workspace, *NO_SCORE, "--overwrite", "--limit", 3)).code == 0
    )
    out = workspace / "out"
    assert len(read_rows(out)) == 3
    names = {path.name for path in out.iterdir()}
    assert names == {"replies.jsonl", "rows.jsonl", "run_manifest.json", "predictions.json"}, (
        "outputs of the old run must be deleted"
    )


def test_changed_expected_answer_is_scored_again(workspace: Path) -> None:
    text = (workspace / "catalog.jsonl").read_text()
    answer = "Observatory Alcor0 was founded by Mira Voss0."
    (workspace / "catalog.jsonl").write_text(
        text.replace("Goldmark: the founder, Mira Voss0, came from Tarn0.", answer)
    )
    before = json.loads((workspace / "out/synthlink_scores.json").read_bytes())["report"]
    result = run_epoche(*make_run_command(workspace, *FEW_RESAMPLES))
    assert f"0 questions ({QUESTION_COUNT} were there already)" in result.out
    after = json.loads((workspace / "out/synthlink_scores.json").read_bytes())["report"]
    corrected = [report["modes"]["corrected"]["overall"] for report in (before, after)]
    f1_values = [group["measures"]["f1"]["value"] for group in corrected]
    assert f1_values[1] > f1_values[0]


def test_scores_without_a_run_are_kept(workspace: Path) -> None:
    out = workspace / "scored"
    out.mkdir()
    for name in OUTPUT_FILES:
        if (workspace / "out" / name).exists():
            shutil.copy(workspace / "out" / name, out)
    before = read_folder_bytes(out)
    line = check_error_line(run_epoche(*make_run_command(workspace, *NO_SCORE, out="scored")), 15)
    assert "which was not written by such a run" in line
    assert read_folder_bytes(out) == before
    assert (
        run_epoche(*make_run_command(workspace, *NO_SCORE, "--overwrite", out="scored")).code == 0
    )


@pytest.mark.parametrize("name", ["report.html", "report.cards.csv"])
def test_foreign_report_is_kept(workspace: Path, name: str) -> None:
    (workspace / "results").mkdir()
    (workspace / "results" / name).write_text("precious")
    before = read_folder_bytes(workspace)
    line = check_error_line(
        run_epoche(*make_run_command(workspace, *FEW_RESAMPLES, out="results")), 15
    )
    assert f"{name}, which was not written by such a run" in line
    assert read_folder_bytes(workspace) == before


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--live",), 19, "--pages, --live"),
        (("--search", "search.jsonl"), 19, "--pages, --search"),
        (("--backend", "mojeek"), 19, "--live"),
        (("--embedder", "lexical"), 19, "--retriever dense"),
        (("--compare", "other.json"), 19, "--no-score"),
        (("--catalog", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "own_agents.py"), 12, "own_agents.py:2"),
        (("--system", "nobody"), 16, "agent, raw, extractive, graph_walk"),
        (("--system", "nowhere:First"), 16, "nowhere"),
        (("--system", "own_agents:Nobody"), 16, "First, Slow"),
        (("--system", "json:JSONDecoder"), 16, "lacks answer(question), name, params()"),
        (("--system", "graph_walk", "--model", "custom/m"), 19, "calls no model"),
        (("--system", "extractive", "--max-tokens", "9"), 19, "calls no model"),
        (("--system", "raw", "--model", "custom/m"), 19, "raw does not search"),
        (("--max-cost", "inf"), 19, "--max-cost"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else None,
)
def test_refusals_change_nothing(
    workspace: Path, flags: tuple[str, ...], code: int, message: str
) -> None:
    before = read_folder_bytes(workspace)
    assert message in check_error_line(
        run_epoche(*make_run_command(workspace, *NO_SCORE, *flags)), code
    )
    assert read_folder_bytes(workspace) == before


@pytest.mark.parametrize("flag", ["--catalog", "--pages"])
def test_inputs_are_not_overwritten(workspace: Path, flag: str) -> None:
    name = "catalog.jsonl" if flag == "--catalog" else "pages.jsonl"
    (workspace / "new").mkdir()
    shutil.copy(workspace / name, workspace / "new" / "rows.jsonl")
    before = read_folder_bytes(workspace)
    line = check_error_line(
        run_epoche(
            *make_run_command(workspace, *NO_SCORE, flag, workspace / "new/rows.jsonl", out="new")
        ),
        15,
    )
    assert "rows.jsonl" in line
    assert read_folder_bytes(workspace) == before


FAULTY_AGENTS = '''
from eval.synthlink.agents.trail import Round, Trail

class Varied:
    """Answers, fails, abstains or returns nonsense, by the number in the question."""
    name = "varied"
    def params(self):
        return {}
    async def answer(self, question):
        number = int("".join(filter(str.isdigit, question)))
        replies = [
            lambda: Trail(answer="Tarn."),
            lambda: 1 / 0,
            lambda: None,
            lambda: exit(5),
            lambda: Trail(answer="x" * 99_999),
            lambda: Trail(abstained=True),
            lambda: ["a", "b"],
        ]
        return replies[number % len(replies)]()

class Failing(Varied):
    name = "failing"
    async def answer(self, question):
        raise RuntimeError("it never works")

class Plain(Varied):
    name = "plain"
    def answer(self, question):
        return "Tarn."

class Secretive(Plain):
    def params(self):
        return {"api_key": "sk-secret-123456", "depth": (1, 2)}

class NonJsonParams(Plain):
    def params(self):
        return {"made": object()}
'''


def test_bad_agent_replies_affect_only_their_own_row(workspace: Path) -> None:
    (workspace / "faulty_agents.py").write_text(FAULTY_AGENTS)
    result = run_epoche(
        *make_run_command(workspace, *FEW_RESAMPLES, system="faulty_agents:Varied", out="varied")
    )
    rows = check_finished(result, workspace / "varied")
    # ``Varied`` has seven replies; the number of a question modulo 7 selects one.
    expected_outcomes = ("ANSWERED", "ERROR", "INVALID", "ERROR", "INVALID", "ABSTAINED", "INVALID")
    assert [row["outcome"] for row in rows] == [
        expected_outcomes[n % 7] for n in range(QUESTION_COUNT)
    ]
    assert "ZeroDivisionError" in rows[1]["error"]
    # INVALID and ERROR rows have no prediction, so they count as missing and not as abstentions.
    answers = {
        prediction["question_id"]: prediction["predicted_answer"]
        for prediction in load_predictions(workspace / "varied")
    }
    assert answers == {
        question_id(n): "Tarn." if n % 7 == 0 else ""
        for n in range(QUESTION_COUNT)
        if n % 7 in (0, 5)
    }
    report = json.loads((workspace / "varied/synthlink_scores.json").read_bytes())["report"]
    assert (report["n_questions"], report["n_abstained"]) == (QUESTION_COUNT, 1)
    assert "4 of 12 rows are ERROR" in result.err


def test_run_of_errors_only_fails_but_is_scored(workspace: Path) -> None:
    (workspace / "faulty_agents.py").write_text(FAULTY_AGENTS)
    result = run_epoche(
        *make_run_command(workspace, *FEW_RESAMPLES, system="faulty_agents:Failing", out="failing")
    )
    assert "12 of 12 rows are ERROR" in check_error_line(result, 27)
    assert load_predictions(workspace / "failing") == []
    assert (workspace / "failing" / "report.html").exists()


def test_agent_params_are_recorded_without_secrets(workspace: Path) -> None:
    (workspace / "faulty_agents.py").write_text(FAULTY_AGENTS)
    arguments = make_run_command(
        workspace, *NO_SCORE, "--limit", 1, system="faulty_agents:Secretive", out="plain"
    )
    check_finished(run_epoche(*arguments), workspace / "plain")
    assert read_manifest(workspace / "plain")["params"] == {"api_key": "[hidden]", "depth": [1, 2]}
    assert "0 questions" in run_epoche(*arguments).out, "params equal those of the first run"
    refused_command = make_run_command(
        workspace, *NO_SCORE, system="faulty_agents:NonJsonParams", out="refused"
    )
    assert "params() of system plain is not JSON" in check_error_line(
        run_epoche(*refused_command), 16
    )
    assert not (workspace / "refused").exists()


def test_runs_are_compared(workspace: Path) -> None:
    (workspace / "faulty_agents.py").write_text(FAULTY_AGENTS)
    comparison_flags = ("--compare", workspace / "out" / "predictions.json")
    result = run_epoche(
        *make_run_command(
            workspace, *FEW_RESAMPLES, *comparison_flags, system="faulty_agents:Plain", out="plain"
        )
    )
    assert result.code == 0, result.err
    scores = json.loads((workspace / "plain/synthlink_scores.json").read_bytes())
    (comparison,) = scores["comparisons"]
    assert comparison["differences"]
    assert (workspace / "plain/synthlink_comparison.csv").exists()


def test_metrics_of_a_run_without_scores_name_the_command(workspace: Path) -> None:
    result = run_epoche(*make_run_command(workspace, *NO_SCORE, out="unscored"))
    assert result.code == 0, result.err
    line = check_error_line(run_epoche("metrics", "unscored"), 3)
    assert "no scores yet" in line
    program, *command = line.split("`")[1].split()
    assert program == "epoche"
    scored = run_epoche(*command, *FEW_RESAMPLES, "--domain", "none", "--pages", "none")
    assert scored.code == 0, scored.err
    assert run_epoche("metrics", "unscored").code == 0
