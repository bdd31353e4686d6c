"""Tests that every benchmark scores files of predictions, and what it refuses in them."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from foreign_cases import CASES, Case, read_lines
from stage_calls import check_error_line, run_epoche

from eval.harness.benchmarks import find_benchmark
from eval.harness.journals.journal import Journal
from eval.harness.predictions import reader as prediction_reader
from eval.harness.predictions import rows as prediction_rows
from eval.harness.predictions.reader import (
    PredictionFile,
    PredictionFormat,
    parse_field_map,
    parse_prediction_files,
    read_predictions,
)
from eval.harness.predictions.repeats import renumber_repeats
from eval.harness.reply import REPLIES, Reply
from kg.base.errors import DuplicateIdError, RecordError, SettingError

pytestmark = pytest.mark.usefixtures("kept_readers")

TEXTS = (".md", ".txt")
EMPTY_NAME = re.compile(r" (at|of|in|by|from) ([),;:]|\.(\s|$))|\(\s*\)|[^-\s]: *\||\x27\x27|, ,")
"""Matches what is left of a sentence or a table when a name in it is empty."""


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A benchmark; its files are in the current folder."""
    monkeypatch.chdir(tmp_path)
    found: Case = CASES[request.param]
    found.prepare()
    return found


def make_rows(case: Case, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Returns a row of predictions for each id."""
    return [{case.id_field: name, case.value_field: case.answer} for name in ids]


def write_lines(name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read_answers(case: Case, system: str) -> list[Any]:
    """Returns what was recorded of each answer, without what the formats record differently."""
    if case.out.suffix:
        return [row["pred"] for row in read_lines(case.out) if row["system"] == system]
    replies = read_lines(case.out / "replies.jsonl")
    return [row.get("value") for row in replies if row["system"] == system]


def test_lines_arrays_and_csv_give_the_same_answers(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    write_lines("a.jsonl", rows)
    Path("b.json").write_text(json.dumps(rows, indent=1), "utf-8")
    with Path("c.csv").open("w", newline="", encoding="utf-8-sig") as handle:
        table = csv.writer(handle)
        table.writerow([case.id_field, case.value_field, "confidence"])
        for row in rows:
            answer = row[case.value_field]
            cell = answer if isinstance(answer, str) else json.dumps(answer)
            table.writerow([row[case.id_field], cell, ""])
    found = []
    for name in ("a.jsonl", "b.json", "c.csv"):
        done = case.score_file("--predictions", f"own={name}", "--overwrite")
        assert done.code == 0, done.err
        assert "warning" not in done.err
        found.append(read_answers(case, "own"))
        assert case.read_statuses("own") == ["ok"] * len(rows)
    assert found[0] == found[1] == found[2]


def test_scored_predictions_are_runs_like_any_other(case: Case) -> None:
    write_lines("own.jsonl", make_rows(case, case.list_ids()))
    assert case.score_file("--predictions", "own=own.jsonl").code == 0
    no_graph = ("--no-proofs",) if case is CASES["cards"] else ()  # to prove labels with
    for command in (("metrics",), ("verify", *no_graph)):
        done = run_epoche(*command, case.out)
        assert done.code == 0, (command, done.err)
    manifest_file = {"cards": "out.manifest.json", "synthlink": "out/run_manifest.json"}
    found = [path for name, path in manifest_file.items() if CASES[name] is case]
    text = Path(*found or ["out/manifest.json"]).read_text("utf-8")
    assert '"predictions": "own.jsonl"' in text
    assert json.loads(text)["status"] == "complete"
    # A run is not replaced by accident.
    write_lines("own.jsonl", make_rows(case, case.list_ids()[1:]))
    again = case.score_file("--predictions", "own=own.jsonl")
    check_error_line(again, 15)


def test_missing_predictions_are_errors_and_never_a_smaller_n(case: Case) -> None:
    ids = case.list_ids()
    write_lines("own.jsonl", make_rows(case, ids[1:]))
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    assert f"own: 1 of {len(ids)} predictions are missing and count as errors" in done.err
    assert f"1 of {len(ids)} rows are ERROR" in done.err
    assert re.search(r"→ .*\[.*\bERROR 1\b.*\]$", done.out, re.MULTILINE), done.out
    assert case.read_statuses("own") == ["error"] + ["ok"] * (len(ids) - 1)
    assert "there is no prediction for it" in case.read_problems("own")


def test_a_system_whose_predictions_all_fail_ends_with_an_error(case: Case) -> None:
    ids = case.list_ids()
    write_lines("good.jsonl", make_rows(case, ids))
    write_lines("bad.jsonl", [{case.id_field: name, "error": "no luck"} for name in ids])
    files = ("--predictions", "good=good.jsonl", "--predictions", "bad=bad.jsonl")
    done = case.score_file(*files)
    line = check_error_line(done, 27)
    assert f"{len(ids)} of {len(ids)} rows are ERROR" in line or "all rows of bad are ERROR" in line
    assert "--overwrite" in line
    assert f"ERROR {len(ids)}" in done.out


def test_predictions_that_are_no_answers_are_shown_and_refused_if_all_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cards = CASES["cards"]
    cards.prepare()
    ids = cards.list_ids()
    rows = [{"id": name, "pred": f"frob {number % 5}"} for number, name in enumerate(ids)]
    write_lines("p.jsonl", rows)
    line = check_error_line(cards.score_file("--predictions", "own=p.jsonl"), 12)
    assert f"{len(ids)} of {len(ids)} predictions are no answer" in line
    assert "'frob 0', 'frob 1', 'frob 2' (p.jsonl, field pred)" in line
    assert not cards.out.exists()
    write_lines("p.jsonl", [*rows[1:], {"id": ids[0], "pred": "NO"}])
    done = cards.score_file("--predictions", "own=p.jsonl")
    assert done.code == 0
    assert f"own: {len(ids) - 1} of {len(ids)} predictions are no answer" in done.err
    write_lines("failed.jsonl", [*rows[1:], {"id": ids[0], "pred": "ERROR"}])
    done = cards.score_file("--predictions", "own=failed.jsonl", "--overwrite")
    line = check_error_line(done, 12)
    assert f"{len(ids) - 1} of {len(ids)} predictions are no answer" in line
    write_lines("unusable.jsonl", [{"id": name, "pred": "INVALID", "raw": "frob"} for name in ids])
    assert cards.score_file("--predictions", "own=unusable.jsonl", "--overwrite").code == 0


def test_no_empty_name_is_printed(case: Case) -> None:
    ids = case.list_ids()
    write_lines("own.jsonl", make_rows(case, ids[1:]))
    write_lines("bad.jsonl", [{case.id_field: name, "error": "no luck"} for name in ids])
    done = case.score_file("--predictions", "own=own.jsonl", "--predictions", "bad=bad.jsonl")
    printed = [done.out, done.err]
    out = case.out / "own" if case is CASES["synthlink"] else case.out
    metrics = run_epoche("metrics", out, "--verbose", "--out", "metrics.json")
    report = run_epoche("report", out, "--out", "page.html", "--formats", "md")
    for result in (metrics, report):
        assert result.code == 0, result.err
        printed += [result.out, result.err]
    printed += [path.read_text("utf-8") for path in Path().rglob("*") if path.suffix in TEXTS]
    lines = [line for text in printed for line in text.splitlines()]
    assert not [line for line in lines if EMPTY_NAME.search(line)]


def test_unknown_ids_are_counted_and_shown(case: Case) -> None:
    rows = make_rows(case, [*case.list_ids(), *(f"nobody-{n}" for n in range(7))])
    write_lines("own.jsonl", rows)
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    assert f"7 of {len(rows)} predictions are left out" in done.err
    assert "'nobody-0', 'nobody-1'" in done.err
    assert "nobody-6" not in done.err
    assert "nobody" not in case.read_problems("own")
    write_lines("other.jsonl", rows[-3:])
    none = case.score_file("--predictions", "own=other.jsonl", "--overwrite")
    assert "none of the 3 predictions" in check_error_line(none, 12)


def test_duplicates_are_refused_with_file_and_line(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    write_lines("own.jsonl", [*rows, rows[1]])
    line = check_error_line(case.score_file("--predictions", "own=own.jsonl"), 13)
    assert f"own.jsonl:{len(rows) + 1}" in line
    assert "at 2" in line
    assert not case.out.exists()


def test_other_field_names_are_mapped(case: Case) -> None:
    rows = [
        {"question": row[case.id_field], "label": row[case.value_field], "sure": 0.25}
        for row in make_rows(case, case.list_ids())
    ]
    write_lines("own.jsonl", rows)
    unmapped = case.score_file("--predictions", "own=own.jsonl")
    assert "--map id=" in check_error_line(unmapped, 12)
    names = ("--map", "id=question,value=label", "--map", "confidence=sure")
    done = case.score_file("--predictions", "own=own.jsonl", *names)
    assert done.code == 0, done.err
    assert set(case.read_statuses("own")) == {"ok"}
    assert '"confidence": 0.25' in case.read_problems("own")


def test_several_files_are_several_systems(case: Case) -> None:
    ids = case.list_ids()
    write_lines("a.jsonl", make_rows(case, ids))
    write_lines("b.jsonl", make_rows(case, ids[1:]))
    done = case.score_file("--predictions", "one=a.jsonl", "--predictions", "two=b.jsonl")
    assert done.code == 0, done.err
    if case is CASES["synthlink"]:  # a run of which has one system
        compared = run_epoche("compare", "out/one", "out/two", "--out", "comparison.json")
    else:
        assert case.read_statuses("one") == ["ok"] * len(ids)
        assert case.read_statuses("two") == ["error"] + ["ok"] * (len(ids) - 1)
        compared = run_epoche("compare", case.out, "--out", "comparison.json")
    assert compared.code == 0, compared.err
    same = case.score_file("--predictions", "one=a.jsonl", "--predictions", "one=b.jsonl")
    check_error_line(same, 19)


def test_repeats_and_errors_are_read(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    again = [{**row, "repeat": 1} for row in rows]
    again[0] = {case.id_field: rows[0][case.id_field], "repeat": 1, "error": "token=abcdefgh12345"}
    write_lines("own.jsonl", [*rows, *again])
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    statuses = case.read_statuses("own")
    assert len(statuses) == 2 * len(rows)
    assert statuses.count("error") == 1
    assert "abcdefgh12345" not in case.read_problems("own")


@pytest.mark.parametrize("numbers", [(1, 2), (5, 7), (42, 123_456_789)])
def test_repeats_are_as_many_as_their_numbers(case: Case, numbers: tuple[int, int]) -> None:
    rows = make_rows(case, case.list_ids())
    write_lines("own.jsonl", [{**row, "repeat": number} for number in numbers for row in rows])
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    first, second = numbers
    renumbered = f"own: its repeats are numbered from 0: {first} is 0, {second} is 1"
    assert f"warning: {renumbered}" in done.err
    assert "missing" not in done.err
    assert case.read_statuses("own") == ["ok"] * 2 * len(rows)


def test_files_share_the_numbers_of_their_repeats(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    write_lines("one.jsonl", [{**row, "repeat": number} for number in (1, 3) for row in rows])
    write_lines("two.jsonl", [{**row, "repeat": number} for number in (2, 3) for row in rows])
    done = case.score_file("--predictions", "one=one.jsonl", "--predictions", "two=two.jsonl")
    assert done.code == 0, done.err
    if case in (CASES["cards"], CASES["synthlink"]):  # each file has repeats of its own
        assert "two: its repeats are numbered from 0: 2 is 0, 3 is 1" in done.err
        return
    assert "one: its repeats are numbered from 0: 1 is 0, 3 is 2" in done.err
    assert "two: its repeats are numbered from 0: 2 is 1, 3 is 2" in done.err
    for name in ("one", "two"):
        assert case.read_statuses(name).count("error") == len(rows)


def test_number_of_repeats_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    write_lines(path, [{"id": "a", "value": 1, "repeat": number} for number in range(5, 1_006)])
    form = PredictionFormat(value="value", noun="item", read_value=lambda value: Reply(value=value))
    read = {"own": read_predictions(PredictionFile("own", path), {"a"}, form)}
    with pytest.raises(RecordError, match="1,001 repeats, more than 1,000"):
        renumber_repeats(read)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n\n",
        "null\n",
        "[1, 2]",
        '{"id": "a"',
        "[" * 100_000,
        '{"id": "a", "value": ' + "[" * 300 + "]" * 300 + "}",
        '{"id": "a", "value": 1e999}',
        '{"id": "a", "id": "b", "value": 1}',
        '{"id": "\\ud800", "value": 1}',
        '{"id": ["a"], "value": 1}',
        '{"id": "", "value": 1}',
        '{"id": "a"}',
        '{"id": "a", "value": 1, "repeat": 1000000000}',
        '{"id": "a", "value": 1, "repeat": -1}',
        '{"id": "a", "value": 1, "repeat": true}',
    ],
)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(content)
    with pytest.raises(RecordError) as caught:
        read_own(path)
    assert "own.jsonl" in str(caught.value)
    assert len(str(caught.value)) < 2_500


@pytest.mark.parametrize(
    "content",
    [
        b"id,id\na,b\n",
        b"id,value\na\n",
        b"id,value\na,b,c\n",
        b'id,value\na,"b\n',
        b"id,value\na,\xff\n",
        b"id,value\na," + b"x" * 200_000 + b"\n",
        b"other,value\na,b\n",
    ],
)
def test_hostile_tables_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"own\.csv"):
        read_own(path)


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.json"
    path.write_text('[{"id": "a", "value": 1}]')
    assert read_own(path) == [Reply(id="a", system="own", value=1)]
    monkeypatch.setattr(prediction_rows, "MAX_ARRAY_BYTES", 10)
    with pytest.raises(RecordError, match="larger than 10 bytes"):
        read_own(path)
    monkeypatch.setattr(prediction_rows, "MAX_LINE_BYTES", 10)
    path.write_text('{"id": "a", "value": 1}')
    with pytest.raises(RecordError, match="longer than 10 bytes"):
        read_own(path)
    monkeypatch.setattr(prediction_rows, "MAX_FILE_BYTES", 10)
    with pytest.raises(RecordError, match="larger than 10 bytes"):
        read_own(path)
    monkeypatch.undo()
    monkeypatch.setattr(prediction_reader, "MAX_REPLY_BYTES", 10)
    with pytest.raises(RecordError, match="more than 10 bytes"):
        read_own(path)


def test_confidence_that_is_no_probability_is_null_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    for value in (2, -0.1, "high", True, [0.5]):
        path.write_text(json.dumps({"id": "a", "value": 1, "confidence": value}))
        (reply,) = read_own(path)
        assert reply.confidence is None
        assert "is no number in [0, 1]" in reply.notes[0]
    path.write_text('{"id": 7, "value": 1, "confidence": 0.5, "raw": "seven"}')
    (reply,) = read_own(path, ids={"7"})
    assert (reply.id, reply.confidence, reply.raw) == ("7", 0.5, "seven")


def test_duplicates_in_tables_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text('id,value\na,"1\n2"\nb,3\na,4\n')
    with pytest.raises(DuplicateIdError, match=r"here and at 3 .*own\.csv:5"):
        read_own(path)


@pytest.mark.parametrize(
    "text", ["=a.jsonl", ".=a.jsonl", "..=a.jsonl", "a\x1b=a.jsonl", "a" * 80 + "=a.jsonl"]
)
def test_names_that_cannot_be_shown_are_refused(text: str) -> None:
    with pytest.raises(SettingError):
        parse_prediction_files([text, text])


def test_names_come_before_the_first_equals_sign() -> None:
    files = parse_prediction_files(["a=b=c.jsonl", "x/y=z.jsonl", "plain.csv"])
    assert [(file.name, str(file.path)) for file in files] == [
        ("a", "b=c.jsonl"),
        ("y=z", "x/y=z.jsonl"),
        ("plain", "plain.csv"),
    ]


@pytest.mark.parametrize("text", ["id", "id=", "=x", "colour=x", "id=a,id=b", ""])
def test_maps_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(SettingError):
        parse_field_map([text], value="answer")


def test_maps_use_the_names_of_the_benchmark_or_ours(case: Case) -> None:
    rows = [
        {"q": row[case.id_field], "label": row[case.value_field]}
        for row in make_rows(case, case.list_ids())
    ]
    write_lines("own.jsonl", rows)
    for names in (f"{case.id_field}=q,{case.value_field}=label", "id=q,value=label"):
        done = case.score_file("--predictions", "own=own.jsonl", "--map", names, "--overwrite")
        assert done.code == 0, done.err
    for names in ("colour=q", f"value=label,{case.value_field}=label"):
        done = case.score_file("--predictions", "own=own.jsonl", "--map", names, "--overwrite")
        line = check_error_line(done, 19)
        assert f" {case.id_field}" in line
        assert f" {case.value_field}" in line


def test_maps_of_fields_that_are_nowhere_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "a", "value": 1}\n{"id": "b", "value": 1, "sure": 0.5}\n')
    assert read_own(path, field_map={"confidence": "sure"})[1].confidence == 0.5
    with pytest.raises(RecordError, match=r"'nope'.*confidence=nope.*id, value, sure"):
        read_own(path, field_map={"confidence": "nope"})
    # A column without a value in any row is one.
    path = tmp_path / "own.csv"
    path.write_text("id,value,sure\na,1,\n")
    assert read_own(path, field_map={"confidence": "sure"})[0].confidence is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("own.jsonl", ""), ("own.jsonl", "\n\n"), ("own.json", "[]"), ("own.csv", "")),
        *(("own.csv", "id,value\n"), ("own.tsv", "id\tvalue\n")),
    ],
)
def test_files_without_predictions_are_said_to_have_none(
    tmp_path: Path, name: str, content: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(RecordError, match="the file has no predictions"):
        read_own(path, field_map={"confidence": "sure"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("own.csv", "id;value,raw\na;1,5\n", "both commas and semicolons"),
        ("own.json", '{\n  "a": "YES",\n  "b": "NO"\n}\n', "one JSON object, with the keys a, b"),
        ("own.json", '{\n  "a": "YES",\n', "not JSON"),
        ("own.csv", "PK\x03\x04", "an Excel workbook"),
        ("own.csv", "id,value,,\na,1,,\n", "two columns are not named"),
        ("own.tsv", '\ufeff"id";"value"\n"a";"1"\n', "semicolons, not by tabs"),
        ("own.csv", "id\tvalue\na\t1\n", "tabs, not by commas"),
        ("own.tsv", "id,value\na,1\n", "commas, not by tabs"),
    ],
)
def test_files_that_are_no_tables_are_named(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(RecordError, match=message):
        read_own(path)


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("own.csv", "id;value;sure\na;1,5;0,25\nb;x;.75\n", "utf-8"),
        ("own.csv", '\ufeff"id";"value, full";"sure"\r\n"a";"1,5";",25"\r\nb;x;0.75\r\n', "utf-8"),
        ("own.csv", "sep=;\nid;value;sure\na;1,5;0,25\nb;x;0,75\n", "utf-8"),
        ("own.csv", 'id,value,sure\na,"1,5",0.25\nb,x,0.75\n', "utf-16"),
        ("own.csv", "id\tvalue\tsure\na\t1,5\t0,25\nb\tx\t0,75\n", "utf-16"),
        ("own.tsv", "id\tvalue\tsure\na\t1,5\t0,25\nb\tx\t0,75\n", "utf-8"),
        ("own.txt", "id\tvalue\tsure\na\t1,5\t0,25\nb\tx\t0,75\n", "utf-16"),
        ("own.txt.gz", "id\tvalue\tsure\na\t1,5\t0,25\nb\tx\t0,75\n", "utf-16"),
    ],
)
def test_exports_of_excel_are_read(tmp_path: Path, name: str, content: str, encoding: str) -> None:
    path = tmp_path / name
    data = content.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    value = "value, full" if "value, full" in content else "value"
    replies = read_own(path, field_map={"confidence": "sure", "value": value})
    # Only confidences are numbers with a decimal comma; a value is a text.
    assert [(r.id, r.value, r.confidence) for r in replies] == [
        ("a", "1,5", 0.25),
        ("b", "x", 0.75),
    ]


def test_confidences_of_tables_may_be_in_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("id;value;confidence\na;1;85%\nb;2;2,5 %\n")
    assert [reply.confidence for reply in read_own(path)] == pytest.approx([0.85, 0.025])
    # Such cells say their scale themselves.
    path.write_text("id;value;confidence\na;1;85%\nb;2;60\n")
    assert [reply.confidence for reply in read_own(path)] == pytest.approx([0.85, 0.6])


def test_lines_of_exports_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("sep=;\nid;value\na;1\nb;2;3\n")
    with pytest.raises(RecordError) as caught:
        read_own(path)
    assert caught.value.where == f"{path}:4"
    path.write_bytes("id;value\na;1\n".encode("utf-16")[:-3])
    with pytest.raises(RecordError, match="UTF-16"):
        read_own(path)


def test_confidences_that_are_left_out_are_counted(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    sure = ["high", 0.5, *["high"] * len(rows)]
    write_lines("own.jsonl", [{**row, "confidence": c} for row, c in zip(rows, sure, strict=False)])
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    assert f"own: {len(rows) - 1} confidences are left out" in done.err
    assert "for example high; divide per cent by 100" in done.err


def test_confidences_in_per_cent_are_divided_together(case: Case) -> None:
    rows = make_rows(case, case.list_ids())
    sure = [85, 0, *[85] * len(rows)]
    write_lines("own.jsonl", [{**row, "confidence": c} for row, c in zip(rows, sure, strict=False)])
    done = case.score_file("--predictions", "own=own.jsonl")
    assert done.code == 0, done.err
    assert "own: confidences are read as per cent, because some are above 1" in done.err


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([*[85] * 9, 1, 100], [*[0.85] * 9, 0.01, 1.0]),
        ([*[1] * 49, 95], [*[1.0] * 49, None]),  # a typing error
        ([*[0.9] * 9, -0.5], [*[0.9] * 9, None]),
        ([0.9, 1.0000005], [0.9, 1.0]),  # a sum of probabilities
        ([85, 1, 100], [None, None, None]),
        ([99.5, 40, *[60] * 8, 0.5], [0.995, 0.4, *[0.6] * 8, 0.005]),
        ([0.9, 1, 0], [0.9, 1.0, 0.0]),
        ([0.9, 0.2, 85], [None, None, None]),
        ([0.9, 1, 1.2], [None, None, None]),
        ([1, 4, 5], [None, None, None]),  # ratings
        ([1, 10, 9], [None, None, None]),
        ([120, 85, 1], [None, None, None]),
        ([-0.1, 0, 1], [None, None, None]),  # logarithms
    ],
)
def test_confidences_of_a_file_have_one_scale(
    given: list[float], read: list[float | None], tmp_path: Path
) -> None:
    path = tmp_path / "own.jsonl"
    ids = [str(number) for number in range(len(given))]
    rows = [{"id": i, "value": 1, "confidence": c} for i, c in zip(ids, given, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [reply.confidence for reply in read_own(path, set(ids))] == pytest.approx(read)


def read_own(
    path: Path,
    ids: frozenset[str] | set[str] = frozenset({"a", "b"}),
    field_map: Mapping[str, str] | None = None,
) -> list[Reply]:
    """Reads the replies of a file whose values are taken as they are."""
    form = PredictionFormat(
        value="value",
        noun="item",
        read_value=lambda value: Reply(value=value),
        field_map=field_map or {},
    )
    return list(read_predictions(PredictionFile("own", path), ids, form).replies)


def test_a_scoring_that_is_killed_leaves_no_finished_run(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.out.suffix:
        pytest.skip("results of cards are one file")
    write_lines("own.jsonl", make_rows(case, case.list_ids()))
    assert case.score_file("--predictions", "own=own.jsonl").code == 0
    benchmark = find_benchmark(case.out)

    def stop(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("eval.harness.predictions.scored_run.write_rows", stop)
        killed = case.score_file("--predictions", "own=own.jsonl", "--overwrite")
    assert killed.code == 130, killed.err
    for name in (benchmark.manifest_file, benchmark.rows_file):
        assert not (case.out / name).exists()
    done = case.score_file("--predictions", "own=own.jsonl", "--overwrite")
    assert done.code == 0, done.err


def test_a_folder_that_is_being_written_is_not_scored_into(case: Case) -> None:
    if case.out.suffix:
        pytest.skip("results of cards are one file")
    write_lines("own.jsonl", make_rows(case, case.list_ids()))
    with Journal(case.out / REPLIES, 0):
        locked = case.score_file("--predictions", "own=own.jsonl", "--overwrite")
    assert "another run is writing" in check_error_line(locked, 15)
    assert case.score_file("--predictions", "own=own.jsonl").code == 0
