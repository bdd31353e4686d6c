"""Tests the gate: conditions, regressions, its exit codes and the JUnit XML that it writes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from skn_folders import answered_row, make_samples, write_run_folder
from stage_calls import run_epoche

from eval.abstention.gated_values import list_gated_metrics
from eval.abstention.metrics.optional_metrics import CONFIDENCE_METRICS
from eval.abstention.metrics.record import CardComparison
from eval.commands.gate import main
from eval.metrics import gate
from eval.metrics.gate import (
    Check,
    Condition,
    check_conditions,
    check_regressions,
    select_systems,
)
from eval.metrics.junit import render_junit
from eval.metrics.metric_value import MetricValue
from kg.base.console import wrap_command
from kg.base.errors import EpocheError, GateFailedError, SettingError, SystemNotFoundError


def parse_condition(text: str) -> Condition:
    """Parses a condition on metrics of cards, all of which are shares."""
    return gate.parse_condition(text, dict.fromkeys(list_gated_metrics("licensed"), True))


GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
RowWriter = Callable[..., Path]


def make_rows(
    system: str, accuracy: float, count: int = 300, seed: int = 0, **fields: Any
) -> list[Any]:
    """Returns rows of a system that answers correctly with probability ``accuracy``."""
    rng = random.Random(f"{system}{seed}")
    rows = []
    for n in range(count):
        label = "ECU"[n % 3]
        wrong = [p for p in GOLD.values() if p != GOLD[label]]
        pred = GOLD[label] if rng.random() < accuracy else rng.choice(wrong)
        rows.append(
            {"id": f"{n:04d}", "system": system, "gold": GOLD[label], "label": label, "pred": pred}
            | {"cluster": f"s{n}", "cards": "0123456789ab"}
            | fields
        )
    return rows


@pytest.fixture
def write_rows(tmp_path: Path) -> RowWriter:
    def write_file(name: str, *groups: list[Any]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for rows in groups for row in rows), "utf-8")
        return path

    return write_file


def get_gate_exit_code(**flags: Any) -> int:
    """Runs the command, which accepts rows without a manifest, and returns its exit code."""
    with pytest.raises(SystemExit) as exit_info:
        wrap_command(main)(**{"resamples": 200, "allow_changed": True, **flags})
    assert isinstance(exit_info.value.code, int)
    return exit_info.value.code


# -- conditions ---------------------------------------------------------------------------------


def test_conditions_are_read() -> None:
    condition = parse_condition("FAR-NE<=0.05")
    assert condition == Condition("FAR-NE<=0.05", "", "FAR-NE", "", "<=", 0.05)
    condition_on_interval = parse_condition(" raw:openai/gpt-4o:far-ne.high < .08 ")
    assert (
        condition_on_interval.selector,
        condition_on_interval.metric,
        condition_on_interval.end,
    ) == ("raw:openai/gpt-4o", "FAR-NE", "high")
    assert (condition_on_interval.operator, condition_on_interval.limit) == ("<", 0.08)
    assert parse_condition("a<=b:LA>=9e-1").selector == "a<=b"
    assert parse_condition("rag:ece<=0.1").metric == "ECE"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FAR-NE", "not a condition"),
        ("FAR-NE=0.05", "not a condition"),
        ("FAR-NE<=nan", "not a condition"),
        ("FAR-NE<=5%", "not a condition"),
        ("", "not a condition"),
        ("F1>=0.5", "One of skill@.5, all-three"),
        ("LA.mean>=0.5", "One of low, high, worst, best"),
        ("FAR-NE<=5", "Write five per cent as 0.05"),
        ("LA>=-0.1", "between 0 and 1"),
    ],
)
def test_invalid_conditions_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_condition(text)


@settings(deadline=None)
@given(
    system=st.text(min_size=1).filter(lambda text: text.strip() == text and text),
    limit=st.integers(0, 1000),
    operator=st.sampled_from(["<=", ">=", "<", ">"]),
)
def test_a_system_of_any_name_can_be_selected(system: str, limit: int, operator: str) -> None:
    condition = parse_condition(f"{system}:LA.low{operator}{limit / 1000}")
    assert (condition.selector, condition.metric, condition.end) == (system, "LA", "low")
    assert (condition.operator, condition.limit) == (operator, limit / 1000)
    assert select_systems(condition.selector, [system, "other"], []) == [system]


def test_selector_may_be_empty_a_system_all_models_or_a_pattern() -> None:
    systems = ["rag", "raw:a/x", "raw:b/y", "raw:b/[z]", "always-YES"]
    models = systems[:-1]
    assert select_systems("", systems, models) == models
    assert select_systems("rag", systems, models) == ["rag"]
    assert select_systems("raw", systems, models) == ["raw:a/x", "raw:b/y", "raw:b/[z]"]
    assert select_systems("raw:b/?", systems, models) == ["raw:b/y"]
    assert select_systems("*z]", systems, models) == ["raw:b/[z]"]
    assert select_systems("always-YES", systems, models) == ["always-YES"]
    with pytest.raises(SystemNotFoundError, match="One of rag"):
        select_systems("r.g", systems, models)


def make_value(number: float | None, **fields: Any) -> MetricValue:
    return MetricValue(value=number, denominator=100, **fields)


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("LA>=0.9", True),
        ("LA>0.9", False),
        ("LA<=0.9", True),
        ("LA<0.9", False),
        ("LA.low>=0.8", True),
        ("LA.low>=0.81", False),
        ("LA.high<0.95", False),
        ("LA.worst>=0.7", True),
        ("LA.best>=0.99", False),
    ],
)
def test_condition_tests_the_value_it_names(text: str, passed: bool) -> None:
    value = make_value(0.9, low=0.8, high=0.95, worst=0.7, best=0.92)
    (check,) = check_conditions([parse_condition(text)], {"s": {"LA": value}}, ["s"])
    assert check.passed is passed


@pytest.mark.parametrize(
    ("text", "passed", "evidence"),
    [
        (
            "LA>=0.71",
            False,
            "0.700 with every failed or unreadable answer counted against it (value 0.900",
        ),
        ("LA>=0.7", True, "0.700 with every failed or unreadable answer"),
        ("LA<=0.91", False, "0.920 with every failed or unreadable answer"),
        (
            "LA.low>=0.61",
            False,
            "0.600 with every failed or unreadable answer counted against it (value 0.900",
        ),
        ("LA.best>=0.92", True, "0.920 (value 0.900"),
    ],
)
def test_failed_answers_count_against_a_condition(text: str, passed: bool, evidence: str) -> None:
    value = make_value(0.9, low=0.8, high=0.95, worst=0.7, best=0.92)
    values = {"s": {"LA": value, "error_rate": make_value(0.01, numerator=1)}}
    (check,) = check_conditions([parse_condition(text)], values, ["s"])
    assert check.passed is passed
    assert check.evidence.startswith(evidence)


def test_missing_value_fails_the_condition() -> None:
    values = {"s": {"AP": make_value(None), "LA": make_value(0.5), "ECE": make_value(None)}}
    texts = ("AP>=0", "AP<=1", "AP.low<=1", "LA.low>=0", "LA.worst>=0", "ECE<=1")
    checks = list(check_conditions([parse_condition(text) for text in texts], values, ["s"]))
    assert not any(check.passed for check in checks)
    assert [check.evidence for check in checks[2:]] == [
        "AP.low is undefined: its denominator is 0",
        "LA.low is undefined: LA has no interval",
        "LA.worst is undefined: LA has no bounds",
        "ECE is undefined: its denominator is 0",
    ]


def test_value_is_printed_with_enough_digits_to_differ_from_the_limit() -> None:
    values = {"s": {"FAR-NE": make_value(0.050001)}}
    (check,) = check_conditions([parse_condition("FAR-NE<=0.05")], values, ["s"])
    assert not check.passed
    assert check.evidence == "0.050001 (of 100)"


# -- regressions --------------------------------------------------------------------------------


def make_pair(
    metric: str, value: float | None, baseline_value: float | None, **fields: Any
) -> CardComparison:
    difference = None if value is None or baseline_value is None else value - baseline_value
    interval = {} if difference is None else {"low": difference - 0.02, "high": difference + 0.02}
    return CardComparison(
        candidate="s", baseline="b", policy="licensed", metric=metric,
        value_candidate=value, value_baseline=baseline_value,
        difference=difference, n=300, **(interval | fields),
    )  # fmt: skip


HIGHER_IS_BETTER = {"LA": True, "FAR-NE": False, "coverage": None}  # None: never a regression


def find_regressions(*pairs: CardComparison, **rules: Any) -> list[bool]:
    """Returns for each judged pair whether it is a regression."""
    return [not c.passed for c in check_regressions(pairs, HIGHER_IS_BETTER, {"s": "s"}, **rules)]


def test_regression_depends_on_the_direction_of_the_metric() -> None:
    significant_p = {"p": 0.001}
    assert find_regressions(
        make_pair("LA", 0.5, 0.9, **significant_p), make_pair("FAR-NE", 0.5, 0.9, **significant_p)
    ) == [
        True,
        False,
    ]
    assert find_regressions(
        make_pair("LA", 0.9, 0.5, **significant_p), make_pair("FAR-NE", 0.9, 0.5, **significant_p)
    ) == [
        False,
        True,
    ]
    assert find_regressions(make_pair("coverage", 0.1, 0.9, **significant_p)) == []


def test_regression_needs_small_p_and_interval_without_zero() -> None:
    assert find_regressions(make_pair("LA", 0.80, 0.90, p=0.2)) == [False]
    assert find_regressions(make_pair("LA", 0.89, 0.90, p=0.001)) == [False]
    assert find_regressions(make_pair("LA", 0.80, 0.90, p=0.03)) == [True]
    # Holm over all judged pairs: two p-values of .03 are not significant at .05.
    assert find_regressions(*[make_pair("LA", 0.80, 0.90, p=0.03)] * 2) == [False, False]


def test_what_could_not_be_tested_passes_only_by_its_interval() -> None:
    """A system that abstains once, wrongly, has no AP in too many resamples for a test."""
    assert find_regressions(make_pair("LA", 0.0, 1.0, p=None, low=-1.0, high=-0.2)) == [True]
    assert find_regressions(make_pair("LA", 0.8, 0.9, p=None, low=-0.3, high=0.1)) == [False]
    assert find_regressions(make_pair("LA", 0.8, 0.9, p=None, low=None, high=None)) == [True]
    assert find_regressions(make_pair("LA", 0.9, 0.8, p=None, low=None, high=None)) == [False]
    pair = make_pair("LA", 0.8, 0.9, p=None, low=-0.3, high=0.1)
    (check,) = check_regressions([pair], HIGHER_IS_BETTER, {"s": "s"})
    assert "no test was possible" in check.evidence
    assert "significantly" not in check.evidence


def test_tolerance_applies_to_the_difference_or_its_interval() -> None:
    insignificant_pair = make_pair("LA", 0.80, 0.90, p=0.5)
    significant_pair = make_pair("LA", 0.80, 0.90, p=0.001)
    assert find_regressions(insignificant_pair, max_drop=0.05) == [True]
    assert find_regressions(insignificant_pair, max_drop=0.05, only_significant=True) == [False]
    assert find_regressions(significant_pair, max_drop=0.05, only_significant=True) == [True]
    assert find_regressions(significant_pair, max_drop=0.1) == [
        False
    ]  # the drop equals the tolerance
    assert find_regressions(make_pair("FAR-NE", 0.9, 0.5, p=0.5), max_drop=0.05) == [True]


def test_newly_missing_value_is_a_regression() -> None:
    assert find_regressions(
        make_pair("LA", None, 0.9), make_pair("LA", 0.9, None), make_pair("LA", None, None)
    ) == [
        True,
        False,
        False,
    ]


# -- the command --------------------------------------------------------------------------------


def test_exit_codes_for_passed_failed_and_not_judged(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_rows("r.jsonl", make_rows("good", 0.99), make_rows("poor", 0.6))
    assert get_gate_exit_code(runs=[run], metric=["good:FAR-NE<=0.05", "LA>=0.4"]) == 0
    assert "all 3 checks passed" in capsys.readouterr().out
    assert get_gate_exit_code(results=[run], metric=["FAR-NE<=0.05"]) == 100
    printed = capsys.readouterr()
    assert "ok    good  FAR-NE <= 0.05: 0.0" in printed.out
    assert "FAIL  poor  FAR-NE <= 0.05: 0." in printed.out
    assert printed.err.splitlines()[-1].startswith("error: 1 of 2 checks failed")
    # The value meets the condition, but the lower end of its interval does not.
    assert get_gate_exit_code(runs=[run], metric=["good:LA>=0.95"]) == 0
    assert get_gate_exit_code(runs=[run], metric=["good:LA.low>=0.97"]) == 100


def test_failed_calls_do_not_pass_the_gate(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    failed_rows = [dict(row, pred="ERROR") for row in make_rows("down", 0.9)]
    partly_invalid_rows = [
        dict(row, pred="INVALID") if n < 30 else row for n, row in enumerate(make_rows("m", 1.0))
    ]
    halves = [
        dict(row, pred=("ERROR", "INVALID")[n % 2]) if n < 24 else row
        for n, row in enumerate(make_rows("half", 1.0))
    ]
    systems = (failed_rows, partly_invalid_rows, halves, make_rows("good", 0.99))
    run = write_rows("r.jsonl", *systems)
    assert get_gate_exit_code(runs=[run], metric=["FAR-NE<=0.05"]) == 100
    printed = capsys.readouterr().out
    assert "FAIL  down  error_rate + invalid_rate <= 0.05: 1.000" in printed
    assert "FAIL  m  error_rate + invalid_rate <= 0.05: 0.100" in printed
    # Each of its rates is .04.
    assert "FAIL  half  error_rate + invalid_rate <= 0.05: 0.080" in printed
    assert "good  error_rate" not in printed
    # A condition on one system ignores the failures of the others.
    assert get_gate_exit_code(runs=[run], metric=["good:FAR-NE<=0.05"]) == 0
    assert get_gate_exit_code(runs=[run], metric=["m:FAR-NE<=0.05"], max_failures=0.1) == 0
    assert get_gate_exit_code(runs=[run], metric=["m:FAR-NE<=0.05", "m:invalid_rate<=0.2"]) == 0
    # A condition on one of the rates replaces the limit on this rate only.
    two = ["half:FAR-NE<=0.15", "half:invalid_rate<=0.04"]
    assert get_gate_exit_code(runs=[run], metric=two) == 0
    assert get_gate_exit_code(runs=[run], metric=two, max_failures=0.03) == 100
    # Failed calls might have been false answers.
    assert get_gate_exit_code(runs=[run], metric=["half:FAR-NE<=0.07"], max_failures=1) == 100
    assert get_gate_exit_code(runs=[run], metric=["down:FAR-NE<=0.05"], max_failures=1) == 100


def test_unjudgeable_input_exits_with_one(
    write_rows: RowWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_rows("r.jsonl", make_rows("s", 0.9))
    torn_file = tmp_path / "torn.jsonl"
    torn_file.write_text('{"id": "1", "pred"', "utf-8")
    other_card_set = write_rows("o.jsonl", make_rows("t", 0.9, cards="ba9876543210"))
    controls_file = write_rows("c.jsonl", make_rows("always-YES", 0.9))
    short_file = write_rows("short.jsonl", make_rows("t", 0.9)[:99])
    for flags, message in (
        ({"runs": [run], "metric": ["F1>=0.5"]}, "no metric 'F1'"),
        ({"runs": [run], "metric": ["x:LA>=0.5"]}, "no system matches 'x'"),
        ({"runs": [run]}, "no checks are given"),
        ({"runs": [tmp_path / "no.jsonl"], "metric": ["LA>=0.5"]}, "does not exist"),
        ({"runs": [torn_file], "metric": ["LA>=0.5"]}, "torn"),
        ({"runs": [run, other_card_set], "metric": ["LA>=0.5"]}, "card set"),
        ({"runs": [run, short_file], "metric": ["LA>=0.5"]}, "has no answer"),
        ({"runs": [run], "baseline": [other_card_set]}, "card set"),
        ({"runs": [run], "baseline": [run]}, "its own baseline"),
        ({"runs": [run], "metric": ["LA>=0"], "max_drop": 0.1}, "--max-drop needs --baseline"),
        ({"runs": [run], "baseline": [other_card_set], "max_drop": float("nan")}, "more than 1"),
        ({"runs": [run], "baseline": [other_card_set], "only_significant": True}, "--max-drop"),
        ({"runs": [run], "metric": ["LA>=0.5"], "junit": run}, "would overwrite"),
        ({"runs": [controls_file], "metric": ["LA>=0"]}, "there are only controls"),
    ):
        assert get_gate_exit_code(**flags) == 1, message
        assert message in capsys.readouterr().err


def test_a_baseline_is_paired_on_the_same_cards(
    write_rows: RowWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline_file = write_rows("then.jsonl", make_rows("s", 0.9), make_rows("gone", 0.9))
    worse_file = write_rows("worse.jsonl", make_rows("s", 0.7, seed=1), make_rows("new", 0.9))
    nearly_same_rows = [dict(row) for row in make_rows("s", 0.9)]
    nearly_same_rows[0]["pred"] = "INVALID"
    nearly_same_file = write_rows("noise.jsonl", nearly_same_rows)
    assert get_gate_exit_code(runs=[worse_file], baseline=[baseline_file]) == 100
    printed = capsys.readouterr().out
    assert "FAIL  s  accuracy no worse than the baseline's" in printed
    assert "note: new has no baseline" in printed
    assert get_gate_exit_code(runs=[nearly_same_file], baseline=[baseline_file]) == 0
    printed = capsys.readouterr().out
    assert "ok    s  accuracy no worse" in printed
    assert "would be detected with 80 % power" in printed
    assert (
        get_gate_exit_code(runs=[nearly_same_file], baseline=[baseline_file], max_drop=0.001) == 100
    )
    assert get_gate_exit_code(runs=[nearly_same_file], baseline=[baseline_file], max_drop=0.01) == 0
    assert (
        get_gate_exit_code(
            runs=[nearly_same_file], baseline=[baseline_file], max_drop=0.001, only_significant=True
        )
        == 0
    )
    # A run with fewer cards is compared on those cards only, and fails for the others.
    capsys.readouterr()
    short_file = write_rows("fewer.jsonl", make_rows("s", 0.9)[:200])
    assert get_gate_exit_code(runs=[short_file], baseline=[baseline_file]) == 100
    printed = capsys.readouterr().out
    assert "Only the 200 cards that every system answered are counted; 100 are left" in printed
    assert (
        "FAIL  s  coverage of the baseline >= 0.95: 100 of the 300 cards that the baseline "
        "answered have no answer" in printed
    )
    spared = {"runs": [short_file], "baseline": [baseline_file], "max_failures": 0.4}
    assert get_gate_exit_code(**spared) == 0
    assert "ok    s  coverage of the baseline >= 0.6" in capsys.readouterr().out
    assert get_gate_exit_code(runs=[baseline_file], baseline=[short_file]) == 0
    assert "coverage" not in capsys.readouterr().out


def test_runs_of_two_models_are_compared(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline_file = write_rows("then.jsonl", make_rows("raw:a/x", 0.9))
    candidate_file = write_rows("now.jsonl", make_rows("raw:b/y", 0.6))
    assert get_gate_exit_code(runs=[candidate_file], baseline=[baseline_file]) == 100
    two_system_file = write_rows("more.jsonl", make_rows("raw:b/y", 0.6), make_rows("rag", 0.6))
    assert get_gate_exit_code(runs=[two_system_file], baseline=[baseline_file]) == 1
    assert "Baseline: raw:a/x" in capsys.readouterr().err


def test_many_tests_have_enough_resamples(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 56 tests by 2,000 resamples, none of skill could have had a p below .056."""
    then = write_rows("then.jsonl", *(make_rows(f"s{n}", 1.0, 60) for n in range(8)))
    now = write_rows("now.jsonl", *(make_rows(f"s{n}", 0.5, 60, 1) for n in range(8)))
    with pytest.raises(GateFailedError):
        main(runs=[now], baseline=[then], allow_changed=True)
    printed = capsys.readouterr().out
    assert printed.count("FAIL") > 20
    for n in range(8):
        (line,) = (one for one in printed.splitlines() if f"  s{n}  skill@.5 no worse" in one)
        assert line.startswith("FAIL"), line
    assert "bootstrap test" not in printed
    with pytest.raises(GateFailedError):
        main(runs=[now], baseline=[then], resamples=2000, allow_changed=True)
    printed = capsys.readouterr().out
    assert "so none can show a difference: use --resamples 12000." in printed


