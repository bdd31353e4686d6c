"""Tests each metric of the corrected scores against manual values, and its invariants."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_six_answers import make_prediction, read_six_questions

from eval.guard.stream import Guard
from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.answer_scores import iteration_efficiency, score_corrected
from eval.synthlink.corrected.claim_f1 import compute_claim_f1, list_claims
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.pages import parse_citation, score_retrieval
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.metrics import METRICS, AnswerScores, JudgedClaim, JudgedStep, StepVerdict
from eval.synthlink.predictions import Iteration, Prediction
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

QUESTION_WITHOUT_FACTS = msgspec.structs.replace(PRESS_QUESTION, steps=(Step("Find him."),))


def score_answer(answer: str, question: Question = PRESS_QUESTION) -> AnswerScores:
    return score_corrected(Prediction("HIA-01", answer), question, None, THRESHOLDS)


# --- F1 ---------------------------------------------------------------------------------------


def get_f1(answer: str, question: Question = PRESS_QUESTION) -> tuple[float | None, float, float]:
    """Returns the F1 of an answer without a judge, and its bounds."""
    parts = score_answer(answer, question)
    low, high = parts.bounds.get("f1", (parts.f1 or 0.0, parts.f1 or 0.0))
    return parts.f1, low, high


def test_f1_is_computed_from_the_words_of_claims_and_facts() -> None:
    first, second, *_ = (step.fact for step in PRESS_QUESTION.steps)
    # Without words of the question: "Gutenberg invented about 1440", "printed books became much
    # cheaper manuscripts", "more people learned read", "pamphlets spread ideas reformation".
    weights = [4, 6, 4, 4]
    claims = [JudgedClaim(first, "supported", "facts"), JudgedClaim(second, "unjudged", "nothing")]
    verdicts: tuple[StepVerdict, ...] = ("stated", "missing", "unjudged", "contradicted")
    steps = [JudgedStep(number, verdict, "facts") for number, verdict in enumerate(verdicts, 1)]
    f1 = compute_claim_f1(claims, steps, PRESS_QUESTION)
    assert f1.value is None, "a claim and a fact are unjudged"
    precision, recall = 4 / (weights[0] + weights[1]), 4 / sum(weights)
    assert f1.low == pytest.approx(2 * precision * recall / (precision + recall))
    recall = (4 + 4) / sum(weights)
    assert f1.high == pytest.approx(2 * 1 * recall / (1 + recall))


def test_denied_reversed_and_listed_facts_have_no_f1() -> None:
    facts = [step.fact for step in PRESS_QUESTION.steps]
    assert get_f1(" ".join(facts)) == (1, 1, 1)
    assert get_f1(PRESS_QUESTION.answer)[0] == 1
    denied = " ".join(f"It is not true that {fact}" for fact in facts)
    assert get_f1(denied) == (0, 0, 0)
    reversed_answer = "The printing press invented Gutenberg about 1440."
    assert get_f1(reversed_answer) == (0, 0, 0)
    assert get_f1("Gutenberg, printing press, 1440, Mainz, movable type.") == (0, 0, 0)
    assert get_f1("") == get_f1(PRESS_QUESTION.question) == (0, 0, 0)
    other_words = get_f1("Rich merchants paid scribes.")
    assert other_words == (None, 0, 1), "nothing decides it"


def test_repetition_and_words_of_the_question_do_not_change_f1() -> None:
    fact = PRESS_QUESTION.steps[0].fact
    assert get_f1(fact) == get_f1(f"{fact} {fact}") == get_f1(f"{fact} {PRESS_QUESTION.question}")
    low, high = get_f1(fact)[1:]
    padded = get_f1(f"{fact} Zebras of 1877 eat grass.")
    assert padded[1] < low, "a claim that is not found costs precision"
    assert padded[2] < high


def test_answer_within_the_question_counts_fully() -> None:
    question = msgspec.structs.replace(
        PRESS_QUESTION, question="Was it Rome or Carthage?", answer="Carthage", steps=(Step("x"),)
    )
    assert get_f1("Carthage.", question) == (1, 1, 1)
    assert get_f1("Rome", question)[0] == 0


def test_an_alias_counts_as_an_expected_answer() -> None:
    alias = "Cheap paper made all the difference."
    question_with_alias = msgspec.structs.replace(PRESS_QUESTION, aliases=(alias,))
    assert get_f1(alias)[0] != 1
    assert get_f1(alias, question_with_alias) == (1, 1, 1)


def test_without_facts_the_expected_answer_has_to_be_stated() -> None:
    answer = "Gutenberg invented the press in 1440. Literacy spread from Mainz."
    question = msgspec.structs.replace(QUESTION_WITHOUT_FACTS, answer=answer)
    assert get_f1(answer, question) == (1, 1, 1)
    half = get_f1("In 1440 Gutenberg invented the press.", question)
    assert half[1] < 1, "one of two sentences is not known to be stated"
    assert half[1] > 0
    denied = answer.replace(" invented", " never invented").replace(" spread", " did not spread")
    assert get_f1(denied, question)[0] == 0


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_every_metric_of_any_answer_is_between_0_and_1(text: str) -> None:
    prediction = Prediction("HIA-01", text, (text, text[:9]), (), (text,))
    parts = score_corrected(prediction, PRESS_QUESTION, None, THRESHOLDS)
    for name in METRICS:
        value = getattr(parts, name)
        low, high = parts.bounds.get(name, (0, 1))
        assert value is None or 0 <= low <= value <= high <= 1, name
    assert parts.p_at_5 == 0


# --- pages ------------------------------------------------------------------------------------


def score_pages(
    docs: list[str], sources: tuple[Source, ...] = PRESS_QUESTION.sources
) -> tuple[float | None, float | None] | None:
    """Returns precision and recall of pages that were all opened."""
    retrieval = score_retrieval(docs, sources, docs)
    return None if retrieval is None else retrieval[:2]


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
    assert score_pages([citation]) == (0.5, 0.5), "one of the two sources is cited"


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
    assert score_pages([citation]) == (0, 0)


def test_addresses_of_other_sites_keep_their_query() -> None:
    assert parse_citation("https://www.a.example:443/x/?b=2&a=1&utm_medium=m") == parse_citation(
        "//a.example/x?a=1&b=2"
    )
    assert parse_citation("https://a.example/x?id=1") != parse_citation("https://a.example/x?id=2")
    assert parse_citation("https://a.example/X") != parse_citation("https://a.example/x")


def test_precision_uses_as_many_pages_as_sources() -> None:
    press_page, reformation_page = (source.url for source in PRESS_QUESTION.sources)
    other_pages = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    assert score_pages([press_page, reformation_page]) == (1, 1)
    assert score_pages([press_page, *other_pages, reformation_page]) == (0.5, 1)
    late_hit = [*other_pages, "https://a.example/4", "https://a.example/5", press_page]
    assert score_pages(late_hit) == (0, 0)
    # A page cited again, by address or by title, neither helps nor displaces another page.
    assert score_pages([press_page] * 5) == (0.5, 0.5)
    assert score_pages([press_page, "Printing press", *[other_pages[0]] * 9, reformation_page]) == (
        0.5,
        1,
    )
    assert score_pages([]) == (0, 0)
    assert score_pages([press_page], ()) is None
    many_sources = tuple(Source(f"Page {number}") for number in range(8))
    assert score_pages([f"page {number}" for number in range(8)], many_sources) == (1, 5 / 8)


def test_only_pages_that_were_opened_count() -> None:
    press_page, reformation_page = (source.url for source in PRESS_QUESTION.sources)
    named = (press_page, reformation_page)
    cases: list[tuple[tuple[str, ...] | None, float | None]] = [
        (named, 1.0),
        ((press_page,), 0.5),
        (("Printing press",), 0.5),
        ((), 0.0),
        (None, None),
    ]
    for opened, expected in cases:
        iterations = (Iteration(docs=named, opened=opened),)
        prediction = Prediction("HIA-01", "Gutenberg.", named, iterations)
        parts = score_corrected(prediction, PRESS_QUESTION, None, THRESHOLDS)
        assert parts.p_at_5 == expected, opened
    assert parts.bounds["p_at_5"] == (0.0, 1.0), "it is not known what was opened"
    assert "p_at_5" in parts.unjudged
    wrong = Prediction("HIA-01", "Gutenberg.", ("https://a.example/1",))
    parts = score_corrected(wrong, PRESS_QUESTION, None, THRESHOLDS)
    assert (parts.p_at_5, "p_at_5" in parts.bounds) == (0.0, False), "none of them is a source"


# --- what is unjudged -------------------------------------------------------------------------


def list_steps(answer: str) -> list[str]:
    return [step.verdict for step in score_answer(answer).steps]


def test_steps_are_judged_by_their_facts() -> None:
    facts = [step.fact for step in PRESS_QUESTION.steps]
    for number, fact in enumerate(facts):
        verdicts = list_steps(fact)
        assert verdicts[number] == "stated", fact
        assert verdicts.count("stated") == 1, fact
        assert list_steps(f"It is not true that {fact}")[number] == "contradicted", fact
        assert list_steps(f"Some say that {fact}")[number] == "unjudged", fact
    assert list_steps(" ".join(facts)) == ["stated"] * 4
    assert score_answer(" ".join(facts)).rqs == 1


def test_bounds_are_the_values_if_everything_unjudged_were_wrong_or_right() -> None:
    facts = [step.fact for step in PRESS_QUESTION.steps]
    parts = score_answer(f"{facts[0]} Scribes feared it.")
    stated, unjudged = (
        sum(step.verdict == verdict for step in parts.steps) for verdict in ("stated", "unjudged")
    )
    assert parts.bounds.get("rqs", (parts.rqs, parts.rqs)) == (stated / 4, (stated + unjudged) / 4)
    assert (parts.fcs, parts.bounds["fcs"]) == (1, (0.5, 1))
    low, high = parts.bounds["aggregate"]
    assert low < high
    assert parts.f1 is None
    assert low == pytest.approx(0.3 * parts.bounds["f1"][0] + 0.3 * stated / 4 + 0.1 * 0.5)


def test_steps_are_stated_by_claims_that_the_graph_licenses() -> None:
    guard = Guard(KnowledgeBase.open_cached("synthlink"))
    question = next(one for one in read_catalog().questions if one.id == "EIS-10")
    # The third step's triple in the domain's wording, and denied.
    stated = "The opening of the Erie Canal enabled the shipping of Great Lakes grain to the coast."
    for answer, expected in ((stated, "stated"), (f"It is a myth that {stated}", "contradicted")):
        scores = score_corrected(Prediction(question.id, answer), question, guard, THRESHOLDS)
        assert scores.steps[2].verdict == expected, answer


def test_question_without_facts_has_no_unjudged_steps() -> None:
    parts = score_answer(PRESS_QUESTION.answer, QUESTION_WITHOUT_FACTS)
    assert (parts.rqs, parts.unjudged_steps, parts.unjudged) == (None, 0, ())
    # Without RQS, the weights of F1 (.3), P@5 (.2), FCS (.1) and IE (.1) are divided by their sum.
    assert parts.f1 == parts.fcs == 1
    assert parts.aggregate == pytest.approx((0.3 + 0.1) / 0.7)


def test_unjudged_claims_are_not_in_the_denominator() -> None:
    other_words = "Rich merchants paid scribes."
    parts = score_answer(f"{PRESS_QUESTION.answer} {other_words}", QUESTION_WITHOUT_FACTS)
    assert [claim.verdict for claim in parts.claims] == ["supported", "unjudged"]
    assert parts.fcs == 1
    parts = score_answer(other_words, QUESTION_WITHOUT_FACTS)
    assert (parts.fcs, parts.aggregate, parts.unjudged) == (None, None, ("f1", "fcs", "aggregate"))


def test_mean_over_unjudged_and_missing_answers_is_null() -> None:
    catalog = read_six_questions()
    row = make_prediction(catalog.questions[0], "The rich merchants had paid all the scribes.", [])
    scores = score_predictions([row], catalog, resamples=10).modes["corrected"]
    assert scores.overall.measures["rqs"].value == 0, "it has no keyword of any step"
    for metric in ("fcs", "aggregate"):
        mean = scores.overall.measures[metric]
        assert (mean.value, mean.n, mean.nulls, mean.unjudged) == (None, 0, 6, 1)
        assert mean.why.startswith("unjudged")
        assert scores.categories["SFT"].measures[metric].value == 0, "it has no answer"
    assert scores.overall.measures["f1"].value == 0
    assert scores.overall.measures["f1"].n == 6
    assert {point.aggregate for point in scores.sweep} == {None}
    assert scores.claims == {"supported": 0, "contradicted": 0, "not_found": 0, "unjudged": 1}
    empty = score_predictions([], catalog, resamples=10).modes["corrected"]
    assert empty.overall.measures["aggregate"].value == 0


# --- claims -----------------------------------------------------------------------------------


def list_claim_verdicts(
    answer: str, question: Question = PRESS_QUESTION, guard: Guard | None = None
) -> list[str]:
    return [claim.verdict for claim in judge_claims(answer, question, guard)]


def test_evidence_decides_what_says_the_same_or_the_opposite() -> None:
    fact = PRESS_QUESTION.steps[0].fact
    for claim, expected in (
        (fact, "supported"),
        (fact.upper(), "supported"),
        ("About 1440 Gutenberg invented the printing press.", "supported"),
        ("The printing press was invented by Gutenberg about 1440.", "supported"),
        ("Gutenberg did not invent the printing press about 1440.", "contradicted"),
        ("Gutenberg invented the printing press about 1540.", "contradicted"),
        ("It is a myth that Gutenberg invented the printing press about 1440.", "contradicted"),
        ("The printing press invented Gutenberg about 1440.", "contradicted"),
        ("Gutenberg may have invented the printing press about 1440.", "unjudged"),
        ("Gutenberg's rival invented the printing press about 1440.", "unjudged"),
        ("Gutenberg printing press 1440.", "unjudged"),
        ("Gutenberg, printing press, 1440, Mainz, movable type.", "not_found"),
        ("Water boils at 100 degrees.", "unjudged"),
        ("The Ottomans had no printers in Constantinople.", "not_found"),
    ):
        assert list_claim_verdicts(claim) == [expected], claim


def test_repeated_claim_counts_once_and_a_question_never() -> None:
    fact = PRESS_QUESTION.steps[0].fact
    assert list_claim_verdicts(f"{fact} {fact} Was it 1440?") == ["supported"]
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
        "supported"
    ]
    claims = judge_claims("The Rhine drains into the North Sea.", question, guard)
    assert (claims[0].verdict, claims[0].by) == ("supported", "graph")
    # This claim is true in the graph, but does not concern the question.
    assert list_claim_verdicts("The Danube traverses Austria.", question, guard) == ["not_found"]


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
    def get_value(final: float, rounds: tuple[float, ...], correct: float) -> float | None:
        return iteration_efficiency(final, rounds, correct).value

    assert get_value(0.9, (0.1, 0.6, 0.9), 0.5) == 0.5
    assert get_value(0.9, (0.1, 0.6, 0.9), 0.8) == pytest.approx(1 / 3)
    assert get_value(0.9, (0.0,) * 7 + (1.0,), 0.5) == 0.2
    assert get_value(0.9, (), 0.5) == 0
    assert get_value(0.4, (1.0,), 0.5) == 0, "the final answer is wrong again"


def test_efficiency_is_unjudged_if_it_depends_on_what_is() -> None:
    maybe = (0.1, 0.9)
    assert iteration_efficiency(maybe, (0.0, 0.6), 0.5) == (None, 0, 0.5)
    assert iteration_efficiency(0.9, (maybe, 0.6), 0.5) == (None, 0.5, 1)
    assert iteration_efficiency(0.9, (0.6, maybe), 0.5) == (1, 1, 1)
    assert iteration_efficiency(0.2, (maybe,), 0.5) == (0, 0, 0)


def test_an_answer_that_denies_what_it_names_is_not_correct() -> None:
    facts = " ".join(step.fact for step in PRESS_QUESTION.steps)
    denied = " ".join(f"It is not true that {step.fact}" for step in PRESS_QUESTION.steps)
    for answer, rounds, expected in (
        (facts, [denied, facts], 0.5),
        (denied, [facts, denied], 0),
        (facts, ["Rich merchants paid scribes.", facts], None),
    ):
        iterations = tuple(Iteration(answers=(text,)) for text in rounds)
        prediction = Prediction("HIA-01", answer, (), iterations)
        parts = score_corrected(prediction, PRESS_QUESTION, None, THRESHOLDS)
        assert parts.ie == expected, rounds
    assert parts.bounds["ie"] == (0.5, 1)
    assert "ie" in parts.unjudged


NAMES = ("Ottokar", "Wenceslas", "Sigismund", "Ladislaus", "Matthias", "Casimir", "Boleslaw")


def test_round_with_many_answers_counts_as_one_answer() -> None:
    wrong_answers = (f"King {name} paid all scribes of Bohemia." for name in NAMES)
    answers = [PRESS_QUESTION.answer, *wrong_answers]
    row = make_prediction(PRESS_QUESTION, PRESS_QUESTION.answer, [])
    row["iterations"] = [{"answers": answers}]
    modes = score_predictions([row], make_catalog(PRESS_QUESTION), "both").modes
    assert modes["corrected"].questions[0].parts.ie == 0
    assert modes["literal"].questions[0].parts.ie == 1


def make_catalog(question: Question) -> Catalog:
    return msgspec.structs.replace(read_six_questions(), questions=(question,), notes=())


def test_a_repeated_claim_is_retracted_if_any_of_its_wordings_is() -> None:
    question = read_catalog().questions[0]
    claim = "The Rhine rises in Uri."
    for answer in (f"{claim} {claim} That is a myth.", f"{claim} That is a myth. {claim}"):
        claims = {found.text: found.is_retracted for found in list_claims(answer, question)}
        assert claims[claim]
        assert len(claims) == 2
