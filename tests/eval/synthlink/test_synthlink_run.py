"""A whole run without a model: files, refusals, and hidden fields of questions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from stage_calls import check_error_line, command_line, read_folder_bytes, run_epoche, run_process
from synthlink_run_parts import (
    SECRET_MARKS,
    check_finished,
    load_predictions,
    make_question,
    page_address,
    question_id,
    read_manifest,
    read_output_files,
    read_rows,
    run_command,
    write_inputs,
)

from eval.synthlink.outputs import OUTPUT_FILES
from eval.synthlink.predictions import read_predictions

COUNT = 12
QUICK = ("--resamples", 100)
QUIET = ("--no-score",)


@pytest.fixture(scope="module")
def finished_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished and scored run in ``out``."""
    shop = write_inputs(tmp_path_factory.mktemp("ran"), COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shop)
        patch.syspath_prepend(shop)
        done = run_epoche(*run_command(shop, *QUICK))
    assert done.code == 0, done.err
    return shop


@pytest.fixture
def workspace(finished_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may change."""
    shutil.copytree(finished_workspace, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_rows_are_in_catalogue_order(finished_workspace: Path) -> None:
    rows = read_rows(finished_workspace / "out")
    assert [row["id"] for row in rows] == [question_id(number) for number in range(COUNT)]
    assert [row["outcome"] for row in rows] == [
        "ABSTAINED" if number % 5 == 4 else "ANSWERED" for number in range(COUNT)
    ]
    assert {row["system"] for row in rows} == {"first"}
    one = rows[0]["trail"]["rounds"][0]
    assert one["query"] == make_question(0)["question"]
    assert one["found"][0] == {"url": page_address(0), "title": "Alcor0 observatory"}


def test_predictions_match_the_specification(finished_workspace: Path) -> None:
    made = load_predictions(finished_workspace / "out")
    keys = ["question_id", "predicted_answer", "retrieved_docs", "iterations", "sources_verified"]
    assert all(list(one) == keys for one in made)
    assert [one["question_id"] for one in made] == [question_id(number) for number in range(COUNT)]
    assert [one["predicted_answer"] == "" for one in made] == [
        number % 5 == 4 for number in range(COUNT)
    ]
    told = "Observatory Alcor0 was founded by Mira Voss0."
    assert made[0]["predicted_answer"] == told
    assert made[0]["retrieved_docs"][0] == page_address(0)
    assert made[0]["iterations"][0]["answers"] == [told]
    assert made[0]["iterations"][0]["docs"] == made[0]["retrieved_docs"]
    assert made[0]["sources_verified"] == [told]
    read = read_predictions(
        finished_workspace / "out" / "predictions.json", {one["question_id"] for one in made}
    )
    assert not read.refused


def test_run_is_scored_and_has_a_page(finished_workspace: Path) -> None:
    out = finished_workspace / "out"
    assert {path.name for path in out.iterdir()} >= {
        *("rows.jsonl", "run_manifest.json", "predictions.json", "manifest.json", "report.html"),
        *("synthlink_scores.csv", "synthlink_category_scores.csv", "synthlink_overall_score.txt"),
    }
    scores = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert scores["n_questions"] == COUNT
    assert scores["n_abstained"] == sum(number % 5 == 4 for number in range(COUNT))


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


SPY = '''
import gc, inspect, json
from pathlib import Path
from eval.synthlink.agents.trail import Trail

class Spy:
    """Writes down all that it is handed, and all that leads from there."""
    name = "spy"
    def __init__(self, options):
        self.seen = [repr(options)]
        self.library = options.library
    def params(self):
        return {}
    async def answer(self, *handed, **named):
        assert not named
        self.seen += [repr(handed)]
        held = [one for one in gc.get_referrers(handed[0]) if one is not handed]
        self.seen += [repr(one) for one in held if not inspect.isframe(one)]
        hits = await self.library.search(handed[0], 50)
        self.seen += [repr(hits), repr(self.library.params())]
        Path("seen.json").write_text(json.dumps(self.seen))
        return Trail(answer="I saw it.")
'''


def test_agent_gets_only_the_question_text(workspace: Path) -> None:
    (workspace / "spy.py").write_text(SPY)
    done = run_epoche(*run_command(workspace, *QUIET, "--limit", 3, system="spy:Spy", out="spied"))
    check_finished(done, workspace / "spied")
    seen = (workspace / "seen.json").read_text()
    for number in range(3):
        assert str(make_question(number)["question"]) in seen
        assert question_id(number) not in seen
    assert not any(mark in seen for mark in SECRET_MARKS)


def test_two_runs_give_the_same_bytes(finished_workspace: Path, tmp_path: Path) -> None:
    shop = write_inputs(tmp_path, COUNT)
    done = run_process(command_line(*run_command(shop, *QUICK)), shop, PYTHONHASHSEED="7")
    assert done.code == 0, done.err
    assert read_output_files(shop / "out") == read_output_files(finished_workspace / "out")


def test_raised_limit_gives_identical_bytes(finished_workspace: Path, workspace: Path) -> None:
    shutil.rmtree(workspace / "out")
    assert run_epoche(*run_command(workspace, *QUICK, "--limit", 5)).code == 0
    assert len(load_predictions(workspace / "out")) == 5
    done = run_epoche(*run_command(workspace, *QUICK))
    assert "7 questions (5 were there already)" in done.out
    assert read_output_files(workspace / "out") == read_output_files(finished_workspace / "out")
    before = read_output_files(workspace / "out")
    assert "--limit 3" in check_error_line(
        run_epoche(*run_command(workspace, *QUICK, "--limit", 3)), 14
    )
    assert read_output_files(workspace / "out") == before


def test_existing_rows_are_kept_exactly(finished_workspace: Path, workspace: Path) -> None:
    done = run_epoche(*run_command(workspace, *QUICK))
    assert f"0 questions ({COUNT} were there already)" in done.out
    assert read_output_files(workspace / "out") == read_output_files(finished_workspace / "out")


def test_moved_folder_can_be_resumed(workspace: Path) -> None:
    (workspace / "deep" / "down").mkdir(parents=True)
    shutil.move(workspace / "out", workspace / "deep" / "down" / "moved")
    done = run_epoche(*run_command(workspace, *QUIET, out="deep/down/moved"))
    assert done.code == 0, done.err
    assert "0 questions" in done.out


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
    ("change", "more", "system", "said"),
    [
        (change_a_question, (), "own_agents:First", "other samples"),
        (change_a_page, (), "own_agents:First", "library: sha256"),
        (change_the_agent, (), "other_agents:First", "system"),
        (None, (), "own_agents:Slow", "system"),
        (None, ("--rounds", 3), "own_agents:First", "rounds: 5, now 3"),
    ],
    ids=["questions", "pages", "agent", "class", "rounds"],
)
def test_another_run_is_refused(
    workspace: Path, change: Any, more: tuple[Any, ...], system: str, said: str
) -> None:
    before = read_output_files(workspace / "out")
    if change is not None:
        change(workspace)
    line = check_error_line(run_epoche(*run_command(workspace, *QUIET, *more, system=system)), 14)
    assert said in line
    assert "--overwrite" in line
    assert read_output_files(workspace / "out") == before


def test_overwrite_replaces_everything(workspace: Path) -> None:
    change_a_page(workspace)
    assert run_epoche(*run_command(workspace, *QUIET, "--overwrite", "--limit", 3)).code == 0
    out = workspace / "out"
    assert len(read_rows(out)) == 3
    left = {path.name for path in out.iterdir()}
    assert left == {"rows.jsonl", "run_manifest.json", "predictions.json"}, (
        "outputs of outdated rows must be deleted"
    )


def test_corrected_answer_is_scored_again(workspace: Path) -> None:
    text = (workspace / "catalog.jsonl").read_text()
    told = "Observatory Alcor0 was founded by Mira Voss0."
    (workspace / "catalog.jsonl").write_text(
        text.replace("Goldmark: the founder, Mira Voss0, came from Tarn0.", told)
    )
    before = json.loads((workspace / "out/synthlink_scores.json").read_bytes())["report"]
    done = run_epoche(*run_command(workspace, *QUICK))
    assert f"0 questions ({COUNT} were there already)" in done.out
    after = json.loads((workspace / "out/synthlink_scores.json").read_bytes())["report"]
    corrected = [report["modes"]["corrected"]["overall"] for report in (before, after)]
    f1 = [group["measures"]["f1"]["value"] for group in corrected]
    assert f1[1] > f1[0]


def test_scores_of_another_file_are_kept(workspace: Path) -> None:
    out = workspace / "scored"
    out.mkdir()
    for name in OUTPUT_FILES:
        if (workspace / "out" / name).exists():
            shutil.copy(workspace / "out" / name, out)
    before = read_folder_bytes(out)
    line = check_error_line(run_epoche(*run_command(workspace, *QUIET, out="scored")), 15)
    assert "which was not written by such a run" in line
    assert read_folder_bytes(out) == before
    assert run_epoche(*run_command(workspace, *QUIET, "--overwrite", out="scored")).code == 0


@pytest.mark.parametrize("name", ["report.html", "report.cards.csv"])
def test_foreign_report_is_kept(workspace: Path, name: str) -> None:
    (workspace / "results").mkdir()
    (workspace / "results" / name).write_text("precious")
    before = read_folder_bytes(workspace)
    line = check_error_line(run_epoche(*run_command(workspace, *QUICK, out="results")), 15)
    assert f"{name}, which was not written by such a run" in line
    assert read_folder_bytes(workspace) == before


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--no-resume",), 15, "--no-resume"),
        (("--live",), 19, "--pages, --live"),
        (("--search", "search.jsonl"), 19, "--pages, --search"),
        (("--backend", "mojeek"), 19, "--live"),
        (("--embedder", "lexical"), 19, "--retriever dense"),
        (("--compare", "other.json"), 19, "--no-score"),
        (("--catalog", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "own_agents.py"), 12, "own_agents.py:2"),
        (("--system", "nobody"), 16, "graph_walk, extractive, agent, raw"),
        (("--system", "nowhere:First"), 16, "nowhere"),
        (("--system", "own_agents:Nobody"), 16, "First, Slow"),
        (("--system", "json:JSONDecoder"), 16, "has answer(question), params(), name"),
        (("--system", "graph_walk", "--model", "custom/m"), 19, "asks no model"),
        (("--system", "extractive", "--max-tokens", "9"), 19, "asks no model"),
        (("--system", "raw", "--model", "custom/m"), 19, "raw looks nothing up"),
        (("--max-cost", "inf"), 19, "--max-cost"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else None,
)
def test_refusals_change_nothing(
    workspace: Path, more: tuple[str, ...], code: int, said: str
) -> None:
    before = read_folder_bytes(workspace)
    assert said in check_error_line(run_epoche(*run_command(workspace, *QUIET, *more)), code)
    assert read_folder_bytes(workspace) == before


@pytest.mark.parametrize("flag", ["--catalog", "--pages"])
def test_inputs_are_not_overwritten(workspace: Path, flag: str) -> None:
    name = "catalog.jsonl" if flag == "--catalog" else "pages.jsonl"
    (workspace / "new").mkdir()
    shutil.copy(workspace / name, workspace / "new" / "rows.jsonl")
    before = read_folder_bytes(workspace)
    line = check_error_line(
        run_epoche(*run_command(workspace, *QUIET, flag, workspace / "new/rows.jsonl", out="new")),
        15,
    )
    assert "rows.jsonl" in line
    assert read_folder_bytes(workspace) == before


BROKEN = '''
from eval.synthlink.agents.trail import Round, Trail

class Moody:
    """Every question in a mood of its own."""
    name = "moody"
    def params(self):
        return {}
    async def answer(self, question):
        number = int("".join(filter(str.isdigit, question)))
        moods = [
            lambda: Trail(answer="Tarn."),
            lambda: 1 / 0,
            lambda: None,
            lambda: exit(5),
            lambda: Trail(answer="x" * 99_999),
            lambda: Trail(abstained=True),
            lambda: ["a", "b"],
        ]
        return moods[number % len(moods)]()

class Hopeless(Moody):
    name = "hopeless"
    async def answer(self, question):
        raise RuntimeError("it never works")

class Plain(Moody):
    name = "plain"
    def answer(self, question):
        return "Tarn."

class Secretive(Plain):
    def params(self):
        return {"api_key": "sk-secret-123456", "depth": (1, 2)}

class Odd(Plain):
    def params(self):
        return {"made": object()}

def made_by_hand():
    return Plain()
'''


def test_bad_agent_replies_affect_only_their_own_row(workspace: Path) -> None:
    (workspace / "moods.py").write_text(BROKEN)
    done = run_epoche(*run_command(workspace, *QUICK, system="moods:Moody", out="moody"))
    rows = check_finished(done, workspace / "moody")
    wanted = ("ANSWERED", "ERROR", "INVALID", "ERROR", "INVALID", "ABSTAINED", "INVALID")
    assert [row["outcome"] for row in rows] == [wanted[n % 7] for n in range(COUNT)]
    assert "ZeroDivisionError" in rows[1]["error"]
    # An empty reply counts as missing, not as an abstention.
    told = {
        one["question_id"]: one["predicted_answer"] for one in load_predictions(workspace / "moody")
    }
    assert told == {
        question_id(n): "Tarn." if n % 7 == 0 else "" for n in range(COUNT) if n % 7 in (0, 5)
    }
    report = json.loads((workspace / "moody/synthlink_scores.json").read_bytes())["report"]
    assert (report["n_questions"], report["n_abstained"]) == (COUNT, 1)
    assert "4 of 12 rows are ERROR" in done.err


def test_run_of_errors_only_fails_but_is_scored(workspace: Path) -> None:
    (workspace / "moods.py").write_text(BROKEN)
    done = run_epoche(*run_command(workspace, *QUICK, system="moods:Hopeless", out="hopeless"))
    assert "12 of 12 rows are ERROR" in check_error_line(done, 27)
    assert load_predictions(workspace / "hopeless") == []
    assert (workspace / "hopeless" / "report.html").exists()


@pytest.mark.parametrize("name", ["Plain", "made_by_hand"])
def test_agent_may_be_synchronous(workspace: Path, name: str) -> None:
    (workspace / "moods.py").write_text(BROKEN)
    done = run_epoche(
        *run_command(workspace, *QUIET, "--limit", 2, system=f"moods:{name}", out="plain")
    )
    rows = check_finished(done, workspace / "plain")
    assert {row["trail"]["answer"] for row in rows} == {"Tarn."}


def test_agent_params_are_recorded_without_secrets(workspace: Path) -> None:
    (workspace / "moods.py").write_text(BROKEN)
    arguments = run_command(workspace, *QUIET, "--limit", 1, system="moods:Secretive", out="plain")
    check_finished(run_epoche(*arguments), workspace / "plain")
    assert read_manifest(workspace / "plain")["params"] == {"api_key": "[hidden]", "depth": [1, 2]}
    assert "0 questions" in run_epoche(*arguments).out, "it compares equal to what was kept"
    odd = run_command(workspace, *QUIET, system="moods:Odd", out="odd")
    assert "params() of system plain is not JSON" in check_error_line(run_epoche(*odd), 16)
    assert not (workspace / "odd").exists()


def test_runs_are_compared(workspace: Path) -> None:
    (workspace / "moods.py").write_text(BROKEN)
    other = ("--compare", workspace / "out" / "predictions.json")
    done = run_epoche(*run_command(workspace, *QUICK, *other, system="moods:Plain", out="plain"))
    assert done.code == 0, done.err
    scored = json.loads((workspace / "plain/synthlink_scores.json").read_bytes())
    (compared,) = scored["comparisons"]
    assert compared["differences"]
    assert (workspace / "plain/synthlink_comparison.csv").exists()
