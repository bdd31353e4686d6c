"""Tests ``epoche metrics``: values, intervals, policies, groups, notes and checks of the input."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_metrics import build_published_block, table_to_counts
from stage_calls import PRODUCT

import kg.base.files
from cards.card import Card, hash_card_set, read_cards, write_cards
from eval.abstention.card_check import check_cards
from eval.abstention.metrics.cluster_samples import Plan
from eval.abstention.metrics.console import render_summary, render_tables
from eval.abstention.metrics.definitions import (
    COMPANION_METRICS,
    EXPLANATORY_METRICS,
    SKILL,
    get_metric,
    list_metric_names,
)
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.outcomes import GOLD_CODE, LABEL_CODE
from eval.abstention.metrics.record import MetricsReport, read_metrics
from eval.abstention.metrics.report import measure
from eval.metrics.number_text import format_with_interval
from eval.metrics_abstention import PolicyChoice, main
from kg.base.errors import CardSetMismatchError, DuplicateIdError, MissingFileError, RecordError
from kg.base.packed_strings import PackedStrings, StringColumn
from kg.claims import GOLD_OF_LABEL, LABELS, Claim

ROOT = Path(__file__).parents[2]
QUICK_PLAN = Plan(resamples=200)
KINDS = {"E": ("asserted", "inferred"), "C": ("functional", "denied"), "U": ("absent",)}


def make_rows(
    system: str, choose_answer: Callable[[random.Random, str], str], count: int = 120, seed: int = 1
) -> list[dict[str, Any]]:
    rng = random.Random(f"{system}{seed}")
    rows = []
    for n in range(count):
        label = "ECU"[n % 3]
        gold = GOLD_OF_LABEL[label]
        pred = choose_answer(rng, gold)
        rows.append(
            {
                "id": f"{n:04d}",
                "system": system,
                "gold": gold,
                "label": label,
                "pred": pred,
                "pass": pred == gold,
                "kind": KINDS[label][n // 3 % len(KINDS[label])],
                "cluster": f"s{n // 2}",
                "difficulty": ("easy", "hard")[n % 2],
                "cards": "0123456789ab",
            }
        )
    return rows


def answer_well(rng: random.Random, gold: str) -> str:
    """Chooses the right answer in 90 % of the cases."""
    return gold if rng.random() < 0.9 else rng.choice(["YES", "NO", "UNKNOWN"])


def answer_poorly(rng: random.Random, gold: str) -> str:
    """Chooses the right answer in 40 % of the cases; the others include INVALID and ERROR."""
    return gold if rng.random() < 0.4 else rng.choice(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"])


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def results_file(tmp_path: Path) -> Path:
    return write_rows(
        tmp_path / "all_results.jsonl",
        make_rows("good", answer_well) + make_rows("poor", answer_poorly),
    )


@pytest.fixture
def report(results_file: Path) -> MetricsReport:
    return measure(read_observations([results_file]), QUICK_PLAN)


def test_report_is_complete_for_every_system(report: MetricsReport) -> None:
    assert report.cards == "0123456789ab"
    assert (report.n_cards, report.n_clusters) == (120, 60)
    assert report.label_counts == {"E": 40, "C": 40, "U": 40}
    for policy in ("licensed", "published"):
        policy_report = report.policies[policy]
        assert list(policy_report.systems) == ["good", "poor"]
        assert list(policy_report.controls) == [
            "always-YES",
            "always-NO",
            "always-UNKNOWN",
            "random",
        ]
        for system in (*policy_report.systems.values(), *policy_report.controls.values()):
            assert list(system.metrics) == list(list_metric_names(policy))
            assert sum(sum(row.values()) for row in system.table.values()) == pytest.approx(120)
        for system in policy_report.systems.values():
            assert list(system.per_label) == ["E", "C", "U"]
            assert list(system.per_kind) == [
                *("asserted", "inferred", "denied", "functional", "absent"),
            ]
            assert list(system.per_difficulty) == ["easy", "hard"]
            assert sum(group.n_cards for group in system.per_kind.values()) == 120
            assert sum(group.n_cards for group in system.per_difficulty.values()) == 120
            for name, value in system.metrics.items():
                assert value.value is not None
                assert value.low is not None
                assert value.high is not None
                assert value.low <= value.value <= value.high, name
                assert value.signature.startswith(
                    f"{name}|cards:0123456789ab|rows:unverified|policy:{policy}|"
                )


def test_interval_methods_depend_on_the_denominator(report: MetricsReport) -> None:
    metrics = report.policies["licensed"].systems["poor"].metrics
    assert metrics["LA"].method == "wilson"
    assert metrics["AP"].method == "bootstrap-bca"
    assert metrics["CVRR"].method == "bootstrap-bca"
    assert set(metrics["LA"].intervals) == {"wilson", "bootstrap-percentile", "bootstrap-bca"}
    assert set(metrics["AP"].intervals) == {"bootstrap-percentile", "bootstrap-bca"}
    good_metrics = report.policies["licensed"].systems["good"].metrics
    assert good_metrics["CVRR"].method == "wilson"


def test_invalid_replies_widen_the_bounds_and_are_noted(report: MetricsReport) -> None:
    poor_ap = report.policies["licensed"].systems["poor"].metrics["AP"]
    assert poor_ap.worst is not None
    assert poor_ap.best is not None
    assert poor_ap.value is not None
    assert poor_ap.worst < poor_ap.value < poor_ap.best
    poor_far = report.policies["licensed"].systems["poor"].metrics["FAR-NE"]
    assert poor_far.worst is not None
    assert poor_far.best is not None
    assert poor_far.worst > poor_far.best == poor_far.value
    assert any("poor has" in note and "INVALID" in note for note in report.notes)
    assert any(
        "counts the INVALID and ERROR replies of poor as answers" in note for note in report.notes
    )
    assert not any("good has" in note for note in report.notes)


def test_groups_contain_only_meaningful_metrics(report: MetricsReport) -> None:
    system = report.policies["licensed"].systems["good"]
    functional = system.per_kind["functional"]
    assert list(functional.table) == ["C"]
    assert {"CVRR", "FAR-NE", "accuracy", "no_rate"} <= set(functional.metrics)
    assert not {"AP", "LA", "false_denial_rate"} & set(functional.metrics)
    assert "kind:functional" in functional.metrics["CVRR"].signature
    assert "AP" in system.per_difficulty["hard"].metrics
    assert "|difficulty:hard|" in system.per_difficulty["hard"].metrics["AP"].signature


def test_all_right_answers_still_have_an_interval(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", make_rows("perfect", lambda _, gold: gold))
    metrics = (
        measure(read_observations([path]), QUICK_PLAN)
        .policies["licensed"]
        .systems["perfect"]
        .metrics
    )
    assert metrics["AP"].method == "wilson-edge"
    assert metrics["AP"].high == 1.0
    assert metrics["AP"].low is not None
    # AP counts the 80 cards labelled C or U. They are in 60 clusters, and n = 60 gives low = 0.94.
    assert 0.9 < metrics["AP"].low < 0.95
    assert metrics["LA"].method == "wilson"


def test_a_control_run_as_a_system_scores_as_the_control(tmp_path: Path) -> None:
    for pred in ("YES", "NO", "UNKNOWN"):
        path = write_rows(tmp_path / "r.jsonl", make_rows("mine", lambda _r, _g, pred=pred: pred))
        report = measure(read_observations([path]), QUICK_PLAN)
        for policy_report in report.policies.values():
            system, control = (
                policy_report.systems["mine"],
                policy_report.controls[f"always-{pred}"],
            )
            assert system.table == control.table
            for name in system.metrics:
                assert system.metrics[name].value == control.metrics[name].value
                assert control.metrics[name].low is None
            assert all(
                "mine" in (*won_metric.beaten, *won_metric.tied)
                for won_metric in policy_report.won_by_controls
            )


def test_input_order_does_not_change_the_bytes(tmp_path: Path) -> None:
    rows = make_rows("good", answer_well) + make_rows("poor", answer_poorly)
    path = tmp_path / "r.jsonl"
    first_bytes = msgspec.json.encode(
        measure(read_observations([write_rows(path, rows)]), QUICK_PLAN)
    )
    random.Random(3).shuffle(rows)
    second_bytes = msgspec.json.encode(
        measure(read_observations([write_rows(path, rows)]), QUICK_PLAN)
    )
    assert first_bytes == second_bytes


def test_record_survives_a_round_trip(report: MetricsReport, tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_bytes(msgspec.json.encode(report))
    assert read_metrics(path) == report
    path.write_text('{"schema": "epoche.metrics/3"}')
    with pytest.raises(RecordError, match="not a metrics file"):
        read_metrics(path)
    path.write_bytes(
        msgspec.json.encode(msgspec.structs.replace(report, schema="epoche.metrics/9"))
    )
    with pytest.raises(RecordError, match="metrics/9"):
        read_metrics(path)
    # The version is named although the file also lacks the keys of this version.
    path.write_text('{"schema": "epoche.metrics/1"}')
    with pytest.raises(RecordError, match="metrics/1"):
        read_metrics(path)
    with pytest.raises(MissingFileError):
        read_metrics(tmp_path / "none.json")


def test_faithfulness_is_separate_from_the_headline(tmp_path: Path) -> None:
    rows = make_rows("good", answer_well)
    headline_report = measure(
        read_observations([write_rows(tmp_path / "a.jsonl", rows)]), QUICK_PLAN
    )
    faithfulness_rows = [
        {**row, "id": f"f{row['id']}", "kind": kind, "cluster": f"f{row['cluster']}"}
        for kind, label in (("withheld", "U"), ("counterfactual", "E"))
        for row in rows
        if row["label"] == label
    ]
    full_report = measure(
        read_observations([write_rows(tmp_path / "b.jsonl", rows + faithfulness_rows)]), QUICK_PLAN
    )
    assert full_report.n_faithfulness == 80
    assert full_report.n_cards == headline_report.n_cards
    for policy, policy_report in full_report.policies.items():
        system, headline_system = (
            policy_report.systems["good"],
            headline_report.policies[policy].systems["good"],
        )
        assert system.metrics == headline_system.metrics
        assert system.per_kind == headline_system.per_kind
        assert list(system.faithfulness) == ["counterfactual", "withheld"]
        assert system.faithfulness["withheld"].n_cards == 40
        assert "yes_rate" in system.faithfulness["withheld"].metrics
    assert any("80 context-faithfulness cards" in note for note in full_report.notes)
    faithfulness_report = measure(
        read_observations([write_rows(tmp_path / "c.jsonl", faithfulness_rows)]), QUICK_PLAN
    )
    assert faithfulness_report.n_cards == 0
    assert faithfulness_report.policies["licensed"].systems["good"].metrics["AP"].value is None
    assert any("no headline cards" in note for note in faithfulness_report.notes)


def test_policies_follow_label_and_gold_where_they_disagree(tmp_path: Path) -> None:
    rows = make_rows("good", answer_well)
    for row in rows[:9]:
        if row["label"] == "C":
            row["gold"] = "UNKNOWN"
    report = measure(read_observations([write_rows(tmp_path / "r.jsonl", rows)]), QUICK_PLAN)
    # Three of the first nine cards are labelled C: their gold answer is UNKNOWN now.
    tables = {policy: report.policies[policy].systems["good"].table for policy in report.policies}
    assert sum(tables["licensed"]["C"].values()) == 40
    assert sum(tables["published"]["C"].values()) == 37
    assert sum(report.policies["published"].controls["random"].table["U"].values()) == (
        pytest.approx(43)
    )


def test_clustered_answers_are_noted(tmp_path: Path) -> None:
    rows = make_rows("good", answer_well, count=300)
    is_right = {f"big{n}": random.Random(n).random() < 0.5 for n in range(12)}
    for n, row in enumerate(rows):
        row["cluster"] = f"big{n % 12}"
        row["pred"] = row["gold"] if is_right[row["cluster"]] else "INVALID"
    report = measure(read_observations([write_rows(tmp_path / "r.jsonl", rows)]), QUICK_PLAN)
    assert any("Outcomes of good are correlated within clusters" in note for note in report.notes)
    for row in rows:
        row["cluster"] = "b" if row["id"] > "0100" else "a"
    report = measure(read_observations([write_rows(tmp_path / "r.jsonl", rows)]), QUICK_PLAN)
    assert any("There are only 2 clusters" in note for note in report.notes)


def make_observations(answers: list[tuple[str, str, str]]) -> Observations:
    """Builds observations from (label, prediction, cluster) per card."""
    clusters = sorted({answer[2] for answer in answers})
    preds = ("YES", "NO", "UNKNOWN", "INVALID", "ERROR")
    labels = np.array([LABEL_CODE[answer[0]] for answer in answers], dtype=np.int8)
    return Observations(
        card_set="c",
        ids=PackedStrings(f"{n:03d}" for n in range(len(answers))),
        labels=labels,
        golds=labels,
        kinds=StringColumn.from_strings([""] * len(answers)),
        difficulties=StringColumn.from_strings([""] * len(answers)),
        full_labels=StringColumn.from_strings([""] * len(answers)),
        clusters=np.array([clusters.index(answer[2]) for answer in answers], dtype=np.int32),
        triplets=np.full(len(answers), -1, dtype=np.int32),
        mined=np.zeros(len(answers), dtype=np.bool_),
        preds={"s": np.array([preds.index(answer[1]) for answer in answers], dtype=np.int8)},
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ECU"),
            st.sampled_from(["YES", "NO", "UNKNOWN", "INVALID", "ERROR"]),
            st.sampled_from("abcdef"),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_any_answers_give_valid_values(answers: list[tuple[str, str, str]]) -> None:
    report = measure(make_observations(answers), Plan(resamples=100))
    assert msgspec.json.decode(msgspec.json.encode(report), type=MetricsReport) == report
    for policy_report in report.policies.values():
        for name, value in policy_report.systems["s"].metrics.items():
            minimum = get_metric(name, "licensed").minimum
            if value.denominator is not None:  # a ratio
                assert (value.value is None) == (value.denominator == 0)
            assert (value.value is None) == (value.method == "none")
            for low, high in value.intervals.values():
                assert minimum - 1e-9 <= low <= high <= 1
            # A zero-width interval would claim certainty.
            if value.low is not None and value.high is not None and value.method != "wilson":
                assert value.low < value.high or value.method.startswith("bootstrap")
        block = build_published_block(table_to_counts(policy_report.systems["s"].table))
        assert (
            block["metrics"]["LA"] == report.policies["published"].systems["s"].metrics["LA"].value
        )


def test_main_writes_the_measured_report(
    results_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "metrics.json"
    main(results=[results_file], out=out, resamples=200)
    printed = capsys.readouterr().out
    assert "licensed: good  skill@.5" in printed
    assert "published: good  AP" in printed
    assert "published: poor" in printed
    assert "licensed: best control  AP 1.000 (always-NO)" in printed
    assert "†" not in printed
    assert read_metrics(out) == measure(read_observations([results_file]), QUICK_PLAN)
    main(results=[results_file], out=tmp_path / "again.json", resamples=200)
    assert out.read_bytes() == (tmp_path / "again.json").read_bytes()


def test_a_headline_value_that_a_control_reaches_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "a.jsonl", make_rows("silent", lambda *_: "UNKNOWN"))
    main(results=[path], out=tmp_path / "m.json", resamples=100)
    printed = capsys.readouterr().out
    assert "licensed: silent  skill@.5 0.000†  geomean-recall 0.000†  AP 0.667  CVRR 1" in printed
    assert printed.count("†") == 3  # two values, and the explanation


@pytest.mark.parametrize("policy", list(PolicyChoice))
def test_policy_is_selected(results_file: Path, tmp_path: Path, policy: PolicyChoice) -> None:
    out = tmp_path / "metrics.json"
    main(results=[results_file], out=out, policy=policy, resamples=100)
    expected = ["licensed", "published"] if policy == PolicyChoice.both else [policy.value]
    assert list(read_metrics(out).policies) == expected


def test_separate_and_combined_files_are_equal(tmp_path: Path) -> None:
    good_file = write_rows(tmp_path / "a.jsonl", make_rows("good", answer_well))
    poor_file = write_rows(tmp_path / "b.jsonl", make_rows("poor", answer_poorly))
    main(results=[good_file], runs=[poor_file], out=tmp_path / "m.json", resamples=100)
    separate = read_metrics(tmp_path / "m.json")
    combined_file = write_rows(
        tmp_path / "all.jsonl", make_rows("good", answer_well) + make_rows("poor", answer_poorly)
    )
    main(results=[combined_file], out=tmp_path / "m.json", resamples=100)
    assert read_metrics(tmp_path / "m.json").policies == separate.policies


def test_verbose_tables_escape_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows("[red]x[/red]\x1b[31m", answer_well) + make_rows("poor", answer_poorly)
    for row in rows[::3]:
        row["kind"] = "[/bold]{{7*7}}\n"
    main(
        results=[write_rows(tmp_path / "r.jsonl", rows)],
        out=tmp_path / "m.json",
        resamples=100,
        verbose=True,
    )
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "policy licensed" in printed
    assert "AP|cards:0123456789ab|rows:unverified|policy:licensed|boot:100|seed:12345|v:" in printed


def test_tables_cover_every_system(report: MetricsReport) -> None:
    controls = report.policies["licensed"].controls
    assert list(controls) == ["always-YES", "always-NO", "always-UNKNOWN", "random"]
    assert all(
        {SKILL, *EXPLANATORY_METRICS, *COMPANION_METRICS} <= control.metrics.keys()
        for control in controls.values()
    )
    lines = [
        line_or_table for line_or_table in render_tables(report) if isinstance(line_or_table, str)
    ]
    assert any(line.startswith("skill@.5|cards:") for line in lines)
    assert any(line.startswith("note: poor has") for line in render_summary(report))
    cell = format_with_interval(report.policies["licensed"].systems["poor"].metrics["AP"])
    assert cell.count("[") == 1
    assert "…" in cell


def test_parts_and_blind_spots_of_older_metrics_are_printed(report: MetricsReport) -> None:
    summary = [line for line in render_summary(report) if line.startswith("licensed: poor")]
    assert re.search(r"CVRR [\d.]+†? \(NO [\d.]+, UNKNOWN [\d.]+\)", summary[0])
    parts = list(render_tables(report))
    tables = [part for part in parts if not isinstance(part, str)]
    headers = [[str(column.header) for column in table.columns] for table in tables]
    licensed = next(names for names in headers if "skill@.5" in names)
    assert licensed[licensed.index("CVRR") :][1:3] == ["CVRR_recognised", "CVRR_withheld"]
    for metric in EXPLANATORY_METRICS:
        assert any(str(part).startswith(f"{metric}: Does not see ") for part in parts)


def test_published_files_are_reproduced(published_data: Path, tmp_path: Path) -> None:
    """The result files of the published experiments give the metrics published with them."""
    folder = published_data / "epistemic"
    files = [folder / "kg_results.jsonl", folder / "graph_rag_results.jsonl"]
    main(results=files, cards=[folder / "context_cards.jsonl"], out=tmp_path / "m.json")
    report = read_metrics(tmp_path / "m.json")
    published = json.loads((folder / "metrics.json").read_text("utf-8"))
    for system, expected in published.items():
        table = report.policies["published"].systems[system].table
        assert build_published_block(table_to_counts(table)) == expected
    cards = read_cards(folder / "context_cards.jsonl")
    assert report.cards == hash_card_set(cards)[:12]
    assert report.n_clusters == len({card.claim.subj for card in cards})
    fixed = measure(read_observations([folder / "graph_rag_results_fixed.jsonl"]), QUICK_PLAN)
    metrics = fixed.policies["published"].systems["graph_rag"].metrics
    assert [metrics[name].value for name in (*EXPLANATORY_METRICS, "accuracy")] == [1, 1, 0, 1, 0.5]


def test_results_are_checked_against_their_cards(
    card_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = card_file(9)
    cards = read_cards(path)
    rows = [
        {"id": card.id, "gold": card.gold, "label": card.label, "pred": "YES", "system": "s"}
        for card in cards
    ]
    observations = check_cards(read_observations([write_rows(tmp_path / "r", rows)]), [path])
    assert observations.card_set == hash_card_set(cards)[:12]
    assert set(observations.kinds) == {"hiddenkind0", "hiddenkind1", "hiddenkind2", "hiddenkind3"}
    assert observations.n_clusters == 9
    assert observations.notes == ()
    partial = check_cards(read_observations([write_rows(tmp_path / "r", rows[:5])]), [path])
    assert any("4 of 9 cards have no result" in note for note in partial.notes)
    named_rows = [{**row, "cards": observations.card_set} for row in rows]
    assert (
        check_cards(read_observations([write_rows(tmp_path / "r", named_rows)]), [path]).card_set
        == observations.card_set
    )
    with pytest.raises(CardSetMismatchError, match="these cards are"):
        check_cards(
            read_observations([write_rows(tmp_path / "r", [{**r, "cards": "beef"} for r in rows])]),
            [path],
        )
    with pytest.raises(CardSetMismatchError, match="do not contain it"):
        check_cards(
            read_observations([write_rows(tmp_path / "r", [{**rows[0], "id": "x"}])]), [path]
        )
    changed_row = {**rows[0], "label": "U", "gold": "UNKNOWN"}
    with pytest.raises(CardSetMismatchError, match="as E"):
        check_cards(read_observations([write_rows(tmp_path / "r", [changed_row])]), [path])
    with pytest.raises(DuplicateIdError, match="occurs twice"):
        check_cards(observations, [path, path])


@pytest.mark.parametrize("n_answered", [1200, 1199])
def test_the_order_of_the_cards_does_not_matter(
    n_answered: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cards are compared with the rows in their order first, and looked up if it differs."""
    monkeypatch.setattr(kg.base.files, "_BLOCK_BYTES", 9_000)
    files = [tmp_path / "in order.jsonl", tmp_path / "shuffled.jsonl"]
    cards = [
        Card(
            id=f"{number * 7919 % 2003:04x}",
            facts=(f"Fact {number}.",),
            question=f"Question {number}?",
            gold=GOLD_OF_LABEL[label],
            label=label,
            claim=Claim(f"https://e/{number}", "https://e/p", "https://e/o"),
            kind=f"kind {number % 5}",
            difficulty=("easy", "hard")[number % 2],
            meta={"mined_rules": label == "C" and number % 4 == 1},
        )
        for number, label in enumerate([*LABELS] * 400)
    ]
    write_cards(files[0], cards)
    write_cards(files[1], random.Random(1).sample(cards, len(cards)))
    rows = [
        {"id": card.id, "gold": card.gold, "label": card.label, "pred": "YES"}
        for card in cards[:n_answered]
    ]
    rows_file = write_rows(tmp_path / "r", rows)
    ordered, shuffled = (check_cards(read_observations([rows_file]), [path]) for path in files)
    by_id = {card.id: card for card in cards}
    for found in (ordered, shuffled):
        assert list(found.kinds) == [by_id[id_].kind for id_ in found.ids]
        assert list(found.difficulties) == [by_id[id_].difficulty for id_ in found.ids]
        assert found.mined.tolist() == [by_id[id_].rests_on_mined_rules for id_ in found.ids]
    assert ordered.clusters.tolist() == shuffled.clusters.tolist()
    assert ordered.notes == shuffled.notes
    # A card that comes again may be in order with the rows the first time, or the second.
    for doubled in ([*cards, cards[0]], [cards[0], *cards], [cards[1100], *cards[1:]]):
        write_cards(files[1], doubled)
        with pytest.raises(DuplicateIdError, match="occurs twice"):
            check_cards(read_observations([rows_file]), [files[1]])


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"id": "a", "gold": "YES", "pred": "YES"}] * 2, 13),
        ([{"id": "a", "gold": "PERHAPS", "pred": "YES"}], 12),
        ([{"id": i, "gold": "YES", "pred": "YES", "cards": i} for i in "ab"], 14),
    ],
)
def test_script_ends_with_one_line_and_an_exit_code(
    tmp_path: Path, rows: list[dict[str, Any]], code: int
) -> None:
    path = write_rows(tmp_path / "r.jsonl", rows)
    process = subprocess.run(
        [
            sys.executable,
            PRODUCT / "eval/metrics_abstention.py",
            "--results",
            path,
            "--out",
            tmp_path / "m",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == code
    assert process.stderr.startswith("error: ")
    assert len(process.stderr.splitlines()) == 1
    assert not (tmp_path / "m").exists()


def test_codes_cover_gold_and_label() -> None:
    assert {GOLD_OF_LABEL[label]: code for label, code in LABEL_CODE.items()} == GOLD_CODE


def test_near_misses_are_separate_unless_alone(tmp_path: Path) -> None:
    rows = make_rows("good", answer_well)
    headline_report = measure(
        read_observations([write_rows(tmp_path / "a.jsonl", rows)]), QUICK_PLAN
    )
    near_miss_rows = [
        {**row, "id": f"n{row['id']}", "kind": "near-miss/sibling", "pred": "YES", "pass": False}
        for row in rows
        if row["label"] == "C"
    ]
    full_report = measure(
        read_observations([write_rows(tmp_path / "b.jsonl", rows + near_miss_rows)]), QUICK_PLAN
    )
    assert (full_report.n_cards, full_report.n_near_misses) == (
        headline_report.n_cards,
        len(near_miss_rows),
    )
    system, headline_system = (
        measured.policies["licensed"].systems["good"] for measured in (full_report, headline_report)
    )
    assert system.metrics == headline_system.metrics
    assert list(system.near_misses) == ["all near-misses"]
    assert headline_system.near_misses == {}
    assert system.near_misses["all near-misses"].metrics["CVRR"].value == 0.0
    assert any(
        f"{len(near_miss_rows)} near-miss cards are reported separately" in note
        for note in full_report.notes
    )
    near_miss_report = measure(
        read_observations([write_rows(tmp_path / "c.jsonl", near_miss_rows)]), QUICK_PLAN
    )
    assert (near_miss_report.n_cards, near_miss_report.n_near_misses) == (len(near_miss_rows), 0)
    assert near_miss_report.policies["licensed"].systems["good"].metrics["CVRR"].value == 0.0
