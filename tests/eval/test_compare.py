"""Tests the comparison of systems: paired tests, Holm's correction, notes and output files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from msgspec.structs import astuple
from stage_calls import write_edited_manifest

from eval.abstention.comparison.report import ComparisonReport, SharedCards, compare_runs
from eval.abstention.comparison.text import describe_comparison, render_markdown
from eval.abstention.metrics.cluster_samples import Plan, Samples
from eval.abstention.metrics.definitions import SHOWN_METRICS, get_metric
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.pairs import compare_systems
from eval.abstention.metrics.record import CardComparison
from eval.abstention.metrics.report import measure
from eval.abstention.run_files import find_result_files
from eval.metrics.number_text import format_p_value
from eval.metrics.signature import Signature
from eval.metrics_abstention import PolicyChoice
from eval.stats.paired_tests import adjust_holm, mcnemar_exact
from kg.base.errors import CardSetMismatchError, MissingFileError, SystemNotFoundError
from kg.base.provenance import manifest_path
from reporting.card_report.summary_text import compare_neighbours
from reporting.commands.compare_runs import main

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
SIGNATURE = Signature(metric="", cards="c", policy="", resamples=400, seed=1, version="0")


def make_rows(
    system: str, accuracy: float, count: int = 300, per_cluster: int = 1
) -> list[dict[str, Any]]:
    """Returns rows whose answers are right with probability ``accuracy``, equal in a cluster."""
    rng = random.Random(system)
    rows: list[dict[str, Any]] = []
    for n in range(count):
        label = "ECU"[n % 3]
        if n % per_cluster == 0:
            is_right, wrong_choice = rng.random() < accuracy, rng.random()
        pred = GOLD[label]
        if not is_right:
            pred = [p for p in GOLD.values() if p != pred][int(wrong_choice * 2)]
        rows.append(
            {
                "id": f"{n:04d}",
                "system": system,
                "gold": GOLD[label],
                "label": label,
                "pred": pred,
                "cluster": f"s{n // per_cluster}",
                "cards": "0123456789ab",
            }
        )
    return rows


def write_rows(path: Path, *groups: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for rows in groups for row in rows), "utf-8")
    return path


def compare_file(
    path: Path, baseline: str | None = None, plan: Plan | None = None
) -> tuple[CardComparison, ...]:
    """Compares all systems of a result file, by default under the licensed policy only."""
    samples = Samples(read_observations([path]), plan or Plan(("licensed",), resamples=400, seed=1))
    return compare_systems(samples, signature=SIGNATURE, baseline=baseline)


def find_comparison(
    comparisons: tuple[CardComparison, ...], metric: str, a: str, b: str
) -> CardComparison:
    return next(
        comparison
        for comparison in comparisons
        if (comparison.metric, comparison.candidate, comparison.baseline) == (metric, a, b)
    )


def test_a_clear_winner_is_named_with_its_evidence(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("good", 0.95), make_rows("poor", 0.6))
    comparison = find_comparison(compare_file(path), "accuracy", "good", "poor")
    assert comparison.better == "good"
    assert comparison.test == "mcnemar-exact"
    assert comparison.discordant is not None
    assert comparison.p == pytest.approx(
        mcnemar_exact(comparison.discordant.only_candidate, comparison.discordant.only_baseline)
    )
    assert comparison.difference == pytest.approx(
        (comparison.discordant.only_candidate - comparison.discordant.only_baseline) / comparison.n
    )
    assert comparison.difference is not None
    assert comparison.low is not None
    assert comparison.high is not None
    assert 0 < comparison.low < comparison.difference < comparison.high
    assert comparison.minimum_detectable_effect is not None
    assert 0.03 < comparison.minimum_detectable_effect < 0.15
    assert describe_comparison(comparison).startswith("accuracy: good is better; good − poor = +0.")


def test_what_could_not_be_tested_is_not_called_insignificant() -> None:
    pair = CardComparison(
        candidate="a", baseline="b", policy="licensed", metric="skill@.5", value_candidate=0.9,
        value_baseline=0.8, difference=0.1, low=-0.1, high=0.3,
    )  # fmt: skip
    assert describe_comparison(pair) == (
        "skill@.5: no test is possible; a − b = +0.100 [-0.100, +0.300]."
    )
    assert compare_neighbours([pair], ["a", "b"]) == []


def test_many_systems_have_enough_resamples_for_their_pairs(tmp_path: Path) -> None:
    """With 2,000, the p of each of 91 pairs was at least .09 after Holm's correction."""
    right = make_rows("right", 1.0, count=90)
    yes = [{**row, "system": "yes", "pred": "YES"} for row in right]
    others = [make_rows(f"s{n}", 0.6, count=90) for n in range(12)]
    path = write_rows(tmp_path / "r.jsonl", right, yes, *others)
    observations = read_observations([path])
    report = compare_runs(observations, Plan(("licensed",)))
    assert report.resamples == 19_000
    pair = find_comparison(report.comparisons, "skill@.5", "right", "yes")
    assert pair.better == "right"
    assert pair.p_holm is not None
    assert pair.p_holm < 0.01
    assert "|boot:19000|" in pair.signature
    assert not any("bootstrap test" in note for note in report.notes)
    kept = compare_runs(observations, Plan(("licensed",), resamples=2000))
    assert kept.resamples == 2000
    assert find_comparison(kept.comparisons, "skill@.5", "right", "yes").better is None
    assert any("use --resamples 19000 or --baseline" in note for note in kept.notes)


