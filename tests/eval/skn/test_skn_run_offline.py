"""A whole run without a model: its files, its refusals, and that nothing ends it for good."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from skn_run_parts import SIX, files_of, offline, rows_of, shop_of
from stage_calls import call, command, epoche, error_line, snapshot

from eval.skn.benchmark import run_benchmark
from eval.skn.pipelines import ABLATION_PIPELINES, FAIR_ABLATION_PIPELINES
from eval.skn.running.run_options import RunOptions

COUNT = 7
EMPTY, LOST = 3, 4


def read(out: Path, name: str) -> Any:
    return json.loads((out / name).read_bytes())


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with a finished run in ``out``."""
    shop = shop_of(tmp_path_factory.mktemp("ran"), COUNT, empty=[EMPTY], lost=[LOST])
    done = epoche(*offline(shop))
    assert done.code == 0, done.err
    return shop


@pytest.fixture
def shop(ran: Path, tmp_path: Path) -> Path:
    """The same, to do with as a test likes."""
    shutil.copytree(ran, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_every_sample_has_a_row_for_every_format(ran: Path) -> None:
    rows = rows_of(ran / "out")
    assert [(row["id"], row["pipeline"]) for row in rows] == [
        (f"q{number:02}", name) for number in range(COUNT) for name in FAIR_ABLATION_PIPELINES
    ]
    lost = [row for row in rows if row["id"] == f"q{LOST:02}"]
    assert {(row["outcome"], row["stage"]) for row in lost} == {("ERROR", "search")}
    assert all("no search for" in row["error"] for row in lost)
    assert not any(str(ran) in row["error"] for row in lost), "a path of this machine"
    empty = [row for row in rows if row["id"] == f"q{EMPTY:02}"]
    assert {row["error"] for row in empty} == {None}, "nothing found is no failure"
    assert {row["latency_s"] for row in rows} == {None}
    assert {row["outcome"] for row in rows} > {"ERROR"}


def test_the_six_files_have_the_published_shapes(ran: Path) -> None:
    out, names = ran / "out", FAIR_ABLATION_PIPELINES
    ids = [f"q{number:02}" for number in range(COUNT)]
    searches = read(out, "search_results.json")
    assert [one["id"] for one in searches] == ids
    assert all(one["raw_text_chars"] == len(one["raw_text"]) for one in searches)
    assert searches[0]["raw_text"].startswith("[Result 1]\nTitle: Report 0\nURL: https://")
    assert searches[EMPTY] | {"question": ""} == {
        "id": f"q{EMPTY:02}",
        "question": "",
        "raw_text": "",
        "raw_text_chars": 0,
        "results": [],
        "error": None,
    }
    assert searches[LOST]["error"]
    extractions = read(out, "extractions.json")
    assert [one["id"] for one in extractions] == ids
    for name in names:
        given = extractions[0][f"{name}_extraction"]
        assert isinstance(given, dict if name.startswith("json") else str)
        assert extractions[0][f"{name}_tokens_est"] > 0
        assert extractions[LOST][f"{name}_extraction"] is None
    responses = read(out, "agent_responses.json")
    assert set(responses[0]) == {"id", "question", *(f"{name}_response" for name in names)}
    assert set(responses[0]["skn_response"]) == {"answer", "confidence", "reasoning", "abstained"}
    details = read(out, "detailed_results.json")
    keys = {"id", "category", "question", "raw_text", "ground_truth", "answerable"}
    parts = (
        *("answer", "confidence", "reasoning", "correct", "hallucination", "groundedness"),
        *("abstained", "outcome", "stage", "error"),
    )
    assert set(details[0]) == keys | {f"{name}_{part}" for name in names for part in parts}
    assert {one["skn_correct"] for one in details if not one["answerable"]} == {None}
    judged = [one["json_hallucination"] for one in details if one["json_hallucination"]]
    assert set(judged[0]) == {
        *("hallucination_detected", "hallucination_severity", "total_claims"),
        *("fabricated_claims", "normalized_hallucination"),
    }
    grounds = [one["json_groundedness"] for one in details if one["json_groundedness"]]
    assert set(grounds[0]) == {"groundedness_score", "unsupported_fraction"}


PUBLISHED_KEYS = {
    *("accuracy", "accuracy_ci", "ece", "avg_confidence", "confidence_when_correct"),
    *("confidence_when_wrong", "hallucination_rate", "hallucination_severity"),
    *("normalized_hallucination", "normalized_hallucination_ci", "groundedness"),
    *("groundedness_ci", "unsupported_fraction", "abstention_precision", "abstention_recall"),
    *("abstention_f1", "avg_search_time_s", "avg_extraction_time_s", "avg_reasoning_time_s"),
    *("avg_total_latency_s", "avg_context_tokens"),
}


def test_metrics_hold_the_published_keys_and_the_report(ran: Path) -> None:
    metrics = read(ran / "out", "metrics.json")
    assert list(metrics) == [*FAIR_ABLATION_PIPELINES, "efficiency", "report"]
    for name in FAIR_ABLATION_PIPELINES:
        assert set(metrics[name]) >= PUBLISHED_KEYS
        assert set(metrics[name]["accuracy_ci"]) >= {"mean", "ci_low", "ci_high", "std"}
    assert "token_ratio_skn_vs_json" in metrics["efficiency"]
    report = metrics["report"]["pipelines"]["skn"]
    assert report["outcomes"]["rows"] == COUNT
    assert report["outcomes"]["stages"] == {"search": 1}


def test_summary_and_terminal_say_what_offline_means(shop: Path) -> None:
    done = epoche(*offline(shop))
    assert done.code == 0
    assert f"0 rows ({COUNT * 8} were there already)" in done.out
    for name in FAIR_ABLATION_PIPELINES:
        assert f"\n{name} " in done.out
    summary = (shop / "out" / "summary.txt").read_text()
    for name in ("summary.txt", "metrics.json", "report.html", "report.json"):
        assert "keeps or drops" in (shop / "out" / name).read_text()
    assert "wins" not in summary


def test_categories_have_a_line_each(ran: Path) -> None:
    lines = list(csv.DictReader((ran / "out" / "categories.csv").read_text().splitlines()))
    told = {(line["category"], line["pipeline"]) for line in lines}
    categories = {"diagnostic", "optimization", "insufficient_info"}
    assert told == {(one, name) for one in categories for name in FAIR_ABLATION_PIPELINES}
    assert {"accuracy", "hallucination_rate"} <= {line["metric"] for line in lines}


def test_the_manifest_names_everything_and_no_place_of_this_machine(ran: Path) -> None:
    text = (ran / "out" / "manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["kind"] == "skn"
    assert manifest["status"] == "complete"
    assert (manifest["offline"], manifest["mode"]) == (True, "fair")
    assert manifest["dataset"] == "../samples.json"
    assert manifest["search_file"] == "../search.jsonl"
    assert sum(manifest["counts"].values()) == COUNT * 8
    assert manifest["counts"]["ERROR"] == 8
    assert str(ran) not in text


def test_two_runs_give_the_same_bytes(ran: Path, tmp_path: Path) -> None:
    shutil.copy(ran / "samples.json", tmp_path)
    shutil.copy(ran / "search.jsonl", tmp_path)
    done = call(command(*offline(tmp_path)), tmp_path, PYTHONHASHSEED="7")
    assert done.code == 0, done.err
    assert files_of(tmp_path / "out") == files_of(ran / "out")


def test_limit_and_repeats_may_grow_and_end_in_the_same_bytes(ran: Path, shop: Path) -> None:
    shutil.rmtree(shop / "out")
    for limit in (3, None):
        assert epoche(*offline(shop, limit=limit)).code == 0
        wanted = limit or COUNT
        assert len(read(shop / "out", "detailed_results.json")) == wanted
    assert files_of(shop / "out") == files_of(ran / "out")
    assert epoche(*offline(shop, "--repeat", 2)).code == 0
    assert files_of(shop / "out")["rows.jsonl"] != files_of(ran / "out")["rows.jsonl"]
    details = read(shop / "out", "detailed_results.json")
    assert [one["repeat"] for one in details[:2]] == [0, 1]
    assert len(rows_of(shop / "out")) == 2 * COUNT * 8


def test_a_folder_may_be_moved_and_is_still_its_run(shop: Path) -> None:
    (shop / "deep" / "down").mkdir(parents=True)
    shutil.move(shop / "out", shop / "deep" / "down" / "moved")
    done = epoche(*offline(shop, out="deep/down/moved"))
    assert done.code == 0, done.err
    assert "0 rows" in done.out


def test_a_lower_limit_is_refused(shop: Path) -> None:
    before = files_of(shop / "out")
    line = error_line(epoche(*offline(shop, limit=3)), 14)
    assert "--limit 3" in line
    assert files_of(shop / "out") == before


def drop_an_answer(shop: Path) -> None:
    rows = json.loads((shop / "samples.json").read_bytes())
    (shop / "samples.json").write_text(json.dumps(rows[:-1]))


def change_a_search(shop: Path) -> None:
    text = (shop / "search.jsonl").read_text()
    (shop / "search.jsonl").write_text(text.replace("Restarting", "Rebooting"))


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        (drop_an_answer, (), "other samples"),
        (change_a_search, (), "sha256"),
        (None, ("--hide-question",), "show_question"),
        (None, ("--words", 50), "words"),
        (None, ("--seed", 1), "seed"),
    ],
    ids=["samples", "searches", "question", "words", "seed"],
)
def test_another_run_is_refused(shop: Path, change: Any, more: tuple[Any, ...], said: str) -> None:
    before = files_of(shop / "out")
    if change is not None:
        change(shop)
    line = error_line(epoche(*offline(shop, *more)), 14)
    assert said in line
    assert "--overwrite" in line
    assert files_of(shop / "out") == before
    if change is change_a_search:
        assert epoche(*offline(shop, *more, "--overwrite")).code == 0
        assert b"Rebooting" in (shop / "out" / "rows.jsonl").read_bytes()


