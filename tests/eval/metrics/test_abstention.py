"""Tests the abstention metrics, their bounds under both policies, and comparisons with controls."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_metrics import build_published_block, table_to_counts
from sklearn.metrics import balanced_accuracy_score

from eval.abstention.metrics.definitions import (
    EXPLANATORY_METRICS,
    GEOMEAN_RECALL,
    METRICS,
    PENALTIES,
    POLICIES,
    REPLY_RATES,
    SKILL,
    SYSTEM_METRICS,
    count_outcomes,
    get_metric,
    get_metrics,
    list_metric_names,
)
from eval.abstention.metrics.outcomes import (
    CELLS,
    Floats,
    compute_control_counts,
    count_cells,
)
from eval.abstention.metrics.values import find_control_wins
from eval.metrics.metric_value import MetricValue

TABLES = st.lists(st.integers(0, 3), min_size=CELLS, max_size=CELLS).map(
    lambda numbers: np.array(numbers, dtype=np.float64)
)

# Answers on 200 E, 400 C and 200 U cards: two published runs, and the gold answers.
KG_TABLE = {"E": {"YES": 200}, "C": {"NO": 200, "UNKNOWN": 200}, "U": {"UNKNOWN": 200}}
ABSTAINING_TABLE = {"E": {"YES": 200}, "C": {"UNKNOWN": 400}, "U": {"UNKNOWN": 200}}
GOLD_TABLE = {"E": {"YES": 200}, "C": {"NO": 400}, "U": {"UNKNOWN": 200}}


def compute_headline_values(
    table: dict[str, dict[str, int]], policy: str = "published"
) -> list[float | None]:
    """Returns AP, CVRR, FAR-NE, LA and accuracy."""
    counts = table_to_counts(table)
    return [
        metric.compute_value(counts)
        for metric in get_metrics((*EXPLANATORY_METRICS, "accuracy"), policy)
    ]


def test_published_tables_are_reproduced() -> None:
    assert compute_headline_values(KG_TABLE) == [1.0, 0.5, 0.3333333333333333, 1.0, 0.75]
    assert compute_headline_values(ABSTAINING_TABLE) == [1.0, 1.0, 0.0, 1.0, 0.5]
    names = ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U")
    assert [count_outcomes(table_to_counts(KG_TABLE), "published")[name] for name in names] == [
        200,
        200,
        0,
        0,
        200,
        200,
    ]
    assert [
        count_outcomes(table_to_counts(ABSTAINING_TABLE), "published")[name] for name in names
    ] == [
        *(200, 0, 0),
        *(0, 400, 200),
    ]


def test_gold_answers_fail_under_published_and_are_perfect_under_licensed() -> None:
    assert compute_headline_values(GOLD_TABLE)[1:3] == [0.0, 400 / 600]
    assert compute_headline_values(GOLD_TABLE, "licensed") == [1.0, 1.0, 0.0, 1.0, 1.0]


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
        metric.compute_value(counts) for metric in get_metrics(EXPLANATORY_METRICS, "published")
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
        metric.compute_value(counts) for metric in get_metrics(EXPLANATORY_METRICS, "licensed")
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
    assert build_published_block(table_to_counts(KG_TABLE)) == PUBLISHED_METRICS


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


def compute_published_metrics(rows: list[tuple[str, str]]) -> dict[str, Any]:
    """Computes the metrics by the published rules: every reply except UNKNOWN is an answer.

    A_E, A_C and A_U count the answers on cards of a label, S_E, S_C and S_U the abstentions.
    """
    counts = {f"{outcome}_{known_label}": 0 for outcome in "AS" for known_label in "ECU"}
    for label, pred in rows:
        counts[("S_" if pred == "UNKNOWN" else "A_") + label] += 1

    def divide_or_none(numerator: int, denominator: int) -> float | None:
        return numerator / denominator if denominator else None

    abstained = counts["S_E"] + counts["S_C"] + counts["S_U"]
    answered = counts["A_E"] + counts["A_C"] + counts["A_U"]
    non_entailed = counts["A_C"] + counts["S_C"] + counts["A_U"] + counts["S_U"]
    return {
        "AP": divide_or_none(counts["S_C"] + counts["S_U"], abstained),
        "AP_invalid": divide_or_none(counts["S_C"], counts["S_C"] + counts["S_E"]),
        "AP_unknown": divide_or_none(counts["S_U"], counts["S_U"] + counts["S_E"]),
        "AR": divide_or_none(counts["S_C"] + counts["S_U"], non_entailed),
        "AR_contradictory": divide_or_none(counts["S_C"], counts["S_C"] + counts["A_C"]),
        "AR_unknown": divide_or_none(counts["S_U"], counts["S_U"] + counts["A_U"]),
        "CVRR": divide_or_none(counts["S_C"], counts["S_C"] + counts["A_C"]),
        "FAR_NE": divide_or_none(counts["A_C"] + counts["A_U"], non_entailed),
        "LA": divide_or_none(counts["A_E"], counts["A_E"] + counts["S_E"]),
        "coverage": divide_or_none(answered, len(rows)),
        "answer_accuracy": divide_or_none(counts["A_E"], answered),
        "overall_accuracy": divide_or_none(
            counts["A_E"] + counts["S_C"] + counts["S_U"], len(rows)
        ),
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
    assert build_published_block(count_answers(rows))["metrics"] == compute_published_metrics(rows)


@given(ROWS)
def test_licensed_policy_follows_its_definition(rows: list[tuple[str, str]]) -> None:
    counts = count_answers(rows)

    def count_rows(label: str, *preds: str) -> int:
        return sum(row == (label, pred) for row in rows for pred in preds)

    # s_* count abstentions (under this policy NO on a C card is one), a_* count answers.
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
    for name, (numerator, denominator) in expected.items():
        assert get_metric(name, "licensed").compute_value(counts) == (
            numerator / denominator if denominator else None
        ), name
    outcomes = count_outcomes(counts, "licensed")
    assert [
        outcomes[outcome] for outcome in ("A_E", "A_C", "A_U", "S_E", "S_C", "S_U", "false_denials")
    ] == [
        *(a_e, a_c, a_u, s_e, s_c, s_u),
        count_rows("E", "NO"),
    ]
    # Every card is counted in exactly one outcome.
    assert sum(outcomes.values()) == len(rows)


def list_possible_readings(counts: np.ndarray) -> list[np.ndarray]:
    """Returns the counts for every way to read each unreadable reply as YES, NO or UNKNOWN."""
    # Three labels with five cells each; the last two, INVALID and ERROR, are unreadable.
    table = counts.reshape(3, 5)
    splits = []
    for label in range(3):
        n_unreadable = int(table[label, 3:].sum())
        splits.append(
            [
                (n_yes, n_no, n_unreadable - n_yes - n_no)
                for n_yes in range(n_unreadable + 1)
                for n_no in range(n_unreadable + 1 - n_yes)
            ]
        )
    readings = []
    for split in product(*splits):
        reading = table.copy()
        reading[:, 3:] = 0
        reading[:, :3] += np.array(split)
        readings.append(reading.reshape(CELLS))
    return readings


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=CELLS, max_size=CELLS).map(
        lambda numbers: np.array(numbers, dtype=np.float64)
    ),
    st.sampled_from(POLICIES),
)
def test_bounds_match_brute_force(counts: np.ndarray, policy: Any) -> None:
    readings = list_possible_readings(counts)
    for metric in get_metrics(METRICS, policy):
        values = [
            value for reading in readings if (value := metric.compute_value(reading)) is not None
        ]
        worst, best = metric.compute_bounds(counts)
        if not values:
            assert (worst, best) == (None, None)
            continue
        expected = (min(values), max(values))
        if metric.higher_is_better is False:
            expected = expected[::-1]
        assert (worst, best) == pytest.approx(expected)


@given(TABLES, st.sampled_from(POLICIES))
def test_bounds_contain_the_value(counts: np.ndarray, policy: Any) -> None:
    for metric in get_metrics(list_metric_names(policy), policy):
        value, (worst, best) = metric.compute_value(counts), metric.compute_bounds(counts)
        if value is not None and worst is not None and best is not None:
            assert min(worst, best) - 1e-12 <= value <= max(worst, best) + 1e-12


@given(TABLES, st.sampled_from(POLICIES), st.integers(0, 2), st.integers(0, 2))
def test_invalid_reply_never_improves_the_worst_case(
    counts: np.ndarray, policy: Any, label: int, pred: int
) -> None:
    # Each label has five cells: YES, NO, UNKNOWN, INVALID (index 3) and ERROR.
    if not counts[5 * label + pred]:
        return
    invalid_counts = counts.copy()
    invalid_counts[5 * label + pred] -= 1
    invalid_counts[5 * label + 3] += 1
    for metric in get_metrics(METRICS, policy):
        old_worst, new_worst = (
            metric.compute_bounds(counts)[0],
            metric.compute_bounds(invalid_counts)[0],
        )
        if old_worst is None or new_worst is None:
            continue
        if metric.higher_is_better is False:
            assert new_worst >= old_worst - 1e-12
        else:
            assert new_worst <= old_worst + 1e-12


@given(TABLES, st.sampled_from(POLICIES))
def test_bounds_equal_the_value_without_invalid_replies(counts: np.ndarray, policy: Any) -> None:
    counts = counts.copy().reshape(3, 5)
    counts[:, 3:] = 0
    for metric in get_metrics(list_metric_names(policy), policy):
        value = metric.compute_value(counts.reshape(CELLS))
        assert metric.compute_bounds(counts.reshape(CELLS)) == (value, value)


@given(TABLES, st.sampled_from(POLICIES))
def test_values_are_between_0_and_1(counts: np.ndarray, policy: Any) -> None:
    for metric in get_metrics((*METRICS, *REPLY_RATES), policy):
        assert np.all(metric.numerator <= metric.denominator)
        assert set(metric.denominator.tolist()) <= {0.0, 1.0}
        value = metric.compute_value(counts)
        assert value is None or 0 <= value <= 1


def test_metrics_with_fixed_denominators_are_proportions() -> None:
    readable_counts = table_to_counts(KG_TABLE)
    invalid_counts = table_to_counts({**KG_TABLE, "C": {"NO": 200, "UNKNOWN": 199, "INVALID": 1}})
    assert get_metric("FAR-NE", "licensed").is_proportion(invalid_counts)
    assert get_metric("CVRR", "published").is_proportion(invalid_counts)
    assert get_metric("CVRR", "licensed").is_proportion(readable_counts)
    assert not get_metric("CVRR", "licensed").is_proportion(invalid_counts)
    assert not get_metric("AP", "licensed").is_proportion(readable_counts)
    assert not get_metric("answer_accuracy", "licensed").is_proportion(readable_counts)


def compute_values(tables: dict[str, Floats]) -> dict[str, dict[str, MetricValue]]:
    metrics = get_metrics(list_metric_names("licensed"), "licensed")
    return {
        name: {metric.name: MetricValue(value=metric.compute_value(counts)) for metric in metrics}
        for name, counts in tables.items()
    }


def test_headline_metrics_on_which_a_control_does_as_well_are_reported() -> None:
    controls = compute_values(compute_control_counts({"E": 10, "C": 10, "U": 10}))
    systems = compute_values(
        {
            "good": table_to_counts(
                {"E": {"YES": 9, "NO": 1}, "C": {"NO": 10}, "U": {"UNKNOWN": 10}}
            ),
            "silent": table_to_counts(
                {"E": {"UNKNOWN": 10}, "C": {"UNKNOWN": 10}, "U": {"UNKNOWN": 10}}
            ),
            "guessing": table_to_counts({"E": {"NO": 10}, "C": {"YES": 10}, "U": {"YES": 10}}),
        }
    )
    wins = {win.metric: win for win in find_control_wins(systems, controls)}
    assert set(wins) == {SKILL, GEOMEAN_RECALL}
    assert not wins[SKILL].won
    assert (wins[SKILL].controls, wins[SKILL].value) == (("always-UNKNOWN",), 0)
    assert (wins[SKILL].beaten, wins[SKILL].tied) == (("guessing",), ("silent",))
    del systems["good"]
    assert find_control_wins(systems, controls)[0].won
    # A system without a value is neither beaten nor tied.
    empty = compute_values({"x": np.zeros(CELLS)})
    assert find_control_wins(empty, controls) == ()
    assert find_control_wins(systems, empty) == ()


# Strategies as shares of YES, NO and UNKNOWN on E, C and U, and their skill at each penalty, by the
# table of the project's design.
STRATEGIES = {
    "oracle": (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (1, 1, 1, 1), 1),
    "always YES": (((1, 0, 0),) * 3, (0, -1, -3, -9), 0),
    "always NO": (((0, 1, 0),) * 3, (0, -1, -3, -9), 0),
    "always UNKNOWN": (((0, 0, 1),) * 3, (0, 0, 0, 0), 0),
    "never NO": (((1, 0, 0), (0, 0, 1), (0, 0, 1)), (0.5, 0.5, 0.5, 0.5), 0),
    "never UNKNOWN": (((1, 0, 0), (0, 1, 0), (1, 0, 0)), (0.5, 0, -1, -4), 0),
    "careful": (
        ((0.8, 0.05, 0.15), (0.05, 0.8, 0.15), (0.05, 0, 0.95)),
        (0.775, 0.7, 0.55, 0.1),
        0.608 ** (1 / 3),
    ),
    "mediocre": (
        ((0.6, 0.15, 0.25), (0.15, 0.6, 0.25), (0.25, 0, 0.75)),
        (0.475, 0.2, -0.35, -2.0),
        0.27 ** (1 / 3),
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sizes", [(100, 100, 100), (400, 20, 1000)])
def test_skill_scores_are_those_of_the_design(strategy: str, sizes: tuple[int, int, int]) -> None:
    shares, skills, recall = STRATEGIES[strategy]
    counts = table_to_counts(
        {
            label: dict(zip(("YES", "NO", "UNKNOWN"), (n * s for s in row), strict=True))
            for label, row, n in zip("ECU", shares, sizes, strict=True)
        }
    )
    values = [get_metric(name, "licensed").compute_value(counts) for name in PENALTIES]
    assert values == pytest.approx(skills, abs=5e-4)
    assert get_metric(GEOMEAN_RECALL, "licensed").compute_value(counts) == pytest.approx(
        recall, abs=5e-4
    )


def test_skill_at_0_is_balanced_accuracy_adjusted_for_chance() -> None:
    rng = np.random.default_rng(0)
    golds, preds = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
    counts = count_cells(golds.astype(np.int8), preds.astype(np.int8))
    assert get_metric("skill@0", "licensed").compute_value(counts) == pytest.approx(
        balanced_accuracy_score(golds, preds, adjusted=True)
    )


@given(counts=TABLES, shares=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_no_system_that_ignores_the_cards_has_skill(counts: Floats, shares: list[float]) -> None:
    table = counts.reshape(3, 5)
    yes, no = sorted(shares)[0], sorted(shares)[1] - sorted(shares)[0]
    blind = np.zeros((3, 5))
    blind[:, :3] = table.sum(axis=1, keepdims=True) * np.array([yes, no, 1 - yes - no])
    for name in PENALTIES:
        metric = get_metric(name, "licensed")
        value = metric.compute_value(counts)
        assert value is None or metric.minimum - 1e-9 <= value <= 1
        blind_value = metric.compute_value(blind.reshape(-1))
        assert blind_value is None or blind_value <= 1e-9


def test_an_unusable_reply_is_no_abstention() -> None:
    counts = table_to_counts({"E": {"INVALID": 1}, "C": {"ERROR": 1}, "U": {"UNKNOWN": 1}})
    metric = get_metric(SKILL, "licensed")
    assert metric.compute_value(counts) == 0
    assert metric.compute_bounds(counts) == (-1, 1)


def test_no_cards_give_no_values() -> None:
    empty = np.zeros(CELLS)
    for policy in POLICIES:
        for metric in get_metrics(SYSTEM_METRICS, policy):
            assert metric.compute_value(empty) is None
            assert metric.compute_bounds(empty) == (None, None)


def test_unknown_metrics_are_errors() -> None:
    with pytest.raises(KeyError):
        get_metric("AP@5", "licensed")
