"""Tests complete runs: output files, refused commands and resuming."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.scripted_server import ScriptedServer
from skn_run_parts import (
    PUBLISHED_FILES,
    REPLAY,
    make_scripted_model,
    online_command,
    read_output_files,
    read_rows,
    write_inputs,
)
from stage_calls import check_error_line, read_folder_bytes, run_epoche

from eval.model.options import ClientOptions
from eval.skn.formats.pipelines import ABLATION_PIPELINES, FAIR_ABLATION_PIPELINES
from eval.skn.options import RunOptions
from eval.skn.published_run import run_benchmark

# A run with --ablation has eight formats, so it writes eight rows per sample.
SAMPLE_COUNT = 7
EMPTY_SEARCH, MISSING_SEARCH = 3, 4
"""Numbers of the samples whose recorded search has no result, or which have no search."""


MODEL, JUDGE = f"custom/{ScriptedServer.model}", "custom/judge-1"


def read_json(out: Path, name: str) -> Any:
    return json.loads((out / name).read_bytes())


def make_command(workspace: Path, *options: object, out: str = "out") -> list[object]:
    """Makes the command of a run with all formats, whose replies are kept for other runs."""
    settings = ("--ablation", "--judge-repeats", 1, "--cache", workspace / "replies.sqlite")
    command = online_command(workspace, MODEL, *settings, *options, out=out, judge=JUDGE)
    command.remove("--no-cache")
    return command


@pytest.fixture(scope="module", autouse=True)
def _server() -> Iterator[None]:
    """A server whose model plays every role well."""
    with ScriptedServer() as server, pytest.MonkeyPatch.context() as patch:
        for name in ("EPOCHE_MODEL", "EPOCHE_JUDGE_MODEL"):
            patch.delenv(name, raising=False)
        patch.setenv("EPOCHE_BASE_URL", server.base_url)
        patch.setenv("EPOCHE_API_KEY", server.api_key)
        server.behave_with(make_scripted_model())
        yield


@pytest.fixture(scope="module")
def finished_workspace(_server: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished run in ``out``."""
    folder = write_inputs(
        tmp_path_factory.mktemp("ran"),
        SAMPLE_COUNT,
        empty_searches=[EMPTY_SEARCH],
        missing_searches=[MISSING_SEARCH],
    )
    result = run_epoche(*make_command(folder))
    assert result.code == 0, result.err
    return folder


