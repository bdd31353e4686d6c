"""Can the harness tell? Corpora where the graph must help, cannot help, or makes no difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from eval.ranking.ablation import Alternative, Fuser, variants
from eval.ranking.differences import compare
from eval.ranking.measures import HEADLINE
from eval.ranking.measuring import Plan, measure, question_set
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank
from eval.ranking.record import ALL, Corpus, Difference, RetrievalReport
from eval.ranking.samples import Samples
from eval.ranking.tuning import shares, tune
from eval.ranking.words import markdown, spoken, table, verdict
from eval.stats.intervals import Draws
from kg.text.concepts.linking import link
from kg.text.keywords.protocol import ChunkKeywords
from retrieval.bm25 import BM25
from retrieval.concepts import ConceptRetriever
from retrieval.protocol import Passage

TOPICS = 30
PLAN = Plan(resamples=400, seed=3)

Keywords = dict[str, tuple[str, ...]]


def asked(gold: str, *, unanswerable: int = 5) -> list[Question]:
    """One question a topic, which names nothing but the topic's first word."""
    known = [
        Question(
            id=f"q{n}",
            question=f"What about zorb{n}x?",
            kind="single-hop" if n % 2 else "multi-hop",
            split="dev" if n < TOPICS // 3 else "test",
            gold=(f"{gold}{n}",),
        )
        for n in range(TOPICS)
    ]
    return known + [
        Question(
            id=f"u{n}", question=f"And nobody{n}x?", kind="unanswerable", split="test", gold=()
        )
        for n in range(unanswerable)
    ]


def bridged() -> tuple[list[Passage], Keywords]:
    """``bridge`` says that zorb is a sort of quux, ``far`` tells of quux and never of zorb."""
    passages: list[Passage] = []
    keywords: Keywords = {}
    for n in range(TOPICS):
        passages.append(Passage(f"bridge{n}", f"A zorb{n}x is a sort of quux{n}y."))
        passages.append(Passage(f"far{n}", f"Each quux{n}y keeps its pages in order."))
        keywords[f"bridge{n}"] = (f"zorb{n}x", f"quux{n}y")
        keywords[f"far{n}"] = (f"quux{n}y", "pages")
    return passages, keywords


def rankings(
    passages: Sequence[Passage], keywords: Keywords, questions: Sequence[Question]
) -> dict[str, Rankings]:
    """BM25 and the concept graph, each asked everything."""
    rows = [ChunkKeywords(one.id, keywords.get(one.id, ())) for one in passages]
    kg = ConceptRetriever(passages, link(rows))
    bm25 = BM25(passages)
    return {one.name: rank(one, questions, bm25.ids) for one in (bm25, kg)}


def report(
    questions: Sequence[Question],
    passages: Sequence[Passage],
    found: dict[str, Rankings],
    alternatives: Sequence[Alternative] = (),
) -> RetrievalReport:
    fuser = Fuser(passages, questions)
    whole = fuser.fuse(list(found.values()), "ensemble")
    return measure(
        questions,
        {**found, "ensemble": whole},
        baselines=["bm25"],
        corpus=Corpus(run="0" * 64, n_chunks=len(passages)),
        asked=question_set(questions, passages, "1" * 64, "all"),
        plan=PLAN,
        ablations=list(variants(fuser, found, alternatives)),
    )


def difference(found: RetrievalReport, first: str, second: str) -> Difference:
    (one,) = (
        one
        for one in (*found.comparisons, *found.ablation_comparisons)
        if (one.first, one.second, one.group, one.measure) == (first, second, ALL, HEADLINE)
    )
    return one


def test_a_graph_that_leads_to_the_answer_is_seen_to_help() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = report(questions, passages, rankings(passages, keywords, questions))
    bm25 = found.retrievers["bm25"].measures[ALL]
    assert bm25["R@10"].value == 0.0  # no word in common with any gold chunk
    assert found.retrievers["kg"].measures[ALL]["AllGold@10"].value == 1.0
    for first, second in (
        ("kg", "bm25"),
        ("ensemble", "bm25"),
        ("ensemble", "ensemble without kg"),
    ):
        one = difference(found, first, second)
        assert one.better == first
        assert one.low is not None
        assert one.low > 0
        assert one.p_holm is not None
        assert one.p_holm < 0.001
        assert f"{first} is better" in verdict(one)


