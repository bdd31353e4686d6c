"""The gate: conditions and regressions, its three exit codes, and the JUnit XML it writes."""

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

from eval.comparing.gate import (
    Check,
    Condition,
    check_conditions,
    check_regressions,
    parse_condition,
    select_systems,
)
from eval.comparing.junit import junit_xml
from eval.gate_runs import main
from eval.metrics.record import MetricValue, PairedComparison
from kg.base.console import guarded
from kg.base.errors import EpocheError, GateFailedError, SettingError, SystemNotFoundError

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
Write = Callable[..., Path]


def rows_of(system: str, right: float, count: int = 300, seed: int = 0, **more: Any) -> list[Any]:
    rng = random.Random(f"{system}{seed}")
    rows = []
    for n in range(count):
        label = "ECU"[n % 3]
        wrong = [p for p in GOLD.values() if p != GOLD[label]]
        pred = GOLD[label] if rng.random() < right else rng.choice(wrong)
        rows.append(
            {"id": f"{n:04d}", "system": system, "gold": GOLD[label], "label": label, "pred": pred}
            | {"cluster": f"s{n}", "cards": "0123456789ab"}
            | more
        )
    return rows


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(name: str, *groups: list[Any]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for rows in groups for row in rows), "utf-8")
        return path

    return writer


def ends_with(**flags: Any) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        guarded(main)(resamples=200, **flags)
    assert isinstance(ended.value.code, int)
    return ended.value.code


# -- conditions ---------------------------------------------------------------------------------


