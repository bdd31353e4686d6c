"""The retrieval harness on corpora where the graph helps, harms, or makes no difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from eval.ranking.ablation import ComponentVariant, RankingFuser, iter_ablations
from eval.ranking.differences import compare_retrievers
from eval.ranking.metrics import HEADLINE_METRIC
from eval.ranking.question_scores import QuestionScores
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank_questions
from eval.ranking.record import ALL_QUESTIONS, Corpus, Difference, RetrievalReport
from eval.ranking.report_builder import ResamplingPlan, build_report, describe_questions
from eval.ranking.text import build_table, describe_difference, describe_report, render_markdown
from eval.ranking.tuner import iter_shares, tune_fusion
from eval.stats.bootstrap import ClusterResamples
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from retrieval.bm25 import BM25
from retrieval.concepts import ConceptRetriever
from retrieval.protocol import Passage

TOPICS = 30
PLAN = ResamplingPlan(resamples=400, seed=3)

Keywords = dict[str, tuple[str, ...]]


def make_questions(gold: str, *, unanswerable: int = 5) -> list[Question]:
    """Returns one question per topic, which contains only the topic's first word."""
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


def make_bridge_corpus() -> tuple[list[Passage], Keywords]:
    """``bridge`` passages link zorb to quux; ``far`` passages mention only quux."""
    passages: list[Passage] = []
    keywords: Keywords = {}
    for n in range(TOPICS):
        passages.append(Passage(f"bridge{n}", f"A zorb{n}x is a sort of quux{n}y."))
        passages.append(Passage(f"far{n}", f"Each quux{n}y keeps its pages in order."))
        keywords[f"bridge{n}"] = (f"zorb{n}x", f"quux{n}y")
        keywords[f"far{n}"] = (f"quux{n}y", "pages")
    return passages, keywords


def rank_all(
    passages: Sequence[Passage], keywords: Keywords, questions: Sequence[Question]
) -> dict[str, Rankings]:
    """Returns the rankings of BM25 and of the concept graph for all questions."""
    rows = [ChunkKeywords(one.id, keywords.get(one.id, ())) for one in passages]
    kg = ConceptRetriever(passages, link_concepts(rows))
    bm25 = BM25(passages)
    return {one.name: rank_questions(one, questions, bm25.ids) for one in (bm25, kg)}


def make_report(
    questions: Sequence[Question],
    passages: Sequence[Passage],
    found: dict[str, Rankings],
    alternatives: Sequence[ComponentVariant] = (),
) -> RetrievalReport:
    fuser = RankingFuser(passages, questions)
    whole = fuser.fuse_rankings(list(found.values()), "ensemble")
    return build_report(
        questions,
        {**found, "ensemble": whole},
        baselines=["bm25"],
        corpus=Corpus(run="0" * 64, n_chunks=len(passages)),
        questions_record=describe_questions(questions, passages, "1" * 64, "all"),
        plan=PLAN,
        ablations=list(iter_ablations(fuser, found, alternatives)),
    )


def find_difference(found: RetrievalReport, first: str, second: str) -> Difference:
    (one,) = (
        one
        for one in (*found.comparisons, *found.ablation_comparisons)
        if (one.first, one.second, one.group, one.measure)
        == (first, second, ALL_QUESTIONS, HEADLINE_METRIC)
    )
    return one


def test_helpful_graph_is_found_better() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = make_report(questions, passages, rank_all(passages, keywords, questions))
    bm25 = found.retrievers["bm25"].measures[ALL_QUESTIONS]
    assert bm25["R@10"].value == 0.0  # no word in common with any gold chunk
    assert found.retrievers["kg"].measures[ALL_QUESTIONS]["AllGold@10"].value == 1.0
    for first, second in (
        ("kg", "bm25"),
        ("ensemble", "bm25"),
        ("ensemble", "ensemble without kg"),
    ):
        one = find_difference(found, first, second)
        assert one.better == first
        assert one.low is not None
        assert one.low > 0
        assert one.p_holm is not None
        assert one.p_holm < 0.001
        assert f"{first} is better" in describe_difference(one)