def test_metrics_of_many_systems_have_enough_resamples_for_their_pairs(tmp_path: Path) -> None:
    groups = [make_rows(f"s{n}", 0.6 + n / 100, count=60) for n in range(6)]
    report = measure(read_observations([write_rows(tmp_path / "r.jsonl", *groups)]))
    value = report.policies["licensed"].systems["s0"].metrics["skill@.5"]
    assert report.resamples == 2000
    assert "|boot:2000|" in value.signature
    assert all("|boot:3000|" in pair.signature for pair in report.comparisons)
    assert any("15 pairs are by 3,000 resamples" in note for note in report.notes)


def test_lower_far_ne_is_better(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("a", 0.5), make_rows("b", 0.98))
    comparison = find_comparison(compare_file(path), "FAR-NE", "a", "b")
    assert comparison.difference is not None
    assert comparison.difference > 0
    assert comparison.better == "b"


def test_system_order_only_flips_the_sign(tmp_path: Path) -> None:
    comparisons = compare_file(write_rows(tmp_path / "r", make_rows("a", 0.8), make_rows("b", 0.7)))
    # Systems are compared in the order of the files, so here b comes before a.
    file_b = write_rows(tmp_path / "x", make_rows("b", 0.7))
    file_a = write_rows(tmp_path / "y", make_rows("a", 0.8))
    samples = Samples(
        read_observations([file_b, file_a]), Plan(("licensed",), resamples=400, seed=1)
    )
    swapped_comparisons = compare_systems(samples, signature=SIGNATURE)
    for comparison, swapped in zip(comparisons, swapped_comparisons, strict=True):
        assert (comparison.candidate, comparison.baseline) == (swapped.baseline, swapped.candidate)
        assert comparison.difference is not None
        assert comparison.difference == pytest.approx(-(swapped.difference or 0.0))
        assert comparison.p == pytest.approx(swapped.p)
        assert comparison.low == pytest.approx(-(swapped.high or 0.0), abs=1e-9)


