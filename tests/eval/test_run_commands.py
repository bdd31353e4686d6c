"""Tests ``metrics``, ``compare``, ``gate``, ``power`` and ``report`` on run folders.

All tests run over every benchmark. Figures are compared with those of the benchmark's own report.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from extraction_folders import write_run_folder as write_extraction_run
from extraction_outputs import Skill
from skn_folders import write_two_pipelines
from stage_calls import check_error_line, run_epoche, write_edited_manifest

import retrieval
from eval.metrics.measurement import Measurement, ResamplingPlan
from eval.runs.measurement import measure_folders
from kg.base.errors import ChangedRunError

pytestmark = pytest.mark.usefixtures("kept_readers")

RESAMPLES = 200
FIGURES = ("value_candidate", "value_baseline", "difference", "low", "high", "p", "p_holm", "n")
BOOK = Path(retrieval.__file__).parent / "corpora" / "keeping_data"

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Runs of one benchmark.

    Attributes:
        name: name of the benchmark.
        run: a run folder.
        other: another run on the same data.
        metric: a metric whose value is neither 0 nor 1.
        compared: the run folders of the pair that the benchmark's own report compares.
        own_values: system → metric → own estimate, of ``run``.
        own_pair: candidate and baseline of the benchmark's own comparison.
        own_comparisons: metric → own comparison of this pair.
        seed: seed of the own report.
        damaged_file: a file of the run that every command reads.
    """

    name: str
    run: Path
    other: Path
    metric: str
    compared: tuple[Path, ...]
    own_values: dict[str, Json]
    own_pair: tuple[str, str]
    own_comparisons: dict[str, Json]
    seed: int
    damaged_file: str


def load_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def make_extraction(folder: Path) -> Case:
    run, other = folder / "one", folder / "two"
    skills = {"good": Skill(slip=0.1), "poor": Skill(slip=0.4)}
    write_extraction_run(run, skills, resamples=RESAMPLES)
    write_extraction_run(other, {"good": Skill(slip=0.2)}, resamples=RESAMPLES)
    report, pairs = load_json(run / "metrics.json")["report"], load_json(run / "comparison.json")
    first = pairs["pairs"][0]
    return Case(
        name="extraction",
        run=run,
        other=other,
        metric="field_f1_partial",
        compared=(run,),
        own_values={name: system["metrics"] for name, system in report["systems"].items()},
        own_pair=(first["candidate"], first["baseline"]),
        own_comparisons={pair["metric"]: pair for pair in pairs["pairs"]},
        seed=42,
        damaged_file="rows.jsonl",
    )


def make_skn(folder: Path) -> Case:
    run, other = folder / "one", folder / "two"
    write_two_pipelines(run, 16, resamples=RESAMPLES)
    write_two_pipelines(other, 16, resamples=RESAMPLES)
    report = load_json(run / "metrics.json")["report"]
    first = report["comparisons"][0]
    return Case(
        name="skn",
        run=run,
        other=other,
        metric="accuracy",
        compared=(run,),
        own_values={name: system["metrics"] for name, system in report["pipelines"].items()},
        own_pair=(first["candidate"], first["baseline"]),
        own_comparisons={pair["metric"]: pair for pair in report["comparisons"]},
        seed=1,
        damaged_file="rows.jsonl",
    )


def make_synthlink(folder: Path) -> Case:
    run, other = folder / "one", folder / "two"
    flags = ("--limit", 18, "--resamples", RESAMPLES)
    for command in (
        ("--system", "extractive", "--out", other),
        ("--system", "graph_walk", "--out", run, "--compare", other / "predictions.json"),
    ):
        result = run_epoche("synthlink", "run", *command, *flags)
        assert result.code == 0, result.err
    scored = load_json(run / "synthlink_scores.json")
    return Case(
        name="synthlink",
        run=run,
        other=other,
        # F1 has no value while claims are unjudged, as they are without a judge.
        metric="p_at_5",
        compared=(run, other),
        own_values={"graph_walk": scored["report"]["modes"]["corrected"]["overall"]["measures"]},
        own_pair=("graph_walk", "extractive"),
        own_comparisons={
            pair["metric"]: pair
            for pair in scored["comparisons"][0]["differences"]
            if pair["group"] == "all" and pair["mode"] == "corrected"
        },
        seed=12345,
        damaged_file="synthlink_scores.json",
    )