def test_misleading_graph_is_found_worse() -> None:
    passages, _ = make_bridge_corpus()
    # Its edges lead from each topic to the ``far`` passage of another one.
    astray = {f"far{n}": (f"zorb{(n + 7) % TOPICS}x", f"quux{n}y") for n in range(TOPICS)}
    questions = make_questions("bridge")
    found = make_report(questions, passages, rank_all(passages, astray, questions))
    assert found.retrievers["bm25"].measures[ALL_QUESTIONS]["R@1"].value == 1.0
    one = find_difference(found, "kg", "bm25")
    assert one.better == "bm25"
    assert one.high is not None
    assert one.high < 0
    assert "bm25 is better" in describe_difference(one)
    added = find_difference(found, "ensemble", "ensemble without kg")
    assert added.better != "ensemble"


def test_redundant_graph_gives_no_winner() -> None:
    passages, _ = make_bridge_corpus()
    same = {f"bridge{n}": (f"zorb{n}x",) for n in range(TOPICS)}
    questions = make_questions("bridge")
    found = make_report(questions, passages, rank_all(passages, same, questions))
    one = find_difference(found, "ensemble", "bm25")
    assert one.difference == 0
    assert one.better is None
    assert one.n_differ == 0
    assert one.p == 1.0
    # The resamples cannot vary, so no zero-width interval may be reported.
    assert (one.low, one.high, one.method) == (None, None, "none")
    assert "have equal values on all 30 questions" in describe_difference(one)


def test_random_rankers_rarely_differ() -> None:
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
        samples = QuestionScores(questions, pair, ClusterResamples(len(questions), 200, seed), 0.95)
        found = compare_retrievers(samples, [("a", "b")])
        alarms += any(
            one.better is not None and (one.group, one.measure) == (ALL_QUESTIONS, HEADLINE_METRIC)
            for one in found
        )
    assert alarms <= 13  # 5 % of 120 is 6; 13 or fewer with probability .995


def test_swapping_a_pair_only_flips_the_sign() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    samples = QuestionScores(
        questions,
        rank_all(passages, keywords, questions),
        ClusterResamples(len(questions), 200, 1),
        0.95,
    )
    there, back = (
        compare_retrievers(samples, [("kg", "bm25")]),
        compare_retrievers(samples, [("bm25", "kg")]),
    )
    for one, other in zip(there, back, strict=True):
        assert one.p == other.p
        assert one.better == other.better
        if one.difference is not None and other.difference is not None:
            assert one.difference == -other.difference
        if one.method == "bootstrap-percentile" == other.method:
            assert one.low is not None
            assert other.high is not None
            assert one.low == pytest.approx(-other.high)


def test_question_order_and_names_do_not_matter() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = rank_all(passages, keywords, questions)
    once = make_report(questions, passages, found)
    turned = make_report(list(reversed(questions)), passages, found)
    for one, other in zip(once.comparisons, turned.comparisons, strict=True):
        assert one.difference == pytest.approx(other.difference)
        if one.exact:
            assert one.p == pytest.approx(other.p)


def test_holm_adjusts_over_the_pairs_of_one_metric() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = make_report(questions, passages, rank_all(passages, keywords, questions))
    family = [
        one
        for one in found.comparisons
        if (one.group, one.measure) == (ALL_QUESTIONS, HEADLINE_METRIC)
    ]
    smallest = min(family, key=lambda one: one.p or 0)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(min(1, smallest.p * len(family)))


