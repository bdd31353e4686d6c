from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from eval.comparison.pairs import COMPARED_METRICS, compare_systems
from eval.comparison.report import ComparisonReport, SharedCards
from eval.comparison.text import describe_comparison, format_p_value, render_markdown
from eval.metrics.abstention import get_metric
from eval.metrics.observations import read_observations
from eval.metrics.record import PairedComparison
from eval.metrics.samples import Plan, Samples
from eval.metrics.signature import Signature
from eval.metrics_abstention import PolicyChoice
from eval.run_files import find_result_files
from eval.stats.paired_tests import adjust_holm, mcnemar_exact
from kg.base.errors import CardSetMismatchError, MissingFileError, SystemNotFoundError
from kg.base.provenance import manifest_path
from reporting.compare_runs import main

GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
SIGNATURE = Signature(metric="", cards="c", policy="", resamples=400, seed=1, version="0")


def rows_of(
    system: str, right: float, count: int = 300, per_cluster: int = 1
) -> list[dict[str, Any]]:
    """Returns answers that are right with a given rate, equal within a cluster."""
    rng = random.Random(system)
    rows: list[dict[str, Any]] = []
    for n in range(count):
        label = "ECU"[n % 3]
        if n % per_cluster == 0:
            is_right, wrong = rng.random() < right, rng.random()
        pred = GOLD[label]
        if not is_right:
            pred = [p for p in GOLD.values() if p != pred][int(wrong * 2)]
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
) -> tuple[PairedComparison, ...]:
    samples = Samples(read_observations([path]), plan or Plan(("licensed",), resamples=400, seed=1))
    return compare_systems(samples, signature=SIGNATURE, baseline=baseline)


def find_comparison(
    found: tuple[PairedComparison, ...], name: str, a: str, b: str
) -> PairedComparison:
    return next(one for one in found if (one.metric, one.a, one.b) == (name, a, b))


def test_a_clear_winner_is_named_with_its_evidence(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("good", 0.95), rows_of("poor", 0.6))
    one = find_comparison(compare_file(path), "accuracy", "good", "poor")
    assert one.better == "good"
    assert one.test == "mcnemar-exact"
    assert one.discordant is not None
    assert one.p == pytest.approx(mcnemar_exact(one.discordant.only_a, one.discordant.only_b))
    assert one.difference == pytest.approx(
        (one.discordant.only_a - one.discordant.only_b) / one.n_cards
    )
    assert one.low is not None
    assert one.high is not None
    assert 0 < one.low < one.difference < one.high
    assert one.minimum_detectable_effect is not None
    assert 0.03 < one.minimum_detectable_effect < 0.15
    assert describe_comparison(one).startswith("accuracy: good is better; good − poor = +0.")


def test_direction_of_each_metric_is_respected(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("a", 0.5), rows_of("b", 0.98))
    one = find_comparison(compare_file(path), "FAR-NE", "a", "b")
    assert one.difference is not None
    assert one.difference > 0
    assert one.better == "b"


def test_system_order_only_flips_the_sign(tmp_path: Path) -> None:
    first = compare_file(write_rows(tmp_path / "r", rows_of("a", 0.8), rows_of("b", 0.7)))
    # Systems come in the order of files, so the second file's system is second.
    x = write_rows(tmp_path / "x", rows_of("b", 0.7))
    y = write_rows(tmp_path / "y", rows_of("a", 0.8))
    samples = Samples(read_observations([x, y]), Plan(("licensed",), resamples=400, seed=1))
    second = compare_systems(samples, signature=SIGNATURE)
    for one, other in zip(first, second, strict=True):
        assert (one.a, one.b) == (other.b, other.a)
        assert one.difference is not None
        assert one.difference == pytest.approx(-(other.difference or 0.0))
        assert one.p == pytest.approx(other.p)
        assert one.low == pytest.approx(-(other.high or 0.0), abs=1e-9)


