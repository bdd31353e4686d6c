"""Tests that systems are asked on damaged graphs, and that the curves are what the rows say."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from pathlib import Path

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings
from stage_calls import check_error_line, run_epoche

from cards.card import CardView, read_cards
from eval.abstention.degradation.curves import (
    CURVE_METRICS,
    Degradation,
    DegradationPoint,
    find_crossings,
    read_degradation,
)
from eval.abstention.degradation.degraded_graph import (
    GraphDegrader,
    Level,
    list_degraded_sentences,
)
from eval.abstention.degradation.degraded_system import show_degraded_cards
from eval.abstention.degradation.run import parse_levels
from eval.abstention.degradation.section import describe_degradation
from eval.abstention.result import Answer, read_results
from eval.abstention.systems.kg_oracle import KgOracle
from eval.metrics.comparison import Comparison
from eval.metrics.record_digest import add_digest
from eval.stats.estimates import Estimate
from eval.stats.paired_tests import adjust_holm
from kg.base.errors import SettingError
from kg.fact_predicates import find_fact_predicates
from kg.knowledge import KnowledgeBase

SKILL = CURVE_METRICS[0]


@pytest.fixture(scope="module")
def mayors() -> KnowledgeBase:
    return KnowledgeBase.open("mayors")


@pytest.fixture(scope="module")
def cards_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "cards.jsonl"
    run_epoche("cards", "--domain", "mayors", "--num-per-type", 25, "--out", path)
    return path


@pytest.fixture(scope="module")
def curves(cards_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("curves")
    done = run_epoche("degrade", "--cards", cards_file, "--out", out, "--replace", ".2")
    assert done.code == 0, done.err
    return out


shares = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.4, 0.9])


@settings(max_examples=25, deadline=None)
@given(first=shares, second=shares, seed=st.integers(0, 5))
def test_a_smaller_share_of_the_facts_is_part_of_a_larger_one(
    first: float, second: float, seed: int
):
    kb = KnowledgeBase.open_cached("mayors")
    degrader = GraphDegrader(kb, seed)
    low, high = sorted((first, second))
    less, more = degrader.degrade(Level(low)), degrader.degrade(Level(high))
    assert less.dropped <= more.dropped
    assert len(less.dropped) == round(low * degrader.n_facts)
    less, more = degrader.degrade(Level(0, low)), degrader.degrade(Level(0, high))
    assert less.replaced.items() <= more.replaced.items()
    assert less.dropped == frozenset()


@pytest.mark.parametrize("level", [Level(0.3), Level(0, 0.3), Level(0.2, 0.2), Level()])
def test_only_facts_are_lost_and_what_replaces_them_was_false(level: Level, mayors: KnowledgeBase):
    degraded = GraphDegrader(mayors, 1).degrade(level)
    before, after = set(mayors.graph.iter_claims()), set(degraded.graph.iter_claims())
    lost, new = before - after, after - before
    assert lost == degraded.dropped | degraded.replaced.keys()
    assert new == set(degraded.replaced.values())
    terms = mayors.graph.index.terms
    fact_predicates = {
        terms.get_text(p) for p in find_fact_predicates(mayors.domain, mayors.graph.index)
    }
    assert {claim.pred for claim in lost | new} <= fact_predicates
    for old, other in degraded.replaced.items():
        assert (old.subj, old.pred) == (other.subj, other.pred)
        assert old.obj != other.obj
    assert len(after) == len(before) - len(degraded.dropped)
    assert GraphDegrader(mayors, 1).degrade(level).graph.sha256 == degraded.graph.sha256


def test_seeds_damage_different_facts(mayors: KnowledgeBase):
    dropped = [GraphDegrader(mayors, seed).degrade(Level(0.3)).dropped for seed in (1, 2)]
    assert dropped[0] != dropped[1]


class Reader:
    """Answers with the facts that it is shown."""

    name = "reader"
    model = "some/model"

    def params(self) -> dict[str, int]:
        return {"size": 3}

    def answer(self, card: CardView) -> Answer:
        return Answer(pred="UNKNOWN", raw="\n".join(card.facts))


class AsyncReader(Reader):
    async def answer(self, card: CardView) -> Answer:
        return Answer(pred="UNKNOWN", raw="\n".join(card.facts))


@pytest.mark.parametrize("system", [Reader(), AsyncReader()])
def test_a_card_shows_only_what_the_graph_still_says(
    system: Reader, cards_file: Path, mayors: KnowledgeBase
):
    level = Level(0.3, 0.2)
    degraded = GraphDegrader(mayors, 1).degrade(level)
    cards = read_cards(cards_file)
    sentences = list_degraded_sentences(cards, degraded, mayors, str(cards_file))
    shown = show_degraded_cards(system, level, sentences)
    assert shown.name == "reader"
    assert shown.model == "some/model"  # type: ignore[union-attr]
    assert shown.params() == {"size": 3, "degradation": {"dropped": 0.3, "replaced": 0.2}}
    n_lost = n_changed = 0
    for card in cards:
        answer = shown.answer(card.view)  # type: ignore[union-attr]
        reply = asyncio.run(answer) if asyncio.iscoroutine(answer) else answer
        expected = []
        for sentence, triple in zip(card.facts, card.meta["triples"], strict=True):
            row = triple.get("denied", triple)
            fact = next(
                c
                for c in [*degraded.dropped, *degraded.replaced, None]
                if c is None or [c.subj, c.pred, c.obj] == [row["subj"], row["pred"], row["obj"]]
            )
            if fact is None or "denied" in triple:
                expected.append(sentence)
            elif fact in degraded.replaced:
                n_changed += 1
                expected.append(mayors.verbaliser.render_fact(degraded.replaced[fact]))
                assert expected[-1] != sentence
            else:
                n_lost += 1
        assert reply.raw == "\n".join(expected)
    assert n_lost > 10
    assert n_changed > 10


def test_the_oracle_receives_the_claim_itself(mayors: KnowledgeBase):
    oracle = KgOracle(mayors)
    assert show_degraded_cards(oracle, Level(0.1), {}) is oracle


def test_curves_say_what_the_metrics_of_each_file_say(
    curves: Path, cards_file: Path, tmp_path: Path
):
    found = read_degradation(curves / "degradation.json")
    assert found.systems == ("graph_rag", "rag")
    assert [point.level.name for point in found.points] == [
        "intact", "dropped-10", "dropped-20", "dropped-30", "dropped-40", "replaced-20",
    ]  # fmt: skip
    for point in found.points:
        for system in found.systems:
            file = curves / point.level.name / f"{system}_results.jsonl"
            out = tmp_path / "metrics.json"
            run_epoche("metrics", "--cards", cards_file, "--results", file, "--out", out)
            metrics = json.loads(out.read_bytes())["policies"]["licensed"]["systems"][system]
            for name in CURVE_METRICS:
                expected = metrics["metrics"][name]
                estimate = point.estimates[system][name]
                assert estimate.value == pytest.approx(expected["value"])
                assert (estimate.low, estimate.high) == (expected["low"], expected["high"])
    family = [pair for point in found.points for pair in point.comparisons]
    assert len(family) == 6
    assert any(pair.p is not None for pair in family)
    for pair, expected in zip(family, adjust_holm([p.p for p in family]), strict=True):
        assert pair.p_holm == (expected if expected is None else pytest.approx(expected))


def test_a_graph_system_loses_skill_as_its_graph_loses_facts(curves: Path):
    found = read_degradation(curves / "degradation.json")
    skills = [point.estimates["graph_rag"][SKILL].value for point in found.select_curve("dropped")]
    assert skills == sorted(skills, reverse=True)
    assert skills[0] == 1.0
    assert skills[-1] < 0.8
    # It never answers falsely for lack of facts, only for wrong ones.
    assert found.select_curve("dropped")[-1].estimates["graph_rag"]["FAR-NE"].value == 0.0
    assert found.select_curve("replaced")[-1].estimates["graph_rag"]["false_denial_rate"].value > 0


def test_gold_and_labels_stay(curves: Path, cards_file: Path):
    gold = {card.id: (card.gold, card.label) for card in read_cards(cards_file)}
    rows = list(read_results(curves / "dropped-40" / "graph_rag_results.jsonl"))
    assert {row.id: (row.gold, row.label) for row in rows} == gold
    manifest = json.loads((curves / "dropped-40" / "rag_results.manifest.json").read_bytes())
    assert manifest["other_graph"] is True
    assert manifest["params"]["degradation"] == {"dropped": 0.4, "replaced": 0.0}


def test_the_same_call_asks_nothing_again_and_gives_equal_curves(curves: Path, cards_file: Path):
    before = (curves / "degradation.json").read_bytes()
    done = run_epoche("degrade", "--cards", cards_file, "--out", curves, "--replace", ".2")
    assert re.findall(r": (\d+) answers", done.out) == ["0"] * 12
    assert (curves / "degradation.json").read_bytes() == before
    assert "With 40 % of the facts dropped, skill@.5 goes from" in done.out


def test_the_report_has_the_curves_of_its_cards_only(
    curves: Path, cards_file: Path, tmp_path: Path
):
    results = curves / "intact" / "rag_results.jsonl"
    metrics, out = tmp_path / "metrics.json", tmp_path / "report.html"
    run_epoche("metrics", "--cards", cards_file, "--results", results, "--out", metrics)
    inputs = ("--cards", cards_file, "--results", results, "--metrics", metrics, "--out", out)
    assert run_epoche("report", *inputs, "--section", curves).code == 0
    page = out.read_text("utf-8")
    assert "When the evidence gets worse" in page
    assert "share of facts dropped" in page
    other = tmp_path / "other"
    other.mkdir()
    found = read_degradation(curves / "degradation.json")
    foreign = msgspec.structs.replace(found, cards="0" * 12)
    (other / "degradation.json").write_bytes(msgspec.json.encode(foreign))
    edited = run_epoche("report", *inputs, "--section", other)
    assert "degradation.json were changed" in check_error_line(edited, 40)
    (other / "degradation.json").write_bytes(msgspec.json.encode(add_digest(foreign)))
    done = run_epoche("report", *inputs, "--section", other)
    assert done.code == 0
    assert "is about other cards (000000000000)" in done.err
    assert "When the evidence gets worse" not in out.read_text("utf-8")
    alone = run_epoche("report", other, "--out", tmp_path / "alone.html")
    assert alone.code == 0
    assert "When the evidence gets worse" in (tmp_path / "alone.html").read_text("utf-8")


def make_point(
    share: float, difference: float | None, better: str | None = None
) -> DegradationPoint:
    pair = Comparison(
        metric=SKILL, candidate="a", baseline="b", difference=difference, better=better
    )
    return DegradationPoint(
        dropped=share, replaced=0, n_dropped=0, n_replaced=0, graph="", graph_sha256="",
        estimates={name: {SKILL: Estimate(value=0.5)} for name in "ab"}, comparisons=(pair,),
    )  # fmt: skip


@given(st.lists(st.sampled_from([-0.2, 0.0, 0.3, None]), max_size=8))
def test_crossings_are_changes_of_sign(differences: list[float | None]):
    points = [make_point(n / 10, value) for n, value in enumerate(differences)]
    signed = [(n / 10, value) for n, value in enumerate(differences) if value]
    expected = [
        (low, high)
        for (low, first), (high, second) in itertools.pairwise(signed)
        if first * second < 0
    ]
    assert [(found.low, found.high) for found in find_crossings(points)] == expected


@pytest.mark.parametrize(
    ("tested", "sentence"),
    [
        # The line of a is first above, then below that of b.
        ("aa..bb", "a is better at 0 % and 10 %, b at 40 % and 50 % (paired tests)."),
        ("..a.bb", "a is better at 20 %, b at 40 % and 50 % (paired tests)."),
        (
            "aaa...",
            "The lines of a and b cross between 20 % and 30 %, which the tests cannot show.",
        ),
        (
            ".....b",
            "The lines of a and b cross between 20 % and 30 %, which the tests cannot show.",
        ),
    ],
)
def test_a_crossing_names_the_levels_at_which_tests_find_a_better_system(
    tested: str, sentence: str
):
    points = tuple(
        make_point(n / 10, 0.2 if n < 3 else -0.2, None if letter == "." else letter)
        for n, letter in enumerate(tested)
    )
    degradation = Degradation(
        version="0", cards="", n_cards=1, n_facts=1, systems=("a", "b"), seed=1, resamples=1,
        confidence=0.95, points=points,
    )  # fmt: skip
    assert list(describe_degradation(degradation))[1:] == [sentence]


def test_levels_start_with_the_whole_graph():
    assert parse_levels(".2, .1,.2", "") == [Level(), Level(0.1), Level(0.2)]
    assert parse_levels("", ".05,0") == [Level(), Level(0, 0.05)]


@pytest.mark.parametrize("text", ["1", "-.1", "ten", "nan", "inf", ".95"])
def test_what_is_no_share_is_refused(text: str):
    with pytest.raises(SettingError, match="is no share between"):
        parse_levels(f".1,{text}", "")
    with pytest.raises(SettingError, match="no share of the facts is given"):
        parse_levels("0", "")


def test_cards_that_do_not_say_what_their_facts_state_are_refused(cards_file: Path, tmp_path: Path):
    rows = [json.loads(line) for line in cards_file.read_bytes().splitlines()]
    for row in rows:
        del row["meta"]["triples"]
    path = tmp_path / "cards.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = run_epoche("degrade", "--cards", path, "--domain", "mayors", "--out", tmp_path / "out")
    assert done.code == 12
    assert str(path) in done.err
    assert "does not say which triples its facts state" in done.err


@pytest.mark.parametrize("text", ["{", '{"schema":"epoche.comparison/1"}', "[]", '"\xff'])
def test_a_damaged_file_of_curves_is_named(text: str, tmp_path: Path):
    (tmp_path / "degradation.json").write_bytes(text.encode("latin-1"))
    done = run_epoche("report", tmp_path, "--out", tmp_path / "page.html")
    assert done.code != 0
    assert "not curves of `epoche degrade`" in done.err
    assert "degradation.json" in done.err


def test_one_system_needs_no_pairs(cards_file: Path, tmp_path: Path):
    done = run_epoche(
        "degrade", "--cards", cards_file, "--out", tmp_path, "--system", "kg", "--drop", ".4",
        "--replace", "",
    )  # fmt: skip
    assert done.code == 0
    found = read_degradation(tmp_path / "degradation.json")
    assert found.points[0].estimates["kg"][SKILL].value == 1.0
    assert found.points[1].estimates["kg"][SKILL].value < 1.0
    assert not any(point.comparisons for point in found.points)
    assert isinstance(found, Degradation)