def test_unmeasurable_value_is_null_with_a_reason() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = make_report(questions, passages, rank_all(passages, keywords, questions))
    kg = found.retrievers["kg"].measures[ALL_QUESTIONS]["AUROC"]
    assert (kg.value, kg.low) == (None, None)
    assert "not comparable" in kg.why
    assert found.retrievers["bm25"].measures[ALL_QUESTIONS]["AUROC"].value == 1.0
    answered_all = make_report(
        questions[:TOPICS], passages, rank_all(passages, keywords, questions)
    )
    bm25 = answered_all.retrievers["bm25"].measures[ALL_QUESTIONS]["FPR@TPR.90"]
    assert bm25.value is None
    assert "no unanswerable" in bm25.why
    for said in (render_markdown(found), render_markdown(answered_all)):
        assert "nan" not in said.lower().split()
    only = questions[TOPICS:]
    nobody = make_report(only, passages, rank_all(passages, keywords, only))
    assert nobody.retrievers["bm25"].measures[ALL_QUESTIONS]["R@10"].value is None
    assert all(one.difference is None for one in nobody.comparisons)
    assert all("nothing to compare" in describe_difference(one) for one in nobody.comparisons)


def test_alternative_is_compared_alone_and_in_the_ensemble() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = rank_all(passages, keywords, questions)
    flat = Rankings("kg without edges", {"hops": 0}, found["bm25"].by_question)
    made = make_report(
        questions, passages, found, [ComponentVariant("kg", flat, "What do edges add?")]
    )
    assert find_difference(made, "kg", "kg without edges").better == "kg"
    assert find_difference(made, "ensemble", "ensemble with kg without edges").better == "ensemble"
    names = [one.second for one in made.ablations]
    assert names == [
        "ensemble without bm25",
        "ensemble without kg",
        "ensemble linear",
        "kg without edges",
        "ensemble with kg without edges",
    ]


def test_best_component_gets_the_weight() -> None:
    passages, keywords = make_bridge_corpus()
    dev = [one for one in make_questions("far") if one.split == "dev"]
    kg = rank_all(passages, keywords, dev)["kg"]
    others = {
        one.id: {f"far{(n + k) % TOPICS}": 1.0 / k for k in range(1, 9)}
        for n, one in enumerate(dev)
    }
    chosen = tune_fusion(
        RankingFuser(passages, dev), [{"noise": Rankings("noise", {}, others), "kg": kg}]
    )
    assert chosen.n == len(dev) == TOPICS // 3
    assert chosen.tried == 6 * 2
    assert chosen.components == ("noise", "kg")
    assert chosen.weights[1] >= 0.6
    assert chosen.value > chosen.value_untuned


def test_better_component_set_is_chosen() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    good = rank_all(passages, keywords, questions)["kg"]
    bad = rank_all(passages, {}, questions)["bm25"]
    sets = [{"bm25": bad, "kg": bad}, {"bm25": bad, "kg by PageRank": good}]
    chosen = tune_fusion(RankingFuser(passages, questions), sets)
    assert chosen.components == ("bm25", "kg by PageRank")
    assert chosen.value > chosen.value_untuned == 0.0


def test_ties_keep_the_default_settings() -> None:
    passages, _ = make_bridge_corpus()
    questions = make_questions("bridge")
    bm25 = rank_all(passages, {}, questions)["bm25"]
    parts = dict.fromkeys(("a", "b", "c", "d", "e"), bm25)
    chosen = tune_fusion(RankingFuser(passages, questions), [parts, parts])
    assert chosen.weights == (0.2,) * 5
    assert chosen.fusion == "rrf"
    assert chosen.value == chosen.value_untuned == 1.0


def test_every_weight_distribution_is_tried_once() -> None:
    found = list(iter_shares(5, 4))
    assert len(set(found)) == len(found) == 56
    assert all(sum(one) == 5 and min(one) >= 0 for one in found)


def test_page_table_and_sentences_agree() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    found = make_report(questions, passages, rank_all(passages, keywords, questions))
    page = render_markdown(found)
    lines = list(describe_report(found))
    assert any(line.startswith(f"{HEADLINE_METRIC}: ensemble is better") for line in lines)
    assert any("What does kg add?" in line for line in lines)
    assert "| ensemble |" in page
    assert "### ensemble − ensemble without kg" in page
    assert found.signature in page
    assert build_table(found).row_count == 3
    widths = {line.count(" | ") for line in page.splitlines() if line.startswith("| nDCG@10")}
    assert len(widths) == 1