def test_identical_systems_show_no_difference(tmp_path: Path) -> None:
    twin_rows = [{**row, "system": "twin"} for row in make_rows("one", 0.8)]
    for comparison in compare_file(write_rows(tmp_path / "r", make_rows("one", 0.8), twin_rows)):
        assert comparison.difference == 0
        assert comparison.better is None
        assert comparison.p in (None, 1.0)
        assert comparison.method in ("newcombe-paired", "newcombe")
        # No difference, but the interval has a width above zero.
        assert comparison.low is not None
        assert comparison.high is not None
        assert comparison.low < 0 < comparison.high
        assert "no significant difference" in describe_comparison(comparison)


def test_holm_adjusts_over_the_pairs_of_one_metric(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "r", make_rows("a", 0.9), make_rows("b", 0.8), make_rows("c", 0.75)
    )
    comparisons = compare_file(path)
    metrics = [name for name in SHOWN_METRICS if name != "all-three"]  # there are no triplets
    assert [comparison.metric for comparison in comparisons[::3]] == metrics
    for metric in metrics:
        family = [comparison for comparison in comparisons if comparison.metric == metric]
        assert [(comparison.candidate, comparison.baseline) for comparison in family] == [
            ("a", "b"),
            ("a", "c"),
            ("b", "c"),
        ]
        adjusted = adjust_holm([comparison.p for comparison in family])
        assert [comparison.p_holm for comparison in family] == pytest.approx(adjusted, rel=1e-9)


def test_p_value_not_significant_after_holm_names_no_winner(tmp_path: Path) -> None:
    # Eight discordant cards, all won by one system: p = 2 * 0.5**8 = 0.008. That is significant
    # for one pair, but not after Holm's correction over the 15 pairs of six systems.
    base_rows = make_rows("s0", 1.0)
    worse_rows = [
        {**r, "system": "s1", "pred": "INVALID" if n < 8 else r["pred"]}
        for n, r in enumerate(base_rows)
    ]
    single_comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", base_rows, worse_rows)), "accuracy", "s0", "s1"
    )
    assert single_comparison.better == "s0"
    equal_systems = [[{**row, "system": f"s{n}"} for row in base_rows] for n in range(2, 6)]
    one_of_15_pairs = find_comparison(
        compare_file(write_rows(tmp_path / "r", base_rows, worse_rows, *equal_systems)),
        "accuracy",
        "s0",
        "s1",
    )
    assert one_of_15_pairs.p == single_comparison.p == pytest.approx(2 * 0.5**8)
    assert one_of_15_pairs.p_holm == pytest.approx(15 * 2 * 0.5**8)
    assert one_of_15_pairs.low is not None
    assert one_of_15_pairs.low > 0
    assert one_of_15_pairs.better is None
    assert "no significant difference" in describe_comparison(one_of_15_pairs)


def test_baseline_limits_the_compared_pairs(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "r", make_rows("a", 0.9), make_rows("b", 0.8), make_rows("c", 0.75)
    )
    comparisons = compare_file(path, baseline="b")
    assert {(comparison.candidate, comparison.baseline) for comparison in comparisons} == {
        ("a", "b"),
        ("c", "b"),
    }
    with pytest.raises(ValueError, match="no such baseline: z"):
        compare_file(path, baseline="z")


def test_ratios_are_tested_by_resampling_clusters(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("a", 0.95), make_rows("b", 0.5))
    comparison = find_comparison(compare_file(path), "AP", "a", "b")
    assert comparison.test == "cluster-bootstrap"
    assert comparison.discordant is None
    assert comparison.method == "bootstrap-bca"
    assert comparison.p is not None
    assert comparison.p >= 2 / 401 - 1e-9  # the smallest p that 400 resamples can give


def test_the_number_of_cards_is_that_of_the_test(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("a", 0.9), make_rows("b", 0.6))
    sizes = {pair.metric: (pair.n, pair.discordant) for pair in compare_file(path)}
    for metric, n in (("accuracy", 300), ("FAR-NE", 200), ("LA", 100), ("skill@.5", 300)):
        assert sizes[metric][0] == n
        discordant = sizes[metric][1]
        assert discordant is None or sum(astuple(discordant)) == n


