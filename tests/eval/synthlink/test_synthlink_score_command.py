"""Tests ``epoche synthlink score``: the specified command and hostile files.

The specification of the SynthLink benchmark gives the command and an example of its input.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthlink_six_answers import (
    SIX_QUESTIONS_FILE,
    honest_predictions,
    read_six_questions,
    shuffled_predictions,
)

sys.path.insert(0, str(Path(__file__).parents[2]))
from stage_calls import (
    block_at_fsync,
    check_error_line,
    check_usage_error,
    command_line,
    limit_file_size,
    read_folder_bytes,
    run_epoche,
    run_process,
    wait_for_condition,
)

from eval.synthlink.catalog import read_catalog
from eval.synthlink.scoring.outputs import COMPARISON_FILES, OUTPUT_FILES, read_scores

pytestmark = pytest.mark.usefixtures("kept_readers")

EXAMPLE = """
   [
     {
       "question_id": "HIA-01",
       "predicted_answer": "The printing press made books cheaper, boosting literacy.",
       "retrieved_docs": ["https://en.wikipedia.org/wiki/Printing_press"],
       "iterations": [{"answers": ["Books cheaper"], "docs": []}],
       "sources_verified": ["Wikipedia text"]
     }
   ]
"""
"""The specification's example of a predictions file, without the comment, which is not JSON."""

CATALOG = read_six_questions()
HONEST_PREDICTIONS = honest_predictions(CATALOG)
SCORE_COMMAND = (
    "synthlink",
    "score",
    "--predictions",
    "predictions.json",
    "--output-dir",
    "results/",
)
QUICK_COMMAND = (*SCORE_COMMAND, "--catalog", SIX_QUESTIONS_FILE, "--resamples", 100)


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "predictions.json").write_text(json.dumps(HONEST_PREDICTIONS))
    return tmp_path


def write_rows(name: str, rows: list[Any]) -> str:
    Path(name).write_text(json.dumps(rows))
    return name


def test_specified_command_scores_the_specified_example(working_folder: Path) -> None:
    (working_folder / "predictions.json").write_text(EXAMPLE)
    result = run_epoche(*SCORE_COMMAND)
    assert result.code == 0, result.err
    assert "1 of 60 questions answered (coverage 0.017)" in result.out
    assert result.out.index("corrected: ") < result.out.index("literal: ")
    names = {path.name for path in (working_folder / "results").iterdir()}
    assert names >= {*OUTPUT_FILES, "report.html"} - set(COMPARISON_FILES)
    assert {
        "synthlink_scores.csv",
        "synthlink_category_scores.csv",
        "synthlink_overall_score.txt",
    } <= names


def test_the_report_can_be_left_out(working_folder: Path) -> None:
    assert run_epoche(*QUICK_COMMAND).code == 0
    assert (working_folder / "results/report.html").is_file()
    result = run_epoche(*QUICK_COMMAND, "--no-report")
    assert result.code == 0, result.err
    assert "scores and tables → results" in result.out
    assert not list((working_folder / "results").glob("report.*"))
    assert (working_folder / "results/synthlink_scores.json").is_file()


def test_names_of_files_may_be_any_bytes(working_folder: Path) -> None:
    # These bytes are not valid UTF-8.
    predictions, rival, pages = (
        os.fsdecode(name) for name in (b"\xe9.json", b"\xe8.json", b"\xe9")
    )
    Path(predictions).write_text(EXAMPLE)
    Path(rival).write_text(EXAMPLE)
    Path(pages).write_text('{"url": "https://example.org/1", "title": "One", "text": "One."}\n')
    flags = ["--predictions", predictions, "--compare", rival, "--pages", pages, "--resamples", 100]
    result = run_epoche("synthlink", "score", *flags, "--output-dir", "results")
    assert result.code == 0, result.err
    scores = read_scores("results")
    assert (scores.name, scores.comparisons[0].name) == (r"\xe9.json", r"\xe8.json")
    assert scores.report.pages == r"\xe9"


