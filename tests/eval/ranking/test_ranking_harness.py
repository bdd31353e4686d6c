"""Tests retrieval reports on corpora where the graph helps, harms, or makes no difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from eval.metrics.measurement import ResamplingPlan
from eval.ranking.ablation import ComponentVariant, RankingFuser, iter_ablations
from eval.ranking.differences import compare_retrievers
from eval.ranking.metrics import HEADLINE_METRIC
from eval.ranking.question_scores import QuestionScores
from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings, rank_questions
from eval.ranking.record import ALL_QUESTIONS, Corpus, RetrievalReport, RetrieverComparison
from eval.ranking.report_builder import build_report, describe_questions
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


def make_questions(gold_prefix: str, *, unanswerable: int = 5) -> list[Question]:
    """Returns one question per topic.

    Topic 3 has the words zorb3x and quux3y; its question contains only zorb3x. Its gold is the
    passage ``far3`` or ``bridge3``, depending on ``gold_prefix``.
    """
    answerable = [
        Question(
            id=f"q{n}",
            question=f"What about zorb{n}x?",
            kind="single-hop" if n % 2 else "multi-hop",
            split="dev" if n < TOPICS // 3 else "test",
            gold=(f"{gold_prefix}{n}",),
        )
        for n in range(TOPICS)
    ]
    return answerable + [
        Question(
            id=f"u{n}", question=f"And nobody{n}x?", kind="unanswerable", split="test", gold=()
        )
        for n in range(unanswerable)
    ]


def make_bridge_corpus() -> tuple[list[Passage], Keywords]:
    """Returns passages and their keywords, two passages for each topic.

    The ``bridge`` passage mentions the words zorb and quux of its topic, the ``far`` passage only
    quux. A question contains only zorb, so only the graph leads from it to the ``far`` passage.
    """
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
    rows = [ChunkKeywords(passage.id, keywords.get(passage.id, ())) for passage in passages]
    kg = ConceptRetriever(passages, link_concepts(rows))
    bm25 = BM25(passages)
    return {
        retriever.name: rank_questions(retriever, questions, bm25.ids) for retriever in (bm25, kg)
    }


def make_report(
    questions: Sequence[Question],
    passages: Sequence[Passage],
    rankings: dict[str, Rankings],
    alternatives: Sequence[ComponentVariant] = (),
) -> RetrievalReport:
    fuser = RankingFuser(passages, questions)
    ensemble = fuser.fuse_rankings(list(rankings.values()), "ensemble")
    return build_report(
        questions,
        {**rankings, "ensemble": ensemble},
        baselines=["bm25"],
        corpus=Corpus(run="0" * 64, n_chunks=len(passages)),
        questions_record=describe_questions(questions, passages, "1" * 64, "all"),
        plan=PLAN,
        ablations=list(iter_ablations(fuser, rankings, alternatives)),
    )


def find_difference(report: RetrievalReport, first: str, second: str) -> RetrieverComparison:
    (comparison,) = (
        comparison
        for comparison in (*report.comparisons, *report.ablation_comparisons)
        if (comparison.candidate, comparison.baseline, comparison.group, comparison.metric)
        == (first, second, ALL_QUESTIONS, HEADLINE_METRIC)
    )
    return comparison


def test_helpful_graph_is_found_better() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    report = make_report(questions, passages, rank_all(passages, keywords, questions))
    bm25 = report.retrievers["bm25"].measures[ALL_QUESTIONS]
    assert bm25["R@10"].value == 0.0  # no word in common with any gold chunk
    assert report.retrievers["kg"].measures[ALL_QUESTIONS]["AllGold@10"].value == 1.0
    for first, second in (
        ("kg", "bm25"),
        ("ensemble", "bm25"),
        ("ensemble", "ensemble without kg"),
    ):
        comparison = find_difference(report, first, second)
        assert comparison.better == first
        assert comparison.low is not None
        assert comparison.low > 0
        assert comparison.p_holm is not None
        assert comparison.p_holm < 0.001
        assert f"{first} is better" in describe_difference(comparison)


def test_misleading_graph_is_found_worse() -> None:
    passages, _ = make_bridge_corpus()
    # The edges of the graph lead from each topic to the ``far`` passage of another topic.
    misleading_keywords = {
        f"far{n}": (f"zorb{(n + 7) % TOPICS}x", f"quux{n}y") for n in range(TOPICS)
    }
    questions = make_questions("bridge")
    report = make_report(questions, passages, rank_all(passages, misleading_keywords, questions))
    assert report.retrievers["bm25"].measures[ALL_QUESTIONS]["R@1"].value == 1.0
    comparison = find_difference(report, "kg", "bm25")
    assert comparison.better == "bm25"
    assert comparison.high is not None
    assert comparison.high < 0
    assert "bm25 is better" in describe_difference(comparison)
    ensemble_comparison = find_difference(report, "ensemble", "ensemble without kg")
    assert ensemble_comparison.better != "ensemble"


def test_redundant_graph_gives_no_winner() -> None:
    passages, _ = make_bridge_corpus()
    redundant_keywords = {f"bridge{n}": (f"zorb{n}x",) for n in range(TOPICS)}
    questions = make_questions("bridge")
    report = make_report(questions, passages, rank_all(passages, redundant_keywords, questions))
    comparison = find_difference(report, "ensemble", "bm25")
    assert comparison.difference == 0
    assert comparison.better is None
    assert comparison.n_differ == 0
    assert comparison.p == 1.0
    # The resamples cannot vary, so no zero-width interval may be reported.
    assert (comparison.low, comparison.high, comparison.method) == (None, None, "none")
    assert "have equal values on all 30 questions" in describe_difference(comparison)


def test_random_rankers_rarely_differ() -> None:
    rng = np.random.default_rng(11)
    ids = [f"c{n}" for n in range(12)]
    questions = [
        Question(id=f"q{n}", question=f"{n}", kind="single-hop", split="test", gold=(ids[n % 12],))
        for n in range(40)
    ]
    false_alarms = 0
    for seed in range(120):
        pair = {
            name: Rankings(
                name,
                {},
                {
                    question.id: dict.fromkeys(rng.permutation(ids).tolist(), 1.0)
                    for question in questions
                },
            )
            for name in ("a", "b")
        }
        question_scores = QuestionScores.from_rankings(
            questions, pair, ClusterResamples(len(questions), 200, seed), 0.95
        )
        comparisons = compare_retrievers(question_scores, [("a", "b")])
        false_alarms += any(
            comparison.better is not None
            and (comparison.group, comparison.metric) == (ALL_QUESTIONS, HEADLINE_METRIC)
            for comparison in comparisons
        )
    # At most 5 % of the 120 comparisons, that is 6, are expected; ≤ 13 has probability .995.
    assert false_alarms <= 13


def test_swapping_a_pair_only_flips_the_sign() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    question_scores = QuestionScores.from_rankings(
        questions,
        rank_all(passages, keywords, questions),
        ClusterResamples(len(questions), 200, 1),
        0.95,
    )
    forward, backward = (
        compare_retrievers(question_scores, [("kg", "bm25")]),
        compare_retrievers(question_scores, [("bm25", "kg")]),
    )
    for comparison, swapped in zip(forward, backward, strict=True):
        assert comparison.p == swapped.p
        assert comparison.better == swapped.better
        if comparison.difference is not None and swapped.difference is not None:
            assert comparison.difference == -swapped.difference
        if comparison.method == "bootstrap-percentile" == swapped.method:
            assert comparison.low is not None
            assert swapped.high is not None
            assert comparison.low == pytest.approx(-swapped.high)


def test_question_order_does_not_matter() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    rankings = rank_all(passages, keywords, questions)
    report = make_report(questions, passages, rankings)
    reversed_report = make_report(list(reversed(questions)), passages, rankings)
    for comparison, reversed_comparison in zip(
        report.comparisons, reversed_report.comparisons, strict=True
    ):
        assert comparison.difference == pytest.approx(reversed_comparison.difference)
        if comparison.exact:
            assert comparison.p == pytest.approx(reversed_comparison.p)


def test_holm_adjusts_over_the_pairs_of_one_metric() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    report = make_report(questions, passages, rank_all(passages, keywords, questions))
    family = [
        comparison
        for comparison in report.comparisons
        if (comparison.group, comparison.metric) == (ALL_QUESTIONS, HEADLINE_METRIC)
    ]
    smallest = min(family, key=lambda comparison: comparison.p or 0)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(min(1, smallest.p * len(family)))


def test_unmeasurable_value_is_null_with_a_reason() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    report = make_report(questions, passages, rank_all(passages, keywords, questions))
    kg = report.retrievers["kg"].measures[ALL_QUESTIONS]["AUROC"]
    assert (kg.value, kg.low) == (None, None)
    assert "not comparable" in kg.why
    assert report.retrievers["bm25"].measures[ALL_QUESTIONS]["AUROC"].value == 1.0
    answerable_report = make_report(
        questions[:TOPICS], passages, rank_all(passages, keywords, questions)
    )
    bm25 = answerable_report.retrievers["bm25"].measures[ALL_QUESTIONS]["FPR@TPR.90"]
    assert bm25.value is None
    assert "no unanswerable" in bm25.why
    for page in (render_markdown(report), render_markdown(answerable_report)):
        assert "nan" not in page.lower().split()
    unanswerable = questions[TOPICS:]
    unanswerable_report = make_report(
        unanswerable, passages, rank_all(passages, keywords, unanswerable)
    )
    assert unanswerable_report.retrievers["bm25"].measures[ALL_QUESTIONS]["R@10"].value is None
    assert all(comparison.difference is None for comparison in unanswerable_report.comparisons)
    assert all(
        "nothing to compare" in describe_difference(comparison)
        for comparison in unanswerable_report.comparisons
    )


def test_alternative_is_compared_alone_and_in_the_ensemble() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    rankings = rank_all(passages, keywords, questions)
    rankings_without_edges = Rankings("kg without edges", {"hops": 0}, rankings["bm25"].by_question)
    report = make_report(
        questions,
        passages,
        rankings,
        [ComponentVariant("kg", rankings_without_edges, "What do edges add?")],
    )
    assert find_difference(report, "kg", "kg without edges").better == "kg"
    assert (
        find_difference(report, "ensemble", "ensemble with kg without edges").better == "ensemble"
    )
    names = [ablation.baseline for ablation in report.ablations]
    assert names == [
        "ensemble without bm25",
        "ensemble without kg",
        "ensemble linear",
        "kg without edges",
        "ensemble with kg without edges",
    ]


def test_best_component_gets_the_weight() -> None:
    passages, keywords = make_bridge_corpus()
    dev = [question for question in make_questions("far") if question.split == "dev"]
    kg = rank_all(passages, keywords, dev)["kg"]
    noise_scores = {
        question.id: {f"far{(n + k) % TOPICS}": 1.0 / k for k in range(1, 9)}
        for n, question in enumerate(dev)
    }
    tuning = tune_fusion(
        RankingFuser(passages, dev), [{"noise": Rankings("noise", {}, noise_scores), "kg": kg}]
    )
    assert tuning.n == len(dev) == TOPICS // 3
    # Two components can share five fifths in 6 ways, each with 2 fusion methods.
    assert tuning.tried == 6 * 2
    assert tuning.components == ("noise", "kg")
    assert tuning.weights[1] >= 0.6
    assert tuning.value > tuning.value_untuned


def test_better_component_set_is_chosen() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    kg_rankings = rank_all(passages, keywords, questions)["kg"]
    bm25_rankings = rank_all(passages, {}, questions)["bm25"]
    component_sets = [
        # A useless second component: it ranks like the first.
        {"bm25": bm25_rankings, "kg": bm25_rankings},
        {"bm25": bm25_rankings, "kg by PageRank": kg_rankings},
    ]
    tuning = tune_fusion(RankingFuser(passages, questions), component_sets)
    assert tuning.components == ("bm25", "kg by PageRank")
    assert tuning.value > tuning.value_untuned == 0.0


def test_ties_keep_the_default_settings() -> None:
    passages, _ = make_bridge_corpus()
    questions = make_questions("bridge")
    bm25 = rank_all(passages, {}, questions)["bm25"]
    components = dict.fromkeys(("a", "b", "c", "d", "e"), bm25)
    tuning = tune_fusion(RankingFuser(passages, questions), [components, components])
    assert tuning.weights == (0.2,) * 5
    assert tuning.fusion == "rrf"
    assert tuning.value == tuning.value_untuned == 1.0


def test_every_weight_distribution_is_tried_once() -> None:
    distributions = list(iter_shares(5, 4))
    # There are C(8, 3) = 56 ways to distribute five shares among four components.
    assert len(set(distributions)) == len(distributions) == 56
    assert all(sum(distribution) == 5 and min(distribution) >= 0 for distribution in distributions)


def test_page_table_and_sentences_agree() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    report = make_report(questions, passages, rank_all(passages, keywords, questions))
    page = render_markdown(report)
    lines = list(describe_report(report))
    assert any(line.startswith(f"{HEADLINE_METRIC}: ensemble is better") for line in lines)
    assert any("What does kg add?" in line for line in lines)
    assert "| ensemble |" in page
    assert "### ensemble − ensemble without kg" in page
    assert report.signature in page
    assert build_table(report).row_count == 3
    widths = {line.count(" | ") for line in page.splitlines() if line.startswith("| nDCG@10")}
    assert len(widths) == 1