def test_difference_is_paired(tmp_path: Path) -> None:
    # The systems are right on nearly the same cards. Their intervals overlap widely, but the
    # paired difference is significant, because the shared variation cancels.
    base_rows = make_rows("a", 0.6, 600)
    worse_rows = [
        {**row, "system": "b", "pred": "INVALID" if n % 33 == 0 else row["pred"]}
        for n, row in enumerate(base_rows)
    ]
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", base_rows, worse_rows)), "accuracy", "a", "b"
    )
    assert comparison.difference is not None
    assert comparison.difference < 0.03
    assert comparison.better == "a"


def test_clustered_cards_are_not_independent_evidence(tmp_path: Path) -> None:
    # Thirty cards per cluster: a is right in clusters 0 to 6, b in clusters 4 to 8. The difference
    # is significant over cards, but not over clusters.
    rows_a, rows_b = make_rows("a", 0.5, 300, 30), make_rows("b", 0.5, 300, 30)
    for n, (a, b) in enumerate(zip(rows_a, rows_b, strict=True)):
        a["pred"] = a["gold"] if n // 30 in (0, 1, 2, 3, 4, 5, 6) else "INVALID"
        b["pred"] = b["gold"] if n // 30 in (4, 5, 6, 7, 8) else "INVALID"
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", rows_a, rows_b)), "accuracy", "a", "b"
    )
    assert comparison.p_holm is not None
    assert comparison.p_holm < 0.001
    assert comparison.better is None
    assert "bootstrap of whole clusters or triplets does not" in describe_comparison(comparison)


def test_missing_value_is_not_compared(tmp_path: Path) -> None:
    yes_rows = [{**row, "system": "yes", "pred": "YES"} for row in make_rows("a", 0.9)]
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", make_rows("a", 0.9), yes_rows)), "AP", "a", "yes"
    )
    assert (
        comparison.difference,
        comparison.low,
        comparison.p,
        comparison.p_holm,
        comparison.better,
    ) == (None,) * 5
    assert comparison.test == "none"
    assert (
        describe_comparison(comparison) == "AP: no value for yes, so there is nothing to compare."
    )


def test_extreme_ratios_name_no_winner(tmp_path: Path) -> None:
    # Each system abstains once, system a rightly and system b wrongly, so that every resample
    # gives +1.
    rows_a, rows_b = make_rows("a", 1.0, 30), make_rows("b", 1.0, 30)
    for row in rows_a:
        row["pred"] = "UNKNOWN" if row["id"] == "0001" else "YES"
    for row in rows_b:
        row["pred"] = "UNKNOWN" if row["id"] == "0000" else "YES"
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", rows_a, rows_b)), "AP", "a", "b"
    )
    assert comparison.difference == 1
    assert comparison.test == "none"
    assert comparison.better is None
    assert comparison.method == "newcombe"
    assert comparison.low is not None
    assert comparison.low < 0.2


def test_a_perfect_system_is_better_where_all_resamples_agree(tmp_path: Path) -> None:
    perfect = make_rows("perfect", 1.0)
    silent = [{**row, "system": "silent", "pred": "UNKNOWN"} for row in perfect]
    never_no = [
        {**row, "system": "never-no", "pred": "UNKNOWN" if row["label"] == "C" else row["pred"]}
        for row in perfect
    ]
    path = write_rows(tmp_path / "r", perfect, silent, never_no)
    comparisons = compare_file(path, baseline="perfect")
    for other, difference in (("silent", -1.0), ("never-no", -0.5)):
        comparison = find_comparison(comparisons, "skill@.5", other, "perfect")
        assert comparison.difference == pytest.approx(difference)
        assert (comparison.test, comparison.method) == ("cluster-bootstrap", "newcombe")
        assert comparison.p == pytest.approx(2 / 401)
        assert comparison.better == "perfect"
    # Six clusters are too few: the interval includes 0.
    few = make_rows("perfect", 1.0, 18, 3)
    silent = [{**row, "system": "silent", "pred": "UNKNOWN"} for row in few]
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "few", few, silent)), "skill@.5", "perfect", "silent"
    )
    assert (comparison.test, comparison.p) == ("sign-flip", 2 / 2**6)
    assert comparison.low is not None
    assert comparison.low < 0
    assert comparison.better is None
    assert "but the interval includes 0" in describe_comparison(comparison)