def test_identical_systems_show_no_difference(tmp_path: Path) -> None:
    twin = [{**row, "system": "twin"} for row in rows_of("one", 0.8)]
    for one in compare_file(write_rows(tmp_path / "r", rows_of("one", 0.8), twin)):
        assert one.difference == 0
        assert one.better is None
        assert one.p in (None, 1.0)
        assert one.method in ("newcombe-paired", "newcombe")
        # No difference, but the interval has a width above zero.
        assert one.low is not None
        assert one.high is not None
        assert one.low < 0 < one.high
        assert "no significant difference" in describe_comparison(one)


def test_holm_adjusts_over_the_pairs_of_one_metric(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("a", 0.9), rows_of("b", 0.8), rows_of("c", 0.75))
    found = compare_file(path)
    assert [one.metric for one in found[::3]] == list(COMPARED_METRICS)
    for name in COMPARED_METRICS:
        family = [one for one in found if one.metric == name]
        assert [(one.a, one.b) for one in family] == [("a", "b"), ("a", "c"), ("b", "c")]
        adjusted = adjust_holm([one.p for one in family])
        assert [one.p_holm for one in family] == pytest.approx(adjusted, rel=1e-9)


def test_p_value_not_significant_after_holm_names_no_winner(tmp_path: Path) -> None:
    # Eight discordant cards, all one way: p = .008 alone, and no more than that among 15 pairs.
    base = rows_of("s0", 1.0)
    worse = [
        {**r, "system": "s1", "pred": "INVALID" if n < 8 else r["pred"]} for n, r in enumerate(base)
    ]
    alone = find_comparison(
        compare_file(write_rows(tmp_path / "r", base, worse)), "accuracy", "s0", "s1"
    )
    assert alone.better == "s0"
    twins = [[{**row, "system": f"s{n}"} for row in base] for n in range(2, 6)]
    among = find_comparison(
        compare_file(write_rows(tmp_path / "r", base, worse, *twins)), "accuracy", "s0", "s1"
    )
    assert among.p == alone.p == pytest.approx(2 * 0.5**8)
    assert among.p_holm == pytest.approx(15 * 2 * 0.5**8)
    assert among.low is not None
    assert among.low > 0
    assert among.better is None
    assert "no significant difference" in describe_comparison(among)


def test_baseline_limits_the_compared_pairs(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("a", 0.9), rows_of("b", 0.8), rows_of("c", 0.75))
    found = compare_file(path, baseline="b")
    assert {(one.a, one.b) for one in found} == {("a", "b"), ("c", "b")}
    with pytest.raises(ValueError, match="no such baseline: z"):
        compare_file(path, baseline="z")


def test_ratios_are_tested_by_resampling_clusters(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("a", 0.95), rows_of("b", 0.5))
    one = find_comparison(compare_file(path), "AP", "a", "b")
    assert one.test == "cluster-bootstrap"
    assert one.discordant is None
    assert one.method == "bootstrap-bca"
    assert one.p is not None
    assert one.p >= 2 / 401 - 1e-9


def test_difference_is_paired(tmp_path: Path) -> None:
    # Two systems right on nearly the same cards: their own intervals overlap widely, and the
    # difference is still found, because what they share cancels.
    base = rows_of("a", 0.6, 600)
    worse = [
        {**row, "system": "b", "pred": "INVALID" if n % 33 == 0 else row["pred"]}
        for n, row in enumerate(base)
    ]
    one = find_comparison(
        compare_file(write_rows(tmp_path / "r", base, worse)), "accuracy", "a", "b"
    )
    assert one.difference is not None
    assert one.difference < 0.03
    assert one.better == "a"


def test_clustered_cards_are_not_independent_evidence(tmp_path: Path) -> None:
    # Thirty cards per cluster: significant for McNemar over cards, not over clusters.
    rows_a, rows_b = rows_of("a", 0.5, 300, 30), rows_of("b", 0.5, 300, 30)
    for n, (a, b) in enumerate(zip(rows_a, rows_b, strict=True)):
        a["pred"] = a["gold"] if n // 30 in (0, 1, 2, 3, 4, 5, 6) else "INVALID"
        b["pred"] = b["gold"] if n // 30 in (4, 5, 6, 7, 8) else "INVALID"
    one = find_comparison(
        compare_file(write_rows(tmp_path / "r", rows_a, rows_b)), "accuracy", "a", "b"
    )
    assert one.p_holm is not None
    assert one.p_holm < 0.001
    assert one.better is None
    assert "bootstrap of whole clusters does not" in describe_comparison(one)


