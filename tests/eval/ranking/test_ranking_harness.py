"""Tests retrieval reports on corpora where the graph helps, harms, or makes no difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from eval.retrieval_eval.differences import compare_retrievers
from eval.retrieval_eval.items import RetrievalItem, iter_items
from eval.retrieval_eval.manifest import ReportSettings, RetrievalManifest
from eval.retrieval_eval.metrics import HEADLINE_METRIC
from eval.retrieval_eval.question_scores import QuestionScores, RetrieverScores
from eval.retrieval_eval.questions import Question
from eval.retrieval_eval.record import ALL_QUESTIONS, Corpus, RetrievalReport, RetrieverComparison
from eval.retrieval_eval.report import build_report
from eval.retrieval_eval.row import RetrievalRow
from eval.retrieval_eval.row_builder import build_row
from eval.retrieval_eval.systems.ablation import ENSEMBLE, ComponentVariant, iter_ablations
from eval.retrieval_eval.systems.cached_retriever import CachedRetriever
from eval.retrieval_eval.systems.system_set import RetrieverSystem, SystemSet
from eval.retrieval_eval.systems.tuner import iter_shares, tune_fusion
from eval.retrieval_eval.systems.view import RetrievalView, read_ranking
from eval.retrieval_eval.text import (
    build_table,
    describe_difference,
    describe_report,
    render_markdown,
)
from eval.stats.bootstrap import ClusterResamples
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from retrieval.base import BaseRetriever
from retrieval.bm25 import BM25
from retrieval.concepts import ConceptRetriever
from retrieval.ensemble import EnsembleRanker
from retrieval.protocol import Passage, Retriever

TOPICS = 30

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


class ScriptedRetriever(BaseRetriever):
    """A retriever that returns scripted scores.

    Args:
        name: its name.
        scores: text of a question → passage id → score, best first.
    """

    def __init__(self, name: str, scores: Mapping[str, dict[str, float]]) -> None:
        self.name = name
        self.scores = scores

    def get_scores(
        self, query: str, pool_size: int, chunks: Collection[str] | None = None
    ) -> dict[str, float]:
        return self.scores[query]


def open_all(passages: Sequence[Passage], keywords: Keywords) -> dict[str, Retriever]:
    """Returns BM25 and the retriever by the concept graph."""
    rows = [ChunkKeywords(passage.id, keywords.get(passage.id, ())) for passage in passages]
    kg = ConceptRetriever(passages, link_concepts(rows))
    return {retriever.name: CachedRetriever(retriever) for retriever in (BM25(passages), kg)}


def make_rows(retriever: Retriever, questions: Sequence[Question]) -> list[RetrievalRow]:
    """Asks a retriever all questions; returns the rows of its replies."""
    system = RetrieverSystem(retriever)
    replies = [read_ranking(system.answer(RetrievalView(item.question))) for item in questions]
    return [
        build_row(item, replace(reply, system=system.name))
        for item, reply in zip(questions, replies, strict=True)
    ]


def make_scores(
    questions: Sequence[Question], retrievers: Mapping[str, Retriever], seed: int
) -> QuestionScores:
    kinds = {question.id: question.kind for question in questions}
    scores = {
        name: RetrieverScores.from_rows(name, make_rows(retriever, questions), kinds)
        for name, retriever in retrievers.items()
    }
    resamples = ClusterResamples(len(questions), 200, seed)
    return QuestionScores(list(kinds.values()), scores, resamples, 0.95)


def make_report(
    questions: Sequence[Question],
    passages: Sequence[Passage],
    retrievers: Mapping[str, Retriever],
    alternatives: Sequence[ComponentVariant] = (),
) -> RetrievalReport:
    team = SystemSet()
    for retriever in retrievers.values():
        team.add_retriever(retriever)
    team.add_retriever(EnsembleRanker(passages, list(retrievers.values()), name=ENSEMBLE))
    team.add_ablations(iter_ablations(passages, retrievers, alternatives))
    items = list(iter_items(questions, passages))
    rows: list[RetrievalRow] = []
    for system in team.systems.values():
        assert isinstance(system, RetrieverSystem)
        rows += make_rows(system.retriever, items)
    return build_report(make_manifest(team, items, len(passages)), items, rows)


def make_manifest(
    team: SystemSet, items: Sequence[RetrievalItem], n_passages: int
) -> RetrievalManifest:
    return RetrievalManifest(
        rows="rows.jsonl",
        items="items.jsonl",
        dataset="questions.jsonl",
        dataset_sha256="2" * 64,
        questions_sha256="1" * 64,
        sample_count=len(items),
        split="all",
        corpus=Corpus(run="0" * 64, n_chunks=n_passages),
        depth=100,
        systems=tuple(team.systems),
        retrievers={name: system.params() for name, system in team.systems.items()},
        variants=tuple(team.variants),
        ablations=tuple(team.ablations),
        measuring=ReportSettings(resamples=400, confidence=0.95, baselines=("bm25",)),
        offline=True,
        seed=3,
        started="",
        status="complete",
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
    report = make_report(questions, passages, open_all(passages, keywords))
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
    report = make_report(questions, passages, open_all(passages, misleading_keywords))
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
    report = make_report(questions, passages, open_all(passages, redundant_keywords))
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
            name: ScriptedRetriever(
                name,
                {
                    question.question: dict.fromkeys(rng.permutation(ids).tolist(), 1.0)
                    for question in questions
                },
            )
            for name in ("a", "b")
        }
        question_scores = make_scores(questions, pair, seed)
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
    question_scores = make_scores(questions, open_all(passages, keywords), 1)
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
    retrievers = open_all(passages, keywords)
    report = make_report(questions, passages, retrievers)
    reversed_report = make_report(list(reversed(questions)), passages, retrievers)
    for comparison, reversed_comparison in zip(
        report.comparisons, reversed_report.comparisons, strict=True
    ):
        assert comparison.difference == pytest.approx(reversed_comparison.difference)
        if comparison.exact:
            assert comparison.p == pytest.approx(reversed_comparison.p)


def test_holm_adjusts_over_the_pairs_of_one_metric() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    report = make_report(questions, passages, open_all(passages, keywords))
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
    report = make_report(questions, passages, open_all(passages, keywords))
    kg = report.retrievers["kg"].measures[ALL_QUESTIONS]["AUROC"]
    assert (kg.value, kg.low) == (None, None)
    assert "not comparable" in kg.why
    assert report.retrievers["bm25"].measures[ALL_QUESTIONS]["AUROC"].value == 1.0
    answerable_report = make_report(questions[:TOPICS], passages, open_all(passages, keywords))
    bm25 = answerable_report.retrievers["bm25"].measures[ALL_QUESTIONS]["FPR@TPR.90"]
    assert bm25.value is None
    assert "no unanswerable" in bm25.why
    for page in (render_markdown(report), render_markdown(answerable_report)):
        assert "nan" not in page.lower().split()
    unanswerable = questions[TOPICS:]
    unanswerable_report = make_report(unanswerable, passages, open_all(passages, keywords))
    assert unanswerable_report.retrievers["bm25"].measures[ALL_QUESTIONS]["R@10"].value is None
    assert all(comparison.difference is None for comparison in unanswerable_report.comparisons)
    assert all(
        "nothing to compare" in describe_difference(comparison)
        for comparison in unanswerable_report.comparisons
    )


def test_alternative_is_compared_alone_and_in_the_ensemble() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    retrievers = open_all(passages, keywords)
    without_edges = CachedRetriever(retrievers["bm25"], "kg without edges")
    report = make_report(
        questions,
        passages,
        retrievers,
        [ComponentVariant("kg", without_edges, "What do edges add?")],
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
    kg = open_all(passages, keywords)["kg"]
    noise_scores = {
        question.question: {f"far{(n + k) % TOPICS}": 1.0 / k for k in range(1, 9)}
        for n, question in enumerate(dev)
    }
    components: dict[str, Retriever] = {
        "noise": ScriptedRetriever("noise", noise_scores),
        "kg": kg,
    }
    tuning = tune_fusion(passages, dev, [components])
    assert tuning.n == len(dev) == TOPICS // 3
    # Two components can share five fifths in 6 ways, each with 2 fusion methods.
    assert tuning.tried == 6 * 2
    assert tuning.components == ("noise", "kg")
    assert tuning.weights[1] >= 0.6
    assert tuning.value > tuning.value_untuned


def test_better_component_set_is_chosen() -> None:
    passages, keywords = make_bridge_corpus()
    questions = make_questions("far")
    kg = open_all(passages, keywords)["kg"]
    bm25 = open_all(passages, {})["bm25"]
    component_sets = [
        # A useless second component: it ranks like the first.
        {"bm25": bm25, "kg": bm25},
        {"bm25": bm25, "kg by PageRank": kg},
    ]
    tuning = tune_fusion(passages, questions, component_sets)
    assert tuning.components == ("bm25", "kg by PageRank")
    assert tuning.value > tuning.value_untuned == 0.0


def test_ties_keep_the_default_settings() -> None:
    passages, _ = make_bridge_corpus()
    questions = make_questions("bridge")
    bm25 = open_all(passages, {})["bm25"]
    components = dict.fromkeys(("a", "b", "c", "d", "e"), bm25)
    tuning = tune_fusion(passages, questions, [components, components])
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
    report = make_report(questions, passages, open_all(passages, keywords))
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
