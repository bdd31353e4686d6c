"""Tests logs of Inspect, lm-evaluation-harness, HELM and promptfoo as graded answers."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from stage_calls import check_error_line, run_epoche

from eval.outcomes import inspect_logs
from eval.outcomes.reader import read_graded_answers
from kg.base.errors import EpocheError, RecordError


def make_sample(id_: Any, epoch: int = 1, metadata: Any = None, **values: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "epoch": epoch,
        "target": "Yes",
        "scores": {name: {"value": value, "answer": "x"} for name, value in values.items()},
        "metadata": metadata or {},
    }


def write_log(path: Path, samples: list[dict[str, Any]], **header_fields: Any) -> Path:
    header = {"version": 2, "status": "success", "eval": {"model": "m"}, **header_fields}
    if path.suffix == ".eval":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", json.dumps(header))
            for sample in samples:
                name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
                archive.writestr(name, json.dumps(sample))
    else:
        content = json.dumps({**header, "samples": samples}).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(path: Path, **field_map: str) -> list[tuple[str, int, str]]:
    answers = read_graded_answers([str(path)], field_map, {}).answers
    return [(answer.id, answer.repeat, answer.outcome) for answer in answers]


@pytest.mark.parametrize("name", ["log.eval", "log.json", "log.json.gz"])
def test_samples_of_inspect(name: str, tmp_path: Path) -> None:
    samples = [
        make_sample(1, 1, match="C"),
        make_sample(1, 2, match="I"),
        make_sample(2, 1, match="N"),
        {**make_sample(2, 2), "error": {"message": "x"}},
        make_sample("q", 1, match=1.0),
        make_sample("q", 2, match=False),
    ]
    assert sorted(read(write_log(tmp_path / name, samples))) == [
        ("1", 0, "right"),
        ("1", 1, "wrong"),
        ("2", 0, "abstained"),
        ("2", 1, "unusable"),
        ("q", 0, "right"),
        ("q", 1, "wrong"),
    ]


def test_a_log_of_right_answers_only_is_no_simpleqa(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", [make_sample(1, match="C"), make_sample(2, match="C")])
    assert [outcome for _, _, outcome in read(log)] == ["right", "right"]


def test_scorers_and_metadata_are_fields(tmp_path: Path) -> None:
    samples = [
        make_sample(1, 1, {"sure": 0.75, "nested": {"x": 1}}, a="C", b={"x": 1, "y": 0}),
        make_sample(2, 1, {"sure": 0.5}, a="I", b={"x": 0, "y": 0}),
    ]
    log = write_log(tmp_path / "log.eval", samples)
    message = check_error_line(run_epoche("outcomes", log), 12)
    assert "a, b.x, b.y" in message
    assert "--map outcome=" in message
    assert [outcome for _, _, outcome in read(log, outcome="b.x")] == ["right", "wrong"]
    graded = read_graded_answers([str(log)], {"outcome": "a", "confidence": "metadata.sure"}, {})
    assert [answer.confidence for answer in graded.answers] == [0.75, 0.5]


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
@pytest.mark.parametrize(
    ("dataset", "config", "results", "n_expected"),
    [
        ({"samples": 100}, {"epochs": 1}, {}, 100),
        ({"samples": 100}, {"limit": 8}, {}, 8),
        ({"samples": 100}, {"limit": [10, 17], "epochs": 2}, {}, 14),
        ({"samples": 100, "sample_ids": list(range(9))}, {"limit": 9}, {}, 9),
        ({"samples": 100}, {"epochs": 2}, {"total_samples": 20}, 20),
        ({"samples": 100}, {"sample_id": ["0", "1", "2", "3"]}, {}, 4),
        ({"samples": 3}, {}, {}, 4),
        ({"samples": True}, {"epochs": "x"}, {}, 4),
    ],
)
def test_answers_that_a_log_of_inspect_lacks_are_unusable(
    dataset: Any, config: Any, results: Any, n_expected: int, name: str, tmp_path: Path
) -> None:
    fields = {"eval": {"dataset": dataset, "config": config}, "results": results}
    samples = [make_sample(n, a="C") for n in range(4)]
    log = write_log(tmp_path / name, samples, status="cancelled", **fields)
    done = run_epoche("outcomes", log, "--out", tmp_path / "out.json")
    assert done.code == 0, done.err
    assert f"note: {log}: the status of the log is 'cancelled'" in done.out
    lacks = n_expected > 4
    assert (f"has 4 of the {n_expected} answers that the log was to have" in done.out) == lacks
    assert (f"log: 4 right, {n_expected - 4} unusable" in done.out) == lacks
    gate = run_epoche("gate", tmp_path / "out.json", "--metric", "accuracy>=0.1")
    assert gate.code == (100 if lacks else 0)
    assert "the status of the log is 'cancelled'" in gate.out


def test_answers_that_only_one_log_lacks_are_those_of_the_other(tmp_path: Path) -> None:
    fields = {"eval": {"dataset": {"samples": 10}, "config": {}}}
    known = [make_sample(n, 1, {"known": n < 5}, a="C" if n < 5 else "N") for n in range(10)]
    part = write_log(tmp_path / "part.eval", known[:4], status="error", **fields)
    full = write_log(tmp_path / "full.eval", known, **fields)
    mapped = ("--map", "answerable=metadata.known")
    done = run_epoche("outcomes", part, full, *mapped)
    assert "10 questions, 5 answerable" in done.out
    assert "part: 4 right, 6 unusable" in done.out
    assert "full: 5 right, 5 abstained" in done.out
    done = run_epoche("outcomes", part, *mapped)
    assert "not known: no skill" in done.out
    assert "utility@.5" in done.out


def test_a_log_whose_process_ended_is_not_complete(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        start = {"version": 2, "eval": {"dataset": {"samples": 5}}}
        archive.writestr("_journal/start.json", json.dumps(start))
        archive.writestr("samples/1_epoch_1.json", json.dumps(make_sample(1, a="C")))
    done = run_epoche("outcomes", path)
    assert "the status of the log is 'started'" in done.out
    assert "log: 1 right, 4 unusable" in done.out


def test_samples_of_the_same_content_are_a_cluster(tmp_path: Path) -> None:
    def find_clusters(samples: list[dict[str, Any]]) -> list[int]:
        path = write_log(tmp_path / "log.json", samples)
        clusters = [a.cluster for a in read_graded_answers([str(path)], {}, {}).answers]
        return [clusters.index(cluster) if cluster else -1 for cluster in clusters]

    texts = ["same?", "other?", "same?"]
    samples = [{**make_sample(n, a="C"), "input": text} for n, text in enumerate(texts)]
    assert find_clusters(samples) == [0, -1, 0]
    # Ids of messages are random.
    chats = [
        {**sample, "input": [{"id": f"m{n}", "role": "user", "content": sample["input"]}]}
        for n, sample in enumerate(samples)
    ]
    assert find_clusters(chats) == [0, -1, 0]
    options = [["1", "2"], ["1", "2"], ["1", "3"]]
    asked = [{**s, "choices": found} for s, found in zip(samples, options, strict=True)]
    assert find_clusters(asked) == [-1, -1, -1]
    # Epochs are repeats, and the id says so.
    assert find_clusters([{**samples[0], "epoch": n} for n in (1, 2)]) == [-1, -1]


def test_logs_of_other_questions_with_the_same_ids_are_refused(tmp_path: Path) -> None:
    def write(name: str, texts: list[str], **more: Any) -> Path:
        samples = [
            {**make_sample(n, a="C" if n else "I"), "input": text, **more}
            for n, text in enumerate(texts)
        ]
        return write_log(tmp_path / f"{name}.eval", samples)

    first = write("first", ["Who?", "When was it?"])
    line = check_error_line(run_epoche("outcomes", first, write("b", ["Who?", "Where?"])), 12)
    assert f"the id '1' is of another question than at {first}:samples/1_epoch_1.json" in line
    assert f"({tmp_path}/b.eval:samples/1_epoch_1.json)" in line
    done = run_epoche("outcomes", first, tmp_path / "b.eval", "--map", "question=id")
    assert "both" not in done.err
    assert done.code == 0
    # White space does not matter, nor the order of options and the letter of the right one.
    assert run_epoche("outcomes", first, write("c", [" Who?", "When\nwas it?"])).code == 0
    one = write("one", ["Who?", "Where?"], choices=["x", "y"], target="A")
    two = write("two", ["Who?", "Where?"], choices=["y", "x"], target="B")
    assert run_epoche("outcomes", one, two).code == 0


def test_samples_of_two_tasks_of_lm_evaluation_harness_are_refused(tmp_path: Path) -> None:
    def write(name: str, **more: Any) -> Path:
        rows = [{**make_harness_sample(n, "none", acc=n), **more} for n in range(2)]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return path

    arc, other = write("arc"), write("other", doc={"question": "other"})
    assert "and so are 1 more" in check_error_line(run_epoche("outcomes", arc, other), 12)
    shuffled = write("shuffled", doc={"question": "?", "choices": ["x"]}, doc_hash="other")
    assert run_epoche("outcomes", arc, shuffled).code == 0, "copies are one cluster in both files"
    first, second = (write(name, doc={"x": "?"}, doc_hash=name) for name in ("one", "two"))
    check_error_line(run_epoche("outcomes", first, second), 12)


def test_a_log_without_scores_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.eval", [make_sample(1), make_sample(2)])
    assert "inspect score" in check_error_line(run_epoche("outcomes", log), 12)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"{}", b"PK\x05\x06" + bytes(17)], ids=repr
)
def test_a_damaged_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    check_error_line(run_epoche("outcomes", path), 12)


def test_a_large_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write_log(tmp_path / "log.eval", [make_sample(1, 1, {"x": "y" * 5000}, a="C")])
    monkeypatch.setattr(inspect_logs, "MAX_ARRAY_BYTES", 4000)
    with pytest.raises(RecordError, match="larger than 4,000 bytes"):
        read(log)


def test_samples_of_lm_evaluation_harness(tmp_path: Path) -> None:
    rows = [
        {"doc_id": n, "doc_hash": "h", "metrics": ["acc"], "acc": float(n % 2), "filter": "none"}
        for n in range(3)
    ]
    path = tmp_path / "samples_x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read(path) == [("0", 0, "wrong"), ("1", 0, "right"), ("2", 0, "wrong")]
    path.write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    assert "--map id=" in check_error_line(run_epoche("outcomes", path), 13)


def make_harness_sample(doc_id: int, filter_name: str, **scores: float) -> dict[str, Any]:
    """Makes a sample as ``evaluator.py`` of lm-evaluation-harness 0.4 logs it."""
    return {
        "doc_id": doc_id,
        "doc": {"question": "?", "answer": "#### 3"},
        "target": "#### 3",
        "arguments": {"gen_args_0": {"arg_0": "Question: ?", "arg_1": {"until": ["</s>"]}}},
        "resps": [["#### 3"]],
        "filtered_resps": ["3"],
        "filter": filter_name,
        "metrics": list(scores),
        "doc_hash": "h",
        "prompt_hash": "h",
        "target_hash": "h",
        **scores,
    }


def test_a_filter_of_lm_evaluation_harness_is_chosen(tmp_path: Path) -> None:
    # As for gsm8k: all documents by one filter, then all by the next.
    rows = [
        make_harness_sample(doc, name, exact_match=float(doc < n_right))
        for name, n_right in (("strict-match", 1), ("flexible-extract", 3))
        for doc in range(4)
    ]
    path = tmp_path / "samples_gsm8k.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    line = check_error_line(run_epoche("outcomes", path), 12)
    assert "several filters: strict-match, flexible-extract" in line
    assert "--filter NAME" in line
    for name, n_right in (("strict-match", 1), ("flexible-extract", 3)):
        done = run_epoche("outcomes", path, "--filter", name)
        assert done.code == 0, done.err
        assert f": {n_right} right, {4 - n_right} wrong" in done.out
    line = check_error_line(run_epoche("outcomes", path, "--filter", "none"), 12)
    assert "It has strict-match, flexible-extract" in line
    path.write_text(json.dumps({"id": 1, "outcome": "right"}))
    line = check_error_line(run_epoche("outcomes", path, "--filter", "strict-match"), 12)
    assert "leave out --filter" in line


@pytest.mark.parametrize("form", ["with names", "older, without", "with other names"])
def test_several_metrics_are_listed(tmp_path: Path, form: str) -> None:
    rows = [make_harness_sample(n, "none", acc=1.0, acc_norm=float(n)) for n in range(2)]
    if form == "with other names":
        rows = [{**row, "metrics": ["acc,none", "acc_norm,none"]} for row in rows]
    elif form == "older, without":
        rows = [
            {k: v for k, v in row.items() if k not in ("metrics", "doc_hash", "filter")}
            for row in rows
        ]
    path = tmp_path / "samples_arc.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    line = check_error_line(run_epoche("outcomes", path), 12)
    assert "several scores: acc, acc_norm" in line
    assert read(path, outcome="acc_norm") == [("0", 0, "wrong"), ("1", 0, "right")]


def make_result(test: int, provider: str, prompt: int = 0, **more: Any) -> dict[str, Any]:
    """Makes a result as ``promptfoo eval --output`` of version 3 writes it."""
    return {
        "testIdx": test,
        "promptIdx": prompt,
        "provider": {"id": provider, "label": ""},
        "success": True,
        "failureReason": 0,
        "vars": {"question": "?", "kind": f"k{test}"},
        "namedScores": {"tone": 1},
        **more,
    }


def test_results_of_promptfoo(tmp_path: Path) -> None:
    results = [
        make_result(0, "a"),
        make_result(1, "a", success=False, failureReason=1),
        make_result(2, "a", success=False, failureReason=2, namedScores={"tone": 0}),
    ]
    path = tmp_path / "own.json"

    def write(found: list[dict[str, Any]], indent: int | None = 2) -> None:
        log = {"evalId": "e", "results": {"version": 3, "results": found}, "config": {}}
        path.write_text(json.dumps(log, indent=indent))

    for indent in (2, None):
        write(results, indent)
        assert read(path) == [("0", 0, "right"), ("1", 0, "wrong"), ("2", 0, "unusable")]
    assert read(path, outcome="namedScores.tone")[2] == ("2", 0, "wrong")
    graded = read_graded_answers([str(path)], {"cluster": "vars.kind"}, {})
    assert [(a.system, a.cluster) for a in graded.answers] == [("own", f"k{n}") for n in range(3)]
    write([*results, *(make_result(n, "b") for n in range(3))])
    assert {a.system for a in read_graded_answers([str(path)], {}, {}).answers} == {"a", "b"}
    write([*results, make_result(0, "a", prompt=1)])
    systems = {a.system for a in read_graded_answers([str(path)], {}, {}).answers}
    assert systems == {"a, prompt 0", "a, prompt 1"}
    write([{"success": True}])
    assert "promptfoo eval --output" in check_error_line(run_epoche("outcomes", path), 12)


def write_promptfoo(path: Path, tests: list[str], providers: str = "ab", **more: Any) -> Path:
    """Writes results; ``tests`` are the variables and the outcome by provider, as ``q1 10``."""
    results = []
    for number, test in enumerate(tests):
        name, outcomes = test.split()
        variables = {"question": name}
        results += [
            make_result(
                number,
                provider,
                vars={**variables, "_conversation": [number]},
                testCase={"vars": variables, "assert": more.get("checks", {}).get(number)},
                success=outcome == "1",
            )
            for provider, outcome in zip(providers, outcomes, strict=True)
        ]
    stats = more.get("stats", {})
    path.write_text(json.dumps({"results": {"results": results, "stats": stats}}))
    return path


def test_repeats_of_promptfoo_are_no_questions(tmp_path: Path) -> None:
    tests = [*[f"q{n} 11" for n in range(6)], *[f"q{n} 10" for n in range(6, 10)]]
    once = write_promptfoo(tmp_path / "once.json", tests)
    often = write_promptfoo(tmp_path / "often.json", tests * 10)
    found = []
    for path in (once, often):
        done = run_epoche("outcomes", path)
        assert done.out.startswith("10 questions\n")
        found.append(next(line for line in done.out.splitlines() if line.startswith("accuracy: ")))
    assert all("no significant difference" in line for line in found)
    answers = read_graded_answers([str(often)], {}, {}).answers
    assert {(answer.id, answer.repeat) for answer in answers} == {
        (str(n), repeat) for n in range(10) for repeat in range(10)
    }
    # Other files have the same questions, whether repeated or not.
    assert "2 systems" not in run_epoche("outcomes", once, often).err


def test_copies_of_some_tests_of_promptfoo_are_a_cluster(tmp_path: Path) -> None:
    path = write_promptfoo(tmp_path / "log.json", ["q 1", "r 1", "q 0"], "a")
    answers = read_graded_answers([str(path)], {}, {}).answers
    assert [answer.id for answer in answers] == ["0", "1", "2"]
    assert answers[0].cluster == answers[2].cluster != answers[1].cluster == ""
    # Another assertion is another test, on the same text.
    checks = {1: [{"type": "contains", "value": "x"}]}
    write_promptfoo(path, ["q 1", "q 0"], "a", checks=checks)
    answers = read_graded_answers([str(path)], {}, {}).answers
    assert [answer.id for answer in answers] == ["0", "1"]
    assert answers[0].cluster == answers[1].cluster != ""


def test_results_that_promptfoo_counts_and_lacks_are_unusable(tmp_path: Path) -> None:
    stats = {"successes": 6, "failures": 1, "errors": 1}
    path = write_promptfoo(tmp_path / "log.json", ["q 11", "r 10"], stats=stats)
    done = run_epoche("outcomes", path)
    assert "a: 2 right, 2 unusable" in done.out
    assert "b: 1 right, 1 wrong, 2 unusable" in done.out


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"results": {"arc": {"acc,none": 0.5}}, "configs": {}}, "samples_….jsonl"),
        ({"adapter_spec": {}, "request_states": []}, "per_instance_stats.json"),
        ([{"name": {"name": "x"}, "count": 1, "sum": 1, "sum_squared": 1}], "per_instance_stats"),
        ({f"q{n}": "answer" for n in range(200)}, "--squad-gold"),
        ({"example": [["question", "?"]]}, "a row for each question"),
        ({"a": [{"id": 1}], "b": [{"id": 1}]}, "a row for each question"),
    ],
)
@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
def test_other_files_of_tools_are_named(
    document: Any, message: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    content = json.dumps(document, indent=4).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    line = check_error_line(run_epoche("outcomes", path), 12)
    assert message in line
    assert str(path) in line


@pytest.mark.parametrize("command", ["metrics", "compare"])
def test_commands_for_cards_name_the_one_for_logs(command: str, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", [make_sample(1, match="C")])
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps(make_harness_sample(1, "none", acc=1.0)))
    for path in (log, samples):
        done = run_epoche(command, path, "--out", tmp_path / "out.json")
        assert "`epoche outcomes`" in check_error_line(done, 12)


def test_json_lines_of_one_row_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    for row in ({"id": "q", "outcome": "right"}, {"id": "q", "outcome": "right", "results": {}}):
        path.write_text(json.dumps(row))
        assert read(path) == [("q", 0, "right")]


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_rows_in_an_object_are_read(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "outcome": n % 2} for n in range(2)]
    expected = [("q0", 0, "wrong"), ("q1", 0, "right")]
    assert read(write_json(tmp_path / "r.json", {"results": rows, "model": "m"})) == expected
    table = {"columns": ["id", "outcome"], "data": [list(row.values()) for row in rows]}
    assert read(write_json(tmp_path / "t.json", table)) == expected
    # A row may have a list.
    row = {**rows[1], "facts": [{"a": 1}]}
    path = write_json(tmp_path / "o.json", row)
    assert read(path) == expected[1:]
    path.write_text(json.dumps(row, indent=1))
    assert "no rows of graded answers" in check_error_line(run_epoche("outcomes", path), 12)
    path.write_text(json.dumps({"outcome": 0.5, "results": rows}, indent=1))
    assert read(path) == expected


@pytest.mark.parametrize(
    ("columns", "row", "problem"),
    [
        (["id", "outcome", "id"], ["q", 1, "r"], "two columns are called 'id'"),
        (["id", "outcome"], ["q", 1, 0], "3 values in a table of 2 columns"),
        (["id", "outcome"], ["q"], "1 values in a table of 2 columns"),
    ],
)
def test_rows_that_do_not_fit_their_table_are_refused(
    columns: list[str], row: list[Any], problem: str, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "t.json", {"columns": columns, "data": [row]})
    assert problem in check_error_line(run_epoche("outcomes", path), 12)


def test_fields_in_objects_have_paths(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [{"run": {"id": n}, "feedback": [{"score": n % 2}]} for n in range(2)]
    path.write_text("\n".join(map(json.dumps, rows)))
    field_map = {"id": "run.id", "outcome": "feedback.0.score"}
    graded = read_graded_answers([str(path)], field_map, {})
    assert [(a.id, a.outcome) for a in graded.answers] == [("0", "wrong"), ("1", "right")]
    done = run_epoche("outcomes", path, "--map", "id=run.id,outcome=feedback.score")
    assert "a row has no 'feedback.score'" in check_error_line(done, 12)


def test_events_of_openai_evals(tmp_path: Path) -> None:
    def make_event(number: int, kind: str, data: Any) -> dict[str, Any]:
        return {"run_id": "r", "event_id": number, "sample_id": "s.0", "type": kind, "data": data}

    path = tmp_path / "r.jsonl"
    events = [
        {"spec": {"eval_name": "x"}},
        make_event(0, "sampling", {"prompt": "?"}),
        make_event(1, "match", {"correct": False, "expected": "a"}),
        {"final_report": {"accuracy": 0.0}},
    ]
    path.write_text("\n".join(map(json.dumps, events)))
    assert read(path) == [("s.0", 0, "wrong")]
    failed = make_event(2, "error", {"type": "Timeout"})
    # One that is asked again has its answer.
    events += [failed, {**failed, "sample_id": "s.1"}, {**failed, "sample_id": "s.1"}]
    path.write_text("\n".join(map(json.dumps, events)))
    assert read(path) == [("s.0", 0, "wrong"), ("s.1", 0, "unusable")]
    assert read(path, outcome="data.correct") == read(path)
    assert read_graded_answers([str(path)], {}, {}).notes == [
        f"{path}: 1 sample without a match had an error: unusable"
    ]


def test_one_system_of_a_file_is_measured_alone(tmp_path: Path) -> None:
    results = [make_result(0, "a", 0), make_result(1, "b", 0)]
    path = write_json(tmp_path / "p.json", {"results": {"results": results}})
    line = check_error_line(run_epoche("outcomes", path), 12)
    assert "'a' and 'b' have no question in common" in line
    assert "--system NAME" in line
    done = run_epoche("outcomes", path, "--system", "b", "--resamples", 100)
    assert "1 question\nb: 1 " in done.out, done.err
    line = check_error_line(run_epoche("outcomes", path, "--system", "c"), 12)
    assert "there is no system 'c' (--system). The files have a, b." in line
    rows = write_json(tmp_path / "r.json", [{"id": "q", "outcome": 1, "system": "x"}])
    for system in ("m", "x"):
        done = run_epoche("outcomes", f"m={rows}", "--system", system, "--resamples", 100)
        assert "1 question\nm: 1 right" in done.out, done.err


def test_instances_of_helm(tmp_path: Path) -> None:
    def make_row(id_: str, trial: int, score: float, **more: Any) -> dict[str, Any]:
        stats = [
            {"name": {"name": "exact_match", "split": "test"}, "mean": score},
            {"name": {"name": "prefix_exact_match", "split": "test"}, "mean": 1.0},
            {"name": {"name": "training_co2_cost"}},
        ]
        return {"instance_id": id_, "train_trial_index": trial, "stats": stats, **more}

    rows = [
        make_row("id1", 0, 1.0),
        make_row("id1", 1, 0.0),
        make_row("id1", 0, 0.0, perturbation={"name": "typos"}),
    ]
    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps(rows))
    assert read(path) == [
        ("id1", 0, "right"),
        ("id1", 1, "wrong"),
        ("id1 + typos", 0, "wrong"),
    ]
    graded = read_graded_answers([str(path)], {}, {})
    assert {answer.cluster for answer in graded.answers} == {"id1"}
    assert {outcome for _, _, outcome in read(path, outcome="prefix_exact_match")} == {"right"}


def test_scenarios_of_helm_have_other_questions(tmp_path: Path) -> None:
    stats = [{"name": {"name": "exact_match"}, "mean": 1.0}]
    rows = json.dumps([{"instance_id": "id1", "train_trial_index": 0, "stats": stats}]).encode()
    files = []
    for name, subject in (("a", "philosophy"), ("b", "virology"), ("c", "virology")):
        folder = tmp_path / name
        folder.mkdir()
        spec = {"name": name, "scenario_spec": {"class_name": "S", "args": {"subject": subject}}}
        (folder / "run_spec.json").write_text(json.dumps(spec))
        path = folder / ("stats.json" if name == "a" else "stats.json.gz")
        path.write_bytes(rows if name == "a" else gzip.compress(rows))
        files.append(f"{name}={path}")
    line = check_error_line(run_epoche("outcomes", *files[:2]), 12)
    assert "the id 'id1' is of another question" in line
    assert run_epoche("outcomes", *files[1:], "--resamples", 100).code == 0
    (tmp_path / "b" / "run_spec.json").write_text("{")
    assert run_epoche("outcomes", *files[:2], "--resamples", 100).code == 0


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("inspect-popularity/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", 8),
        ("inspect-popularity/2025-05-12T20-28-13-04-00_popularity.json", 2),
        ("inspect-pubmedqa-gpt4o-mini/data_pubmedqa_gpt4o_mini.json", 2),
        ("lm-eval-math-perturbed/samples_math_perturbed_full_2026-01-21T03-44-18.458309.jsonl", 0),
        ("helm-mmlu-philosophy-gpt2/per_instance_stats.json", 1),
        ("promptfoo-pest/promptfoo_output.json", 0),
        ("proofbundle-fixtures/promptfoo_results_v3.json", 2),
    ],
)
def test_public_logs(public_data: Path, file: str, expected: int) -> None:
    path = public_data / "foreign/evallogs" / file
    if not path.is_file():
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    assert sum(outcome == "right" for _, _, outcome in read(path)) == expected


def test_a_compression_that_python_cannot_read(public_data: Path) -> None:
    path = public_data / "foreign/evallogs/proofbundle-fixtures/safety_refusal_demo.eval"
    if not path.is_file():
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    assert "inspect log convert" in check_error_line(run_epoche("outcomes", path), 12)


def test_every_public_file_is_read_or_explained(public_data: Path) -> None:
    folders = [public_data / "foreign/evallogs", public_data / "foreign/ecu"]
    files = [p for folder in folders for p in sorted(folder.rglob("*.*")) if p.suffix != ".md"]
    if not files:
        pytest.skip("needs foreign/ in the folder that EPOCHE_PUBLIC_DATA names")
    for path in files:
        done = run_epoche("outcomes", path, "--resamples", 100)
        if done.code:
            # A message names the user's file and what to do, and no syntax error of a parser.
            line = check_error_line(done, 12)
            assert str(path) in line
            assert "Expecting" not in line


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)
LOGS: dict[str, Any] = {
    "inspect": {
        "eval": {},
        "status": "success",
        "samples": [make_sample(n, 1, {"sure": 0.5}, a="C", b={"x": 1}) for n in range(2)],
    },
    "promptfoo": {"results": {"results": [make_result(n, "a", n) for n in range(2)]}},
    "harness": [make_harness_sample(n, "none", acc=1.0) for n in range(2)],
    "helm": [
        {"instance_id": "i", "train_trial_index": n, "stats": [{"name": {"name": "exact_match"}}]}
        for n in range(2)
    ],
}


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Lists the places of a JSON value: each container, and a key or index in it."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    return [
        place
        for key in keys
        for place in (
            (value, key),
            *(list_places(value[key]) if isinstance(value[key], dict | list) else ()),
        )
    ]


@settings(max_examples=200, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(LOGS)), value=json_values)
def test_damaged_logs_are_read_or_refused(
    data: st.DataObject, name: str, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = copy.deepcopy(LOGS[name])
    container, key = data.draw(st.sampled_from(list_places(log)))
    container[key] = value
    path = tmp_path_factory.mktemp("log") / "log.json"
    path.write_text(json.dumps(log))
    with contextlib.suppress(EpocheError):
        read_graded_answers([str(path)], {}, {})