def test_coverage_difference_has_no_better_side(tmp_path: Path) -> None:
    yes_rows = [{**row, "system": "yes", "pred": "YES"} for row in make_rows("a", 0.9)]
    comparison = find_comparison(
        compare_file(write_rows(tmp_path / "r", make_rows("a", 0.9), yes_rows)),
        "coverage",
        "a",
        "yes",
    )
    assert comparison.better is None
    assert "they differ" in describe_comparison(comparison)


def test_winning_system_with_failures_gets_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed_rows = [row | {"pred": "ERROR"} for row in make_rows("down", 1.0)]
    out = tmp_path / "comparison.json"
    main([write_rows(tmp_path / "r.jsonl", make_rows("up", 0.6), failed_rows)], out=out)
    warning = (
        "down has 300 ERROR replies, which count as neither answer nor abstention: this favours "
        "it on metrics where fewer answers are better, such as FAR-NE."
    )
    assert warning in json.loads(out.read_text("utf-8"))["notes"]
    printed = capsys.readouterr().out
    assert "FAR-NE: down is better" in printed
    assert f"note: {warning}" in printed
    assert "down has 300 ERROR replies" in out.with_suffix(".html").read_text("utf-8")


def test_markdown_shows_differences_without_a_better_side(tmp_path: Path) -> None:
    correct_rows = make_rows("open", 1.0)
    abstaining_rows = [row | {"system": "closed", "pred": "UNKNOWN"} for row in correct_rows]
    out = tmp_path / "comparison.json"
    main([write_rows(tmp_path / "r.jsonl", correct_rows, abstaining_rows)], out=out)
    page = out.with_suffix(".md").read_text("utf-8")
    coverage_section = page.split("## coverage")[1].split("##")[0]
    assert "| they differ |" in coverage_section
    assert "not significant" not in coverage_section


def test_false_positive_rate_stays_within_the_level(tmp_path: Path) -> None:
    false_alarms = 0
    for run in range(60):
        path = write_rows(
            tmp_path / "r", make_rows(f"a{run}", 0.7, 150), make_rows(f"b{run}", 0.7, 150)
        )
        comparisons = compare_file(path, plan=Plan(("licensed",), resamples=200, seed=run))
        false_alarms += (
            find_comparison(comparisons, "accuracy", f"a{run}", f"b{run}").better is not None
        )
    # At the 5 % level, 60 runs give 3 false alarms on average and more than 7 in 1 % of cases.
    assert false_alarms <= 7


def test_both_policies_are_compared(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("a", 0.9), make_rows("b", 0.6))
    comparisons = compare_file(path, plan=Plan(resamples=200))
    assert [comparison.policy for comparison in comparisons] == ["licensed"] * 10 + [
        "published"
    ] * 8
    observations = read_observations([path])
    samples = Samples(observations, Plan(resamples=200))
    for comparison in comparisons:
        metric = get_metric(comparison.metric, comparison.policy)
        assert comparison.value_candidate == metric.compute_value(
            samples.get_counts(comparison.policy, "a")
        )