def test_controls_are_judged_only_if_named(write_rows: RowWriter) -> None:
    run = write_rows(
        "r.jsonl", make_rows("s", 1.0), [r | {"pred": "YES"} for r in make_rows("always-YES", 1)]
    )
    assert get_gate_exit_code(runs=[run], metric=["FAR-NE<=0.05"]) == 0
    assert get_gate_exit_code(runs=[run], metric=["always-YES:FAR-NE<=0.05"]) == 100


def test_gate_has_few_false_positives(write_rows: RowWriter) -> None:
    false_alarms = 0
    for seed in range(40):
        baseline_file = write_rows("then.jsonl", make_rows("s", 0.8, 150, seed=2 * seed))
        candidate_file = write_rows("now.jsonl", make_rows("s", 0.8, 150, seed=2 * seed + 1))
        try:
            main(
                runs=[candidate_file],
                baseline=[baseline_file],
                resamples=200,
                allow_changed=True,
            )
        except GateFailedError:
            false_alarms += 1
    # At the 5 % level, 40 gates give 2 false alarms on average and more than 5 in 1 % of cases.
    assert false_alarms <= 5


def test_gate_runs_as_a_command(write_rows: RowWriter, tmp_path: Path) -> None:
    run = write_rows("r.jsonl", make_rows("s", 0.9))
    script = "from epoche.cli import main; main()"
    command = [sys.executable, "-c", script, "gate", str(run), "--allow-changed", "--metric"]

    def get_exit_code(*flags: str) -> int:
        process = subprocess.run([*command, *flags], cwd=tmp_path, capture_output=True, check=False)
        return process.returncode

    assert get_exit_code("LA>=0.5") == 0
    assert get_exit_code("LA>=0.99") == 100
    assert get_exit_code("LA=>0.99") == 1
    assert get_exit_code("LA>=0.5", "--no-such-flag") == 2


