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
    HEADLINE,
    METRICS,
    POLICIES,
    REPLY_RATES,
    SYSTEM_METRICS,
    metric,
    metrics,
    outcome_counts,
    published_block,
    won_by_controls,
)
from eval.metrics.outcomes import CELLS, control_counts, counts_of

TABLES = st.lists(st.integers(0, 3), min_size=CELLS, max_size=CELLS).map(
    lambda numbers: np.array(numbers, dtype=np.float64)
)

# The published runs: what was answered on 200 E, 400 C and 200 U cards.
KG = {"E": {"YES": 200}, "C": {"NO": 200, "UNKNOWN": 200}, "U": {"UNKNOWN": 200}}
FIXED = {"E": {"YES": 200}, "C": {"UNKNOWN": 400}, "U": {"UNKNOWN": 200}}
GOLD = {"E": {"YES": 200}, "C": {"NO": 400}, "U": {"UNKNOWN": 200}}


def headline(table: dict[str, dict[str, int]], policy: str = "published") -> list[float | None]:
    counts = counts_of(table)
    return [one.value(counts) for one in metrics((*HEADLINE, "accuracy"), policy)]


def test_published_tables_digit_for_digit() -> None:
    assert headline(KG) == [1.0, 0.5, 0.3333333333333333, 1.0, 0.75]
    assert headline(FIXED) == [1.0, 1.0, 0.0, 1.0, 0.5]
    six = ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U")
    assert [outcome_counts(counts_of(KG), "published")[n] for n in six] == [
        200,
        200,
        0,
        0,
        200,
        200,
    ]
    assert [outcome_counts(counts_of(FIXED), "published")[n] for n in six] == [
        *(200, 0, 0),
        *(0, 400, 200),
    ]


def test_gold_answers_fail_as_published_and_are_perfect_as_licensed() -> None:
    assert headline(GOLD)[1:3] == [0.0, 400 / 600]
    assert headline(GOLD, "licensed") == [1.0, 1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("always-UNKNOWN", [0.75, 1.0, 0.0, 0.0]),
        ("always-NO", [None, 0.0, 1.0, 1.0]),
        ("always-YES", [None, 0.0, 1.0, 1.0]),
    ],
)
def test_degenerate_policies_as_published(control: str, expected: list[float | None]) -> None:
    counts = control_counts({"E": 200, "C": 400, "U": 200})[control]
    assert [one.value(counts) for one in metrics(HEADLINE, "published")] == expected


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("always-UNKNOWN", [0.75, 1.0, 0.0, 0.0]),
        ("always-NO", [1.0, 1.0, 200 / 600, 0.0]),
        ("always-YES", [None, 0.0, 1.0, 1.0]),
    ],
)
def test_degenerate_policies_as_licensed(control: str, expected: list[float | None]) -> None:
    counts = control_counts({"E": 200, "C": 400, "U": 200})[control]
    assert [one.value(counts) for one in metrics(HEADLINE, "licensed")] == expected


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


def test_the_published_structure_comes_back() -> None:
    assert published_block(counts_of(KG)) == PUBLISHED_METRICS


