"""Tests each metric of the corrected scores against manual values, and its invariants."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_six_answers import make_prediction, read_six_questions

from eval.guard.stream import Guard
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.answer_scores import iteration_efficiency, score_corrected
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.pages import parse_citation, score_retrieval
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.word_f1 import compute_word_f1
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.metrics import AnswerScores
from eval.synthlink.predictions import Prediction
from eval.synthlink.scoring.scores import score_predictions
from kg.knowledge import KnowledgeBase

THRESHOLDS = Thresholds()

PRESS_QUESTION = Question(
    id="HIA-01",
    category="HIA",
    question="How did the printing press influence literacy in Europe?",
    answer="Gutenberg's invention of about 1440 made books cheaper, so that more people learned to "
    "read and the ideas of the Reformation spread.",
    sources=(
        Source("Printing press", "https://en.wikipedia.org/wiki/Printing_press"),
        Source("Reformation", "https://en.wikipedia.org/wiki/Reformation"),
    ),
    steps=(
        Step("Find the inventor.", "Gutenberg invented the printing press about 1440."),
        Step("Find what became of prices.", "Printed books became much cheaper than manuscripts."),
        Step("Follow readers.", "More people learned to read."),
        Step("Follow ideas.", "Pamphlets spread the ideas of the Reformation."),
    ),
)

# --- F1 ---------------------------------------------------------------------------------------


def test_f1_counts_repeated_words() -> None:
    question = msgspec.structs.replace(
        PRESS_QUESTION, question="What?", answer="red cat met the blue dog", steps=(Step("x"),)
    )
    # The expected words are red, cat, met, blue, dog; the answer has red, cat, cat, sat. They share
    # two words, of 5 and of 4.
    assert compute_word_f1("The red cat, a cat, sat", question) == pytest.approx(2 * 2 / (5 + 4))
    assert compute_word_f1("red " * 50, question) == pytest.approx(2 / 55)
    assert compute_word_f1("", question) == 0
    assert compute_word_f1(question.answer, question) == 1


def test_question_words_do_not_change_f1() -> None:
    assert compute_word_f1(PRESS_QUESTION.question, PRESS_QUESTION) == 0
    answer = "Gutenberg made books cheaper."
    padded_answer = (
        "In Europe, where the printing press had its influence on literacy, Gutenberg made "
        "books cheaper."
    )
    assert compute_word_f1(padded_answer, PRESS_QUESTION) == compute_word_f1(answer, PRESS_QUESTION)


def test_answer_within_the_question_counts_fully() -> None:
    question = msgspec.structs.replace(
        PRESS_QUESTION, question="Was it Rome or Carthage?", answer="Carthage", steps=(Step("x"),)
    )
    assert compute_word_f1("Carthage", question) == 1
    assert compute_word_f1("Rome", question) == 0


def test_the_best_of_answer_aliases_and_facts_counts() -> None:
    facts = " ".join(step.fact for step in PRESS_QUESTION.steps)
    assert compute_word_f1(facts, PRESS_QUESTION) == 1
    alias = "Cheap paper made all the difference."
    question_with_alias = msgspec.structs.replace(PRESS_QUESTION, aliases=(alias,))
    assert compute_word_f1(alias, PRESS_QUESTION) < 0.2
    assert compute_word_f1(alias, question_with_alias) == 1


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_every_metric_of_any_answer_is_between_0_and_1(text: str) -> None:
    prediction = Prediction("HIA-01", text, (text, text[:9]), (), (text,))
    parts = score_corrected(prediction, PRESS_QUESTION, None, THRESHOLDS)
    for value in (parts.f1, parts.p_at_5, parts.recall_at_5, parts.ie):
        assert value is not None
        assert 0 <= value <= 1
    assert parts.fcs is None or 0 <= parts.fcs <= 1


# --- pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "citation",
    [
        "https://en.wikipedia.org/wiki/Printing_press",
        "http://en.wikipedia.org/wiki/printing_press/",
        "https://en.m.wikipedia.org/wiki/Printing_press#History",
        "https://EN.wikipedia.org/wiki/Printing%20press?utm_source=x",
        "en.wikipedia.org/wiki/Printing_press",
        "https://en.wikipedia.org/w/index.php?title=Printing_press&oldid=12",
        "Printing press",
        " printing  PRESS ",
    ],
)
def test_page_citations_are_normalised(citation: str) -> None:
    retrieval = score_retrieval([citation], PRESS_QUESTION.sources)
    assert retrieval is not None
    assert retrieval == (0.5, 0.5), "one of the two sources is cited"


@pytest.mark.parametrize(
    "citation",
    [
        "https://evil.example/wiki/Printing_press",
        "https://en.wikipedia.org.evil.example/wiki/Printing_press",
        "https://de.wikipedia.org/wiki/Printing_press",
        "https://en.wikipedia.org/wiki/Printing",
        "https://[",
        "https://en.wikipedia.org/",
        "",
        "?",
    ],
)
def test_different_pages_stay_different(citation: str) -> None:
    assert score_retrieval([citation], PRESS_QUESTION.sources) == (0, 0)


def test_addresses_of_other_sites_keep_their_query() -> None:
    assert parse_citation("https://www.a.example:443/x/?b=2&a=1&utm_medium=m") == parse_citation(
        "//a.example/x?a=1&b=2"
    )
    assert parse_citation("https://a.example/x?id=1") != parse_citation("https://a.example/x?id=2")
    assert parse_citation("https://a.example/X") != parse_citation("https://a.example/x")


def test_precision_uses_as_many_pages_as_sources() -> None:
    press_page, reformation_page = (source.url for source in PRESS_QUESTION.sources)
    other_pages = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    assert score_retrieval([press_page, reformation_page], PRESS_QUESTION.sources) == (1, 1)
    assert score_retrieval(
        [press_page, *other_pages, reformation_page], PRESS_QUESTION.sources
    ) == (0.5, 1)
    late_hit = [*other_pages, "https://a.example/4", "https://a.example/5", press_page]
    assert score_retrieval(late_hit, PRESS_QUESTION.sources) == (0, 0)
    # A page cited again, by address or by title, neither helps nor displaces another page.
    assert score_retrieval([press_page] * 5, PRESS_QUESTION.sources) == (0.5, 0.5)
    assert score_retrieval(
        [press_page, "Printing press", *[other_pages[0]] * 9, reformation_page],
        PRESS_QUESTION.sources,
    ) == (
        0.5,
        1,
    )
    assert score_retrieval([], PRESS_QUESTION.sources) == (0, 0)
    assert score_retrieval([press_page], ()) is None
    many_sources = tuple(Source(f"Page {number}") for number in range(8))
    assert score_retrieval([f"page {number}" for number in range(8)], many_sources) == (1, 5 / 8)


# --- what is unjudged -------------------------------------------------------------------------

QUESTION_WITHOUT_FACTS = msgspec.structs.replace(PRESS_QUESTION, steps=(Step("Find him."),))


def score_answer(answer: str, question: Question = PRESS_QUESTION) -> AnswerScores:
    return score_corrected(Prediction("HIA-01", answer), question, None, THRESHOLDS)


@pytest.mark.parametrize("answer", ["Gutenberg.", " ".join(s.fact for s in PRESS_QUESTION.steps)])
def test_steps_are_unjudged_whatever_the_answer_says(answer: str) -> None:
    parts = score_answer(answer)
    assert (parts.rqs, parts.aggregate) == (None, None)
    assert {"rqs", "aggregate"} <= {*parts.unjudged}
    assert parts.unjudged_steps == 4


def test_question_without_facts_has_no_unjudged_steps() -> None:
    parts = score_answer(PRESS_QUESTION.answer, QUESTION_WITHOUT_FACTS)
    assert (parts.rqs, parts.unjudged_steps, parts.unjudged) == (None, 0, ())
    # Without RQS, the weights of F1 (.3), P@5 (.2), FCS (.1) and IE (.1) are divided by their sum.
    assert parts.f1 == parts.fcs == 1
    assert parts.aggregate == pytest.approx((0.3 + 0.1) / 0.7)


def test_unjudged_claims_are_not_in_the_denominator() -> None:
    other_words = "Rich merchants paid scribes."
    parts = score_answer(f"{PRESS_QUESTION.answer} {other_words}", QUESTION_WITHOUT_FACTS)
    assert [claim.verdict for claim in parts.claims] == ["licensed", "unjudged"]
    assert parts.fcs == 1
    parts = score_answer(other_words, QUESTION_WITHOUT_FACTS)
    assert (parts.fcs, parts.aggregate, parts.unjudged) == (None, None, ("fcs", "aggregate"))


def test_mean_over_unjudged_and_missing_answers_is_null() -> None:
    catalog = read_six_questions()
    row = make_prediction(catalog.questions[0], "Rich merchants paid scribes.", [])
    scores = score_predictions([row], catalog, resamples=10).modes["corrected"]
    for metric in ("rqs", "fcs", "aggregate"):
        mean = scores.overall.measures[metric]
        assert (mean.value, mean.n, mean.nulls, mean.unjudged) == (None, 0, 6, 1)
        assert mean.why.startswith("unjudged")
        assert scores.categories["SFT"].measures[metric].value == 0, "it has no answer"
    assert scores.overall.measures["f1"].value == 0
    assert scores.overall.measures["f1"].n == 6
    assert {point.aggregate for point in scores.sweep} == {None}
    assert scores.claims == {"licensed": 0, "contradicted": 0, "unknown": 0, "unjudged": 1}
    empty = score_predictions([], catalog, resamples=10).modes["corrected"]
    assert empty.overall.measures["aggregate"].value == 0


# --- claims -----------------------------------------------------------------------------------


def list_claim_verdicts(
    answer: str, question: Question = PRESS_QUESTION, guard: Guard | None = None
) -> list[str]:
    return [claim.verdict for claim in judge_claims(answer, question, guard)]


def test_only_quoted_evidence_licenses_a_claim() -> None:
    fact = PRESS_QUESTION.steps[0].fact
    assert list_claim_verdicts(fact) == ["licensed"]
    assert list_claim_verdicts(fact.upper()) == ["licensed"]
    for claim in (
        "Gutenberg did not invent the printing press about 1440.",
        "Gutenberg invented the printing press about 1540.",
        "It is a myth that Gutenberg invented the printing press about 1440.",
        "About 1440 Gutenberg invented the printing press.",
        "Gutenberg printing press 1440.",
        "Water boils at a hundred degrees.",
    ):
        assert list_claim_verdicts(claim) == ["unjudged"], claim


def test_repeated_claim_counts_once_and_a_question_never() -> None:
    fact = PRESS_QUESTION.steps[0].fact
    assert list_claim_verdicts(f"{fact} {fact} Was it 1440?") == ["licensed"]
    assert list_claim_verdicts(PRESS_QUESTION.question) == []
    assert list_claim_verdicts("The printing press did influence literacy in Europe.") == []
    assert list_claim_verdicts("") == []


def test_graph_is_consulted_first() -> None:
    guard = Guard(KnowledgeBase.open_cached("rivers"))
    question = Question(
        id="EEC-01",
        category="EEC",
        question="Where does the Rhine go?",
        answer="The Rhine flows into the North Sea.",
        sources=(Source("Rhine"),),
        steps=(Step("x", "The Rhine flows into the North Sea."),),
    )
    assert list_claim_verdicts("The Rhine flows into the Black Sea.", question, guard) == [
        "contradicted"
    ]
    assert list_claim_verdicts("The Rhine flows into the North Sea.", question, guard) == [
        "licensed"
    ]
    claims = judge_claims("The Rhine drains into the North Sea.", question, guard)
    assert (claims[0].verdict, claims[0].by) == ("licensed", "graph")
    # This claim is true in the graph, but does not concern the question.
    assert list_claim_verdicts("The Danube traverses Austria.", question, guard) == ["unjudged"]


def test_sources_given_by_the_answer_verify_nothing() -> None:
    wrong_claim = "Charlemagne ordered every abbey to teach peasants."
    parts = score_corrected(
        Prediction("HIA-01", wrong_claim, sources_verified=(wrong_claim,)),
        PRESS_QUESTION,
        None,
        THRESHOLDS,
    )
    assert [claim.verdict for claim in parts.claims] == ["unjudged"]
    assert parts.fcs is None


def test_missing_claims_are_null_and_score_zero() -> None:
    parts = score_answer(PRESS_QUESTION.question, QUESTION_WITHOUT_FACTS)
    assert (parts.fcs, parts.unjudged) == (None, ())
    assert parts.aggregate == 0


# --- iterations -------------------------------------------------------------------------------


def test_efficiency_uses_the_first_correct_round() -> None:
    assert iteration_efficiency(0.9, (0.1, 0.6, 0.9), 0.5) == 0.5
    assert iteration_efficiency(0.9, (0.1, 0.6, 0.9), 0.8) == pytest.approx(1 / 3)
    assert iteration_efficiency(0.9, (0.0,) * 7 + (1.0,), 0.5) == 0.2
    assert iteration_efficiency(0.9, (), 0.5) == 0
    assert iteration_efficiency(0.4, (1.0,), 0.5) == 0, "the final answer is wrong again"


def test_round_with_many_answers_counts_as_one_answer() -> None:
    wrong_answers = (f"The {word} did all of it by some chance. " * 3 for word in "abcdefgh")
    answers = [PRESS_QUESTION.answer, *wrong_answers]
    row = make_prediction(PRESS_QUESTION, PRESS_QUESTION.answer, [])
    row["iterations"] = [{"answers": answers}]
    modes = score_predictions([row], make_catalog(PRESS_QUESTION), "both").modes
    assert modes["corrected"].questions[0].parts.ie == 0
    assert modes["literal"].questions[0].parts.ie == 1


def make_catalog(question: Question) -> Catalog:
    return msgspec.structs.replace(read_six_questions(), questions=(question,), notes=())
