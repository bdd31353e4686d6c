"""Tests metrics of results with confidences, and of results with repeated replies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from eval.abstention.metrics import confidence
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.console import render_summary, render_tables
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.pairs import compare_systems
from eval.abstention.metrics.record import MetricsReport, SystemReport
from eval.abstention.metrics.report import measure
from eval.metrics.signature import Signature
from eval.stats import binned_confidences
from eval.stats.calibration import calibration_error, equal_width_bins
from eval.stats.effects import wilcoxon_test
from eval.stats.selective_prediction import compute_risk_coverage
from kg.claims import GOLD_OF_LABEL

QUICK_PLAN = Plan(resamples=300)


def make_rows(
    system: str, skill: float, *, repeats: int = 1, cards: int = 150
) -> list[dict[str, Any]]:
    """Returns rows of a system that finds the share ``skill`` of the cards easy."""
    rng = random.Random(f"{system}")
    rows = []
    for number in range(cards):
        label = "ECU"[number % 3]
        gold = GOLD_OF_LABEL[label]
        is_easy = rng.random() < skill
        for repeat in range(repeats):
            confidence = round(rng.uniform(0.5, 1), 3)
            is_right = rng.random() < (0.9 if is_easy else 0.3) * confidence + 0.1
            rows.append(
                {
                    "id": f"{number:04d}",
                    "system": system,
                    "gold": gold,
                    "label": label,
                    "pred": gold if is_right else rng.choice(["YES", "NO", "UNKNOWN", "INVALID"]),
                    "confidence": confidence,
                    "kind": f"kind{label}",
                    "cluster": f"s{number // 2}",
                    "difficulty": ("easy", "hard")[number % 2],
                    "cards": "0123456789ab",
                    "repeat": repeat,
                }
            )
    return rows


def make_report(path: Path, rows: list[dict[str, Any]]) -> MetricsReport:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return measure(read_observations([path]), QUICK_PLAN)


def get_system(report: MetricsReport, name: str, policy: str = "licensed") -> SystemReport:
    return report.policies[policy].systems[name]


def test_calibration_uses_only_valid_replies(tmp_path: Path) -> None:
    rows = make_rows("a", 0.7)
    report = make_report(tmp_path / "r.jsonl", rows)
    system = get_system(report, "a")
    valid_rows = [row for row in rows if row["pred"] != "INVALID"]
    confidences = np.array([row["confidence"] for row in valid_rows])
    correctness = np.array([float(row["pred"] == row["gold"]) for row in valid_rows])
    calibration, selective = system.calibration, system.selective
    assert calibration is not None
    assert selective is not None
    assert system.confidence is not None
    assert (system.confidence.given, system.confidence.missing) == (len(valid_rows), 0)
    assert system.confidence.unreadable == len(rows) - len(valid_rows)
    expected = calibration_error(confidences, correctness, equal_width_bins(confidences))
    assert calibration.ece.value == pytest.approx(expected)
    assert calibration.accuracy == pytest.approx(correctness.mean())
    curve = compute_risk_coverage(confidences, correctness)
    assert selective.aurc.value == pytest.approx(curve.compute_aurc())
    assert selective.augrc.value == pytest.approx(curve.compute_augrc())
    assert selective.aurc_best <= curve.compute_aurc() <= 1
    for bins in (calibration.bins, calibration.bins_equal_mass):
        assert sum(bin_.n for bin_ in bins) == calibration.n == selective.n == len(valid_rows)
        assert sum(bin_.n_right for bin_ in bins) == correctness.sum()
        for bin_ in bins:
            assert bin_.low <= bin_.confidence <= bin_.high
            assert bin_.accuracy_low <= bin_.accuracy <= bin_.accuracy_high
    assert [bin_.low for bin_ in calibration.bins] == [0.5, 0.6, 0.7, 0.8, 0.9]
    for estimate in (calibration.ece, calibration.brier, selective.aurc, selective.augrc):
        assert estimate.low is not None
        assert estimate.value is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
    assert calibration.ece.method == "bootstrap-union"
    assert calibration.ece.signature.startswith(
        "ECE|cards:0123456789ab|rows:unverified|bins:10-equal-width|"
        f"replies:{len(valid_rows)}|policy:licensed|boot:"
    )
    assert selective.points[-1].coverage == 1
    assert selective.points[-1].risk == pytest.approx(1 - correctness.mean())
    # In these rows, gold follows from the label, so both policies count the same replies as right.
    published_calibration = get_system(report, "a", "published").calibration
    assert published_calibration is not None
    assert published_calibration.ece.value == calibration.ece.value
    assert "|policy:published|" in published_calibration.ece.signature


def test_missing_confidence_gives_a_reason(tmp_path: Path) -> None:
    rows = make_rows("none", 0.7) + make_rows("some", 0.7)
    for number, row in enumerate(rows):
        if row["system"] == "none" or number % 3 == 0:
            row["confidence"] = None
    report = make_report(tmp_path / "r.jsonl", rows)
    system_without, system_with_some = get_system(report, "none"), get_system(report, "some")
    assert system_without.calibration is system_without.selective is None
    assert system_without.confidence is not None
    assert system_without.confidence.given == 0
    assert system_without.confidence.reason == "no reply carries a confidence"
    assert system_with_some.calibration is not None
    assert system_with_some.confidence is not None
    assert system_with_some.confidence.missing > 30
    assert "carry no confidence and are left out" in system_with_some.confidence.reason
    assert any(note.startswith("Calibration of some: ") for note in report.notes)
    assert not any(note.startswith("Calibration of none") for note in report.notes)
    assert msgspec.json.decode(msgspec.json.encode(report), type=MetricsReport) == report
    lines = list(render_summary(report))
    assert sum(line.startswith("confidence: ") for line in lines) == 1
    assert any(
        not isinstance(part, str) and "confidence" in str(part.title)
        for part in render_tables(report)
    )


def test_perfect_system_gets_no_zero_width_interval(tmp_path: Path) -> None:
    rows = make_rows("a", 1.0)
    for row in rows:
        row["pred"], row["confidence"] = row["gold"], 1.0
    system = get_system(make_report(tmp_path / "r.jsonl", rows), "a")
    assert system.calibration is not None
    assert system.selective is not None
    for estimate in (system.calibration.ece, system.calibration.brier, system.selective.aurc):
        assert estimate.value == 0
        assert (estimate.low, estimate.high, estimate.method) == (None, None, "none")
    assert system.calibration.bins[0].accuracy_low < 0.98


def test_repeated_replies_do_not_count_as_cards(tmp_path: Path) -> None:
    single_rows = [row for row in make_rows("a", 0.7, repeats=5) if row["repeat"] == 0]
    copied_rows = [{**row, "repeat": repeat} for row in single_rows for repeat in range(5)]
    single = get_system(make_report(tmp_path / "r.jsonl", single_rows), "a")
    report = make_report(tmp_path / "r.jsonl", copied_rows)
    copied = get_system(report, "a")
    assert (copied.repeats, copied.n_cards, single.repeats) == (5, 150, 1)
    # 150 cards with 5 replies each.
    assert sum(sum(row.values()) for row in copied.table.values()) == 750
    for name, estimate in copied.metrics.items():
        single_estimate = single.metrics[name]
        assert estimate.value == single_estimate.value
        assert (estimate.worst, estimate.best) == (single_estimate.worst, single_estimate.best)
        # Five copies of each reply carry no more evidence than one reply per card.
        assert estimate.method.startswith("bootstrap") or estimate.method == "wilson-edge"
        assert "|repeats:5|" in estimate.signature
        if "bootstrap-percentile" in single_estimate.intervals:
            percentile = estimate.intervals["bootstrap-percentile"]
            assert percentile == pytest.approx(single_estimate.intervals["bootstrap-percentile"])
    for kind, group in copied.per_kind.items():
        accuracy = group.metrics["accuracy"]
        assert accuracy.method == "wilson-edge"
        assert accuracy.low is not None
        single_estimate = single.per_kind[kind].metrics["accuracy"]
        assert single_estimate.low is not None
        assert accuracy.low <= single_estimate.low + 1e-9
    assert copied.calibration is not None
    assert single.calibration is not None
    assert copied.calibration.ece.value == pytest.approx(single.calibration.ece.value)
    assert copied.calibration.ece_expected == single.calibration.ece_expected
    for copied_bin, single_bin in zip(
        copied.calibration.bins, single.calibration.bins, strict=True
    ):
        assert (copied_bin.accuracy_low, copied_bin.accuracy_high) == pytest.approx(
            (single_bin.accuracy_low, single_bin.accuracy_high)
        )
    assert copied.self_consistency is not None
    valid_rows = [row for row in single_rows if row["pred"] != "INVALID"]
    assert copied.self_consistency.value == pytest.approx(len(valid_rows) / 150)
    assert single.self_consistency is None
    assert any("answered each card 5 times" in note for note in report.notes)
    assert any(line.startswith("repeats: a  5 per card") for line in render_summary(report))


def test_self_consistency_counts_cards_with_one_answer(tmp_path: Path) -> None:
    rows = make_rows("a", 0.7, repeats=3)
    estimate = get_system(make_report(tmp_path / "r.jsonl", rows), "a").self_consistency
    by_card: dict[str, set[str]] = {}
    for row in rows:
        by_card.setdefault(row["id"], set()).add(row["pred"])
    consistent_cards = sum(len(preds) == 1 and preds != {"INVALID"} for preds in by_card.values())
    assert estimate is not None
    assert (estimate.numerator, estimate.denominator) == (consistent_cards, 150)


def test_repeated_systems_are_compared_by_signed_ranks(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = make_rows("good", 0.95, repeats=4) + make_rows("poor", 0.3, repeats=2)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    samples = Samples(read_observations([path]), Plan(policies=("licensed",), resamples=300))
    base = Signature(metric="", cards="", policy="", resamples=300, seed=1, version="0")
    comparisons = {row.metric: row for row in compare_systems(samples, signature=base)}
    accuracy = comparisons["accuracy"]
    assert accuracy.test == "wilcoxon"
    assert accuracy.discordant is None
    correctness: dict[str, dict[str, list[bool]]] = {"good": {}, "poor": {}}
    for row in rows:
        correctness[row["system"]].setdefault(row["id"], []).append(row["pred"] == row["gold"])
    differences = np.array(
        [
            np.mean(correctness["good"][card]) - np.mean(correctness["poor"][card])
            for card in correctness["good"]
        ]
    )
    assert accuracy.p == pytest.approx(wilcoxon_test(differences).p_value)
    assert accuracy.difference == pytest.approx(differences.mean())
    assert accuracy.cohens_d == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert accuracy.better == "good"
    assert comparisons["AP"].test == "cluster-bootstrap"


@pytest.mark.parametrize("repeats", [1, 3])
def test_many_confidences_are_binned_and_the_report_says_so(
    repeats: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    rows = [
        {
            **{"id": f"{card:03}", "label": "ECU"[card % 3], "cluster": f"c{card % 40}"},
            **{"pred": ("YES", "NO", "UNKNOWN")[rng.integers(3)], "system": "s", "cards": "ab"},
            **{"confidence": float(rng.random()), "repeat": repeat},
        }
        for card in range(300)
        for repeat in range(repeats)
    ]
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    exact = measure(read_observations([path]), QUICK_PLAN)
    monkeypatch.setattr(confidence, "MAX_EXACT_REPLIES", 300 * repeats)
    assert measure(read_observations([path]), QUICK_PLAN) == exact
    monkeypatch.setattr(confidence, "MAX_EXACT_REPLIES", 300 * repeats - 1)
    monkeypatch.setattr(binned_confidences, "N_FINE_BINS", 50)
    binned = measure(read_observations([path]), QUICK_PLAN)
    (note,) = set(binned.notes) - set(exact.notes)
    assert note.startswith(f"Confidences of s: {300 * repeats} replies are more than")
    for policy, policy_report in exact.policies.items():
        expected, found = policy_report.systems["s"], binned.policies[policy].systems["s"]
        assert found.metrics == expected.metrics
        assert found.calibration
        assert expected.calibration
        assert found.selective
        assert expected.selective
        for value, expected_value, name in (
            (found.calibration.ece, expected.calibration.ece, ""),
            (found.calibration.brier, expected.calibration.brier, ""),
            (found.calibration.ece_equal_mass, expected.calibration.ece_equal_mass, "equal mass"),
            (found.selective.aurc, expected.selective.aurc, "AURC at most"),
            (found.selective.augrc, expected.selective.augrc, "of AUGRC"),
        ):
            bound = float(value.signature.split("max-error:")[1].split("|")[0])
            assert (bound == 0) == (name == "")
            assert f"{name} {bound:.1e}" in note or not name
            assert value.value == pytest.approx(expected_value.value, abs=bound + 1e-11)
            assert value.low == pytest.approx(expected_value.low, abs=0.03)
        for bins in ("bins", "bins_equal_mass"):
            assert sum(b.n for b in getattr(found.calibration, bins)) == 300 * repeats
        assert found.calibration.accuracy == expected.calibration.accuracy