def test_missing_value_is_not_compared(tmp_path: Path) -> None:
    yes = [{**row, "system": "yes", "pred": "YES"} for row in rows_of("a", 0.9)]
    one = find_comparison(
        compare_file(write_rows(tmp_path / "r", rows_of("a", 0.9), yes)), "AP", "a", "yes"
    )
    assert (one.difference, one.low, one.p, one.p_holm, one.better) == (None,) * 5
    assert one.test == "none"
    assert describe_comparison(one) == "AP: no value for yes, so there is nothing to compare."


def test_extreme_ratios_name_no_winner(tmp_path: Path) -> None:
    # One abstention each, always right and always wrong: every resample gives +1.
    a, b = rows_of("a", 1.0, 30), rows_of("b", 1.0, 30)
    for row in a:
        row["pred"] = "UNKNOWN" if row["id"] == "0001" else "YES"
    for row in b:
        row["pred"] = "UNKNOWN" if row["id"] == "0000" else "YES"
    one = find_comparison(compare_file(write_rows(tmp_path / "r", a, b)), "AP", "a", "b")
    assert one.difference == 1
    assert one.test == "none"
    assert one.better is None
    assert one.method == "newcombe"
    assert one.low is not None
    assert one.low < 0.2


def test_coverage_difference_has_no_better_side(tmp_path: Path) -> None:
    yes = [{**row, "system": "yes", "pred": "YES"} for row in rows_of("a", 0.9)]
    one = find_comparison(
        compare_file(write_rows(tmp_path / "r", rows_of("a", 0.9), yes)), "coverage", "a", "yes"
    )
    assert one.better is None
    assert "they differ" in describe_comparison(one)


def test_winning_system_with_failures_gets_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = [row | {"pred": "ERROR"} for row in rows_of("down", 1.0)]
    out = tmp_path / "comparison.json"
    main([write_rows(tmp_path / "r.jsonl", rows_of("up", 0.6), failed)], out=out)
    said = (
        "down has 300 ERROR replies, which count as neither answer nor abstention: this favours "
        "it on metrics where fewer answers are better, such as FAR-NE."
    )
    assert said in json.loads(out.read_text("utf-8"))["notes"]
    assert "FAR-NE: down is better" in (told := capsys.readouterr().out)
    assert f"note: {said}" in told
    assert "down has 300 ERROR replies" in out.with_suffix(".html").read_text("utf-8")


def test_markdown_shows_differences_without_a_better_side(tmp_path: Path) -> None:
    alike = rows_of("open", 1.0)
    closed = [row | {"system": "closed", "pred": "UNKNOWN"} for row in alike]
    out = tmp_path / "comparison.json"
    main([write_rows(tmp_path / "r.jsonl", alike, closed)], out=out)
    page = out.with_suffix(".md").read_text("utf-8")
    coverage = page.split("## coverage")[1].split("##")[0]
    assert "| they differ |" in coverage
    assert "not significant" not in coverage


def test_false_positive_rate_stays_within_the_level(tmp_path: Path) -> None:
    alarms = 0
    for run in range(60):
        path = write_rows(
            tmp_path / "r", rows_of(f"a{run}", 0.7, 150), rows_of(f"b{run}", 0.7, 150)
        )
        found = compare_file(path, plan=Plan(("licensed",), resamples=200, seed=run))
        alarms += find_comparison(found, "accuracy", f"a{run}", f"b{run}").better is not None
    assert alarms <= 7


