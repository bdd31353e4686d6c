from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.abstention import (
    HEADLINE_METRICS,
    METRICS,
    POLICIES,
    REPLY_RATES,
    SYSTEM_METRICS,
    build_published_block,
    count_outcomes,
    find_control_wins,
    get_metric,
    get_metrics,
)
from eval.metrics.outcomes import CELLS, compute_control_counts, table_to_counts

TABLES = st.lists(st.integers(0, 3), min_size=CELLS, max_size=CELLS).map(
    lambda numbers: np.array(numbers, dtype=np.float64)
)

# The published runs: what was answered on 200 E, 400 C and 200 U cards.
KG = {"E": {"YES": 200}, "C": {"NO": 200, "UNKNOWN": 200}, "U": {"UNKNOWN": 200}}
FIXED = {"E": {"YES": 200}, "C": {"UNKNOWN": 400}, "U": {"UNKNOWN": 200}}
GOLD = {"E": {"YES": 200}, "C": {"NO": 400}, "U": {"UNKNOWN": 200}}


def headline_values(
    table: dict[str, dict[str, int]], policy: str = "published"
) -> list[float | None]:
    counts = table_to_counts(table)
    return [
        one.compute_value(counts) for one in get_metrics((*HEADLINE_METRICS, "accuracy"), policy)
    ]


def test_published_tables_are_reproduced() -> None:
    assert headline_values(KG) == [1.0, 0.5, 0.3333333333333333, 1.0, 0.75]
    assert headline_values(FIXED) == [1.0, 1.0, 0.0, 1.0, 0.5]
    six = ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U")
    assert [count_outcomes(table_to_counts(KG), "published")[n] for n in six] == [
        200,
        200,
        0,
        0,
        200,
        200,
    ]
    assert [count_outcomes(table_to_counts(FIXED), "published")[n] for n in six] == [
        *(200, 0, 0),
        *(0, 400, 200),
    ]


def test_gold_answers_fail_under_published_and_are_perfect_under_licensed() -> None:
    assert headline_values(GOLD)[1:3] == [0.0, 400 / 600]
    assert headline_values(GOLD, "licensed") == [1.0, 1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("always-UNKNOWN", [0.75, 1.0, 0.0, 0.0]),
        ("always-NO", [None, 0.0, 1.0, 1.0]),
        ("always-YES", [None, 0.0, 1.0, 1.0]),
    ],
)
def test_constant_answers_under_published(control: str, expected: list[float | None]) -> None:
    counts = compute_control_counts({"E": 200, "C": 400, "U": 200})[control]
    assert [
        one.compute_value(counts) for one in get_metrics(HEADLINE_METRICS, "published")
    ] == expected


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("always-UNKNOWN", [0.75, 1.0, 0.0, 0.0]),
        ("always-NO", [1.0, 1.0, 200 / 600, 0.0]),
        ("always-YES", [None, 0.0, 1.0, 1.0]),
    ],
)
def test_constant_answers_under_licensed(control: str, expected: list[float | None]) -> None:
    counts = compute_control_counts({"E": 200, "C": 400, "U": 200})[control]
    assert [
        one.compute_value(counts) for one in get_metrics(HEADLINE_METRICS, "licensed")
    ] == expected


PUBLISHED_METRICS = {
    "counts": {"A_E": 200, "A_C": 200, "S_C": 200, "S_U": 200},
    "confusion_matrix": {"A_E": 200, "A_C": 200, "A_U": 0, "S_E": 0, "S_C": 200, "S_U": 200},
    "totals": {
        "entailed": 200,
        "contradictory": 400,
        "unknown": 200,
        "non_entailed": 600,
        "abstentions": 400,
        "answers": 400,
    },
    "metrics": {
        "AP": 1.0,
        "AP_invalid": 1.0,
        "AP_unknown": 1.0,
        "AR": 0.6666666666666666,
        "AR_contradictory": 0.5,
        "AR_unknown": 1.0,
        "CVRR": 0.5,
        "FAR_NE": 0.3333333333333333,
        "LA": 1.0,
        "coverage": 0.5,
        "answer_accuracy": 0.5,
        "overall_accuracy": 0.75,
    },
}


def test_published_structure_is_reproduced() -> None:
    assert build_published_block(table_to_counts(KG)) == PUBLISHED_METRICS