def make_retrieval(folder: Path) -> Case:
    chapter = "04-normal-forms"
    questions = [
        line
        for line in (BOOK / "questions.jsonl").read_text("utf-8").splitlines()
        if all(gold.split("#")[0] == chapter for gold in json.loads(line)["gold"])
    ]
    (folder / "questions.jsonl").write_text("".join(f"{line}\n" for line in questions), "utf-8")
    book = BOOK / "book" / f"{chapter}.md"
    built = run_epoche("kg", "build", book, "--out", folder / "kg", "--no-canonical")
    assert built.code == 0, built.err
    run, other = folder / "one", folder / "two"
    for out, retriever in ((run, "section_tree"), (other, "kg")):
        result = run_epoche(
            *("retrieval", "eval", "--run", folder / "kg", "--baseline", "bm25"),
            *("--questions", folder / "questions.jsonl", "--retriever", retriever),
            *("--resamples", RESAMPLES, "--out", out, "--split", "all"),
        )
        assert result.code == 0, result.err
    report = load_json(run / "metrics.json")
    return Case(
        name="retrieval",
        run=run,
        other=other,
        metric="nDCG@10",
        compared=(run,),
        own_values={
            name: retriever["measures"]["all"] for name, retriever in report["retrievers"].items()
        },
        own_pair=("section_tree", "bm25"),
        own_comparisons={
            pair["metric"]: pair for pair in report["comparisons"] if pair["group"] == "all"
        },
        seed=12345,
        damaged_file="rows.jsonl",
    )


CASES: dict[str, Callable[[Path], Case]] = {
    "extraction": make_extraction,
    "skn": make_skn,
    "synthlink": make_synthlink,
    "retrieval": make_retrieval,
}


@pytest.fixture(scope="module")
def all_cases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    made: dict[str, Case] = {}

    def make_case(name: str) -> Case:
        if name not in made:
            made[name] = CASES[name](tmp_path_factory.mktemp(name))
        return made[name]

    return make_case


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, all_cases: Callable[[str], Case]) -> Case:
    return all_cases(request.param)


def measure(case: Case, *folders: Path) -> Measurement:
    return measure_folders(folders, ResamplingPlan(RESAMPLES, case.seed))


def measure_changed(case: Case, folder: Path) -> Measurement:
    """Measures a folder that a test has changed."""
    plan = ResamplingPlan(RESAMPLES, case.seed)
    # The fixtures of other benchmarks write no hashes.
    if load_json(folder / "manifest.json").get("files_sha256"):
        with pytest.raises(ChangedRunError, match=re.escape(str(folder))):
            measure_folders([folder], plan)
    return measure_folders([folder], plan, allow_changed=True)


def flags_of(case: Case) -> tuple[object, ...]:
    return "--resamples", RESAMPLES, "--seed", case.seed


def test_metrics_are_those_of_the_own_report(case: Case, tmp_path: Path) -> None:
    out = tmp_path / "metrics.json"
    result = run_epoche("metrics", case.run, "--out", out, *flags_of(case))
    assert result.code == 0, result.err
    report = load_json(out)
    assert report["benchmark"] == case.name
    assert set(report["metrics"]) == set(case.own_values)
    for system, own_metrics in case.own_values.items():
        for name, own in own_metrics.items():
            for field in ("value", "low", "high"):
                expected = own.get(field)
                assert report["metrics"][system][name][field] == (
                    expected if expected is None else pytest.approx(expected, abs=1e-9)
                ), (system, name, field)
    assert case.metric in result.out
    value = next(iter(report["metrics"].values()))[case.metric]["value"]
    assert f"{value:.3f}" in result.out


def test_every_system_has_an_estimate_of_every_metric(case: Case) -> None:
    measurement = measure(case, case.run)
    for name in measurement.runs.names:
        estimates = measurement.estimates(name)
        assert set(estimates) == set(measurement.runs.metrics)
        for metric, info in measurement.runs.metrics.items():
            if estimates[metric].value is not None:
                assert estimates[metric].higher_is_better == info.higher_is_better, metric
                assert not info.is_share or 0 <= (estimates[metric].value or 0) <= 1, metric


def test_differences_are_those_of_the_own_report(case: Case, tmp_path: Path) -> None:
    out = tmp_path / "comparison.json"
    candidate, baseline = case.own_pair
    result = run_epoche(
        *("compare", *case.compared, "--baseline", baseline, "--out", out), *flags_of(case)
    )
    assert result.code == 0, result.err
    report = load_json(out)
    compared = {pair["metric"]: pair for pair in report["comparisons"]}
    assert case.metric in compared
    shared = set(compared) & set(case.own_comparisons)
    assert len(shared) >= 5
    for name in shared:
        pair, own = compared[name], case.own_comparisons[name]
        assert (pair["candidate"], pair["baseline"]) == (candidate, baseline)
        for field in FIGURES:
            expected = own.get(field)
            assert pair.get(field) == (
                expected if expected is None else pytest.approx(expected, abs=1e-9)
            ), (name, field)
    assert f"{candidate} − {baseline} = " in result.out
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".md", ".html"}
    assert candidate in out.with_suffix(".html").read_text("utf-8")


