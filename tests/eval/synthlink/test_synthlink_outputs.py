"""The folder of scores: every file of it, what they agree on, and what is never written over."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from synthlink_attacks import SIX, attack, honest, six_questions

from epoche.schemas import schema
from eval.synthlink.comparing import ALL
from eval.synthlink.manifest import read_manifest
from eval.synthlink.measures import MEASURES
from eval.synthlink.outputs import COMPARISONS, OUTPUTS, read_answers, read_scored
from eval.synthlink.score_options import NONE, ScoreOptions
from kg.base.errors import (
    DomainError,
    MissingFileError,
    RecordError,
    SettingError,
    WriteError,
)
from reporting.synthlink_files import write_scores
from retrieval.corpus import read_corpus

CATALOG = six_questions()
HONEST = honest(CATALOG)
BLANK = ["", " \n", "…", "\u200b\u2060", "---"]


def file(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return path


def options(folder: Path, rows: list[Any] = HONEST, **changes: Any) -> ScoreOptions:
    given = file(folder / "predictions.json", rows)
    usual: dict[str, Any] = {"catalog": SIX, "resamples": 100, "output_dir": folder / "results"}
    return ScoreOptions(**{"predictions": given, **usual, **changes})


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_file_is_there_and_none_but_those_asked_for(tmp_path: Path) -> None:
    asked = options(tmp_path)
    scored = write_scores(asked)
    assert set(contents(asked.output_dir)) == set(OUTPUTS) - set(COMPARISONS)
    assert read_scored(asked.output_dir) == scored
    rival = file(tmp_path / "rival.json", attack("question as answer", CATALOG))
    write_scores(options(tmp_path, compare=(rival,)))
    assert set(contents(asked.output_dir)) == set(OUTPUTS)
    write_scores(asked)
    assert set(contents(asked.output_dir)) == set(OUTPUTS) - set(COMPARISONS), "of the file before"


def test_tables_say_what_the_record_says(tmp_path: Path) -> None:
    asked = options(tmp_path, [*HONEST[:4], {"question_id": "PSM-01", "predicted_answer": " "}])
    report = write_scores(asked).report
    rows = table(asked.output_dir / "synthlink_scores.csv")
    assert [row["status"] for row in rows] == (["answered"] * 4 + ["abstained", "missing"]) * 2
    for row, score in zip(
        rows, (one for scores in report.modes.values() for one in scores.questions), strict=True
    ):
        assert (row["question_id"], row["category"]) == (score.question_id, score.category)
        for measure in MEASURES:
            value = getattr(score.parts, measure)
            assert row[measure] == ("" if value is None else str(value))
    groups = table(asked.output_dir / "synthlink_category_scores.csv")
    total = next(row for row in groups if (row["mode"], row["category"]) == ("corrected", ALL))
    assert (total["questions"], total["answered"], total["abstained"]) == ("6", "4", "1")
    aggregate = report.modes["corrected"].overall.measures["aggregate"]
    assert float(total["aggregate"]) == aggregate.value
    assert (float(total["aggregate_low"]), float(total["aggregate_high"])) == (
        aggregate.low,
        aggregate.high,
    )
    text = (asked.output_dir / "synthlink_overall_score.txt").read_text()
    assert "4 of 6 questions answered (coverage 0.667), 1 abstained" in text
    assert text.index("\ncorrected: ") < text.index("\nliteral: "), "corrected is the headline"
    assert f"signature: {read_manifest(asked.output_dir).signature}\n" in text


@pytest.mark.parametrize("answer", BLANK)
def test_a_blank_answer_abstains_and_is_worth_nothing(tmp_path: Path, answer: str) -> None:
    """Whatever pages it names and whatever an earlier iteration said."""
    blank = {**HONEST[0], "predicted_answer": answer}
    report = write_scores(options(tmp_path, [blank, *HONEST[1:3]])).report
    assert (report.n_answered, report.n_abstained, report.coverage) == (2, 1, 2 / 6)
    for scores in report.modes.values():
        first = scores.questions[0]
        assert first.status == "abstained"
        assert {getattr(first.parts, name) for name in MEASURES} <= {0, None}
        group = scores.categories["HIA"]
        assert (group.answered, group.abstained, group.coverage) == (0, 1, 0)
    assert any("1 of 6 answers are blank" in note for note in report.notes)


def test_answers_stand_beside_what_was_asked(tmp_path: Path) -> None:
    asked = options(tmp_path, HONEST[:2])
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


def test_the_manifest_says_what_was_scored_and_where_nothing_is(tmp_path: Path) -> None:
    rival = file(tmp_path / "other" / "predictions.json", HONEST[:2])
    asked = options(tmp_path, compare=(rival,), domain="rivers", mode="corrected", correct=0.4)
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
    for name, data in contents(asked.output_dir).items():
        assert str(tmp_path).encode() not in data, name


def test_the_catalogues_hash_is_that_of_its_questions(tmp_path: Path) -> None:
    write_scores(options(tmp_path))
    first = read_manifest(tmp_path / "results")
    same = tmp_path / "same.jsonl"
    same.write_text(SIX.read_text().replace('": ', '" :  '))
    write_scores(options(tmp_path, catalog=same))
    assert read_manifest(tmp_path / "results").catalog_sha256 == first.catalog_sha256
    same.write_text(SIX.read_text().replace("cotton", "wool", 1))
    write_scores(options(tmp_path, catalog=same))
    assert read_manifest(tmp_path / "results").catalog_sha256 != first.catalog_sha256
    assert "cat:" in first.signature


def test_graph_and_pages_go_with_the_shipped_catalogue_and_no_other(tmp_path: Path) -> None:
    shipped = write_scores(options(tmp_path, catalog=None)).report
    assert (shipped.graph, shipped.pages) == ("synthlink", "pages.jsonl")
    found = read_manifest(tmp_path / "results")
    assert (found.catalog, found.pages) == ("shipped", "shipped")
    assert found.pages_sha256 == read_corpus().sha256
    assert f"|pages:{found.pages_sha256[:12]}|" in found.signature
    assert not any("no graph" in note for note in shipped.notes)
    without = write_scores(options(tmp_path, catalog=None, domain=NONE, pages=NONE)).report
    assert (without.graph, without.pages) == ("", "")
    found = read_manifest(tmp_path / "results")
    assert found.graph_sha256 is found.pages_sha256 is None
    other = write_scores(options(tmp_path)).report
    assert (other.graph, other.pages) == ("", "")
    assert any("no graph" in note for note in other.notes)


def test_pages_of_ones_own_are_evidence(tmp_path: Path) -> None:
    """A claim that nothing else tells, on the page of a source."""
    source = CATALOG.questions[0].sources[0]
    told = "Its crank was turned by hand, and later gins were driven by steam."
    corpus = tmp_path / "corpus" / "pages.jsonl"
    corpus.parent.mkdir()
    corpus.write_text(
        json.dumps({"url": source.url, "title": source.title, "text": told}), encoding="utf-8"
    )
    rows = [{"question_id": CATALOG.ids[0], "predicted_answer": told}]
    verdicts = []
    for pages in (NONE, str(corpus)):
        report = write_scores(options(tmp_path, rows, pages=pages)).report
        verdicts.append(report.modes["corrected"].questions[0].parts.claims[0].verdict)
    assert verdicts == ["unknown", "licensed"]
    found = read_manifest(tmp_path / "results")
    assert (found.pages, found.pages_sha256) == (
        "../corpus/pages.jsonl",
        read_corpus(corpus).sha256,
    )
    assert any("have no page in the corpus" in note for note in report.notes)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    rival = file(tmp_path / "rival.json", HONEST[:3])
    asked = options(tmp_path, compare=(rival,))
    write_scores(asked)
    first = contents(asked.output_dir)
    write_scores(asked)
    assert contents(asked.output_dir) == first


def test_one_mode_alone_scores_as_beside_the_other(tmp_path: Path) -> None:
    both = write_scores(options(tmp_path)).report
    for mode in both.modes:
        alone = write_scores(options(tmp_path, mode=mode)).report
        assert alone.modes == {mode: both.modes[mode]}


def test_differences_are_those_of_the_means_on_record(tmp_path: Path) -> None:
    rival = file(tmp_path / "rival.json", attack("one fact twenty times", CATALOG)[:5])
    asked = options(tmp_path, compare=(rival,))
    scored = write_scores(asked)
    (other,) = scored.comparisons
    for one in other.differences:
        if one.group == ALL and one.difference is not None and one.n == 6:
            means = (
                scored.report.modes[one.mode].overall.measures[one.measure].value,
                other.modes[one.mode].measures[one.measure].value,
            )
            assert (one.value_first, one.value_second) == pytest.approx(means)
            assert one.difference == pytest.approx(means[0] - means[1])  # type: ignore[operator]
    rows = table(asked.output_dir / "synthlink_comparison.csv")
    assert len(rows) == len(other.differences) == 2 * 7 * len(MEASURES)
    assert {(row["first"], row["second"]) for row in rows} == {("predictions.json", "rival.json")}
    words = (asked.output_dir / "synthlink_comparison.md").read_text()
    assert "Questions answered: 6 of 6 against 5" in words
    assert words.index("### Corrected") < words.index("### Literal")
    for one in other.differences:
        if one.better:
            assert one.p_holm is not None
            assert one.p_holm <= 0.05


HOSTILE = "=cmd|' calc'!A1<img src=x onerror=alert(1)>\u202e\x1b[31m`*#.json"


def test_names_of_files_mean_nothing_but_themselves(tmp_path: Path) -> None:
    rival = file(tmp_path / HOSTILE, HONEST[:3])
    asked = options(tmp_path, compare=(rival,))
    write_scores(asked)
    (row, *_) = table(asked.output_dir / "synthlink_comparison.csv")
    assert row["second"].startswith("'=cmd|")
    words = (asked.output_dir / "synthlink_comparison.md").read_text()
    assert "&lt;img" in words
    assert "cmd\\|" in words
    for name in ("synthlink_comparison.csv", "synthlink_comparison.md"):
        text = (asked.output_dir / name).read_text()
        assert not {"\x1b", "\u202e"} & set(text)
        assert name.endswith(".csv") or "<img" not in text


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    for name in ("synthlink_scores.json", "manifest.json", "report.html", "report.json"):
        given = file(folder / name, HONEST)
        before = contents(folder)
        with pytest.raises(WriteError, match="take the place of a file"):
            write_scores(options(tmp_path, predictions=given))
        with pytest.raises(WriteError, match="take the place of a file"):
            write_scores(options(tmp_path, compare=(given,)))
        assert contents(folder) == before
        given.unlink()
    catalog = folder / "synthlink_answers.jsonl"
    catalog.write_bytes(SIX.read_bytes())
    with pytest.raises(WriteError, match="take the place of a file"):
        write_scores(options(tmp_path, catalog=catalog))


@pytest.mark.parametrize(
    "manifest",
    [b'{"kind": "skn"}', b'{"cards": 1}', b"[]", b"\xff", b"[" * 100_000, b'{"kind": 7}'],
)
def test_a_run_of_another_kind_stays_as_it_is(tmp_path: Path, manifest: bytes) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(manifest)
    with pytest.raises(WriteError, match="another kind"):
        write_scores(options(tmp_path))
    assert contents(folder) == {"manifest.json": manifest}


@pytest.mark.parametrize("name", ["report.html", "report.cards.csv"])
def test_a_report_of_something_else_stays_as_it_is(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).write_bytes(b"precious")
    with pytest.raises(WriteError, match=name):
        write_scores(options(tmp_path))
    assert contents(folder) == {name: b"precious"}


def test_a_page_of_earlier_scores_does_not_outlive_them(tmp_path: Path) -> None:
    asked = options(tmp_path)
    write_scores(asked)
    before = contents(asked.output_dir)
    (asked.output_dir / "report.html").write_bytes(b"as they were")
    write_scores(asked)
    assert contents(asked.output_dir) == before


def test_one_file_twice_is_no_comparison(tmp_path: Path) -> None:
    asked = options(tmp_path)
    again = tmp_path / "x" / ".." / "predictions.json"
    (tmp_path / "x").mkdir()
    with pytest.raises(SettingError, match="given twice"):
        write_scores(options(tmp_path, compare=(again,)))
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
def test_nothing_is_written_where_something_is_missing(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception]
) -> None:
    asked = options(tmp_path, **changes)
    with pytest.raises(error):
        write_scores(asked)
    assert not asked.output_dir.exists()


@pytest.mark.parametrize("correct", [0, -1, 1.01, float("nan"), float("inf")])
def test_a_threshold_that_says_nothing_is_refused(tmp_path: Path, correct: float) -> None:
    with pytest.raises(SettingError, match="cannot tell right from wrong"):
        options(tmp_path, correct=correct)


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    asked = options(tmp_path)
    write_scores(asked)
    folder = asked.output_dir
    for name, read in (
        ("synthlink_scores.json", read_scored),
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


def test_files_are_what_their_published_schemas_say(tmp_path: Path) -> None:
    """Against an independent validator, and what is no such record is none there either."""
    rival = file(tmp_path / "rival.json", HONEST[:3])
    asked = options(tmp_path, compare=(rival,))
    write_scores(asked)
    lines = (asked.output_dir / "synthlink_answers.jsonl").read_text().splitlines()
    documents = {
        "synthlink-scores": [json.loads((asked.output_dir / "synthlink_scores.json").read_text())],
        "synthlink-answer": list(map(json.loads, lines)),
        "synthlink-question": list(map(json.loads, SIX.read_text().splitlines())),
        "prediction": HONEST,
    }
    for name, found in documents.items():
        validator = jsonschema.Draft202012Validator(json.loads(schema(name)))
        assert found
        for document in found:
            validator.validate(document)
            assert not validator.is_valid({key: [None] for key in document}), name


def test_the_record_is_what_its_types_say(tmp_path: Path) -> None:
    asked = options(tmp_path)
    scored = write_scores(asked)
    raw = (asked.output_dir / "synthlink_scores.json").read_bytes()
    assert msgspec.json.decode(raw)["report"]["schema"] == "epoche.synthlink/1"
    assert msgspec.json.decode(raw, type=type(scored)) == scored