def test_published_metrics_json_is_reproduced(published_data: Path) -> None:
    folder = published_data / "epistemic"
    published = json.loads((folder / "metrics.json").read_text("utf-8"))
    for system in ("kg", "graph_rag"):
        counts = np.zeros(CELLS)
        for line in (folder / f"{system}_results.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            label = {"YES": "E", "NO": "C", "UNKNOWN": "U"}[row["gold"]]
            counts += table_to_counts({label: {row["pred"]: 1}})
        assert build_published_block(counts) == published[system]


def published_values(rows: list[tuple[str, str]]) -> dict[str, Any]:
    """The published rules, written from their description: every reply but UNKNOWN is an answer."""
    kind = {"E": "E", "C": "C", "U": "U"}
    n = {f"{a}_{k}": 0 for a in "AS" for k in kind}
    for label, pred in rows:
        n[("S_" if pred == "UNKNOWN" else "A_") + label] += 1

    def divide_or_none(top: int, bottom: int) -> float | None:
        return top / bottom if bottom else None

    abstained = n["S_E"] + n["S_C"] + n["S_U"]
    answered = n["A_E"] + n["A_C"] + n["A_U"]
    others = n["A_C"] + n["S_C"] + n["A_U"] + n["S_U"]
    return {
        "AP": divide_or_none(n["S_C"] + n["S_U"], abstained),
        "AP_invalid": divide_or_none(n["S_C"], n["S_C"] + n["S_E"]),
        "AP_unknown": divide_or_none(n["S_U"], n["S_U"] + n["S_E"]),
        "AR": divide_or_none(n["S_C"] + n["S_U"], others),
        "AR_contradictory": divide_or_none(n["S_C"], n["S_C"] + n["A_C"]),
        "AR_unknown": divide_or_none(n["S_U"], n["S_U"] + n["A_U"]),
        "CVRR": divide_or_none(n["S_C"], n["S_C"] + n["A_C"]),
        "FAR_NE": divide_or_none(n["A_C"] + n["A_U"], others),
        "LA": divide_or_none(n["A_E"], n["A_E"] + n["S_E"]),
        "coverage": divide_or_none(answered, len(rows)),
        "answer_accuracy": divide_or_none(n["A_E"], answered),
        "overall_accuracy": divide_or_none(n["A_E"] + n["S_C"] + n["S_U"], len(rows)),
    }


ROWS = st.lists(
    st.tuples(
        st.sampled_from("ECU"), st.sampled_from(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"])
    ),
    max_size=40,
)


def count_answers(rows: list[tuple[str, str]]) -> np.ndarray:
    counts = np.zeros(CELLS)
    for label, pred in rows:
        counts += table_to_counts({label: {pred: 1}})
    return counts


@given(ROWS)
def test_published_policy_follows_the_published_rules(rows: list[tuple[str, str]]) -> None:
    assert build_published_block(count_answers(rows))["metrics"] == published_values(rows)


@given(ROWS)
def test_licensed_policy_follows_its_definition(rows: list[tuple[str, str]]) -> None:
    counts = count_answers(rows)

    def count_rows(label: str, *preds: str) -> int:
        return sum(row == (label, pred) for row in rows for pred in preds)

    s_c, s_u, s_e = (
        count_rows("C", "NO", "UNKNOWN"),
        count_rows("U", "UNKNOWN"),
        count_rows("E", "UNKNOWN"),
    )
    a_c, a_u, a_e = count_rows("C", "YES"), count_rows("U", "YES", "NO"), count_rows("E", "YES")
    cards = {label: sum(row[0] == label for row in rows) for label in "ECU"}
    expected = {
        "AP": (s_c + s_u, s_e + s_c + s_u),
        "CVRR": (s_c, s_c + a_c),
        "FAR-NE": (a_c + a_u, cards["C"] + cards["U"]),
        "LA": (a_e, cards["E"]),
        "coverage": (sum(row[1] in ("YES", "NO") for row in rows), len(rows)),
        "accuracy": (
            count_rows("E", "YES") + count_rows("C", "NO") + count_rows("U", "UNKNOWN"),
            len(rows),
        ),
        "false_denial_rate": (count_rows("E", "NO"), cards["E"]),
        "abstention_recall": (s_c + s_u, cards["C"] + cards["U"]),
        "invalid_rate": (sum(row[1] == "INVALID" for row in rows), len(rows)),
        "error_rate": (sum(row[1] == "ERROR" for row in rows), len(rows)),
    }
    for name, (top, bottom) in expected.items():
        assert get_metric(name, "licensed").compute_value(counts) == (
            top / bottom if bottom else None
        ), name
    shown = count_outcomes(counts, "licensed")
    assert [shown[k] for k in ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U", "false_denials")] == [
        *(a_e, a_c, a_u, s_e, s_c, s_u),
        count_rows("E", "NO"),
    ]
    # Every card is counted in exactly one of these.
    assert sum(shown.values()) == len(rows)


def possible_readings(counts: np.ndarray) -> list[np.ndarray]:
    """Returns all possible readings of the unreadable replies, card by card."""
    table = counts.reshape(3, 5)
    ways = []
    for label in range(3):
        unread = int(table[label, 3:].sum())
        ways.append(
            [(y, n, unread - y - n) for y in range(unread + 1) for n in range(unread + 1 - y)]
        )
    readings = []
    for choice in product(*ways):
        case = table.copy()
        case[:, 3:] = 0
        case[:, :3] += np.array(choice)
        readings.append(case.reshape(CELLS))
    return readings


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=CELLS, max_size=CELLS).map(
        lambda numbers: np.array(numbers, dtype=np.float64)
    ),
    st.sampled_from(POLICIES),
)
def test_bounds_match_brute_force(counts: np.ndarray, policy: Any) -> None:
    readings = possible_readings(counts)
    for one in get_metrics(METRICS, policy):
        values = [v for case in readings if (v := one.compute_value(case)) is not None]
        worst, best = one.compute_bounds(counts)
        if not values:
            assert (worst, best) == (None, None)
            continue
        expected = (min(values), max(values))
        if one.higher_is_better is False:
            expected = expected[::-1]
        assert (worst, best) == pytest.approx(expected)


