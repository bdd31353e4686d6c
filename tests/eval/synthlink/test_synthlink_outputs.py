"""The folder of scores: its files, their consistency, and files that are never overwritten."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from synthlink_attacks import (
    SIX_QUESTIONS_FILE,
    attack_predictions,
    honest_predictions,
    read_six_questions,
)

from epoche.schemas import build_schema
from eval.synthlink.comparison import ALL_GROUP
from eval.synthlink.manifest import read_manifest
from eval.synthlink.metrics import METRICS
from eval.synthlink.outputs import COMPARISON_FILES, OUTPUT_FILES, read_answers, read_scores
from eval.synthlink.score_options import NO_RESOURCE, ScoreOptions
from kg.base.errors import (
    DomainError,
    MissingFileError,
    RecordError,
    SettingError,
    WriteError,
)
from reporting.synthlink_files import write_scores
from retrieval.corpus import read_corpus

CATALOG = read_six_questions()
HONEST = honest_predictions(CATALOG)
BLANK = ["", " \n", "…", "\u200b\u2060", "---"]


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return path


def make_options(folder: Path, rows: list[Any] = HONEST, **changes: Any) -> ScoreOptions:
    given = write_rows(folder / "predictions.json", rows)
    usual: dict[str, Any] = {
        "catalog": SIX_QUESTIONS_FILE,
        "resamples": 100,
        "output_dir": folder / "results",
    }
    return ScoreOptions(**{"predictions": given, **usual, **changes})


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_exactly_the_requested_files_are_written(tmp_path: Path) -> None:
    asked = make_options(tmp_path)
    scored = write_scores(asked)
    assert set(read_files(asked.output_dir)) == set(OUTPUT_FILES) - set(COMPARISON_FILES)
    assert read_scores(asked.output_dir) == scored
    rival = write_rows(tmp_path / "rival.json", attack_predictions("question as answer", CATALOG))
    write_scores(make_options(tmp_path, compare=(rival,)))
    assert set(read_files(asked.output_dir)) == set(OUTPUT_FILES)
    write_scores(asked)
    assert set(read_files(asked.output_dir)) == set(OUTPUT_FILES) - set(COMPARISON_FILES), (
        "of the file before"
    )


def test_tables_agree_with_the_record(tmp_path: Path) -> None:
    asked = make_options(
        tmp_path, [*HONEST[:4], {"question_id": "PSM-01", "predicted_answer": " "}]
    )
    report = write_scores(asked).report
    rows = read_table(asked.output_dir / "synthlink_scores.csv")
    assert [row["status"] for row in rows] == (["answered"] * 4 + ["abstained", "missing"]) * 2
    for row, score in zip(
        rows, (one for scores in report.modes.values() for one in scores.questions), strict=True
    ):
        assert (row["question_id"], row["category"]) == (score.question_id, score.category)
        for measure in METRICS:
            value = getattr(score.parts, measure)
            assert row[measure] == ("" if value is None else str(value))
    groups = read_table(asked.output_dir / "synthlink_category_scores.csv")
    total = next(
        row for row in groups if (row["mode"], row["category"]) == ("corrected", ALL_GROUP)
    )
    assert (total["questions"], total["answered"], total["abstained"]) == ("6", "4", "1")
    aggregate = report.modes["corrected"].overall.measures["aggregate"]
    assert float(total["aggregate"]) == aggregate.value
    assert (float(total["aggregate_low"]), float(total["aggregate_high"])) == (
        aggregate.low,
        aggregate.high,
    )
    text = (asked.output_dir / "synthlink_overall_score.txt").read_text()
    assert "4 of 6 questions answered (coverage 0.667), 1 abstained" in text
    assert text.index("\ncorrected: ") < text.index("\nliteral: "), (
        "the corrected scores come first"
    )
    assert f"signature: {read_manifest(asked.output_dir).signature}\n" in text


@pytest.mark.parametrize("answer", BLANK)
def test_blank_answer_abstains_and_scores_zero(tmp_path: Path, answer: str) -> None:
    """Holds for any cited pages and any earlier iteration."""
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
    asked = make_options(tmp_path, HONEST[:2])
    write_scores(asked)
    views = read_answers(asked.output_dir)
    assert [view.question_id for view in views] == list(CATALOG.ids)
    for view, question in zip(views, CATALOG.questions, strict=True):
        assert (view.question, view.expected) == (question.question, question.answer)
        assert view.facts == tuple(step.fact for step in question.steps)
        assert view.sources == question.sources
    assert views[1].answer == HONEST[1]["predicted_answer"]
    assert list(views[1].docs) == HONEST[1]["retrieved_docs"]
    assert [list(one.answers) for one in views[1].iterations] == [
        one["answers"] for one in HONEST[1]["iterations"]
    ]
    assert [view.status for view in views[2:]] == ["missing"] * 4
    assert not any(view.answer or view.docs for view in views[2:])


def test_manifest_names_inputs_without_paths(tmp_path: Path) -> None:
    rival = write_rows(tmp_path / "other" / "predictions.json", HONEST[:2])
    asked = make_options(tmp_path, compare=(rival,), domain="rivers", mode="corrected", correct=0.4)
    report = write_scores(asked).report
    found = read_manifest(asked.output_dir)
    sums = {
        path: hashlib.sha256(path.read_bytes()).hexdigest() for path in (asked.predictions, rival)
    }
    assert found.predictions == "../predictions.json"
    assert found.predictions_sha256 == sums[asked.predictions]
    (compared,) = found.compared
    assert (compared.file, compared.sha256) == ("../other/predictions.json", sums[rival])
    assert compared.name == "other/predictions.json", "two files have one name"
    assert (found.modes, found.domain, found.questions) == (("corrected",), "rivers", 6)
    assert found.thresholds.correct == found.readings.correct == 0.4
    assert report.thresholds == found.thresholds
    assert found.signature == (
        f"SynthLink|mode:corrected|cat:{found.catalog_sha256[:12]}|"
        f"pred:{found.predictions_sha256[:12]}|graph:{str(found.graph_sha256)[:12]}|pages:none|"
        f"correct:0.4|boot:100|seed:12345|v:{report.version}"
    )
    for name, data in read_files(asked.output_dir).items():
        assert str(tmp_path).encode() not in data, name


def test_catalogue_hash_depends_on_its_questions(tmp_path: Path) -> None:
    write_scores(make_options(tmp_path))
    first = read_manifest(tmp_path / "results")
    same = tmp_path / "same.jsonl"
    same.write_text(SIX_QUESTIONS_FILE.read_text().replace('": ', '" :  '))
    write_scores(make_options(tmp_path, catalog=same))
    assert read_manifest(tmp_path / "results").catalog_sha256 == first.catalog_sha256
    same.write_text(SIX_QUESTIONS_FILE.read_text().replace("cotton", "wool", 1))
    write_scores(make_options(tmp_path, catalog=same))
    assert read_manifest(tmp_path / "results").catalog_sha256 != first.catalog_sha256
    assert "cat:" in first.signature


def test_graph_and_pages_need_the_shipped_catalogue(tmp_path: Path) -> None:
    shipped = write_scores(make_options(tmp_path, catalog=None)).report
    assert (shipped.graph, shipped.pages) == ("synthlink", "pages.jsonl")
    found = read_manifest(tmp_path / "results")
    assert (found.catalog, found.pages) == ("shipped", "shipped")
    assert found.pages_sha256 == read_corpus().sha256
    assert f"|pages:{found.pages_sha256[:12]}|" in found.signature
    assert not any("no graph" in note for note in shipped.notes)
    without = write_scores(
        make_options(tmp_path, catalog=None, domain=NO_RESOURCE, pages=NO_RESOURCE)
    ).report
    assert (without.graph, without.pages) == ("", "")
    found = read_manifest(tmp_path / "results")
    assert found.graph_sha256 is found.pages_sha256 is None
    other = write_scores(make_options(tmp_path)).report
    assert (other.graph, other.pages) == ("", "")
    assert any("no graph" in note for note in other.notes)


def test_user_pages_are_evidence(tmp_path: Path) -> None:
    """Uses a claim that only the page of a source supports."""
    source = CATALOG.questions[0].sources[0]
    told = "Its crank was turned by hand, and later gins were driven by steam."
    corpus = tmp_path / "corpus" / "pages.jsonl"
    corpus.parent.mkdir()
    corpus.write_text(
        json.dumps({"url": source.url, "title": source.title, "text": told}), encoding="utf-8"
    )
    rows = [{"question_id": CATALOG.ids[0], "predicted_answer": told}]
    verdicts = []
    for pages in (NO_RESOURCE, str(corpus)):
        report = write_scores(make_options(tmp_path, rows, pages=pages)).report
        verdicts.append(report.modes["corrected"].questions[0].parts.claims[0].verdict)
    assert verdicts == ["unknown", "licensed"]
    found = read_manifest(tmp_path / "results")
    assert (found.pages, found.pages_sha256) == (
        "../corpus/pages.jsonl",
        read_corpus(corpus).sha256,
    )
    assert any("have no page in the corpus" in note for note in report.notes)


def test_same_files_give_identical_bytes(tmp_path: Path) -> None:
    rival = write_rows(tmp_path / "rival.json", HONEST[:3])
    asked = make_options(tmp_path, compare=(rival,))
    write_scores(asked)
    first = read_files(asked.output_dir)
    write_scores(asked)
    assert read_files(asked.output_dir) == first


def test_modes_do_not_affect_each_other(tmp_path: Path) -> None:
    both = write_scores(make_options(tmp_path)).report
    for mode in both.modes:
        alone = write_scores(make_options(tmp_path, mode=mode)).report
        assert alone.modes == {mode: both.modes[mode]}


def test_differences_match_the_recorded_means(tmp_path: Path) -> None:
    rival = write_rows(
        tmp_path / "rival.json", attack_predictions("one fact twenty times", CATALOG)[:5]
    )
    asked = make_options(tmp_path, compare=(rival,))
    scored = write_scores(asked)
    (other,) = scored.comparisons
    for one in other.differences:
        if one.group == ALL_GROUP and one.difference is not None and one.n == 6:
            means = (
                scored.report.modes[one.mode].overall.measures[one.measure].value,
                other.modes[one.mode].measures[one.measure].value,
            )
            assert (one.value_first, one.value_second) == pytest.approx(means)
            assert one.difference == pytest.approx(means[0] - means[1])  # type: ignore[operator]
    rows = read_table(asked.output_dir / "synthlink_comparison.csv")
    assert len(rows) == len(other.differences) == 2 * 7 * len(METRICS)
    assert {(row["first"], row["second"]) for row in rows} == {("predictions.json", "rival.json")}
    words = (asked.output_dir / "synthlink_comparison.md").read_text()
    assert "Questions answered: 6 of 6 against 5" in words
    assert words.index("### Corrected") < words.index("### Literal")
    for one in other.differences:
        if one.better:
            assert one.p_holm is not None
            assert one.p_holm <= 0.05


HOSTILE = "=cmd|' calc'!A1<img src=x onerror=alert(1)>\u202e\x1b[31m`*#.json"


def test_file_names_are_escaped(tmp_path: Path) -> None:
    rival = write_rows(tmp_path / HOSTILE, HONEST[:3])
    asked = make_options(tmp_path, compare=(rival,))
    write_scores(asked)
    (row, *_) = read_table(asked.output_dir / "synthlink_comparison.csv")
    assert row["second"].startswith("'=cmd|")
    words = (asked.output_dir / "synthlink_comparison.md").read_text()
    assert "&lt;img" in words
    assert "cmd\\|" in words
    for name in ("synthlink_comparison.csv", "synthlink_comparison.md"):
        text = (asked.output_dir / name).read_text()
        assert not {"\x1b", "\u202e"} & set(text)
        assert name.endswith(".csv") or "<img" not in text


def test_inputs_are_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    for name in ("synthlink_scores.json", "manifest.json", "report.html", "report.json"):
        given = write_rows(folder / name, HONEST)
        before = read_files(folder)
        with pytest.raises(WriteError, match="a file it is made from"):
            write_scores(make_options(tmp_path, predictions=given))
        with pytest.raises(WriteError, match="a file it is made from"):
            write_scores(make_options(tmp_path, compare=(given,)))
        assert read_files(folder) == before
        given.unlink()
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


def test_page_of_earlier_scores_is_removed(tmp_path: Path) -> None:
    asked = make_options(tmp_path)
    write_scores(asked)
    before = read_files(asked.output_dir)
    (asked.output_dir / "report.html").write_bytes(b"as they were")
    write_scores(asked)
    assert read_files(asked.output_dir) == before


def test_same_file_twice_is_refused(tmp_path: Path) -> None:
    asked = make_options(tmp_path)
    again = tmp_path / "x" / ".." / "predictions.json"
    (tmp_path / "x").mkdir()
    with pytest.raises(SettingError, match="given twice"):
        write_scores(make_options(tmp_path, compare=(again,)))
    assert not asked.output_dir.exists()


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
    asked = make_options(tmp_path, **changes)
    with pytest.raises(error):
        write_scores(asked)
    assert not asked.output_dir.exists()


@pytest.mark.parametrize("correct", [0, -1, 1.01, float("nan"), float("inf")])
def test_useless_threshold_is_refused(tmp_path: Path, correct: float) -> None:
    with pytest.raises(SettingError, match="above 0 and at most 1"):
        make_options(tmp_path, correct=correct)


def test_damaged_folder_is_named(tmp_path: Path) -> None:
    asked = make_options(tmp_path)
    write_scores(asked)
    folder = asked.output_dir
    for name, read in (
        ("synthlink_scores.json", read_scores),
        ("synthlink_answers.jsonl", read_answers),
        ("manifest.json", read_manifest),
    ):
        whole = (folder / name).read_bytes()
        for damage in (whole[:-40], b"\xff", b"{}", b"[" * 100_000):
            (folder / name).write_bytes(damage)
            with pytest.raises(RecordError) as caught:
                read(folder)  # type: ignore[operator]
            assert name in str(caught.value)
        (folder / name).unlink()
        with pytest.raises(MissingFileError):
            read(folder)  # type: ignore[operator]


def test_files_match_their_published_schemas(tmp_path: Path) -> None:
    """Uses an independent validator, which must also refuse invalid records."""
    rival = write_rows(tmp_path / "rival.json", HONEST[:3])
    asked = make_options(tmp_path, compare=(rival,))
    write_scores(asked)
    lines = (asked.output_dir / "synthlink_answers.jsonl").read_text().splitlines()
    documents = {
        "synthlink-scores": [json.loads((asked.output_dir / "synthlink_scores.json").read_text())],
        "synthlink-answer": list(map(json.loads, lines)),
        "synthlink-question": list(map(json.loads, SIX_QUESTIONS_FILE.read_text().splitlines())),
        "prediction": HONEST,
    }
    for name, found in documents.items():
        validator = jsonschema.Draft202012Validator(json.loads(build_schema(name)))
        assert found
        for document in found:
            validator.validate(document)
            assert not validator.is_valid({key: [None] for key in document}), name


def test_record_matches_its_types(tmp_path: Path) -> None:
    asked = make_options(tmp_path)
    scored = write_scores(asked)
    raw = (asked.output_dir / "synthlink_scores.json").read_bytes()
    assert msgspec.json.decode(raw)["report"]["schema"] == "epoche.synthlink/1"
    assert msgspec.json.decode(raw, type=type(scored)) == scored