def test_published_catalogue_is_scored(working_folder: Path, published_data: Path) -> None:
    """The catalogue of the published experiments has neither addresses nor facts of steps."""
    folder = published_data / "synthlink"
    catalog = read_catalog(folder)
    answers = [
        {
            "question_id": question.id,
            "predicted_answer": question.answer,
            "retrieved_docs": [source.title for source in question.sources],
            "iterations": [
                {
                    "answers": [question.answer],
                    "docs": [],
                    "opened": [source.title for source in question.sources],
                }
            ],
        }
        for question in catalog.questions
    ]
    write_rows("predictions.json", answers)
    result = run_epoche(*SCORE_COMMAND, "--catalog", folder, "--resamples", 100)
    assert result.code == 0, result.err
    assert "30 of 30 questions answered" in result.out
    for message in ("STE, PSM, SFT", "no fact of any step", "without addresses", "no graph"):
        assert message in result.out
    report = read_scores("results").report
    measures = report.modes["corrected"].overall.measures
    assert measures["rqs"].value is None, "the published steps contain no facts to check"
    for name in ("f1", "p_at_5", "fcs", "ie", "aggregate"):
        assert measures[name].value == 1, name  # type: ignore[index]
    # The literal P@5 divides by 5, so it is below 1 for a question with fewer sources.
    literal_measures = report.modes["literal"].overall.measures
    sources = [len(question.sources) for question in catalog.questions]
    assert literal_measures["p_at_5"].value == pytest.approx(sum(sources) / 5 / 30)
    with (working_folder / "results" / "synthlink_scores.csv").open(newline="") as handle:
        assert sum(1 for _ in csv.DictReader(handle)) == 2 * 30


def test_comparison_of_files_is_described(working_folder: Path) -> None:
    catalog = read_catalog()
    files = {"good.json": catalog.questions, "half.json": catalog.questions[::2]}
    for name, questions in files.items():
        write_rows(
            name,
            [
                {
                    "question_id": question.id,
                    "predicted_answer": question.answer,
                    "retrieved_docs": [source.url for source in question.sources],
                }
                for question in questions
            ],
        )
    options = ("--output-dir", "results", "--resamples", 100, "--domain", "none")
    result = run_epoche(
        "synthlink", "score", "--predictions", "half.json", "--compare", "good.json", *options
    )
    assert result.code == 0, result.err
    assert "corrected, half.json − good.json: no value to compare" in result.out
    assert "literal, half.json − good.json = −0." in result.out
    assert result.out.count("good.json is better") == 1
    markdown = (working_folder / "results" / "synthlink_comparison.md").read_text()
    assert "| aggregate | 60 |" in markdown
    assert "Questions answered: 30 of 60 against 60" in markdown
    result = run_epoche(
        "synthlink", "score", "--predictions", "good.json", "--compare", "x.json", *options
    )
    check_error_line(result, 3)
    write_rows("x.json", json.loads(Path("good.json").read_text()))
    result = run_epoche(
        "synthlink", "score", "--predictions", "good.json", "--compare", "x.json", *options
    )
    assert result.out.count("no significant difference") == 1
    # --limit: both files are scored over the first questions only.
    result = run_epoche(
        *("synthlink", "score", "--predictions", "half.json", "--compare", "good.json"),
        *("--limit", 12, *options),
    )
    assert result.code == 0, result.err
    assert "6 of 12 questions answered" in result.out
    assert "the first 12 of 60 questions are scored (--limit)" in result.out
    markdown = (working_folder / "results" / "synthlink_comparison.md").read_text()
    assert "Questions answered: 6 of 12 against 12" in markdown