def test_the_same_system_of_two_runs_is_compared(case: Case, tmp_path: Path) -> None:
    copy = shutil.copytree(case.run, tmp_path / "copy")
    out = tmp_path / "comparison.json"
    result = run_epoche("compare", case.run, copy, "--out", out, *flags_of(case))
    assert result.code == 0, result.err
    pairs = load_json(out)["comparisons"]
    assert {(pair["candidate"], pair["baseline"]) for pair in pairs} == {
        (f"{name}@one", f"{name}@copy") for name in case.own_values
    }
    assert {pair["difference"] for pair in pairs if pair["difference"] is not None} == {0}


def test_many_pairs_have_enough_resamples(tmp_path: Path) -> None:
    """Six systems are 15 pairs, whose smallest p by 2,000 resamples would be .015."""
    run, out = tmp_path / "run", tmp_path / "c.json"
    skills = {f"s{n}": Skill(slip=n / 20) for n in range(6)}
    write_extraction_run(run, skills, resamples=RESAMPLES)
    for options, expected in (((), 3000), (("--resamples", 400), 400)):
        assert run_epoche("compare", run, "--out", out, *options).code == 0
        report = load_json(out)
        assert report["resamples"] == expected
        assert f"|boot:{expected}|" in report["signature"]


def test_gate_passes_and_fails(case: Case, tmp_path: Path) -> None:
    system, metrics = next(iter(case.own_values.items()))
    value, junit = metrics[case.metric]["value"], tmp_path / "gate.xml"
    passing = f"{system}:{case.metric}>={value - 0.01:.4f}"
    failing = f"{system}:{case.metric}>={value + 0.01:.4f}"
    common = ("--max-failures", 1, "--junit", junit, *flags_of(case))
    result = run_epoche("gate", case.run, "--metric", passing, *common)
    assert result.code == 0, result.err
    assert "all 1 checks passed" in result.out
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("1", "0")
    result = run_epoche("gate", case.run, "--metric", passing, "--metric", failing, *common)
    assert result.code == 100
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    assert [suite.get("name") for suite in suites] == [system]
    assert len(suites.findall(".//failure")) == 1


def test_gate_names_similar_metrics(case: Case) -> None:
    result = run_epoche("gate", case.run, "--metric", f"{case.metric[:-1]}<=1")
    check_error_line(result, 1)
    assert f"no metric '{case.metric[:-1]}'" in result.err
    assert "Similar: " in result.err
    assert case.metric in result.err.split("One of")[0]


def test_gate_fails_runs_with_many_failures(
    all_cases: Callable[[str], Case], tmp_path: Path
) -> None:
    run = tmp_path / "scores"
    answers = load_json(all_cases("synthlink").run / "predictions.json")
    (tmp_path / "few.json").write_text(json.dumps(answers[:12]))  # of 60 questions
    scored = run_epoche(
        *("synthlink", "score", "--predictions", tmp_path / "few.json", "--output-dir", run),
        *("--resamples", RESAMPLES),
    )
    assert scored.code == 0, scored.err
    result = run_epoche("gate", run, "--metric", "p_at_5>=0")
    assert result.code == 100
    assert "FAIL  few  error_rate <= 0.05: 0.800" in result.out
    result = run_epoche("gate", run, "--metric", "p_at_5>=0", "--metric", "error_rate<=.8")
    assert result.code == 0, result.err


def test_gate_accepts_limits_of_metrics_that_are_no_shares(
    all_cases: Callable[[str], Case],
) -> None:
    run = all_cases("extraction").run
    result = run_epoche("gate", run, "--metric", "latency_max_s<100", "--max-failures", 1)
    assert result.code == 0, result.err
    check_error_line(run_epoche("gate", run, "--metric", "exact_match<=100"), 1)


def test_gate_compares_with_a_baseline(case: Case, tmp_path: Path) -> None:
    copy = shutil.copytree(case.run, tmp_path / "copy")
    common = ("--max-failures", 1, *flags_of(case))
    result = run_epoche("gate", case.run, "--baseline", copy, *common)
    assert result.code == 0, result.err
    assert f"{case.metric} no worse than the baseline's" in result.out
    result = run_epoche("gate", case.run, "--baseline", case.run, *common)
    check_error_line(result, 1)
    assert "own baseline" in result.err