def test_both_policies_are_compared(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r", rows_of("a", 0.9), rows_of("b", 0.6))
    found = compare_file(path, plan=Plan(resamples=200))
    assert [one.policy for one in found] == ["licensed"] * 8 + ["published"] * 8
    seen = read_observations([path])
    samples = Samples(seen, Plan(resamples=200))
    for one in found:
        own = get_metric(one.metric, one.policy)
        assert one.value_a == own.compute_value(samples.get_counts(one.policy, "a"))


def test_main_writes_json_and_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (
        write_rows(tmp_path / "a.jsonl", rows_of("a|<b>", 0.95)),
        write_rows(tmp_path / "b.jsonl", rows_of("b", 0.6)),
    )
    out = tmp_path / "comparison.json"
    main(runs=[a, b], out=out, resamples=200)
    report = json.loads(out.read_text("utf-8"))
    assert report["schema"] == "epoche.comparison/1"
    assert len(report["comparisons"]) == 8
    page = out.with_suffix(".md").read_text("utf-8")
    assert r"a\|\<b\>" in page
    assert "<b>" not in page
    assert "## accuracy, policy licensed" in page
    assert "is better" in capsys.readouterr().out
    first = out.read_bytes()
    main(results=[a, b], out=out, resamples=200, policy=PolicyChoice.licensed)
    assert out.read_bytes() == first
    main(runs=[a], results=[b], out=out, resamples=200, policy=PolicyChoice.both, baseline="b")
    assert len(json.loads(out.read_text("utf-8"))["comparisons"]) == 16
    assert "published: AP" in capsys.readouterr().out


def test_two_runs_of_one_system_are_compared_by_file(tmp_path: Path) -> None:
    a, b = (
        write_rows(tmp_path / "old.jsonl", rows_of("s", 0.9)),
        write_rows(tmp_path / "new.jsonl", rows_of("s", 0.9)),
    )
    main(runs=[a, b], out=tmp_path / "c.json", resamples=100)
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["systems"] == ["s@old", "s@new"]


def test_incomparable_inputs_are_refused(tmp_path: Path) -> None:
    a, b = (
        write_rows(tmp_path / "a", rows_of("a", 0.9)),
        write_rows(tmp_path / "b", rows_of("b", 0.9, 297)),
    )
    out = tmp_path / "c.json"
    with pytest.raises(CardSetMismatchError, match="3 of 300"):
        main(runs=[a, b], out=out, common=False)
    other = write_rows(tmp_path / "o", [{**r, "cards": "ba9876543210"} for r in rows_of("o", 0.9)])
    with pytest.raises(CardSetMismatchError, match="Give only results of one card set"):
        main(runs=[a, other], out=out)
    with pytest.raises(CardSetMismatchError, match="only one system"):
        main(runs=[a], out=out)
    with pytest.raises(SystemNotFoundError, match="Use one of a, b"):
        main(runs=[a, b], out=out, baseline="z")
    with pytest.raises(typer.BadParameter):
        main(out=out)


def test_published_runs_are_compared(published_data: Path, tmp_path: Path) -> None:
    folder = published_data / "epistemic"
    files = [folder / f"{name}.jsonl" for name in ("graph_rag_results", "graph_rag_results_fixed")]
    main(runs=files, cards=[folder / "context_cards.jsonl"], out=tmp_path / "c.json")
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    one = next(c for c in report["comparisons"] if c["metric"] == "accuracy")
    assert one["discordant"] == {"both": 400, "only_a": 200, "only_b": 0, "neither": 200}
    assert one["better"] == "graph_rag@graph_rag_results"


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
    path = write_rows(tmp_path / "r", rows_of("a", 0.9), rows_of("b", 0.6))
    samples = Samples(read_observations([path]), Plan(resamples=50, seed=3))
    draws = np.random.default_rng(3).integers(0, 300, (50, 300))
    for system in ("a", "b"):
        part = samples.get_resampled("published", system)
        assert np.array_equal(part.sums, part.per_cluster[draws].sum(axis=1))


def test_excluded_cards_are_reported_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write_rows(tmp_path / "a.jsonl", rows_of("a", 0.9))
    b = write_rows(tmp_path / "b.jsonl", rows_of("b", 0.9)[:200])
    c = write_rows(tmp_path / "c.jsonl", rows_of("c|d", 0.9)[100:])
    run_manifest(tmp_path / "b.jsonl", status="complete", limit=200)
    run_manifest(tmp_path / "c.jsonl", status="interrupted")
    out = tmp_path / "c.json"
    main(runs=[a, b, c], out=out, resamples=100)
    report = json.loads(out.read_text("utf-8"))
    assert report["n_cards"] == report["shared"]["n"] == 100
    assert report["shared"]["left_out"] == 200
    assert report["shared"]["lacking"] == [
        {"system": "b", "cards": 100, "why": "its run was limited to the first 200 cards"},
        {"system": "c|d", "cards": 100, "why": "its run is not complete"},
    ]
    said = capsys.readouterr().out
    assert "All systems answered 100 cards; only these are compared." in said
    assert "200 cards are left out" in said
    assert r"c\|d has no answer to 100 \(its run is not complete\)" in out.with_suffix(
        ".md"
    ).read_text("utf-8")
    # Every pair uses exactly these cards.
    assert {one["n_cards"] for one in report["comparisons"]} == {100}
    apart = write_rows(tmp_path / "z.jsonl", rows_of("z", 0.9)[200:])
    with pytest.raises(CardSetMismatchError, match="no card was answered by every system"):
        main(runs=[b, apart], out=out)


def test_near_misses_are_counted_separately(tmp_path: Path) -> None:
    def mark_near_misses(system: str) -> list[dict[str, Any]]:
        rows = rows_of(system, 0.8, 90)
        return [{**r, "kind": "near-miss/x" if n < 30 else "asserted"} for n, r in enumerate(rows)]

    path = write_rows(tmp_path / "r.jsonl", mark_near_misses("a"), mark_near_misses("b"))
    main(runs=[path], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert (report["shared"]["n"], report["n_cards"]) == (90, 60)
    assert report["shared"]["apart"] == {"near-miss": 30}


def run_manifest(results: Path, **more: Any) -> None:
    fields = {
        "results": results.name,
        "cards_file": "cards.jsonl",
        "cards_sha256": "0" * 64,
        "cards_file_sha256": "0" * 64,
        "card_count": 300,
        "system": "s",
        "systems": ["s"],
        "seed": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "status": "complete",
    }
    manifest_path(results).write_text(json.dumps(fields | more), "utf-8")


def test_run_folder_stands_for_its_results(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, right in ((old, 0.6), (new, 0.95)):
        folder.mkdir()
        write_rows(folder / "s_results.jsonl", rows_of("s", right))
        run_manifest(folder / "s_results.jsonl")
        write_rows(folder / "cards.jsonl", [{"id": "x"}])
        manifest_path(folder / "cards.jsonl").write_text('{"cards": 1}', "utf-8")
        write_rows(folder / "s_results.stale-0123456789ab.jsonl", rows_of("s", 0.1))
        run_manifest(folder / "s_results.stale-0123456789ab.jsonl")
    assert find_result_files([old, old / "s_results.jsonl", new]) == [
        old / "s_results.jsonl",
        new / "s_results.jsonl",
    ]
    main(runs=[old, new], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert report["systems"] == ["s@old/s_results", "s@new/s_results"]
    assert report["comparisons"][5]["better"] == "s@new/s_results"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(MissingFileError, match="contains no result files"):
        main(runs=[empty], out=tmp_path / "c.json")
    # A foreign folder without manifests is accepted as it is.
    write_rows(empty / "theirs.jsonl", rows_of("t", 0.9))
    assert find_result_files([empty]) == [empty / "theirs.jsonl"]


def test_twenty_systems_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rows(tmp_path / "r.jsonl", *(rows_of(f"s{n:02}", 0.5 + n / 50) for n in range(20)))
    main(runs=[path], out=tmp_path / "c.json", resamples=100, baseline="s19")
    assert len(json.loads((tmp_path / "c.json").read_text("utf-8"))["comparisons"]) == 19 * 8
    main(runs=[path], out=tmp_path / "c.json", resamples=100)
    report = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert len(report["comparisons"]) == 190 * 8
    told = sum(one["better"] is not None for one in report["comparisons"][5 * 190 : 6 * 190])
    assert f"accuracy: one is better in {told} of 190 pairs." in capsys.readouterr().out
    assert find_json_comparison(report, "accuracy", "s00", "s19")["better"] == "s19"
    assert find_json_comparison(report, "accuracy", "s18", "s19")["better"] is None


def find_json_comparison(report: dict[str, Any], name: str, a: str, b: str) -> dict[str, Any]:
    return next(
        one for one in report["comparisons"] if (one["metric"], one["a"], one["b"]) == (name, a, b)
    )