def test_modes_and_thresholds_are_applied(working_folder: Path) -> None:
    for mode in ("corrected", "literal"):
        assert run_epoche(*QUICK_COMMAND, "--mode", mode, "--correct", 0.35).code == 0
        report = read_scores("results").report
        assert list(report.modes) == [mode]
        assert report.thresholds.correct == 0.35
        efficiency = report.modes[mode].overall.measures["ie"]
        assert (efficiency.highest if mode == "corrected" else efficiency.value) > 0  # type: ignore[operator]
    check_usage_error(run_epoche(*QUICK_COMMAND, "--mode", "fair"))
    check_usage_error(run_epoche("synthlink", "score", "--output-dir", "results"))


UNREADABLE_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON"),
    "an object": (b'{"question_id": "HIA-01"}', "not a JSON list"),
    "torn": (json.dumps(HONEST_PREDICTIONS).encode()[:-9], "not JSON"),
    "garbage": (bytes(range(256)) * 40, "not UTF-8"),
    "deep": (b"[" * 200_000, "nested too deeply"),
    "another catalogue's": (
        json.dumps(
            [{**row, "question_id": f"Q{n}"} for n, row in enumerate(HONEST_PREDICTIONS)]
        ).encode(),
        "is on a question of the catalogue; row 1 (Q0): the catalogue has no such question",
    ),
    "other keys": (b'[{"id": "HIA-01", "answer": "x"}]', "none of 1 row is on a question"),
}


@pytest.mark.parametrize("case", UNREADABLE_FILES)
def test_file_without_a_list_ends_the_scoring(working_folder: Path, case: str) -> None:
    content, message = UNREADABLE_FILES[case]
    (working_folder / "predictions.json").write_bytes(content)
    (working_folder / "good.json").write_text(json.dumps(HONEST_PREDICTIONS))
    before = read_folder_bytes(working_folder)
    assert message in check_error_line(run_epoche(*QUICK_COMMAND), 12)
    compare_command = (
        "synthlink",
        "score",
        "--predictions",
        "good.json",
        "--compare",
        "predictions.json",
    )
    assert message in check_error_line(
        run_epoche(*compare_command, "--catalog", SIX_QUESTIONS_FILE, "--out", "results"), 12
    )
    assert read_folder_bytes(working_folder) == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--catalog", "gone.jsonl"), 3, "question catalogue"),
        (("--catalog", "."), 3, "no SynthLink_"),
        (("--catalog", "predictions.json"), 12, "epoche schema synthlink-question"),
        (("--domain", "nowhere"), 10, "nowhere"),
        (("--pages", "gone.jsonl"), 3, "corpus file"),
        (("--pages", "predictions.json"), 12, "epoche schema corpus"),
        (("--compare", "predictions.json"), 19, "given twice"),
        (("--correct", "0"), 19, "above 0 and at most 1"),
        (("--correct", "nan"), 19, "above 0 and at most 1"),
        (("--output-dir", "predictions.json"), 15, "a part of its path is a file"),
        (("--output-dir", "/proc/epoche"), 15, "cannot write"),
        (("--output-dir", "n" * 300), 15, "too long"),
    ],
)
def test_errors_are_one_line(
    working_folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    before = read_folder_bytes(working_folder)
    assert message in check_error_line(run_epoche(*QUICK_COMMAND, *arguments), code)
    assert read_folder_bytes(working_folder) == before


def test_unusable_rows_are_reported_and_skipped(working_folder: Path) -> None:
    hostile_id = "\x1b[31m\u202e<script>HIA-99"
    rows = [
        *HONEST_PREDICTIONS[:3],
        {"question_id": hostile_id, "predicted_answer": "x"},
        7,
        HONEST_PREDICTIONS[2],
    ]
    write_rows("predictions.json", rows)
    result = run_epoche(*QUICK_COMMAND)
    assert result.code == 0
    assert "4 rows are refused" in result.out
    text = (working_folder / "results" / "synthlink_overall_score.txt").read_text()
    assert "refused: row 3 (" in text
    assert "refused: row 4" in text
    for output in (result.out, text):
        assert not {"\x1b", "\u202e"} & set(output)
    assert "<script>HIA-99" not in (working_folder / "results" / "report.html").read_text()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
_TEXT = st.text(max_size=40) | st.sampled_from(
    [HONEST_PREDICTIONS[0]["predicted_answer"], "", "\u202e", "= 1"]
)
_ROW = _JSON | st.fixed_dictionaries(
    {"question_id": st.sampled_from([*CATALOG.ids, "XXX-01"]), "predicted_answer": _TEXT | _JSON},
    optional={
        "retrieved_docs": st.lists(_TEXT, max_size=7) | _JSON,
        "iterations": st.lists(
            st.fixed_dictionaries({"answers": st.lists(_TEXT, max_size=3)}) | _JSON, max_size=3
        ),
        "sources_verified": st.lists(_TEXT, max_size=3) | _JSON,
    },
)
_FILE = st.lists(_ROW, max_size=8).map(lambda rows: json.dumps(rows).encode()) | st.binary(
    max_size=60
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_FILE)
def test_any_file_is_scored_or_refused_in_one_line(working_folder: Path, content: bytes) -> None:
    (working_folder / "predictions.json").write_bytes(content)
    for leftover in (working_folder / "results").glob("*"):
        leftover.unlink()
    result = run_epoche(*QUICK_COMMAND)
    if result.code:
        check_error_line(result, 12)
        assert not list((working_folder / "results").glob("*"))
        return
    report = read_scores("results").report
    assert report.n_questions == 6
    for scores in report.modes.values():
        for row in scores.questions:
            values = [getattr(row.parts, name) for name in scores.overall.measures]
            assert all(value is None or 0 <= value <= 1 for value in values)


_SIX_QUESTIONS_BYTES = SIX_QUESTIONS_FILE.read_bytes()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(_SIX_QUESTIONS_BYTES)), st.integers(0, 3_000), st.binary(max_size=12))
def test_any_catalogue_is_read_or_refused_in_one_line(
    working_folder: Path, start: int, size: int, inserted_bytes: bytes
) -> None:
    (working_folder / "catalog.jsonl").write_bytes(
        _SIX_QUESTIONS_BYTES[:start] + inserted_bytes + _SIX_QUESTIONS_BYTES[start + size :]
    )
    result = run_epoche(
        *SCORE_COMMAND, "--catalog", "catalog.jsonl", "--resamples", 100, "--mode", "corrected"
    )
    if result.code:
        assert result.code in (12, 13)
        assert "catalog.jsonl" in check_error_line(result, result.code)
    else:
        assert read_scores("results").report.n_questions >= 1


