"""Tests of the wording of the five answers, on metrics changed to have each case."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eval.abstention.manifest import RunManifest
from eval.abstention.metrics.groups import add_memory_tests, compute_memory
from eval.abstention.metrics.record import CardComparison, GroupReport, MetricsReport
from eval.harness.totals import CallTotals
from eval.metrics.metric_value import MetricValue
from eval.metrics.signature import Signature
from eval.model.usage import Usage
from kg.base.proportions import wilson_interval
from reporting.card_report.buyer_answers import BuyerAnswers
from reporting.card_report.inputs import read_inputs
from reporting.card_report.report_view import ReportView
from reporting.card_report.usage import UsageTally

replace = msgspec.structs.replace
SIGNATURE = Signature(metric="", cards="", policy="", resamples=1, seed=1, version="1")


@pytest.fixture(scope="module")
def metrics(finished_run: Any) -> MetricsReport:
    return read_inputs(finished_run.results, finished_run.metrics).metrics


def answer(report: MetricsReport, **options: Any) -> dict[str, str]:
    usage = options.pop("usage", {})
    found = BuyerAnswers(ReportView(report), usage, **options).list_answers()
    return {item.key: item.text for item in found}


def change_systems(report: MetricsReport, **changes: dict[str, Any]) -> MetricsReport:
    """Changes fields of systems under policy ``licensed``."""
    policy = report.policies["licensed"]
    systems = {name: replace(s, **changes.get(name, {})) for name, s in policy.systems.items()}
    return replace(
        report, policies={**report.policies, "licensed": replace(policy, systems=systems)}
    )


def make_value(value: float, low: float, high: float, **fields: Any) -> MetricValue:
    fields = {"method": "newcombe", "n": 100, "higher_is_better": True, **fields}
    return MetricValue(value=value, low=low, high=high, **fields)


def rank(report: MetricsReport, **values: tuple[float, float, float]) -> MetricsReport:
    """Gives systems other values of skill@.5."""
    systems = report.policies["licensed"].systems
    changes = {
        name: {"metrics": {**systems[name].metrics, "skill@.5": make_value(*value)}}
        for name, value in values.items()
    }
    return change_systems(report, **changes)


def compare(candidate: str, baseline: str, better: str | None, **fields: Any) -> CardComparison:
    fields = {"difference": 0.2, "low": 0.1, "high": 0.3, "p": 0.004, "p_holm": 0.012, **fields}
    return CardComparison(
        policy="licensed",
        metric="skill@.5",
        candidate=candidate,
        baseline=baseline,
        better=better,
        **fields,
    )


RANKED = {"kg": (1.0, 0.9, 1.0), "careful": (0.6, 0.5, 0.7), "hasty": (0.4, 0.3, 0.5)}


def test_a_sure_difference_is_said_from_the_side_of_the_best_system(metrics):
    pair = compare("hasty", "careful", "careful", difference=-0.2, low=-0.3, high=-0.1)
    report = replace(rank(metrics, **RANKED), comparisons=(pair,))
    found = answer(report)
    assert found["best"] == (
        "careful with skill 0.600 (0.500 to 0.700): 1 is perfect, always answering UNKNOWN "
        "scores 0."
    )
    assert found["difference"] == (
        "careful has 0.200 more skill than hasty (difference 0.100 to 0.300); sure by a paired "
        "test, p = 0.012."
    )


def test_systems_that_no_test_tells_from_the_best_are_named_with_it(metrics):
    pair = compare("careful", "hasty", None, low=-0.1, p_holm=0.21)
    found = answer(replace(rank(metrics, **RANKED), comparisons=(pair,)))
    assert found["best"] == (
        "careful with skill 0.600 (0.500 to 0.700), not surely ahead of hasty 0.400: 1 is perfect, "
        "always answering UNKNOWN scores 0."
    )
    assert (
        "(difference −0.100 to 0.300); not sure by a paired test, p = 0.210." in found["difference"]
    )


def test_a_small_p_whose_interval_includes_zero_is_not_sure(metrics):
    pair = compare("careful", "hasty", None, low=-0.1, p=0.001, p_holm=0.001)
    found = answer(replace(rank(metrics, **RANKED), comparisons=(pair,)))
    assert found["difference"] == (
        "careful has 0.200 more skill than hasty (difference −0.100 to 0.300); not sure: a paired "
        "test has p = 0.001, but the interval includes 0."
    )


def test_without_a_test_no_difference_is_sure(metrics):
    pair = compare(
        "careful", "hasty", None, difference=0.0, low=-0.1, high=0.1, p=None, p_holm=None
    )
    found = answer(replace(rank(metrics, **RANKED), comparisons=(pair,)))
    assert found["difference"] == (
        "careful has the same skill as hasty (difference −0.100 to 0.100); not sure, since no test "
        "is possible on these cards."
    )
    found = answer(replace(rank(metrics, **RANKED), comparisons=()))
    assert found["difference"] == (
        "Whether careful is better than hasty is not known: there is no paired test of the two."
    )
    pair = compare("careful", "hasty", "hasty", difference=-0.2, low=-0.3, high=-0.1)
    found = answer(replace(rank(metrics, **RANKED), comparisons=(pair,)))
    assert found["difference"].startswith(
        "careful has 0.200 less skill than hasty (difference −0.300 to −0.100); sure"
    )


def test_no_system_is_tied_that_was_not_tested(metrics):
    """With many systems there are no pairs: nobody may be called not surely ahead of them."""
    found = answer(replace(rank(metrics, **RANKED), comparisons=()))
    assert found["best"] == (
        "careful with skill 0.600 (0.500 to 0.700): 1 is perfect, always answering UNKNOWN scores "
        "0. No test could be done against hasty 0.400."
    )
    untested = compare("careful", "hasty", None, p=None, p_holm=None)
    found = answer(replace(rank(metrics, **RANKED), comparisons=(untested,)))
    assert "not surely ahead" not in found["best"]


def test_a_best_system_that_may_be_no_better_than_silence_is_called_so(metrics):
    report = rank(metrics, kg=(1.0, 0.9, 1.0), careful=(0.05, -0.1, 0.2), hasty=(-0.4, -0.5, -0.3))
    report = replace(report, comparisons=(compare("careful", "hasty", "careful"),))
    assert answer(report)["best"].endswith(
        "always answering UNKNOWN scores 0. The interval of careful includes 0, so it may be no "
        "better than a system that never answers."
    )
    view = ReportView(report)
    assert BuyerAnswers(view, {}).build_chart().low == -1.0
    below = rank(metrics, kg=(1.0, 0.9, 1.0), careful=(-0.2, -0.3, -0.1), hasty=(-0.4, -0.5, -0.3))
    assert answer(replace(below, comparisons=report.comparisons))["best"].endswith(
        "The whole interval of careful is below 0: it is worse than a system that never answers."
    )


def test_only_the_oracle_is_said_to_be_shown_the_claim(metrics):
    policy = metrics.policies["licensed"]
    alone = replace(policy, systems={"kg": policy.systems["kg"]})
    found = answer(replace(metrics, policies={"licensed": alone}, comparisons=()))
    assert "the only system compared" in found["best"]
    assert found["best"].endswith("kg is an oracle: it is shown the claim itself.")
    assert found["difference"].startswith("kg has ")
    assert "than always-UNKNOWN, a control that ignores the question; " in found["difference"]


def test_a_system_that_asks_the_graph_of_the_labels_is_called_so(metrics):
    policy = metrics.policies["licensed"]
    systems = {"graph_rag": policy.systems["careful"], "hasty": policy.systems["hasty"]}
    report = replace(metrics, policies={"licensed": replace(policy, systems=systems)})
    first = rank(report, graph_rag=(1.0, 0.9, 1.0), hasty=(0.1, 0.05, 0.2))
    checked = "graph_rag checks its answers with the graph that proves the labels"
    assert checked in answer(first)["best"]
    behind = rank(report, graph_rag=(0.1, 0.05, 0.2), hasty=(1.0, 0.9, 1.0))
    assert answer(behind)["best"].startswith("hasty with ")
    assert "proves the labels" not in answer(behind)["best"]


def test_a_system_may_have_the_skill_of_a_control(metrics):
    report = rank(metrics, careful=(0.0, -0.1, 0.1))
    policy = report.policies["licensed"]
    alone = replace(policy, systems={"careful": policy.systems["careful"]})
    found = answer(replace(report, policies={"licensed": alone}, comparisons=()))
    assert found["difference"].startswith(
        "careful has the same skill as always-UNKNOWN, a control that ignores the question; not "
        "sure, since"
    )


def test_the_example_shows_who_is_better_only_if_a_test_says_so(metrics):
    for better, title in (
        ("careful", "One card, two answers"),
        (None, "One card on which they differ"),
    ):
        pair = compare("careful", "hasty", better)
        view = ReportView(replace(rank(metrics, **RANKED), comparisons=(pair,)))
        assert BuyerAnswers(view, {}).example_title == title


def test_the_worst_kind_is_not_the_one_that_is_worst_by_chance(metrics):
    kinds = {
        name: GroupReport(
            n_cards=n, n_clusters=n, table={"U": {"YES": wrong, "UNKNOWN": n - wrong}}, metrics={}
        )
        for name, n, wrong in (("small", 10, 3), ("large", 200, 50), ("easy", 200, 2))
    }
    report = change_systems(rank(metrics, **RANKED), careful={"per_kind": kinds})
    assert "most often wrong on cards of kind large (50 of 200)" in answer(report)["failures"]


def make_kind(wrong: int, n: int, label: str = "U") -> GroupReport:
    gold = {"E": "YES", "C": "NO", "U": "UNKNOWN"}[label]
    table = {label: {"NO" if label == "E" else "YES": wrong, gold: n - wrong}}
    return GroupReport(n_cards=n, n_clusters=n, table=table, metrics={})


def test_no_kind_is_the_worst_of_a_system_that_fails_at_random(metrics):
    kinds = {"asserted": make_kind(25, 99), "inferred": make_kind(20, 100), "b": make_kind(19, 98)}
    report = change_systems(rank(metrics, **RANKED), careful={"per_kind": kinds})
    assert "most often" not in answer(report)["failures"].partition(" hasty ")[0]
    # It fails on E cards only, at random: kinds of other labels are no evidence.
    of_labels = {"a": make_kind(25, 99, "E"), "i": make_kind(18, 101, "E"), "u": make_kind(0, 200)}
    report = change_systems(rank(metrics, **RANKED), careful={"per_kind": of_labels})
    assert "most often" not in answer(report)["failures"].partition(" hasty ")[0]


def test_cards_with_changed_facts_are_kinds_too(metrics):
    changed = replace(make_kind(50, 50), metrics={"accuracy": make_value(0.0, 0.0, 0.07)})
    report = change_systems(
        rank(metrics, **RANKED),
        careful={
            "per_kind": {"asserted": make_kind(25, 99)},
            "faithfulness": {"counterfactual": changed},
        },
    )
    assert (
        "most often wrong on cards of kind counterfactual (50 of 50)"
        in (answer(report)["failures"])
    )


def make_groups(
    true: tuple[int, int], others: tuple[int, int], unusable: int = 0
) -> dict[str, GroupReport]:
    """Makes the groups of U cards from the numbers of YES and of cards; the rest is UNKNOWN."""
    groups = {}
    for name, (yes, n) in (("true in the graph", true), ("others", others)):
        row = {"YES": yes, "UNKNOWN": n - yes - unusable, "ERROR": unusable}
        low, high = wilson_interval(yes, n)
        groups[name] = GroupReport(
            n_cards=n,
            n_clusters=n,
            table={"U": row},
            metrics={"yes_rate": make_value(yes / n, low, high, n=n)},
        )
    return groups


def answer_memory(report: MetricsReport, **groups: dict[str, GroupReport]) -> dict[str, str]:
    """Adds groups of U cards and the tests on them, and answers."""
    changed = change_systems(
        report,
        **{
            name: {"set_aside": found, "memory": compute_memory(found, SIGNATURE)}
            for name, found in groups.items()
        },
    )
    policy = changed.policies["licensed"]
    tested = replace(policy, systems=add_memory_tests(policy.systems))
    return answer(replace(changed, policies={**changed.policies, "licensed": tested}))


def test_memory_is_found_or_excluded_only_by_a_test(metrics):
    report = rank(metrics, **RANKED)
    found = answer_memory(
        report, careful=make_groups((0, 100), (0, 120)), hasty=make_groups((15, 80), (0, 120))
    )
    assert found["memory"] == (
        "No sign of memory in careful: 100 true claims kept from the systems get YES less than 10 "
        "percentage points more often than 120 other unknown ones. hasty remembers, or guesses "
        "from related facts: YES to 19 % of 80 true claims kept from it, and to 0 % of 120 other "
        "unknown ones (difference 0.111–0.287)."
    )
    assert answer(metrics)["memory"] == ("Not measured: no true claims were kept from the systems.")


def test_few_cards_cannot_tell_of_memory(metrics):
    report = rank(metrics, **RANKED)
    few = make_groups((0, 20), (0, 20))
    assert answer_memory(report, careful=few, hasty=few)["memory"] == (
        "Cannot tell for careful and hasty, with 20 true claims kept from the systems and 20 other "
        "unknown ones: the claims kept from them may get YES up to 16 percentage points more often."
    )


def test_failed_calls_do_not_clear_a_system_of_memory(metrics):
    report = rank(metrics, **RANKED)
    found = answer_memory(report, careful=make_groups((0, 100), (0, 100), unusable=100))
    assert found["memory"].startswith("Cannot tell for careful")


def test_what_is_found_of_a_system_does_not_depend_on_others(metrics):
    report = rank(metrics, **RANKED)
    clear = make_groups((8, 80), (0, 80))
    alone = answer_memory(report, careful=clear)["memory"]
    assert alone.startswith("careful remembers")
    others = dict.fromkeys(("hasty", "kg"), make_groups((2, 60), (0, 60)))
    assert answer_memory(report, careful=clear, **others)["memory"].startswith(alone.rstrip("."))


def test_a_system_that_does_not_read_is_not_cleared_of_memory(metrics):
    """It ignores the facts, or answers against them where they were changed."""
    groups = make_groups((0, 100), (0, 100))
    report = rank(metrics, **RANKED)
    entailed = report.policies["licensed"].systems["careful"].per_label["E"]
    silent = replace(entailed, table={"E": {"YES": 0, "UNKNOWN": entailed.n_cards}})
    ignores = change_systems(report, careful={"per_label": {"E": silent}})
    assert answer_memory(ignores, careful=groups)["memory"] == (
        "Cannot tell for careful: it is not shown to say YES more often where facts "
        "support it, or answers against the facts on the card."
    )
    wrong = GroupReport(
        n_cards=50, n_clusters=50, table={"C": {"YES": 50}},
        metrics={"accuracy": make_value(0.0, 0.0, 0.07)},
    )  # fmt: skip
    contradicts = change_systems(report, careful={"faithfulness": {"counterfactual": wrong}})
    found = answer_memory(contradicts, careful=groups)["memory"]
    assert found.startswith("Cannot tell for careful: it is not shown")
    assert "No sign of memory" not in found


def test_answers_against_the_card_are_said_in_words(metrics):
    def make_faithfulness(right: float) -> dict[str, GroupReport]:
        accuracy = make_value(right, 0, 1)
        return {
            kind: GroupReport(
                n_cards=100, n_clusters=9, table={}, metrics={"accuracy": accuracy, "yes_rate": no}
            )
            for kind, no in (("counterfactual", accuracy), ("withheld", make_value(0, 0, 1)))
        }

    report = change_systems(
        rank(metrics, **RANKED),
        careful={"faithfulness": make_faithfulness(0.96)},
        hasty={"faithfulness": make_faithfulness(0.0)},
    )
    text = (
        "Right by the card where memory and graph are wrong: of 100 cards "
        "whose facts contradict the graph, careful 96 % and hasty 0 %"
    )
    assert answer(report)["memory"].endswith(f"{text}.")
    groups = make_groups((0, 100), (0, 100))
    assert answer_memory(report, careful=groups, hasty=groups)["memory"].endswith(
        f"{text}; of 100 whose answering fact was removed, careful 96 % and hasty 0 %."
    )


def test_withheld_cards_tell_of_memory_where_no_claims_were_set_aside(metrics):
    group = GroupReport(
        n_cards=40, n_clusters=9, table={}, metrics={"yes_rate": make_value(0.25, 0.1, 0.4)}
    )
    report = change_systems(rank(metrics, **RANKED), careful={"faithfulness": {"withheld": group}})
    assert answer(report)["memory"] == (
        "careful says YES on 25 % of 40 cards from which the fact that answers them was removed: "
        "remembered, or guessed."
    )


def test_cost_counts_the_calls_of_the_manifest(metrics, finished_run):
    tally = UsageTally()
    for seconds in (0.5, 0.7, 3.0):
        usage = Usage(prompt_tokens=1_000, completion_tokens=50, cost_usd=0.5)
        tally.add_row(usage, seconds, None)
    manifest = RunManifest(
        results="r.jsonl", cards_file="c.jsonl", cards_sha256="0", cards_file_sha256="0",
        card_count=3, system="careful", systems=("careful",), seed=1, status="complete",
        started="2026-01-01T00:00:00+00:00", calls=CallTotals(replies=9),
    )  # fmt: skip
    found = answer(metrics, usage={"careful": tally}, manifests=[manifest])
    assert found["cost"] == (
        "careful: 9 calls, 3,150 tokens, 1.50 USD, 0.700 s per card. The results do "
        "not say what kg and hasty cost."
    )
    given = replace(manifest, system="predictions", systems=("kg", "hasty"))
    found = answer(metrics, usage={"careful": tally}, manifests=[manifest, given])
    assert found["cost"].endswith(
        "per card. Answers given as files, at a cost not known: kg and hasty."
    )
    given = replace(given, systems=("kg", "careful", "hasty"))
    assert answer(metrics, manifests=[given])["cost"] == (
        "Not known: the answers were given as files."
    )
    tally.add_row(Usage(prompt_tokens=0, completion_tokens=0, cost_usd=None), None, None)
    assert "no known price" in answer(metrics, usage={"careful": tally})["cost"]