def test_conditions_are_read() -> None:
    one = parse_condition("FAR-NE<=0.05")
    assert one == Condition("FAR-NE<=0.05", "", "FAR-NE", "", "<=", 0.05)
    two = parse_condition(" raw:openai/gpt-4o:far-ne.high < .08 ")
    assert (two.selector, two.metric, two.end) == ("raw:openai/gpt-4o", "FAR-NE", "high")
    assert (two.operator, two.limit) == ("<", 0.08)
    assert parse_condition("a<=b:LA>=9e-1").selector == "a<=b"
    assert parse_condition("rag:ece<=0.1").metric == "ECE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FAR-NE", "not a condition"),
        ("FAR-NE=0.05", "not a condition"),
        ("FAR-NE<=nan", "not a condition"),
        ("FAR-NE<=5%", "not a condition"),
        ("", "not a condition"),
        ("F1>=0.5", "One of AP, CVRR"),
        ("LA.mean>=0.5", "One of low, high, worst, best"),
        ("FAR-NE<=5", "Five per cent are 0.05"),
        ("LA>=-0.1", "between 0 and 1"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        parse_condition(text)


@settings(deadline=None)
@given(
    system=st.text(min_size=1).filter(lambda text: text.strip() == text and text),
    limit=st.integers(0, 1000),
    operator=st.sampled_from(["<=", ">=", "<", ">"]),
)
def test_a_system_of_any_name_can_be_selected(system: str, limit: int, operator: str) -> None:
    one = parse_condition(f"{system}:LA.low{operator}{limit / 1000}")
    assert (one.selector, one.metric, one.end) == (system, "LA", "low")
    assert (one.operator, one.limit) == (operator, limit / 1000)
    assert select_systems(one.selector, [system, "other"], []) == [system]


def test_selectors_name_one_all_models_or_a_pattern() -> None:
    everyone = ["rag", "raw:a/x", "raw:b/y", "raw:b/[z]", "always-YES"]
    contenders = everyone[:-1]
    assert select_systems("", everyone, contenders) == contenders
    assert select_systems("rag", everyone, contenders) == ["rag"]
    assert select_systems("raw", everyone, contenders) == ["raw:a/x", "raw:b/y", "raw:b/[z]"]
    assert select_systems("raw:b/?", everyone, contenders) == ["raw:b/y"]
    assert select_systems("*z]", everyone, contenders) == ["raw:b/[z]"]
    assert select_systems("always-YES", everyone, contenders) == ["always-YES"]
    with pytest.raises(SystemNotFoundError, match="One of rag"):
        select_systems("r.g", everyone, contenders)


def value(number: float | None, **more: Any) -> MetricValue:
    return MetricValue(value=number, denominator=100, **more)


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
def test_a_condition_is_about_the_number_it_names(text: str, passed: bool) -> None:
    known = value(0.9, low=0.8, high=0.95, worst=0.7, best=0.92)
    (check,) = check_conditions([parse_condition(text)], {"s": {"LA": known}}, ["s"])
    assert check.passed is passed


def test_a_number_that_is_not_there_fulfils_nothing() -> None:
    values = {"s": {"AP": value(None), "LA": value(0.5), "ECE": value(None)}}
    texts = ("AP>=0", "AP<=1", "AP.low<=1", "LA.low>=0", "LA.worst>=0", "ECE<=1")
    checks = list(check_conditions([parse_condition(text) for text in texts], values, ["s"]))
    assert not any(check.passed for check in checks)
    assert [check.said for check in checks[2:]] == [
        "no AP.low: nothing to divide by, the system never abstained",
        "no LA.low: it has no interval",
        "no LA.worst: it has no bounds",
        "no ECE: the system gives no confidence",
    ]


def test_evidence_never_looks_equal_to_a_limit_it_misses() -> None:
    values = {"s": {"FAR-NE": value(0.050001)}}
    (check,) = check_conditions([parse_condition("FAR-NE<=0.05")], values, ["s"])
    assert not check.passed
    assert check.said == "0.050001 (of 100)"


# -- regressions --------------------------------------------------------------------------------


def pair(metric: str, now: float | None, then: float | None, **more: Any) -> PairedComparison:
    gap = None if now is None or then is None else now - then
    ends = {} if gap is None else {"low": gap - 0.02, "high": gap + 0.02}
    return PairedComparison(
        a="s", b="b", policy="licensed", metric=metric, value_a=now, value_b=then,
        difference=gap, n_cards=300, **(ends | more),
    )  # fmt: skip


BETTER = {"LA": True, "FAR-NE": False, "coverage": None}


def regressed(*pairs: PairedComparison, **rules: Any) -> list[bool]:
    return [not c.passed for c in check_regressions(pairs, BETTER, {"s": "s"}, **rules)]


def test_worse_is_what_the_metric_says_it_is() -> None:
    sure = {"p": 0.001}
    assert regressed(pair("LA", 0.5, 0.9, **sure), pair("FAR-NE", 0.5, 0.9, **sure)) == [
        True,
        False,
    ]
    assert regressed(pair("LA", 0.9, 0.5, **sure), pair("FAR-NE", 0.9, 0.5, **sure)) == [
        False,
        True,
    ]
    assert regressed(pair("coverage", 0.1, 0.9, **sure)) == []


def test_only_what_test_and_interval_agree_on_is_a_regression() -> None:
    assert regressed(pair("LA", 0.80, 0.90, p=0.2)) == [False]
    assert regressed(pair("LA", 0.89, 0.90, p=0.001)) == [False]
    assert regressed(pair("LA", 0.80, 0.90, p=None)) == [False]
    assert regressed(pair("LA", 0.80, 0.90, p=0.03)) == [True]
    # Holm over all that is judged: two at .03 are none at .05.
    assert regressed(*[pair("LA", 0.80, 0.90, p=0.03)] * 2) == [False, False]


def test_a_tolerance_counts_points_and_may_ask_for_certainty() -> None:
    big, sure = pair("LA", 0.80, 0.90, p=0.5), pair("LA", 0.80, 0.90, p=0.001)
    assert regressed(big, max_drop=0.05) == [True]
    assert regressed(big, max_drop=0.05, only_significant=True) == [False]
    assert regressed(sure, max_drop=0.05, only_significant=True) == [True]
    assert regressed(sure, max_drop=0.1) == [False]  # exactly the tolerance
    assert regressed(pair("FAR-NE", 0.9, 0.5, p=0.5), max_drop=0.05) == [True]


def test_a_value_that_is_lost_is_a_regression_and_one_never_had_is_none() -> None:
    assert regressed(pair("LA", None, 0.9), pair("LA", 0.9, None), pair("LA", None, None)) == [
        True,
        False,
        False,
    ]


# -- the command --------------------------------------------------------------------------------


def test_exit_codes_tell_held_failed_and_not_judged(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write("r.jsonl", rows_of("good", 0.99), rows_of("poor", 0.6))
    assert ends_with(runs=[run], metric=["good:FAR-NE<=0.05", "LA>=0.4"]) == 0
    assert "all 3 checks passed" in capsys.readouterr().out
    assert ends_with(results=[run], metric=["FAR-NE<=0.05"]) == 100
    said = capsys.readouterr()
    assert "ok    good  FAR-NE <= 0.05: 0.0" in said.out
    assert "FAIL  poor  FAR-NE <= 0.05: 0." in said.out
    assert said.err.startswith("error: 1 of 2 checks failed")
    # The value may do where its interval does not.
    assert ends_with(runs=[run], metric=["good:LA>=0.95"]) == 0
    assert ends_with(runs=[run], metric=["good:LA.low>=0.97"]) == 100


def test_failing_is_no_way_to_pass(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    failed = [dict(row, pred="ERROR") for row in rows_of("down", 0.9)]
    mute = [dict(row, pred="INVALID") if n < 30 else row for n, row in enumerate(rows_of("m", 1.0))]
    run = write("r.jsonl", failed, mute, rows_of("good", 0.99))
    assert ends_with(runs=[run], metric=["FAR-NE<=0.05"]) == 100
    out = capsys.readouterr().out
    assert "FAIL  down  error_rate <= 0.05: 1.000" in out
    assert "FAIL  m  invalid_rate <= 0.05: 0.100" in out
    assert "good  error_rate" not in out
    # A gate about one system is about that system.
    assert ends_with(runs=[run], metric=["good:FAR-NE<=0.05"]) == 0
    assert ends_with(runs=[run], metric=["m:FAR-NE<=0.05"], max_failures=0.1) == 0
    assert ends_with(runs=[run], metric=["m:FAR-NE<=0.05", "m:invalid_rate<=0.2"]) == 0
    assert ends_with(runs=[run], metric=["down:FAR-NE<=0.05"], max_failures=1) == 0


def test_whatever_cannot_be_judged_ends_in_one(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write("r.jsonl", rows_of("s", 0.9))
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"id": "1", "pred"', "utf-8")
    other = write("o.jsonl", rows_of("t", 0.9, cards="ba9876543210"))
    controls = write("c.jsonl", rows_of("always-YES", 0.9))
    short = write("short.jsonl", rows_of("t", 0.9)[:99])
    for flags, said in (
        ({"runs": [run], "metric": ["F1>=0.5"]}, "no metric 'F1'"),
        ({"runs": [run], "metric": ["x:LA>=0.5"]}, "no system fits 'x'"),
        ({"runs": [run]}, "nothing to judge"),
        ({"runs": [tmp_path / "no.jsonl"], "metric": ["LA>=0.5"]}, "does not exist"),
        ({"runs": [torn], "metric": ["LA>=0.5"]}, "torn"),
        ({"runs": [run, other], "metric": ["LA>=0.5"]}, "card set"),
        ({"runs": [run, short], "metric": ["LA>=0.5"]}, "has no answer"),
        ({"runs": [run], "baseline": [other]}, "card set"),
        ({"runs": [run], "baseline": [run]}, "its own baseline"),
        ({"runs": [run], "metric": ["LA>=0"], "max_drop": 0.1}, "a drop from what?"),
        ({"runs": [run], "baseline": [other], "max_drop": float("nan")}, "more than 1"),
        ({"runs": [run], "baseline": [other], "only_significant": True}, "--max-drop"),
        ({"runs": [run], "metric": ["LA>=0.5"], "junit": run}, "take the place"),
        ({"runs": [controls], "metric": ["LA>=0"]}, "there are only controls"),
    ):
        assert ends_with(**flags) == 1, said
        assert said in capsys.readouterr().err


def test_a_baseline_is_paired_on_the_same_cards(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = write("then.jsonl", rows_of("s", 0.9), rows_of("gone", 0.9))
    worse = write("worse.jsonl", rows_of("s", 0.7, seed=1), rows_of("new", 0.9))
    same = [dict(row) for row in rows_of("s", 0.9)]
    same[0]["pred"] = "INVALID"
    noise = write("noise.jsonl", same)
    assert ends_with(runs=[worse], baseline=[then]) == 100
    out = capsys.readouterr().out
    assert "FAIL  s  accuracy no worse than the baseline's" in out
    assert "note: new has no baseline" in out
    assert ends_with(runs=[noise], baseline=[then]) == 0
    out = capsys.readouterr().out
    assert "ok    s  accuracy no worse" in out
    assert "would be found 4 times in 5" in out
    assert ends_with(runs=[noise], baseline=[then], max_drop=0.001) == 100
    assert ends_with(runs=[noise], baseline=[then], max_drop=0.01) == 0
    assert ends_with(runs=[noise], baseline=[then], max_drop=0.001, only_significant=True) == 0
    # A run over fewer cards is held against the baseline's answers to these.
    capsys.readouterr()
    fewer = write("fewer.jsonl", rows_of("s", 0.9)[:200])
    assert ends_with(runs=[fewer], baseline=[then]) == 0
    assert "the 200 cards that both answered; 100 are left out" in capsys.readouterr().out


def test_runs_of_two_models_are_held_against_each_other(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    then = write("then.jsonl", rows_of("raw:a/x", 0.9))
    now = write("now.jsonl", rows_of("raw:b/y", 0.6))
    assert ends_with(runs=[now], baseline=[then]) == 100
    more = write("more.jsonl", rows_of("raw:b/y", 0.6), rows_of("rag", 0.6))
    assert ends_with(runs=[more], baseline=[then]) == 1
    assert "Baseline: raw:a/x" in capsys.readouterr().err


def test_a_control_is_judged_only_when_named(write: Write) -> None:
    run = write(
        "r.jsonl", rows_of("s", 1.0), [r | {"pred": "YES"} for r in rows_of("always-YES", 1)]
    )
    assert ends_with(runs=[run], metric=["FAR-NE<=0.05"]) == 0
    assert ends_with(runs=[run], metric=["always-YES:FAR-NE<=0.05"]) == 100


def test_gates_raise_few_false_alarms(write: Write) -> None:
    alarms = 0
    for seed in range(40):
        then = write("then.jsonl", rows_of("s", 0.8, 150, seed=2 * seed))
        now = write("now.jsonl", rows_of("s", 0.8, 150, seed=2 * seed + 1))
        try:
            main(runs=[now], baseline=[then], resamples=200)
        except GateFailedError:
            alarms += 1
    assert alarms <= 5


def test_it_runs_as_a_command(write: Write, tmp_path: Path) -> None:
    run = write("r.jsonl", rows_of("s", 0.9))
    start = "from epoche.cli import main; main()"
    command = [sys.executable, "-c", start, "gate", str(run), "--metric"]

    def code(*more: str) -> int:
        done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, check=False)
        return done.returncode

    assert code("LA>=0.5") == 0
    assert code("LA>=0.99") == 100
    assert code("LA=>0.99") == 1
    assert code("LA>=0.5", "--no-such-flag") == 2


# -- JUnit XML ----------------------------------------------------------------------------------


def valid(text: str) -> ElementTree.Element:
    """The document, held to what the schemas of Jenkins and Ant have in common."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    total = failed = 0
    for suite in root:
        assert suite.tag == "testsuite"
        assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped", "time"}
        cases = list(suite)
        assert int(suite.attrib["tests"]) == len(cases) > 0
        mine = 0
        for case in cases:
            assert case.tag == "testcase"
            assert set(case.attrib) == {"classname", "name", "time"}
            assert float(case.attrib["time"]) == 0
            (said,) = case
            assert said.tag in ("failure", "system-out")
            assert len(said) == 0
            if said.tag == "failure":
                assert set(said.attrib) == {"message", "type"}
                mine += 1
        assert int(suite.attrib["failures"]) == mine
        total, failed = total + len(cases), failed + mine
    assert (int(root.attrib["tests"]), int(root.attrib["failures"])) == (total, failed)
    return root


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Check, system=st.text(), name=st.text(), passed=st.booleans(), said=st.text(),
            regression=st.booleans(),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_any_text_makes_valid_xml(checks: list[Check]) -> None:
    checks.sort(key=lambda check: check.system)
    text = junit_xml(checks)
    root = valid(text)
    assert len(root.findall(".//testcase")) == len(checks)
    assert text == junit_xml(checks)


def test_markup_in_names_stays_text(write: Write, tmp_path: Path) -> None:
    name = "raw:<b>&\"'\u202e\x1b[31m]]>/x"
    run, junit = write("r.jsonl", rows_of(name, 0.6), rows_of("s", 0.99)), tmp_path / "out.xml"
    assert ends_with(runs=[run], metric=["FAR-NE<=0.05", "LA>=0.5"], junit=junit) == 100
    root = valid(junit.read_text("utf-8"))
    assert [suite.attrib["name"] for suite in root] == ["raw:<b>&\"'[31m]]>/x", "s"]
    assert [suite.attrib["failures"] for suite in root] == ["1", "0"]
    case = root[0][0]
    assert case.attrib["name"] == "FAR-NE <= 0.05"
    assert case[0].attrib["type"] == "condition"
    first = junit.read_bytes()
    ends_with(runs=[run], metric=["FAR-NE<=0.05", "LA>=0.5"], junit=junit)
    assert junit.read_bytes() == first


def test_no_xml_is_written_when_nothing_was_judged(write: Write, tmp_path: Path) -> None:
    run, junit = write("r.jsonl", rows_of("s", 0.9)), tmp_path / "out.xml"
    with pytest.raises(EpocheError):
        main(runs=[run], metric=["x:LA>=0.5"], junit=junit)
    assert not junit.exists()


def test_a_name_forges_no_line_of_the_judgement(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "x\nok    rag  LA >= 0.9\nall 9 checks passed" + "y" * 5000
    run = write("run.jsonl", rows_of(name, 0.5))
    with pytest.raises(GateFailedError):
        main([run], metric=["LA>=0.99"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("FAIL  x ok rag LA >= 0.9 all 9 checks passedyy")
    assert len(lines[0]) < 1000