@pytest.fixture
def workspace(finished_workspace: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(finished_workspace, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_every_sample_has_a_row_for_every_format(finished_workspace: Path) -> None:
    rows = read_rows(finished_workspace / "out")
    assert [(row["id"], row["pipeline"]) for row in rows] == [
        (f"q{number:02}", name)
        for number in range(SAMPLE_COUNT)
        for name in FAIR_ABLATION_PIPELINES
    ]
    rows_without_search = [row for row in rows if row["id"] == f"q{MISSING_SEARCH:02}"]
    assert {(row["outcome"], row["stage"]) for row in rows_without_search} == {("ERROR", "search")}
    assert all("no search for" in row["error"] for row in rows_without_search)
    assert not any(str(finished_workspace) in row["error"] for row in rows_without_search), (
        "errors must not contain local paths"
    )
    rows_with_empty_search = [row for row in rows if row["id"] == f"q{EMPTY_SEARCH:02}"]
    assert {row["error"] for row in rows_with_empty_search} == {None}, (
        "an empty search result is not an error"
    )
    assert {row["outcome"] for row in rows} == {"ANSWERED", "ABSTAINED", "ERROR"}


def test_six_files_have_the_published_format(finished_workspace: Path) -> None:
    out, names = finished_workspace / "out", FAIR_ABLATION_PIPELINES
    ids = [f"q{number:02}" for number in range(SAMPLE_COUNT)]
    searches = read_json(out, "search_results.json")
    assert [search["id"] for search in searches] == ids
    assert all(search["raw_text_chars"] == len(search["raw_text"]) for search in searches)
    assert searches[0]["raw_text"].startswith("[Result 1]\nTitle: Report 0\nURL: https://")
    assert searches[EMPTY_SEARCH] | {"question": ""} == {
        "id": f"q{EMPTY_SEARCH:02}",
        "question": "",
        "raw_text": "",
        "raw_text_chars": 0,
        "results": [],
        "error": None,
    }
    assert searches[MISSING_SEARCH]["error"]
    extractions = read_json(out, "extractions.json")
    assert [sample["id"] for sample in extractions] == ids
    for name in names:
        extraction = extractions[0][f"{name}_extraction"]
        assert isinstance(extraction, dict if name.startswith("json") else str)
        assert extractions[0][f"{name}_tokens_est"] > 0
        assert extractions[MISSING_SEARCH][f"{name}_extraction"] is None
    responses = read_json(out, "agent_responses.json")
    assert set(responses[0]) == {"id", "question", *(f"{name}_response" for name in names)}
    assert set(responses[0]["skn_response"]) == {"answer", "confidence", "reasoning", "abstained"}
    details = read_json(out, "detailed_results.json")
    keys = {"id", "category", "question", "raw_text", "ground_truth", "answerable"}
    keys |= {"answered_by", "judged_by"}
    fields = (
        *("answer", "confidence", "reasoning", "correct", "hallucination", "groundedness"),
        *("abstained", "outcome", "stage", "error"),
    )
    assert set(details[0]) == keys | {f"{name}_{field}" for name in names for field in fields}
    assert {row["skn_correct"] for row in details if not row["answerable"]} == {None}
    hallucinations = [row["json_hallucination"] for row in details if row["json_hallucination"]]
    assert set(hallucinations[0]) == {
        *("hallucination_detected", "hallucination_severity", "total_claims"),
        *("fabricated_claims", "normalized_hallucination"),
    }
    groundedness = [row["json_groundedness"] for row in details if row["json_groundedness"]]
    assert set(groundedness[0]) == {"groundedness_score", "unsupported_fraction"}


PUBLISHED_KEYS = {
    *("accuracy", "accuracy_ci", "ece", "avg_confidence", "confidence_when_correct"),
    *("confidence_when_wrong", "hallucination_rate", "hallucination_severity"),
    *("normalized_hallucination", "normalized_hallucination_ci", "groundedness"),
    *("groundedness_ci", "unsupported_fraction", "abstention_precision", "abstention_recall"),
    *("abstention_f1", "avg_search_time_s", "avg_extraction_time_s", "avg_reasoning_time_s"),
    *("avg_total_latency_s", "avg_context_tokens"),
}


def test_metrics_contain_the_published_keys_and_the_report(finished_workspace: Path) -> None:
    metrics = read_json(finished_workspace / "out", "metrics.json")
    assert list(metrics) == [*FAIR_ABLATION_PIPELINES, "efficiency", "report"]
    for name in FAIR_ABLATION_PIPELINES:
        assert set(metrics[name]) >= PUBLISHED_KEYS
        assert set(metrics[name]["accuracy_ci"]) >= {"mean", "ci_low", "ci_high", "std"}
    assert "token_ratio_skn_vs_json" in metrics["efficiency"]
    report = metrics["report"]["pipelines"]["skn"]
    assert report["outcomes"]["rows"] == SAMPLE_COUNT
    assert report["outcomes"]["stages"] == {"search": 1}


def test_a_finished_run_asks_nothing_and_prints_its_table(workspace: Path) -> None:
    result = run_epoche(*make_command(workspace))
    assert result.code == 0
    assert f"0 rows ({SAMPLE_COUNT * 8} were there already)" in result.out
    for name in FAIR_ABLATION_PIPELINES:
        assert f"\n{name} " in result.out
    assert "wins" not in (workspace / "out" / "summary.txt").read_text()


def test_every_category_has_a_line(finished_workspace: Path) -> None:
    lines = list(
        csv.DictReader((finished_workspace / "out" / "categories.csv").read_text().splitlines())
    )
    categories_and_formats = {(line["category"], line["pipeline"]) for line in lines}
    categories = {"diagnostic", "optimization", "insufficient_info"}
    assert categories_and_formats == {
        (category, name) for category in categories for name in FAIR_ABLATION_PIPELINES
    }
    given = {line["metric"] for line in lines if line["value"]}
    assert given >= {"accuracy", "groundedness", "abstention_accuracy", "context_chars", "tokens"}


def test_manifest_is_complete_and_contains_no_local_path(finished_workspace: Path) -> None:
    text = (finished_workspace / "out" / "manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["kind"] == "skn"
    assert manifest["status"] == "complete"
    assert (manifest["offline"], manifest["mode"]) == (False, "fair")
    assert manifest["dataset"] == "../samples.json"
    assert manifest["search_file"] == "../search.jsonl"
    assert sum(manifest["counts"].values()) == SAMPLE_COUNT * 8
    assert manifest["counts"]["ERROR"] == 8
    assert str(finished_workspace) not in text


def test_repeats_are_listed_after_each_other(workspace: Path) -> None:
    assert run_epoche(*make_command(workspace, "--repeat", 2)).code == 0
    details = read_json(workspace / "out", "detailed_results.json")
    assert [detail["repeat"] for detail in details[:2]] == [0, 1]
    assert len(read_rows(workspace / "out")) == 2 * SAMPLE_COUNT * 8


def test_moved_folder_can_be_resumed(workspace: Path) -> None:
    (workspace / "deep" / "down").mkdir(parents=True)
    shutil.move(workspace / "out", workspace / "deep" / "down" / "moved")
    result = run_epoche(*make_command(workspace, out="deep/down/moved"))
    assert result.code == 0, result.err
    assert "0 rows" in result.out


def remove_last_sample(workspace: Path) -> None:
    rows = json.loads((workspace / "samples.json").read_bytes())
    (workspace / "samples.json").write_text(json.dumps(rows[:-1]))


def change_search_text(workspace: Path) -> None:
    text = (workspace / "search.jsonl").read_text()
    (workspace / "search.jsonl").write_text(text.replace("Restarting", "Rebooting"))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (remove_last_sample, (), "other samples"),
        (change_search_text, (), "sha256"),
        (None, ("--hide-question",), "show_question"),
        (None, ("--words", 50), "words"),
        (None, ("--seed", 1), "seed"),
    ],
    ids=["samples", "searches", "question", "words", "seed"],
)
def test_changed_inputs_or_settings_are_refused_on_resume(
    workspace: Path, change: Any, options: tuple[Any, ...], message: str
) -> None:
    before = read_output_files(workspace / "out")
    if change is not None:
        change(workspace)
    line = check_error_line(run_epoche(*make_command(workspace, *options)), 14)
    assert message in line
    assert "--overwrite" in line
    assert read_output_files(workspace / "out") == before
    if change is change_search_text:
        assert run_epoche(*make_command(workspace, *options, "--overwrite")).code == 0
        assert b"Rebooting" in (workspace / "out" / "sources.jsonl").read_bytes()


def test_different_formats_are_refused_on_resume(workspace: Path) -> None:
    arguments = [argument for argument in make_command(workspace) if argument != "--ablation"]
    assert "pipelines" in check_error_line(run_epoche(*arguments), 14)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--live",), 19, "either replayed or made"),
        (("--no-judge",), 19, "--no-judge, --judge-model"),
        (("--formats", "skn"), 19, "--ablation, --formats"),
        (("--backend", "duckduckgo"), 19, "--live"),
        (("--shard", "1/0"), 19, "--shard"),
        (("--dataset", "none.json"), 3, "none.json"),
        (("--search", "none.jsonl"), 3, "none.jsonl"),
    ],
)
def test_invalid_flags_are_refused(
    workspace: Path, options: tuple[Any, ...], code: int, message: str
) -> None:
    before = read_folder_bytes(workspace)
    assert message in check_error_line(run_epoche(*make_command(workspace, *options)), code)
    assert read_folder_bytes(workspace) == before


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    arguments = ("skn", "run", "--formats", "json, xml", "--out", tmp_path / "out")
    line = check_error_line(run_epoche(*arguments), 19)
    assert "no format 'xml'" in line
    assert "json_meta" in line
    assert not (tmp_path / "out").exists()