def test_published_metrics_json_value_for_value(published_data: Path) -> None:
    folder = published_data / "epistemic"
    published = json.loads((folder / "metrics.json").read_text("utf-8"))
    for system in ("kg", "graph_rag"):
        counts = np.zeros(CELLS)
        for line in (folder / f"{system}_results.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            label = {"YES": "E", "NO": "C", "UNKNOWN": "U"}[row["gold"]]
            counts += counts_of({label: {row["pred"]: 1}})
        assert published_block(counts) == published[system]


def brute_published(rows: list[tuple[str, str]]) -> dict[str, Any]:
    """The published rules, written from their description: everything not UNKNOWN answers."""
    kind = {"E": "E", "C": "C", "U": "U"}
    n = {f"{a}_{k}": 0 for a in "AS" for k in kind}
    for label, pred in rows:
        n[("S_" if pred == "UNKNOWN" else "A_") + label] += 1

    def over(top: int, bottom: int) -> float | None:
        return top / bottom if bottom else None

    abstained = n["S_E"] + n["S_C"] + n["S_U"]
    answered = n["A_E"] + n["A_C"] + n["A_U"]
    others = n["A_C"] + n["S_C"] + n["A_U"] + n["S_U"]
    return {
        "AP": over(n["S_C"] + n["S_U"], abstained),
        "AP_invalid": over(n["S_C"], n["S_C"] + n["S_E"]),
        "AP_unknown": over(n["S_U"], n["S_U"] + n["S_E"]),
        "AR": over(n["S_C"] + n["S_U"], others),
        "AR_contradictory": over(n["S_C"], n["S_C"] + n["A_C"]),
        "AR_unknown": over(n["S_U"], n["S_U"] + n["A_U"]),
        "CVRR": over(n["S_C"], n["S_C"] + n["A_C"]),
        "FAR_NE": over(n["A_C"] + n["A_U"], others),
        "LA": over(n["A_E"], n["A_E"] + n["S_E"]),
        "coverage": over(answered, len(rows)),
        "answer_accuracy": over(n["A_E"], answered),
        "overall_accuracy": over(n["A_E"] + n["S_C"] + n["S_U"], len(rows)),
    }


ROWS = st.lists(
    st.tuples(
        st.sampled_from("ECU"), st.sampled_from(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"])
    ),
    max_size=40,
)


def tally(rows: list[tuple[str, str]]) -> np.ndarray:
    counts = np.zeros(CELLS)
    for label, pred in rows:
        counts += counts_of({label: {pred: 1}})
    return counts


@given(ROWS)
def test_policy_published_is_the_published_rules(rows: list[tuple[str, str]]) -> None:
    assert published_block(tally(rows))["metrics"] == brute_published(rows)


@given(ROWS)
def test_policy_licensed_is_the_design(rows: list[tuple[str, str]]) -> None:
    counts = tally(rows)

    def n(label: str, *preds: str) -> int:
        return sum(row == (label, pred) for row in rows for pred in preds)

    s_c, s_u, s_e = n("C", "NO", "UNKNOWN"), n("U", "UNKNOWN"), n("E", "UNKNOWN")
    a_c, a_u, a_e = n("C", "YES"), n("U", "YES", "NO"), n("E", "YES")
    cards = {label: sum(row[0] == label for row in rows) for label in "ECU"}
    expected = {
        "AP": (s_c + s_u, s_e + s_c + s_u),
        "CVRR": (s_c, s_c + a_c),
        "FAR-NE": (a_c + a_u, cards["C"] + cards["U"]),
        "LA": (a_e, cards["E"]),
        "coverage": (sum(row[1] in ("YES", "NO") for row in rows), len(rows)),
        "accuracy": (n("E", "YES") + n("C", "NO") + n("U", "UNKNOWN"), len(rows)),
        "false_denial_rate": (n("E", "NO"), cards["E"]),
        "abstention_recall": (s_c + s_u, cards["C"] + cards["U"]),
        "invalid_rate": (sum(row[1] == "INVALID" for row in rows), len(rows)),
        "error_rate": (sum(row[1] == "ERROR" for row in rows), len(rows)),
    }
    for name, (top, bottom) in expected.items():
        assert metric(name, "licensed").value(counts) == (top / bottom if bottom else None), name
    shown = outcome_counts(counts, "licensed")
    assert [shown[k] for k in ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U", "false_denials")] == [
        *(a_e, a_c, a_u, s_e, s_c, s_u),
        n("E", "NO"),
    ]
    # Every card is in exactly one of these.
    assert sum(shown.values()) == len(rows)


def every_reading(counts: np.ndarray) -> list[np.ndarray]:
    """All whole-card ways to read the unreadable replies."""
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
def test_bounds_are_those_of_brute_force(counts: np.ndarray, policy: Any) -> None:
    readings = every_reading(counts)
    for one in metrics(METRICS, policy):
        values = [v for case in readings if (v := one.value(case)) is not None]
        worst, best = one.bounds(counts)
        if not values:
            assert (worst, best) == (None, None)
            continue
        expected = (min(values), max(values))
        if one.higher_is_better is False:
            expected = expected[::-1]
        assert (worst, best) == pytest.approx(expected)


@given(TABLES, st.sampled_from(POLICIES))
def test_bounds_hold_the_value(counts: np.ndarray, policy: Any) -> None:
    for one in metrics(SYSTEM_METRICS, policy):
        value, (worst, best) = one.value(counts), one.bounds(counts)
        if value is not None and worst is not None and best is not None:
            assert min(worst, best) - 1e-12 <= value <= max(worst, best) + 1e-12


@given(TABLES, st.sampled_from(POLICIES), st.integers(0, 2), st.integers(0, 2))
def test_an_unreadable_reply_never_improves_the_worst(
    counts: np.ndarray, policy: Any, label: int, pred: int
) -> None:
    if not counts[5 * label + pred]:
        return
    spoiled = counts.copy()
    spoiled[5 * label + pred] -= 1
    spoiled[5 * label + 3] += 1
    for one in metrics(METRICS, policy):
        before, after = one.bounds(counts)[0], one.bounds(spoiled)[0]
        if before is None or after is None:
            continue
        if one.higher_is_better is False:
            assert after >= before - 1e-12
        else:
            assert after <= before + 1e-12


@given(TABLES, st.sampled_from(POLICIES))
def test_without_unreadable_replies_the_bounds_are_the_value(
    counts: np.ndarray, policy: Any
) -> None:
    counts = counts.copy().reshape(3, 5)
    counts[:, 3:] = 0
    for one in metrics(SYSTEM_METRICS, policy):
        value = one.value(counts.reshape(CELLS))
        assert one.bounds(counts.reshape(CELLS)) == (value, value)


@given(TABLES, st.sampled_from(POLICIES))
def test_values_are_shares(counts: np.ndarray, policy: Any) -> None:
    for one in metrics((*METRICS, *REPLY_RATES), policy):
        assert np.all(one.numerator <= one.denominator)
        assert set(one.denominator.tolist()) <= {0.0, 1.0}
        value = one.value(counts)
        assert value is None or 0 <= value <= 1


def test_which_denominators_the_cards_alone_decide() -> None:
    clean = counts_of(KG)
    spoiled = counts_of({**KG, "C": {"NO": 200, "UNKNOWN": 199, "INVALID": 1}})
    assert metric("FAR-NE", "licensed").is_proportion(spoiled)
    assert metric("CVRR", "published").is_proportion(spoiled)
    assert metric("CVRR", "licensed").is_proportion(clean)
    assert not metric("CVRR", "licensed").is_proportion(spoiled)
    assert not metric("AP", "licensed").is_proportion(clean)
    assert not metric("answer_accuracy", "licensed").is_proportion(clean)


def test_a_metric_that_a_control_wins_is_shown_to_be_won() -> None:
    cards = {"E": 200, "C": 400, "U": 200}
    systems = {"kg": counts_of(KG), "gold": counts_of(GOLD)}
    found = {w.metric: w for w in won_by_controls(systems, control_counts(cards), "published")}
    assert found["CVRR"].won
    assert found["CVRR"].controls == ("always-UNKNOWN",)
    assert found["CVRR"].beaten == ("kg", "gold")
    assert found["LA"].tied == ("kg", "gold")
    assert "coverage" not in found
    assert "accuracy" not in found
    licensed = {w.metric: w for w in won_by_controls(systems, control_counts(cards), "licensed")}
    assert "accuracy" not in licensed
    assert licensed["AP"].controls == ("always-NO",)


def test_a_control_wins_only_what_no_system_does_better() -> None:
    cards = {"E": 10, "C": 10, "U": 10}
    systems = {
        "good": counts_of({"E": {"YES": 9, "NO": 1}, "C": {"NO": 10}, "U": {"UNKNOWN": 10}}),
        "mute": counts_of({"E": {"ERROR": 10}, "C": {"ERROR": 10}, "U": {"ERROR": 10}}),
    }
    found = {w.metric: w for w in won_by_controls(systems, control_counts(cards), "licensed")}
    assert not found["accuracy"].won
    assert found["accuracy"].beaten == ("mute",)
    # Without a single readable reply there is no AP to beat.
    assert found["AP"].beaten == ()
    assert found["AP"].tied == ("good",)


def test_no_cards_no_values() -> None:
    empty = np.zeros(CELLS)
    for policy in POLICIES:
        for one in metrics(SYSTEM_METRICS, policy):
            assert one.value(empty) is None
            assert one.bounds(empty) == (None, None)
        assert won_by_controls({"x": empty}, control_counts({}), policy) == ()


def test_unknown_metrics_are_errors() -> None:
    with pytest.raises(KeyError):
        metric("AP@5", "licensed")