def test_main_writes_json_and_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_a, file_b = (
        write_rows(tmp_path / "a.jsonl", make_rows("a|<b>", 0.95)),
        write_rows(tmp_path / "b.jsonl", make_rows("b", 0.6)),
    )
    out = tmp_path / "comparison.json"
    main(runs=[file_a, file_b], out=out, resamples=200)
    report = json.loads(out.read_text("utf-8"))
    assert report["schema"] == "epoche.comparison/1"
    assert len(report["comparisons"]) == 10
    page = out.with_suffix(".md").read_text("utf-8")
    assert r"a\|\<b\>" in page
    assert "<b>" not in page
    assert "## accuracy, policy licensed" in page
    assert "is better" in capsys.readouterr().out
    first_bytes = out.read_bytes()
    main(results=[file_a, file_b], out=out, resamples=200, policy=PolicyChoice.licensed)
    assert out.read_bytes() == first_bytes
    main(
        runs=[file_a],
        results=[file_b],
        out=out,
        resamples=200,
        policy=PolicyChoice.both,
        baseline="b",
    )
    assert len(json.loads(out.read_text("utf-8"))["comparisons"]) == 18
    assert "published: AP" in capsys.readouterr().out


def test_two_runs_of_one_system_are_compared_by_file(tmp_path: Path) -> None:
    old_file, new_file = (
        write_rows(tmp_path / "old.jsonl", make_rows("s", 0.9)),
        write_rows(tmp_path / "new.jsonl", make_rows("s", 0.9)),
    )
    main(runs=[old_file, new_file], out=tmp_path / "c.json", resamples=100)
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["systems"] == ["s@old", "s@new"]


def test_controls_of_two_runs_are_not_compared(tmp_path: Path) -> None:
    runs = []
    for name, accuracy in (("monday", 0.9), ("tuesday", 0.8)):
        rows = make_rows(name, accuracy)
        controls = [
            {**row, "system": f"always-{pred}", "pred": pred}
            for pred in GOLD.values()
            for row in rows
        ]
        system = [{**row, "system": "s"} for row in rows]
        runs.append(write_rows(tmp_path / f"{name}.jsonl", system, controls))
    main(runs=runs, out=tmp_path / "c.json", resamples=100)
    record = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert "always-YES@monday" in record["systems"]
    pairs = {(pair["candidate"], pair["baseline"]) for pair in record["comparisons"]}
    assert pairs == {("s@monday", "s@tuesday")}
    main(runs=runs, out=tmp_path / "c.json", resamples=100, baseline="always-UNKNOWN@monday")
    record = json.loads((tmp_path / "c.json").read_text("utf-8"))
    pairs = {(pair["candidate"], pair["baseline"]) for pair in record["comparisons"]}
    assert pairs == {(f"s@{run}", "always-UNKNOWN@monday") for run in ("monday", "tuesday")}


def test_incomparable_inputs_are_refused(tmp_path: Path) -> None:
    file_a, file_b = (
        write_rows(tmp_path / "a", make_rows("a", 0.9)),
        write_rows(tmp_path / "b", make_rows("b", 0.9, 297)),
    )
    out = tmp_path / "c.json"
    with pytest.raises(CardSetMismatchError, match="3 of 300"):
        main(runs=[file_a, file_b], out=out, common=False)
    # Nothing says that the file without a manifest was not cut.
    with pytest.raises(CardSetMismatchError, match="3 of 300"):
        main(runs=[file_a, file_b], out=out)
    other_card_set = write_rows(
        tmp_path / "o", [{**r, "cards": "ba9876543210"} for r in make_rows("o", 0.9)]
    )
    with pytest.raises(CardSetMismatchError, match="Give only results of one card set"):
        main(runs=[file_a, other_card_set], out=out)
    with pytest.raises(CardSetMismatchError, match="only one system"):
        main(runs=[file_a], out=out)
    with pytest.raises(SystemNotFoundError, match="Use one of a, b"):
        main(runs=[file_a, file_b], out=out, baseline="z", common=True)
    with pytest.raises(typer.BadParameter):
        main(out=out)