@given(TABLES, st.sampled_from(POLICIES))
def test_bounds_contain_the_value(counts: np.ndarray, policy: Any) -> None:
    for one in get_metrics(SYSTEM_METRICS, policy):
        value, (worst, best) = one.compute_value(counts), one.compute_bounds(counts)
        if value is not None and worst is not None and best is not None:
            assert min(worst, best) - 1e-12 <= value <= max(worst, best) + 1e-12


@given(TABLES, st.sampled_from(POLICIES), st.integers(0, 2), st.integers(0, 2))
def test_invalid_reply_never_improves_the_worst_case(
    counts: np.ndarray, policy: Any, label: int, pred: int
) -> None:
    if not counts[5 * label + pred]:
        return
    spoiled = counts.copy()
    spoiled[5 * label + pred] -= 1
    spoiled[5 * label + 3] += 1
    for one in get_metrics(METRICS, policy):
        before, after = one.compute_bounds(counts)[0], one.compute_bounds(spoiled)[0]
        if before is None or after is None:
            continue
        if one.higher_is_better is False:
            assert after >= before - 1e-12
        else:
            assert after <= before + 1e-12


@given(TABLES, st.sampled_from(POLICIES))
def test_bounds_equal_the_value_without_invalid_replies(counts: np.ndarray, policy: Any) -> None:
    counts = counts.copy().reshape(3, 5)
    counts[:, 3:] = 0
    for one in get_metrics(SYSTEM_METRICS, policy):
        value = one.compute_value(counts.reshape(CELLS))
        assert one.compute_bounds(counts.reshape(CELLS)) == (value, value)


@given(TABLES, st.sampled_from(POLICIES))
def test_values_are_between_0_and_1(counts: np.ndarray, policy: Any) -> None:
    for one in get_metrics((*METRICS, *REPLY_RATES), policy):
        assert np.all(one.numerator <= one.denominator)
        assert set(one.denominator.tolist()) <= {0.0, 1.0}
        value = one.compute_value(counts)
        assert value is None or 0 <= value <= 1


def test_metrics_with_fixed_denominators_are_proportions() -> None:
    clean = table_to_counts(KG)
    spoiled = table_to_counts({**KG, "C": {"NO": 200, "UNKNOWN": 199, "INVALID": 1}})
    assert get_metric("FAR-NE", "licensed").is_proportion(spoiled)
    assert get_metric("CVRR", "published").is_proportion(spoiled)
    assert get_metric("CVRR", "licensed").is_proportion(clean)
    assert not get_metric("CVRR", "licensed").is_proportion(spoiled)
    assert not get_metric("AP", "licensed").is_proportion(clean)
    assert not get_metric("answer_accuracy", "licensed").is_proportion(clean)


def test_metrics_won_by_controls_are_reported() -> None:
    cards = {"E": 200, "C": 400, "U": 200}
    systems = {"kg": table_to_counts(KG), "gold": table_to_counts(GOLD)}
    found = {
        w.metric: w for w in find_control_wins(systems, compute_control_counts(cards), "published")
    }
    assert found["CVRR"].won
    assert found["CVRR"].controls == ("always-UNKNOWN",)
    assert found["CVRR"].beaten == ("kg", "gold")
    assert found["LA"].tied == ("kg", "gold")
    assert "coverage" not in found
    assert "accuracy" not in found
    licensed = {
        w.metric: w for w in find_control_wins(systems, compute_control_counts(cards), "licensed")
    }
    assert "accuracy" not in licensed
    assert licensed["AP"].controls == ("always-NO",)


def test_control_wins_only_metrics_no_system_beats() -> None:
    cards = {"E": 10, "C": 10, "U": 10}
    systems = {
        "good": table_to_counts({"E": {"YES": 9, "NO": 1}, "C": {"NO": 10}, "U": {"UNKNOWN": 10}}),
        "mute": table_to_counts({"E": {"ERROR": 10}, "C": {"ERROR": 10}, "U": {"ERROR": 10}}),
    }
    found = {
        w.metric: w for w in find_control_wins(systems, compute_control_counts(cards), "licensed")
    }
    assert not found["accuracy"].won
    assert found["accuracy"].beaten == ("mute",)
    # Without a single readable reply there is no AP to beat.
    assert found["AP"].beaten == ()
    assert found["AP"].tied == ("good",)


def test_no_cards_give_no_values() -> None:
    empty = np.zeros(CELLS)
    for policy in POLICIES:
        for one in get_metrics(SYSTEM_METRICS, policy):
            assert one.compute_value(empty) is None
            assert one.compute_bounds(empty) == (None, None)
        assert find_control_wins({"x": empty}, compute_control_counts({}), policy) == ()


def test_unknown_metrics_are_errors() -> None:
    with pytest.raises(KeyError):
        get_metric("AP@5", "licensed")