def test_damaged_folders_are_refused(case: Case, tmp_path: Path) -> None:
    damaged = shutil.copytree(case.run, tmp_path / "damaged")
    path = damaged / case.damaged_file
    path.write_bytes(path.read_bytes()[:-40])
    check_error_line(run_epoche("metrics", damaged), 12)
    check_error_line(run_epoche("compare", damaged, "--out", tmp_path / "c.json"), 12)
    check_error_line(run_epoche("gate", damaged, "--metric", f"{case.metric}>=0"), 1)
    check_error_line(run_epoche("power", damaged), 12)
    assert not (tmp_path / "c.json").exists()


def test_options_for_cards_are_refused(case: Case, tmp_path: Path) -> None:
    for command in (
        ("metrics", case.run, "--policy", "licensed"),
        ("metrics", case.run, "--common"),
        ("compare", case.run, "--cards", tmp_path / "cards.jsonl"),
        ("compare", case.run, "--no-common"),
        ("report", case.run, "--cards", tmp_path / "cards.jsonl"),
    ):
        result = run_epoche(*command)
        check_error_line(result, 19)
        assert "only for results of cards" in result.err
    result = run_epoche("gate", case.run, "--metric", f"{case.metric}>0", "--policy", "licensed")
    check_error_line(result, 1)


def test_outputs_do_not_replace_files_of_the_run(case: Case) -> None:
    before = {path: path.read_bytes() for path in case.run.iterdir() if path.is_file()}
    path = case.run / case.damaged_file
    assert run_epoche("metrics", case.run, "--out", path).code == 15
    assert run_epoche("compare", case.run, "--out", path).code == 15
    assert run_epoche("gate", case.run, "--metric", f"{case.metric}>0", "--junit", path).code == 1
    assert {path: path.read_bytes() for path in before} == before


def test_power_uses_the_observed_dispersion(case: Case) -> None:
    result = run_epoche("power", *case.compared, "--metric", case.metric, "--effect", 0.1)
    assert result.code == 0, result.err
    assert "a difference of 0.1 needs " in result.out
    needed = int(result.out.split("a difference of 0.1 needs ")[1].split()[0].replace(",", ""))
    result = run_epoche("power", *case.compared, "--metric", case.metric, "--n", needed)
    detectable = float(result.out.split("detect differences from ")[1].split()[0])
    assert detectable == pytest.approx(0.1, rel=0.05)


def test_power_refuses_what_it_cannot_use(all_cases: Callable[[str], Case], tmp_path: Path) -> None:
    run = all_cases("skn").run
    check_error_line(run_epoche("power", tmp_path / "results.jsonl"), 3)
    assert run_epoche("power", run, tmp_path / "results.jsonl").code == 19
    check_error_line(run_epoche("power", run, "--metric", "acuracy"), 19)
    assert run_epoche("power", run, "--icc", 0.2).code == 2
    assert run_epoche("power", "--metric", "acuracy", "--n", 100).code == 2