def test_bytes_do_not_depend_on_the_hash_seed(working_folder: Path) -> None:
    write_rows("rival.json", shuffled_predictions(CATALOG))
    command = command_line(*QUICK_COMMAND, "--domain", "synthlink", "--compare", "rival.json")
    results = []
    for seed in ("0", "4242"):
        assert run_process(command, working_folder, PYTHONHASHSEED=seed).code == 0
        results.append(read_folder_bytes(working_folder / "results"))
    assert results[0] == results[1]


def test_full_disk_keeps_previous_files(working_folder: Path) -> None:
    assert run_epoche(*QUICK_COMMAND).code == 0
    before = read_folder_bytes(working_folder / "results")
    write_rows("predictions.json", HONEST_PREDICTIONS[:3])
    line = check_error_line(
        run_process(limit_file_size(command_line(*QUICK_COMMAND), 2_000), working_folder), 15
    )
    assert "cannot write" in line
    assert read_folder_bytes(working_folder / "results") == before


def test_interruption_keeps_previous_files(working_folder: Path) -> None:
    assert run_epoche(*QUICK_COMMAND).code == 0
    before = read_folder_bytes(working_folder / "results")
    write_rows("predictions.json", HONEST_PREDICTIONS[:3])
    ready_file = working_folder / "ready"
    process = subprocess.Popen(
        block_at_fsync(ready_file, *QUICK_COMMAND), cwd=working_folder, stderr=subprocess.PIPE
    )
    wait_for_condition(ready_file.exists, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert read_folder_bytes(working_folder / "results") == before