def test_a_graph_that_leads_astray_is_seen_to_harm() -> None:
    passages, _ = bridged()
    # Its edges lead from each topic to the far side of another one.
    astray = {f"far{n}": (f"zorb{(n + 7) % TOPICS}x", f"quux{n}y") for n in range(TOPICS)}
    questions = asked("bridge")
    found = report(questions, passages, rankings(passages, astray, questions))
    assert found.retrievers["bm25"].measures[ALL]["R@1"].value == 1.0
    one = difference(found, "kg", "bm25")
    assert one.better == "bm25"
    assert one.high is not None
    assert one.high < 0
    assert "bm25 is better" in verdict(one)
    added = difference(found, "ensemble", "ensemble without kg")
    assert added.better != "ensemble"


def test_a_graph_that_says_what_the_words_say_adds_nothing_and_no_winner_is_named() -> None:
    passages, _ = bridged()
    same = {f"bridge{n}": (f"zorb{n}x",) for n in range(TOPICS)}
    questions = asked("bridge")
    found = report(questions, passages, rankings(passages, same, questions))
    one = difference(found, "ensemble", "bm25")
    assert one.difference == 0
    assert one.better is None
    assert one.n_differ == 0
    assert one.p == 1.0
    # The resamples cannot vary: no interval of no width is claimed.
    assert (one.low, one.high, one.method) == (None, None, "none")
    assert "are the same on every one of 30 questions" in verdict(one)


def test_two_rankers_of_chance_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(11)
    ids = [f"c{n}" for n in range(12)]
    questions = [
        Question(id=f"q{n}", question=f"{n}", kind="single-hop", split="test", gold=(ids[n % 12],))
        for n in range(40)
    ]
    alarms = 0
    for seed in range(120):
        pair = {
            name: Rankings(
                name,
                {},
                {one.id: dict.fromkeys(rng.permutation(ids).tolist(), 1.0) for one in questions},
            )
            for name in ("a", "b")
        }
        samples = Samples(questions, pair, Draws(len(questions), 200, seed), 0.95)
        found = compare(samples, [("a", "b")])
        alarms += any(
            one.better is not None and (one.group, one.measure) == (ALL, HEADLINE) for one in found
        )
    assert alarms <= 13  # 5 % of 120 is 6; 13 or fewer with probability .995


def test_turning_a_pair_round_turns_the_sign_and_nothing_else() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    samples = Samples(
        questions, rankings(passages, keywords, questions), Draws(len(questions), 200, 1), 0.95
    )
    there, back = compare(samples, [("kg", "bm25")]), compare(samples, [("bm25", "kg")])
    for one, other in zip(there, back, strict=True):
        assert one.p == other.p
        assert one.better == other.better
        if one.difference is not None and other.difference is not None:
            assert one.difference == -other.difference
        if one.method == "bootstrap-percentile" == other.method:
            assert one.low is not None
            assert other.high is not None
            assert one.low == pytest.approx(-other.high)


def test_neither_order_of_questions_nor_names_decide_values_and_exact_tests() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = rankings(passages, keywords, questions)
    once = report(questions, passages, found)
    turned = report(list(reversed(questions)), passages, found)
    for one, other in zip(once.comparisons, turned.comparisons, strict=True):
        assert one.difference == pytest.approx(other.difference)
        if one.exact:
            assert one.p == pytest.approx(other.p)


def test_holm_adjusts_over_the_pairs_of_one_measure() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = report(questions, passages, rankings(passages, keywords, questions))
    family = [one for one in found.comparisons if (one.group, one.measure) == (ALL, HEADLINE)]
    smallest = min(family, key=lambda one: one.p or 0)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(min(1, smallest.p * len(family)))