def test_shards_of_a_live_search_are_refused(tmp_path: Path) -> None:
    arguments = ("skn", "run", "--live", "--shard", "1/2", "--out", tmp_path / "out")
    line = check_error_line(run_epoche(*arguments), 19)
    assert "--shard, --live" in line
    assert not (tmp_path / "out").exists()


def test_searches_for_other_questions_are_refused_at_the_start(workspace: Path) -> None:
    empty_search_file = workspace / "others.jsonl"
    empty_search_file.write_bytes(b"")
    line = check_error_line(
        run_epoche(*make_command(workspace, "--search", empty_search_file, out="new")), 34
    )
    assert "--live" in line
    assert not (workspace / "new").exists()
    # Without --search, the shipped searches are used; they only fit the shipped samples.
    data = ("--dataset", workspace / "samples.json", "--out", workspace / "new")
    arguments = ("skn", "run", "--model", MODEL, *data)
    assert "any of the 7 questions" in check_error_line(run_epoche(*arguments), 34)
    assert not (workspace / "new").exists()


def test_run_does_not_overwrite_its_inputs(workspace: Path) -> None:
    (workspace / "rows.jsonl").write_bytes((workspace / "samples.json").read_bytes())
    before = (workspace / "rows.jsonl").read_bytes()
    arguments = make_command(workspace, "--dataset", workspace / "rows.jsonl", out=".")
    assert "would overwrite a file it is made from" in check_error_line(run_epoche(*arguments), 15)
    assert (workspace / "rows.jsonl").read_bytes() == before