def test_another_set_of_formats_is_refused(shop: Path) -> None:
    arguments = [one for one in offline(shop) if one != "--ablation"]
    assert "pipelines" in error_line(epoche(*arguments), 14)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--no-resume",), 15, "--no-resume"),
        (("--live",), 19, "either replayed or made"),
        (("--as-published",), 19, "--offline"),
        (("--model", "custom/m"), 19, "no model"),
        (("--judge-model", "same"), 19, "no model"),
        (("--judge-repeats", "2"), 19, "vote once"),
        (("--constrained",), 19, "--constrained"),
        (("--max-tokens", "50"), 19, "--max-tokens"),
        (("--backend", "duckduckgo"), 19, "--live"),
        (("--dataset", "none.json"), 3, "none.json"),
        (("--search", "none.jsonl"), 3, "none.jsonl"),
    ],
)
def test_flags_that_cannot_be(shop: Path, more: tuple[Any, ...], code: int, said: str) -> None:
    before = snapshot(shop)
    assert said in error_line(epoche(*offline(shop, *more)), code)
    assert snapshot(shop) == before


def test_searches_for_other_questions_are_refused_before_anything_is_asked(shop: Path) -> None:
    others = shop / "others.jsonl"
    others.write_bytes(b"")
    line = error_line(epoche(*offline(shop, "--search", others, out="new")), 34)
    assert "--live" in line
    assert not (shop / "new").exists()
    # Those shipped are for the samples shipped.
    own = ("skn", "run", "--offline", "--dataset", shop / "samples.json", "--out", shop / "new")
    assert "any of the 7 questions" in error_line(epoche(*own), 34)
    assert not (shop / "new").exists()