def test_what_cannot_be_measured_is_null_with_a_reason_never_nan_or_zero() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = report(questions, passages, rankings(passages, keywords, questions))
    kg = found.retrievers["kg"].measures[ALL]["AUROC"]
    assert (kg.value, kg.low) == (None, None)
    assert "cannot be compared" in kg.why
    assert found.retrievers["bm25"].measures[ALL]["AUROC"].value == 1.0
    answered_all = report(questions[:TOPICS], passages, rankings(passages, keywords, questions))
    bm25 = answered_all.retrievers["bm25"].measures[ALL]["FPR@TPR.90"]
    assert bm25.value is None
    assert "no unanswerable" in bm25.why
    for said in (markdown(found), markdown(answered_all)):
        assert "nan" not in said.lower().split()
    only = questions[TOPICS:]
    nobody = report(only, passages, rankings(passages, keywords, only))
    assert nobody.retrievers["bm25"].measures[ALL]["R@10"].value is None
    assert all(one.difference is None for one in nobody.comparisons)
    assert all("nothing to compare" in verdict(one) for one in nobody.comparisons)


def test_an_alternative_is_held_against_its_component_and_in_the_whole() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = rankings(passages, keywords, questions)
    flat = Rankings("kg without edges", {"hops": 0}, found["bm25"].by_question)
    made = report(questions, passages, found, [Alternative("kg", flat, "What do edges add?")])
    assert difference(made, "kg", "kg without edges").better == "kg"
    assert difference(made, "ensemble", "ensemble with kg without edges").better == "ensemble"
    names = [one.second for one in made.ablations]
    assert names == [
        "ensemble without bm25",
        "ensemble without kg",
        "ensemble linear",
        "kg without edges",
        "ensemble with kg without edges",
    ]


def test_the_part_that_finds_the_answers_gets_the_weight() -> None:
    passages, keywords = bridged()
    dev = [one for one in asked("far") if one.split == "dev"]
    kg = rankings(passages, keywords, dev)["kg"]
    others = {
        one.id: {f"far{(n + k) % TOPICS}": 1.0 / k for k in range(1, 9)}
        for n, one in enumerate(dev)
    }
    chosen = tune(Fuser(passages, dev), [{"noise": Rankings("noise", {}, others), "kg": kg}])
    assert chosen.n == len(dev) == TOPICS // 3
    assert chosen.tried == 6 * 2
    assert chosen.components == ("noise", "kg")
    assert chosen.weights[1] >= 0.6
    assert chosen.value > chosen.value_untuned


def test_the_better_set_of_components_is_chosen() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    good = rankings(passages, keywords, questions)["kg"]
    bad = rankings(passages, {}, questions)["bm25"]
    sets = [{"bm25": bad, "kg": bad}, {"bm25": bad, "kg by PageRank": good}]
    chosen = tune(Fuser(passages, questions), sets)
    assert chosen.components == ("bm25", "kg by PageRank")
    assert chosen.value > chosen.value_untuned == 0.0


def test_equally_good_settings_leave_things_as_they_are() -> None:
    passages, _ = bridged()
    questions = asked("bridge")
    bm25 = rankings(passages, {}, questions)["bm25"]
    parts = dict.fromkeys(("a", "b", "c", "d", "e"), bm25)
    chosen = tune(Fuser(passages, questions), [parts, parts])
    assert chosen.weights == (0.2,) * 5
    assert chosen.fusion == "rrf"
    assert chosen.value == chosen.value_untuned == 1.0


def test_every_sharing_out_is_tried_once() -> None:
    found = list(shares(5, 4))
    assert len(set(found)) == len(found) == 56
    assert all(sum(one) == 5 and min(one) >= 0 for one in found)


def test_page_table_and_sentences_tell_the_same() -> None:
    passages, keywords = bridged()
    questions = asked("far")
    found = report(questions, passages, rankings(passages, keywords, questions))
    page = markdown(found)
    lines = list(spoken(found))
    assert any(line.startswith(f"{HEADLINE}: ensemble is better") for line in lines)
    assert any("What does kg add?" in line for line in lines)
    assert "| ensemble |" in page
    assert "### ensemble less ensemble without kg" in page
    assert found.signature in page
    assert table(found).row_count == 3
    widths = {line.count(" | ") for line in page.splitlines() if line.startswith("| nDCG@10")}
    assert len(widths) == 1