def test_run_benchmark_gives_the_same_files_as_the_command(
    finished_workspace: Path, tmp_path: Path
) -> None:
    cache = finished_workspace / "replies.sqlite"
    metrics = run_benchmark(
        finished_workspace / "samples.json",
        tmp_path / "out",
        ablation=True,
        client=ClientOptions(model=MODEL, cache=cache),
        judge_models=(JUDGE,),
        judge_repeats=1,
        search=finished_workspace / "search.jsonl",
        resamples=100,
    )
    assert metrics == read_json(tmp_path / "out", "metrics.json")
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == (
        finished_workspace / "out/rows.jsonl"
    ).read_bytes()
    with pytest.raises(TypeError, match="colour"):
        run_benchmark(finished_workspace / "samples.json", tmp_path / "other", colour="red")
    assert not (tmp_path / "other").exists()


def test_formats_follow_the_options(tmp_path: Path) -> None:
    default_options = RunOptions(dataset=tmp_path, out=tmp_path)
    assert default_options.pipelines == ("json", "skn")
    assert RunOptions(dataset=tmp_path, out=tmp_path, ablation=True).pipelines == (
        FAIR_ABLATION_PIPELINES
    )
    assert FAIR_ABLATION_PIPELINES[:6] == ABLATION_PIPELINES
    some_formats = RunOptions(dataset=tmp_path, out=tmp_path, formats=("skn", "json_meta"))
    assert some_formats.pipelines == ("skn", "json_meta")


def test_a_recorded_model_is_replayed_without_a_server(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        out = tmp_path / name
        result = run_epoche(
            *("skn", "run", *REPLAY, "--limit", 6, "--resamples", 100), "--out", out
        )
        assert result.code == 0, result.err
        contents.append([(out / file).read_bytes() for file in ("rows.jsonl", "metrics.json")])
    assert contents[0] == contents[1]
    rows = read_rows(out)
    assert len(rows) == 18
    assert "ERROR" not in {row["outcome"] for row in rows}
    judged = [row for row in rows if row["verdicts"]]
    assert judged
    # Time and tokens are those of the recording.
    assert all(row["latency_s"] > 0.1 and row["usage"]["completion_tokens"] > 0 for row in judged)
    for name in (*PUBLISHED_FILES, "manifest.json", "categories.csv", "report.html"):
        assert (out / name).stat().st_size
    manifest = read_json(out, "manifest.json")
    assert manifest["same_judge"] is True
    # Formats and settings that were not recorded are an error.
    for flags in (("--formats", "skn_min"), ("--words", 100), ("--judge-repeats", 2)):
        result = run_epoche("skn", "run", *REPLAY, *flags, "--limit", 1, "--out", tmp_path / "x")
        assert "was not recorded" in check_error_line(result, 23)
        shutil.rmtree(tmp_path / "x")


def test_a_run_without_model_or_system_says_what_to_name(tmp_path: Path) -> None:
    line = check_error_line(run_epoche("skn", "run", "--no-judge", "--out", tmp_path / "out"), 19)
    for way in ("--model ollama/", "EPOCHE_MODEL", "--system", "recorded"):
        assert way in line
    assert not (tmp_path / "out").exists()