def test_notes_on_the_intervals_are_printed(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    """Clusters of fifteen cards are answered all right or all wrong, so Wilson is too narrow."""
    wrong = {"YES": "NO", "NO": "YES", "UNKNOWN": "YES"}
    rows = [
        row | {"cluster": f"s{n // 15}", "pred": row["gold"] if n // 15 % 3 else wrong[row["gold"]]}
        for n, row in enumerate(make_rows("s", 1.0))
    ]
    path = write_rows("rows.jsonl", rows)
    assert get_gate_exit_code(runs=[path], metric=["LA.low>=0.1"]) == 0
    assert "note: Outcomes of s are correlated within clusters" in capsys.readouterr().out


# -- JUnit XML ----------------------------------------------------------------------------------


def parse_junit(text: str) -> ElementTree.Element:
    """Parses a JUnit file and checks what the Jenkins and Ant schemas have in common."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    total_cases = failed_cases = 0
    for suite in root:
        assert suite.tag == "testsuite"
        assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped", "time"}
        assert [entry.tag for entry in suite.findall("properties/*")] in ([], ["property"])
        cases = [entry for entry in suite if entry.tag != "properties"]
        assert int(suite.attrib["tests"]) == len(cases) > 0
        suite_failures = 0
        for case in cases:
            assert case.tag == "testcase"
            assert set(case.attrib) == {"classname", "name", "time"}
            assert float(case.attrib["time"]) == 0
            (outcome,) = case
            assert outcome.tag in ("failure", "system-out")
            assert len(outcome) == 0
            if outcome.tag == "failure":
                assert set(outcome.attrib) == {"message", "type"}
                suite_failures += 1
        assert int(suite.attrib["failures"]) == suite_failures
        total_cases, failed_cases = total_cases + len(cases), failed_cases + suite_failures
    assert (int(root.attrib["tests"]), int(root.attrib["failures"])) == (total_cases, failed_cases)
    return root


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Check, system=st.text(), name=st.text(), passed=st.booleans(), evidence=st.text(),
            regression=st.booleans(),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_any_text_makes_valid_xml(checks: list[Check]) -> None:
    checks.sort(key=lambda check: check.system)
    text = render_junit(checks)
    root = parse_junit(text)
    assert len(root.findall(".//testcase")) == len(checks)
    assert text == render_junit(checks)


def test_markup_in_names_stays_text(write_rows: RowWriter, tmp_path: Path) -> None:
    name = "raw:<b>&\"'\u202e\x1b[31m]]>/x"
    run, junit = (
        write_rows("r.jsonl", make_rows(name, 0.6), make_rows("s", 0.99)),
        tmp_path / "out.xml",
    )
    assert get_gate_exit_code(runs=[run], metric=["FAR-NE<=0.05", "LA>=0.5"], junit=junit) == 100
    root = parse_junit(junit.read_text("utf-8"))
    assert [suite.attrib["name"] for suite in root] == ["raw:<b>&\"'[31m]]>/x", "s"]
    assert [suite.attrib["failures"] for suite in root] == ["1", "0"]
    case = root[0].find("testcase")
    assert case is not None
    assert case.attrib["name"] == "FAR-NE <= 0.05"
    assert case[0].attrib["type"] == "condition"
    first_bytes = junit.read_bytes()
    get_gate_exit_code(runs=[run], metric=["FAR-NE<=0.05", "LA>=0.5"], junit=junit)
    assert junit.read_bytes() == first_bytes


def test_no_xml_is_written_when_nothing_was_judged(write_rows: RowWriter, tmp_path: Path) -> None:
    run, junit = write_rows("r.jsonl", make_rows("s", 0.9)), tmp_path / "out.xml"
    with pytest.raises(EpocheError):
        main(runs=[run], metric=["x:LA>=0.5"], junit=junit, allow_changed=True)
    assert not junit.exists()


def test_names_cannot_forge_output_lines(
    write_rows: RowWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "x\nok    rag  LA >= 0.9\nall 9 checks passed" + "y" * 5000
    run = write_rows("run.jsonl", make_rows(name, 0.5, kind="asserted"))
    with pytest.raises(GateFailedError):
        main([run], metric=["LA>=0.99"], allow_changed=True)
    lines = capsys.readouterr().out.splitlines()
    beginnings = [line[:4] for line in lines]
    assert beginnings == ["WARN", "FAIL", "abst"]  # the last is the signature
    assert lines[1].startswith("FAIL  x ok rag LA >= 0.9 all 9 checks passedyy")
    assert len(lines[1]) < 1000


def test_confidences_of_few_replies_fail(write_rows: RowWriter) -> None:
    rows = make_rows("s", 1.0)
    n = len(rows)
    few = [row | {"confidence": 0.99 if number < 20 else None} for number, row in enumerate(rows)]
    path = write_rows("few.jsonl", few)
    conditions = [word for name in CONFIDENCE_METRICS for word in ("--metric", f"{name}<=0.05")]
    gate = ("gate", "--allow-changed")
    done = run_epoche(*gate, path, *conditions)
    assert done.code == 100
    why = f"is undefined: {n - 20} of {n} answers given have no confidence, more than"
    for name in CONFIDENCE_METRICS:
        assert f"{name} {why} --max-failures 0.05" in done.out
    # Those that the user accepts, and those of all replies, pass.
    allowed = run_epoche(*gate, path, *conditions, "--max-failures", "0.99")
    assert (allowed.code, f"(of 20, {n - 20} left out)" in allowed.out) == (0, True)
    full = write_rows("full.jsonl", [row | {"confidence": 0.99} for row in rows])
    assert run_epoche(*gate, full, *conditions).code == 0
    # Other metrics are not about confidences.
    assert run_epoche(*gate, path, "--metric", "accuracy>=0.9").code == 0


def check_few_confidences(folder: Path, metric: str, why: str) -> None:
    done = run_epoche("gate", folder, "--metric", f"{metric}<=1")
    assert done.code == 100
    assert f"{metric} is undefined: {why} given have no confidence, more than" in done.out
    allowed = run_epoche("gate", folder, "--metric", f"{metric}<=1", "--max-failures", "0.9")
    assert allowed.code == 0, allowed.out


@pytest.mark.parametrize("metric", ["ece", "ece_equal_mass", "brier", "mean_confidence"])
def test_confidences_of_few_answers_of_a_pipeline_fail(tmp_path: Path, metric: str) -> None:
    samples = make_samples(40)
    rows = []
    for number, sample in enumerate(samples):
        row = answered_row(sample, "skn")
        assert row.response is not None
        response = replace(row.response, confidence=0.8 if number % 4 == 0 else None)
        rows.append(replace(row, response=response))
    n_answers = sum(sample.answerable for sample in samples)
    n_stated = sum(sample.answerable for sample in samples[::4])
    folder = write_run_folder(tmp_path / "run", samples, rows)
    check_few_confidences(folder, metric, f"{n_answers - n_stated} of {n_answers} answers")


def test_confidences_of_few_extractions_fail(tmp_path: Path) -> None:
    gold, predictions = tmp_path / "gold.jsonl", tmp_path / "own.jsonl"
    values = [{"id": f"s{n}", "value": {"city": f"city {n}"}} for n in range(20)]
    gold.write_text(
        "".join(
            json.dumps({"id": row["id"], "text": "", "expected": row["value"]}) + "\n"
            for row in values
        )
    )
    for row in values[:5]:
        row["confidence"] = 0.9
    predictions.write_text("".join(json.dumps(row) + "\n" for row in values))
    folder = tmp_path / "run"
    options = ("--dataset", gold, "--predictions", predictions, "--out", folder)
    done = run_epoche("extract", "score", *options, "--resamples", 100)
    assert done.code == 0, done.err
    check_few_confidences(folder, "expected_calibration_error", "15 of 20 answers")


def test_metrics_without_a_value_say_why(write_rows: RowWriter) -> None:
    rows = [row | {"pred": "YES"} for row in make_rows("s", 1.0)]
    path = write_rows("rows.jsonl", rows)
    metrics = ("AP>=0", "ECE<=1", "self-consistency>=0")
    words = [word for name in metrics for word in ("--metric", name)]
    done = run_epoche("gate", path, "--allow-changed", *words)
    assert done.code == 100
    printed = done.out + done.err
    assert "AP is undefined: its denominator is 0, the system never abstained" in printed
    assert "ECE is undefined: the system gives no confidence" in printed
    assert "self-consistency is undefined: the run has no repeats" in printed
