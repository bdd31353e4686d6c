"""Tests the output folder of scores: its files, their consistency, and what is not overwritten."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from synthlink_six_answers import (
    SIX_QUESTIONS_FILE,
    echo_predictions,
    honest_predictions,
    read_six_questions,
)

from epoche.schemas import build_schema
from eval.synthlink.metrics import METRICS
from eval.synthlink.score_files import write_scores
from eval.synthlink.scoring.comparison import ALL_GROUP
from eval.synthlink.scoring.manifest import read_manifest
from eval.synthlink.scoring.options import NO_RESOURCE, ScoreOptions
from eval.synthlink.scoring.outputs import COMPARISON_FILES, OUTPUT_FILES, read_answers, read_scores
from kg.base.errors import (
    DomainError,
    MissingFileError,
    RecordError,
    SettingError,
    WriteError,
)
from retrieval.corpus import read_corpus

CATALOG = read_six_questions()
HONEST = honest_predictions(CATALOG)
BLANK_ANSWERS = ["", " \n", "…", "\u200b\u2060", "---"]


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return path


def make_options(folder: Path, rows: list[Any] = HONEST, **changes: Any) -> ScoreOptions:
    predictions_file = write_rows(folder / "predictions.json", rows)
    defaults: dict[str, Any] = {
        "catalog": SIX_QUESTIONS_FILE,
        "resamples": 100,
        "output_dir": folder / "results",
    }
    return ScoreOptions(**{"predictions": predictions_file, **defaults, **changes})


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_exactly_the_requested_files_are_written(tmp_path: Path) -> None:
    options = make_options(tmp_path)
    scores = write_scores(options)
    assert set(read_files(options.output_dir)) == set(OUTPUT_FILES) - set(COMPARISON_FILES)
    assert read_scores(options.output_dir) == scores
    other_file = write_rows(tmp_path / "rival.json", echo_predictions(CATALOG))
    write_scores(make_options(tmp_path, compare=(other_file,)))
    assert set(read_files(options.output_dir)) == set(OUTPUT_FILES)
    write_scores(options)
    assert set(read_files(options.output_dir)) == set(OUTPUT_FILES) - set(COMPARISON_FILES), (
        "the comparison files of the earlier scores are removed"
    )


def test_tables_agree_with_the_record(tmp_path: Path) -> None:
    options = make_options(
        tmp_path, [*HONEST[:4], {"question_id": "PSM-01", "predicted_answer": " "}]
    )
    report = write_scores(options).report
    rows = read_table(options.output_dir / "synthlink_scores.csv")
    assert [row["status"] for row in rows] == (["answered"] * 4 + ["abstained", "missing"]) * 2
    for row, score in zip(
        rows,
        (score_ for scores in report.modes.values() for score_ in scores.questions),
        strict=True,
    ):
        assert (row["question_id"], row["category"]) == (score.question_id, score.category)
        for measure in METRICS:
            value = getattr(score.parts, measure)
            assert row[measure] == ("" if value is None else str(value))
    groups = read_table(options.output_dir / "synthlink_category_scores.csv")
    total = next(
        row for row in groups if (row["mode"], row["category"]) == ("corrected", ALL_GROUP)
    )
    assert (total["questions"], total["answered"], total["abstained"]) == ("6", "4", "1")
    measures = report.modes["corrected"].overall.measures
    p_at_5 = measures["p_at_5"]
    assert float(total["p_at_5"]) == p_at_5.value
    assert (float(total["p_at_5_low"]), float(total["p_at_5_high"])) == (p_at_5.low, p_at_5.high)
    for metric in ("f1", "ie", "aggregate"):
        assert total[metric] == "", "it is unjudged"
        ends = (float(total[f"{metric}_lowest"]), float(total[f"{metric}_highest"]))
        assert ends == (measures[metric].lowest, measures[metric].highest)
    text = (options.output_dir / "synthlink_overall_score.txt").read_text()
    assert "4 of 6 questions answered (coverage 0.667), 1 abstained" in text
    assert text.index("\ncorrected: ") < text.index("\nliteral: "), (
        "the corrected scores come first"
    )
    assert f"signature: {read_manifest(options.output_dir).signature}\n" in text


@pytest.mark.parametrize("answer", BLANK_ANSWERS)
def test_blank_answer_abstains_and_scores_zero(tmp_path: Path, answer: str) -> None:
    """A blank answer scores zero although its row cites pages and has earlier answers."""
    blank = {**HONEST[0], "predicted_answer": answer}
    report = write_scores(make_options(tmp_path, [blank, *HONEST[1:3]])).report
    assert (report.n_answered, report.n_abstained, report.coverage) == (2, 1, 2 / 6)
    for scores in report.modes.values():
        first = scores.questions[0]
        assert first.status == "abstained"
        assert {getattr(first.parts, name) for name in METRICS} <= {0, None}
        group = scores.categories["HIA"]
        assert (group.answered, group.abstained, group.coverage) == (0, 1, 0)
    assert any("1 of 6 answers are blank" in note for note in report.notes)


def test_answers_are_listed_with_their_questions(tmp_path: Path) -> None:
    options = make_options(tmp_path, HONEST[:2])
    write_scores(options)
    views = read_answers(options.output_dir)
    assert [view.question_id for view in views] == list(CATALOG.ids)
    for view, question in zip(views, CATALOG.questions, strict=True):
        assert (view.question, view.expected) == (question.question, question.answer)
        assert view.facts == tuple(step.fact for step in question.steps)
        assert view.sources == question.sources
    assert views[1].answer == HONEST[1]["predicted_answer"]
    assert list(views[1].docs) == HONEST[1]["retrieved_docs"]
    assert [list(iteration.answers) for iteration in views[1].iterations] == [
        iteration["answers"] for iteration in HONEST[1]["iterations"]
    ]
    assert [view.status for view in views[2:]] == ["missing"] * 4
    assert not any(view.answer or view.docs for view in views[2:])


def test_manifest_names_inputs_without_paths(tmp_path: Path) -> None:
    other_predictions = write_rows(tmp_path / "other" / "predictions.json", HONEST[:2])
    options = make_options(
        tmp_path, compare=(other_predictions,), domain="rivers", mode="corrected", correct=0.4
    )
    report = write_scores(options).report
    manifest = read_manifest(options.output_dir)
    hashes = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (options.predictions, other_predictions)
    }
    assert manifest.predictions == "../predictions.json"
    assert manifest.predictions_sha256 == hashes[options.predictions]
    (compared,) = manifest.compared
    assert (compared.file, compared.sha256) == (
        "../other/predictions.json",
        hashes[other_predictions],
    )
    assert compared.name == "other/predictions.json", (
        "the folder is given because both files have the same name"
    )
    assert (manifest.modes, manifest.domain, manifest.questions) == (("corrected",), "rivers", 6)
    assert manifest.thresholds.correct == manifest.readings.correct == 0.4
    assert report.thresholds == manifest.thresholds
    assert manifest.signature == (
        f"SynthLink|mode:corrected|cat:{manifest.catalog_sha256[:12]}|"
        f"pred:{manifest.predictions_sha256[:12]}|graph:{str(manifest.graph_sha256)[:12]}|pages:none|"
        f"correct:0.4|boot:100|seed:12345|v:{report.version}"
    )
    for name, data in read_files(options.output_dir).items():
        assert str(tmp_path).encode() not in data, name


def test_catalogue_hash_depends_on_its_questions(tmp_path: Path) -> None:
    write_scores(make_options(tmp_path))
    first_manifest = read_manifest(tmp_path / "results")
    changed_catalog = tmp_path / "same.jsonl"
    changed_catalog.write_text(SIX_QUESTIONS_FILE.read_text().replace('": ', '" :  '))
    write_scores(make_options(tmp_path, catalog=changed_catalog))
    assert read_manifest(tmp_path / "results").catalog_sha256 == first_manifest.catalog_sha256
    changed_catalog.write_text(SIX_QUESTIONS_FILE.read_text().replace("cotton", "wool", 1))
    write_scores(make_options(tmp_path, catalog=changed_catalog))
    assert read_manifest(tmp_path / "results").catalog_sha256 != first_manifest.catalog_sha256
    assert "cat:" in first_manifest.signature


def test_default_graph_and_pages_need_the_shipped_catalogue(tmp_path: Path) -> None:
    shipped = write_scores(make_options(tmp_path, catalog=None)).report
    assert (shipped.graph, shipped.pages) == ("synthlink", "pages.jsonl")
    manifest = read_manifest(tmp_path / "results")
    assert (manifest.catalog, manifest.pages) == ("shipped", "shipped")
    assert manifest.pages_sha256 == read_corpus().sha256
    assert f"|pages:{manifest.pages_sha256[:12]}|" in manifest.signature
    assert not any("no graph" in note for note in shipped.notes)
    without_resources = write_scores(
        make_options(tmp_path, catalog=None, domain=NO_RESOURCE, pages=NO_RESOURCE)
    ).report
    assert (without_resources.graph, without_resources.pages) == ("", "")
    manifest = read_manifest(tmp_path / "results")
    assert manifest.graph_sha256 is manifest.pages_sha256 is None
    other_catalog = write_scores(make_options(tmp_path)).report
    assert (other_catalog.graph, other_catalog.pages) == ("", "")
    assert any("no graph" in note for note in other_catalog.notes)


def test_user_pages_are_evidence(tmp_path: Path) -> None:
    """The claim is supported by the page of a source only."""
    source = CATALOG.questions[0].sources[0]
    page_text = "Its crank was turned by hand, and later gins were driven by steam."
    corpus = tmp_path / "corpus" / "pages.jsonl"
    corpus.parent.mkdir()
    corpus.write_text(
        json.dumps({"url": source.url, "title": source.title, "text": page_text}), encoding="utf-8"
    )
    rows = [{"question_id": CATALOG.ids[0], "predicted_answer": page_text}]
    verdicts = []
    for pages in (NO_RESOURCE, str(corpus)):
        report = write_scores(make_options(tmp_path, rows, pages=pages)).report
        verdicts.append(report.modes["corrected"].questions[0].parts.claims[0].verdict)
    assert verdicts == ["unjudged", "supported"]
    manifest = read_manifest(tmp_path / "results")
    assert (manifest.pages, manifest.pages_sha256) == (
        "../corpus/pages.jsonl",
        read_corpus(corpus).sha256,
    )
    assert any("have no page in the corpus" in note for note in report.notes)


def test_same_files_give_identical_bytes(tmp_path: Path) -> None:
    other_file = write_rows(tmp_path / "rival.json", HONEST[:3])
    options = make_options(tmp_path, compare=(other_file,))
    write_scores(options)
    first_files = read_files(options.output_dir)
    write_scores(options)
    assert read_files(options.output_dir) == first_files


def test_modes_do_not_affect_each_other(tmp_path: Path) -> None:
    report = write_scores(make_options(tmp_path)).report
    for mode in report.modes:
        single_report = write_scores(make_options(tmp_path, mode=mode)).report
        assert single_report.modes == {mode: report.modes[mode]}


def test_differences_match_the_recorded_means(tmp_path: Path) -> None:
    other_file = write_rows(tmp_path / "rival.json", echo_predictions(CATALOG)[:5])
    options = make_options(tmp_path, compare=(other_file,))
    scores = write_scores(options)
    (comparison,) = scores.comparisons
    for metric_difference in comparison.differences:
        if (
            metric_difference.group == ALL_GROUP
            and metric_difference.difference is not None
            and metric_difference.n == 6
        ):
            means = (
                scores.report.modes[metric_difference.mode]
                .overall.measures[metric_difference.metric]
                .value,
                comparison.modes[metric_difference.mode].measures[metric_difference.metric].value,
            )
            assert (
                metric_difference.value_candidate,
                metric_difference.value_baseline,
            ) == pytest.approx(means)
            assert metric_difference.difference == pytest.approx(means[0] - means[1])  # type: ignore[operator]
    rows = read_table(options.output_dir / "synthlink_comparison.csv")
    # Two modes, and seven groups: the six categories and all questions.
    assert len(rows) == len(comparison.differences) == 2 * 7 * len(METRICS)
    assert {(row["candidate"], row["baseline"]) for row in rows} == {
        ("predictions.json", "rival.json")
    }
    markdown = (options.output_dir / "synthlink_comparison.md").read_text()
    assert "Questions answered: 6 of 6 against 5" in markdown
    assert markdown.index("### Corrected") < markdown.index("### Literal")
    for metric_difference in comparison.differences:
        if metric_difference.better:
            assert metric_difference.p_holm is not None
            assert metric_difference.p_holm <= 0.05


HOSTILE = "=cmd|' calc'!A1<img src=x onerror=alert(1)>\u202e\x1b[31m`*#.json"


def test_file_names_are_escaped(tmp_path: Path) -> None:
    other_file = write_rows(tmp_path / HOSTILE, HONEST[:3])
    options = make_options(tmp_path, compare=(other_file,))
    write_scores(options)
    (row, *_) = read_table(options.output_dir / "synthlink_comparison.csv")
    assert row["baseline"].startswith("'=cmd|")
    markdown = (options.output_dir / "synthlink_comparison.md").read_text()
    assert "&lt;img" in markdown
    assert "cmd\\|" in markdown
    for name in ("synthlink_comparison.csv", "synthlink_comparison.md"):
        text = (options.output_dir / name).read_text()
        assert not {"\x1b", "\u202e"} & set(text)
        assert name.endswith(".csv") or "<img" not in text


def test_inputs_are_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    for name in ("synthlink_scores.json", "manifest.json", "report.html", "report.json"):
        input_file = write_rows(folder / name, HONEST)
        before = read_files(folder)
        with pytest.raises(WriteError, match="a file it is made from"):
            write_scores(make_options(tmp_path, predictions=input_file))
        with pytest.raises(WriteError, match="a file it is made from"):
            write_scores(make_options(tmp_path, compare=(input_file,)))
        assert read_files(folder) == before
        input_file.unlink()
    catalog = folder / "synthlink_answers.jsonl"
    catalog.write_bytes(SIX_QUESTIONS_FILE.read_bytes())
    with pytest.raises(WriteError, match="a file it is made from"):
        write_scores(make_options(tmp_path, catalog=catalog))


@pytest.mark.parametrize(
    "manifest",
    [b'{"kind": "skn"}', b'{"cards": 1}', b"[]", b"\xff", b"[" * 100_000, b'{"kind": 7}'],
)
def test_run_of_another_kind_is_unchanged(tmp_path: Path, manifest: bytes) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(manifest)
    with pytest.raises(WriteError, match="another kind"):
        write_scores(make_options(tmp_path))
    assert read_files(folder) == {"manifest.json": manifest}


@pytest.mark.parametrize("name", ["report.html", "report.cards.csv"])
def test_foreign_report_is_unchanged(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).write_bytes(b"precious")
    with pytest.raises(WriteError, match=name):
        write_scores(make_options(tmp_path))
    assert read_files(folder) == {name: b"precious"}


def test_report_of_earlier_scores_is_removed(tmp_path: Path) -> None:
    options = make_options(tmp_path)
    write_scores(options)
    before = read_files(options.output_dir)
    (options.output_dir / "report.html").write_bytes(b"as they were")
    write_scores(options)
    assert read_files(options.output_dir) == before


def test_same_file_twice_is_refused(tmp_path: Path) -> None:
    options = make_options(tmp_path)
    same_file = tmp_path / "x" / ".." / "predictions.json"
    (tmp_path / "x").mkdir()
    with pytest.raises(SettingError, match="given twice"):
        write_scores(make_options(tmp_path, compare=(same_file,)))
    assert not options.output_dir.exists()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"catalog": Path("none.jsonl")}, MissingFileError),
        ({"compare": (Path("none.json"),)}, MissingFileError),
        ({"predictions": Path("none.json")}, MissingFileError),
        ({"domain": "nowhere"}, DomainError),
        ({"pages": "none.jsonl"}, MissingFileError),
    ],
)
def test_missing_input_writes_nothing(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception]
) -> None:
    options = make_options(tmp_path, **changes)
    with pytest.raises(error):
        write_scores(options)
    assert not options.output_dir.exists()


@pytest.mark.parametrize("correct", [0, -1, 1.01, float("nan"), float("inf")])
def test_threshold_out_of_range_is_refused(tmp_path: Path, correct: float) -> None:
    with pytest.raises(SettingError, match="above 0 and at most 1"):
        make_options(tmp_path, correct=correct)


def test_damaged_folder_is_named(tmp_path: Path) -> None:
    options = make_options(tmp_path)
    write_scores(options)
    folder = options.output_dir
    for name, reader in (
        ("synthlink_scores.json", read_scores),
        ("synthlink_answers.jsonl", read_answers),
        ("manifest.json", read_manifest),
    ):
        original = (folder / name).read_bytes()
        for damage in (original[:-40], b"\xff", b"{}", b"[" * 100_000):
            (folder / name).write_bytes(damage)
            with pytest.raises(RecordError) as error_info:
                reader(folder)  # type: ignore[operator]
            assert name in str(error_info.value)
        (folder / name).unlink()
        with pytest.raises(MissingFileError):
            reader(folder)  # type: ignore[operator]


def test_files_match_their_published_schemas(tmp_path: Path) -> None:
    """The independent validator must accept the records and refuse invalid ones."""
    other_file = write_rows(tmp_path / "rival.json", HONEST[:3])
    options = make_options(tmp_path, compare=(other_file,))
    write_scores(options)
    lines = (options.output_dir / "synthlink_answers.jsonl").read_text().splitlines()
    documents = {
        "synthlink-scores": [
            json.loads((options.output_dir / "synthlink_scores.json").read_text())
        ],
        "synthlink-answer": list(map(json.loads, lines)),
        "synthlink-question": list(map(json.loads, SIX_QUESTIONS_FILE.read_text().splitlines())),
        "prediction": HONEST,
    }
    for name, records in documents.items():
        validator = jsonschema.Draft202012Validator(json.loads(build_schema(name)))
        assert records
        for document in records:
            validator.validate(document)
            assert not validator.is_valid({key: [None] for key in document}), name


def test_record_matches_its_types(tmp_path: Path) -> None:
    options = make_options(tmp_path)
    scores = write_scores(options)
    raw = (options.output_dir / "synthlink_scores.json").read_bytes()
    assert msgspec.json.decode(raw)["report"]["schema"] == "epoche.synthlink/3"
    assert msgspec.json.decode(raw, type=type(scores)) == scores