def test_one_report_shows_runs_of_all_benchmarks(
    all_cases: Callable[[str], Case], tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    folders = [all_cases(name).run for name in CASES]
    result = run_epoche("report", *folders, "--out", out)
    assert result.code == 0, result.err
    page = out.read_text("utf-8")
    for name in CASES:
        assert f'<section id="{name}" class="benchmark"' in page
    assert list(load_json(out.with_suffix(".json"))["benchmarks"]) == list(CASES)
    assert out.with_suffix(".md").is_file()
    assert len(list(tmp_path.glob("page.*.csv"))) >= len(CASES)
    result = run_epoche("report", folders[0], "--out", tmp_path / "one.html", "--formats", "html")
    assert result.code == 0, result.err
    assert [path.name for path in tmp_path.glob("one.*")] == ["one.html"]


def test_benchmarks_are_not_mixed(all_cases: Callable[[str], Case], tmp_path: Path) -> None:
    skn, extraction = all_cases("skn").run, all_cases("extraction").run
    for command in (("metrics",), ("compare", "--out", tmp_path / "c.json")):
        result = run_epoche(*command, skn, extraction)
        check_error_line(result, 19)
        assert "several benchmarks: skn and extraction" in result.err
    results = tmp_path / "results.jsonl"
    results.write_text('{"id":"1","pred":"YES","gold":"YES","label":"E"}\n', "utf-8")
    result = run_epoche("metrics", results, skn)
    check_error_line(result, 19)
    assert str(results) in result.err


def test_runs_of_other_data_are_refused(all_cases: Callable[[str], Case], tmp_path: Path) -> None:
    extraction = all_cases("extraction")
    other = tmp_path / "other"
    shutil.copytree(extraction.run, other)
    lines = (other / "samples.jsonl").read_text("utf-8").splitlines()
    changed = [json.dumps(json.loads(line) | {"text": "another text"}) for line in lines]
    (other / "samples.jsonl").write_text("".join(f"{line}\n" for line in changed), "utf-8")
    check_error_line(run_epoche("metrics", extraction.run, other), 14)
    skn = all_cases("skn")
    other = shutil.copytree(skn.run, tmp_path / "skn")
    manifest = load_json(other / "manifest.json") | {"dataset_sha256": "1" * 64}
    write_edited_manifest(other / "manifest.json", manifest)
    check_error_line(run_epoche("compare", skn.run, other, "--out", tmp_path / "c.json"), 14)


@pytest.mark.parametrize("name", ["extraction", "skn", "retrieval"])
def test_missing_rows_are_failures(
    name: str, all_cases: Callable[[str], Case], tmp_path: Path
) -> None:
    case = all_cases(name)
    folder = shutil.copytree(case.run, tmp_path / "one")
    path = folder / case.damaged_file
    lines = path.read_text("utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in lines[:-1]), "utf-8")
    whole, cut = measure(case, case.run), measure_changed(case, folder)
    assert cut.runs.n_items == whole.runs.n_items
    last = json.loads(lines[-1])
    system = last.get("system") or last.get("pipeline")
    before, after = whole.estimates(system), cut.estimates(system)
    if name == "retrieval":
        lost = (last["measures"] or {}).get(case.metric, 0.0)
        n = before[case.metric].n
        assert after[case.metric].n == n
        expected = (before[case.metric].value or 0.0) - lost / n
        assert after[case.metric].value == pytest.approx(expected)
    assert after["error_rate"].n == before["error_rate"].n
    assert (after["error_rate"].numerator or 0) == (before["error_rate"].numerator or 0) + 1


@pytest.mark.parametrize("name", ["extraction", "skn", "retrieval"])
def test_items_without_any_row_are_failures(
    name: str, all_cases: Callable[[str], Case], tmp_path: Path
) -> None:
    case = all_cases(name)
    folder = shutil.copytree(case.run, tmp_path / "one")
    path = folder / case.damaged_file
    lines = path.read_text("utf-8").splitlines()
    lost = json.loads(lines[-1])["id"]
    rest = [line for line in lines if json.loads(line)["id"] != lost]
    path.write_text("".join(f"{line}\n" for line in rest), "utf-8")
    manifest = load_json(folder / "manifest.json")
    manifest["status"] = "interrupted"
    write_edited_manifest(folder / "manifest.json", manifest)
    whole, cut = measure(case, case.run), measure_changed(case, folder)
    assert cut.runs.n_items == whole.runs.n_items
    n_lost = {system.name: 0 for system in whole.runs.systems}
    for row in map(json.loads, set(lines).difference(rest)):
        n_lost[row.get("system") or row["pipeline"]] += 1
    assert sum(n_lost.values()) == len(lines) - len(rest) >= len(n_lost)
    for system, n_rows in n_lost.items():
        before = whole.estimates(system)["error_rate"]
        after = cut.estimates(system)["error_rate"]
        assert after.n == before.n
        assert (after.numerator or 0) == (before.numerator or 0) + n_rows
    (note,) = [note for note in cut.runs.notes if "missing" in note]
    assert f"{len(lines) - len(rest)} rows are missing" in note
    assert "the run is interrupted" in note
    result = run_epoche("metrics", folder, *flags_of(case), "--allow-changed")
    assert result.code == 0, result.err
    assert "are missing" in result.out


def test_only_shared_items_are_measured(all_cases: Callable[[str], Case], tmp_path: Path) -> None:
    case = all_cases("extraction")
    shorter = tmp_path / "shorter"
    write_extraction_run(shorter, {"good": Skill()}, resamples=RESAMPLES)
    samples = (shorter / "samples.jsonl").read_text("utf-8").splitlines()[:20]
    (shorter / "samples.jsonl").write_text("".join(f"{line}\n" for line in samples), "utf-8")
    result = run_epoche("metrics", case.run, shorter, *flags_of(case))
    assert result.code == 0, result.err
    assert "Only the 20 samples that all runs asked are measured; 4 are left out" in result.out
    assert "good@one" in result.out
    assert "good@shorter" in result.out