def test_no_file_of_the_run_takes_the_place_of_what_it_reads(shop: Path) -> None:
    (shop / "rows.jsonl").write_bytes((shop / "samples.json").read_bytes())
    before = (shop / "rows.jsonl").read_bytes()
    arguments = offline(shop, "--dataset", shop / "rows.jsonl", out=".")
    assert "take the place" in error_line(epoche(*arguments), 15)
    assert (shop / "rows.jsonl").read_bytes() == before


def test_damaged_rows_are_named_and_nothing_is_changed(shop: Path) -> None:
    rows = shop / "out" / "rows.jsonl"
    whole = rows.read_bytes().splitlines(keepends=True)
    strange = whole[0].replace(b'"pipeline":"json"', b'"pipeline":"xml"')
    for lines, code, said in (
        ([*whole[:3], b"{nonsense}\n"], 12, "rows.jsonl:4"),
        ([strange], 12, "'xml' is not of this run"),
        ([whole[0], whole[0]], 13, "answered twice"),
    ):
        rows.write_bytes(b"".join(lines))
        assert said in error_line(epoche(*offline(shop)), code)
        assert rows.read_bytes() == b"".join(lines)
    rows.write_bytes(b"".join(whole))
    (shop / "out" / "manifest.json").unlink()
    assert "manifest.json is not beside it" in error_line(epoche(*offline(shop)), 12)


def test_the_published_name_runs_the_same(ran: Path, tmp_path: Path) -> None:
    metrics = run_benchmark(
        ran / "samples.json",
        tmp_path / "out",
        ablation=True,
        offline=True,
        search=ran / "search.jsonl",
        resamples=100,
    )
    assert metrics == read(tmp_path / "out", "metrics.json")
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == (ran / "out/rows.jsonl").read_bytes()
    with pytest.raises(TypeError, match="colour"):
        run_benchmark(ran / "samples.json", tmp_path / "other", offline=True, colour="red")
    assert not (tmp_path / "other").exists()


def test_formats_by_what_is_asked_for(tmp_path: Path) -> None:
    plain = RunOptions(dataset=tmp_path, out=tmp_path)
    assert plain.pipelines == ("json", "skn")
    assert RunOptions(dataset=tmp_path, out=tmp_path, ablation=True).pipelines == (
        FAIR_ABLATION_PIPELINES
    )
    assert FAIR_ABLATION_PIPELINES[:6] == ABLATION_PIPELINES


def test_a_run_over_what_is_shipped(tmp_path: Path) -> None:
    done = epoche("skn", "run", "--offline", "--limit", 6, "--resamples", 100, "--out", tmp_path)
    assert done.code == 0, done.err
    assert {row["outcome"] for row in rows_of(tmp_path)} <= {"ANSWERED", "ABSTAINED"}
    for name in (*SIX, "manifest.json", "rows.jsonl", "categories.csv", "report.html"):
        assert (tmp_path / name).stat().st_size