def test_published_runs_are_compared(published_data: Path, tmp_path: Path) -> None:
    folder = published_data / "epistemic"
    files = [folder / f"{name}.jsonl" for name in ("graph_rag_results", "graph_rag_results_fixed")]
    main(runs=files, cards=[folder / "context_cards.jsonl"], out=tmp_path / "c.json")
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    # Both files were published with the experiments.
    comparison = next(c for c in report["comparisons"] if c["metric"] == "accuracy")
    assert comparison["discordant"] == {
        "both": 400,
        "only_candidate": 200,
        "only_baseline": 0,
        "neither": 200,
    }
    assert comparison["better"] == "graph_rag@graph_rag_results"


def test_p_values_are_formatted() -> None:
    assert format_p_value(0.0004) == "< 0.001"
    assert format_p_value(0.25) == "0.250"


def test_empty_comparison_is_rendered(tmp_path: Path) -> None:
    empty = ComparisonReport(
        version="0",
        cards="c",
        shared=SharedCards(n=0),
        n_cards=0,
        n_clusters=0,
        systems=(),
        confidence=0.95,
        resamples=1,
        seed=1,
        comparisons=(),
        notes=("A note with | and <script>.",),
    )
    assert r"\<script\>" in render_markdown(empty)


def test_samples_share_one_random_stream(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", make_rows("a", 0.9), make_rows("b", 0.6))
    samples = Samples(read_observations([path]), Plan(resamples=50, seed=3))
    draws = np.random.default_rng(3).integers(0, 300, (50, 300))
    for system in ("a", "b"):
        resampled = samples.get_resampled_counts("published", system)
        assert np.array_equal(resampled.sums, resampled.per_cluster[draws].sum(axis=1))


def test_excluded_cards_are_reported_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_a = write_rows(tmp_path / "a.jsonl", make_rows("a", 0.9))
    file_b = write_rows(tmp_path / "b.jsonl", make_rows("b", 0.9)[:200])
    file_c = write_rows(tmp_path / "c.jsonl", make_rows("c|d", 0.9)[100:])
    write_run_manifest(tmp_path / "b.jsonl", status="complete", limit=200)
    write_run_manifest(tmp_path / "c.jsonl", status="interrupted")
    out = tmp_path / "c.json"
    # By default, the rows that the interrupted run lost would be errors, on cards not found here.
    with pytest.raises(MissingFileError, match=r"asked\.jsonl"):
        main(runs=[file_a, file_b, file_c], out=out, resamples=100)
    main(runs=[file_a, file_b, file_c], out=out, resamples=100, common=True)
    report = json.loads(out.read_text("utf-8"))
    assert report["n_cards"] == report["shared"]["n"] == 100
    assert report["shared"]["left_out"] == 200
    assert report["shared"]["lacking"] == [
        {"system": "b", "cards": 100, "why": "its run was limited to the first 200 cards"},
        {"system": "c|d", "cards": 100, "why": "its run is not complete"},
    ]
    printed = capsys.readouterr().out
    assert "All systems answered 100 cards; only these are compared." in printed
    assert "200 cards are left out" in printed
    assert r"c\|d has no answer to 100 \(its run is not complete\)" in out.with_suffix(
        ".md"
    ).read_text("utf-8")
    # Every pair is compared on exactly these cards, by most metrics on those of some labels.
    sizes = {comparison["metric"]: comparison["n"] for comparison in report["comparisons"]}
    assert sizes["accuracy"] == sizes["skill@.5"] == 100
    assert (sizes["LA"], sizes["FAR-NE"]) == (33, 67)
    last_cards = write_rows(tmp_path / "z.jsonl", make_rows("z", 0.9)[200:])
    with pytest.raises(CardSetMismatchError, match="no card was answered by every system"):
        main(runs=[file_b, last_cards], out=out, common=True)


def test_near_misses_are_counted_separately(tmp_path: Path) -> None:
    def make_near_miss_rows(system: str) -> list[dict[str, Any]]:
        rows = make_rows(system, 0.8, 90)
        return [{**r, "kind": "near-miss/x" if n < 30 else "asserted"} for n, r in enumerate(rows)]

    path = write_rows(tmp_path / "r.jsonl", make_near_miss_rows("a"), make_near_miss_rows("b"))
    main(runs=[path], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert (report["shared"]["n"], report["n_cards"]) == (90, 60)
    assert report["shared"]["apart"] == {"near-miss": 30}


def write_run_manifest(results: Path, **changes: Any) -> None:
    fields = {
        "results": results.name,
        "cards_file": "asked.jsonl",
        "cards_sha256": "0" * 64,
        "cards_file_sha256": "0" * 64,
        "card_count": 300,
        "system": "s",
        "systems": ["s"],
        "seed": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "status": "complete",
    }
    write_edited_manifest(manifest_path(results), fields | changes)


def test_run_folder_stands_for_its_results(tmp_path: Path) -> None:
    old_run, new_run = tmp_path / "old", tmp_path / "new"
    for folder, accuracy in ((old_run, 0.6), (new_run, 0.95)):
        folder.mkdir()
        write_rows(folder / "s_results.jsonl", make_rows("s", accuracy))
        write_run_manifest(folder / "s_results.jsonl")
        write_rows(folder / "cards.jsonl", [{"id": "x"}])
        manifest_path(folder / "cards.jsonl").write_text('{"cards": 1}', "utf-8")
        write_rows(folder / "s_results.stale-0123456789ab.jsonl", make_rows("s", 0.1))
        write_run_manifest(folder / "s_results.stale-0123456789ab.jsonl")
    assert find_result_files([old_run, old_run / "s_results.jsonl", new_run]) == [
        old_run / "s_results.jsonl",
        new_run / "s_results.jsonl",
    ]
    main(runs=[old_run, new_run], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert report["systems"] == ["s@old/s_results", "s@new/s_results"]
    accuracy_comparison = report["comparisons"][7]  # accuracy is the eighth of the ten metrics
    assert accuracy_comparison["better"] == "s@new/s_results"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(MissingFileError, match="contains no result files"):
        main(runs=[empty], out=tmp_path / "c.json")
    # Files without a manifest are taken if they begin with a result; predictions are none.
    write_rows(empty / "foreign.jsonl", make_rows("t", 0.9))
    assert find_result_files([empty]) == [empty / "foreign.jsonl"]
    write_rows(old_run / "foreign.jsonl", make_rows("t", 0.9))
    write_rows(old_run / "predictions.jsonl", [{"id": "x", "pred": "YES"}])
    found = [old_run / "foreign.jsonl", old_run / "s_results.jsonl"]
    assert find_result_files([old_run]) == found
    manifest_path(old_run / "s_results.jsonl").write_text('{"results": "s_res', "utf-8")
    assert find_result_files([old_run]) == found


def test_twenty_systems_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rows(
        tmp_path / "r.jsonl", *(make_rows(f"s{n:02}", 0.5 + n / 50) for n in range(20))
    )
    main(runs=[path], out=tmp_path / "c.json", resamples=100, baseline="s19")
    assert len(json.loads((tmp_path / "c.json").read_text("utf-8"))["comparisons"]) == 19 * 10
    main(runs=[path], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert len(report["comparisons"]) == 190 * 10
    # Accuracy is the eighth of the ten metrics, each with 190 pairs.
    decided_pairs = sum(
        comparison["better"] is not None for comparison in report["comparisons"][7 * 190 : 8 * 190]
    )
    assert f"accuracy: one is better in {decided_pairs} of 190 pairs." in capsys.readouterr().out
    assert find_json_comparison(report, "accuracy", "s00", "s19")["better"] == "s19"
    assert find_json_comparison(report, "accuracy", "s18", "s19")["better"] is None


def find_json_comparison(report: dict[str, Any], metric: str, a: str, b: str) -> dict[str, Any]:
    return next(
        comparison
        for comparison in report["comparisons"]
        if (comparison["metric"], comparison["candidate"], comparison["baseline"]) == (metric, a, b)
    )
