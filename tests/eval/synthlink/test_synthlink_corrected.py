"""Tests each metric of the corrected scores against manual values, and its invariants."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_attacks import make_prediction, read_six_questions

from eval.guard.stream import Guard
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.answer_match import match_answer, order_factor
from eval.synthlink.corrected.answer_scores import iteration_efficiency, score_corrected
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.pages import parse_citation, score_retrieval
from eval.synthlink.corrected.prose import signs
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import order
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.predictions import Prediction
from eval.synthlink.scoring.scores import score_predictions
from kg.knowledge import KnowledgeBase
from kg.words.normaliser import extract_content_words

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
    match = match_answer("The red cat, a cat, sat", question, THRESHOLDS)
    assert match.plain_f1 == pytest.approx(2 * 2 / (5 + 4))
    assert match.f1 == match.plain_f1
    assert match_answer("red " * 50, question, THRESHOLDS).plain_f1 == pytest.approx(2 / 55)
    assert match_answer("", question, THRESHOLDS).f1 == 0
    assert match_answer(question.answer, question, THRESHOLDS).f1 == 1


def test_question_words_do_not_change_f1() -> None:
    assert match_answer(PRESS_QUESTION.question, PRESS_QUESTION, THRESHOLDS).f1 == 0
    answer = "Gutenberg made books cheaper."
    padded_answer = (
        "In Europe, where the printing press had its influence on literacy, Gutenberg made "
        "books cheaper."
    )
    assert (
        match_answer(padded_answer, PRESS_QUESTION, THRESHOLDS).plain_f1
        == match_answer(answer, PRESS_QUESTION, THRESHOLDS).plain_f1
    )


LONG_QUESTION = msgspec.structs.replace(
    PRESS_QUESTION,
    question="What?",
    answer="Ada built the engine, Babbage drew it, Turing proved it and Neumann wired the machine.",
    steps=(Step("x", keywords=("Ada", "Babbage", "Turing", "Neumann")),),
)
"""The answer has four names and six other words: built, engine, drew, proved, wired, machine."""


def test_lists_of_names_count_less() -> None:
    lenient = msgspec.structs.replace(THRESHOLDS, names=0.5)
    assert match_answer(LONG_QUESTION.answer, LONG_QUESTION, lenient).plain_f1 == 1, (
        "as many other words as the expected answer has are enough"
    )
    # The answer has four names and eight other words, so nothing is taken off, although none of
    # these is in the expected answer (10 words).
    answer = "Ada met Babbage near Turing while Neumann found some house by lucky chance."
    answer_words = 4 + 8
    assert match_answer(answer, LONG_QUESTION, THRESHOLDS).plain_f1 == pytest.approx(
        2 * 4 / (answer_words + 10)
    )
    # The seven names have only one other word, so 1.5 of the seven count. Four names are right.
    name_string = "Ada and Babbage and Turing and Neumann and Ada met Babbage and Turing."
    match = match_answer(name_string, LONG_QUESTION, THRESHOLDS)
    assert match.keyword_factor == pytest.approx(1.5 / 7)
    assert match.plain_f1 == pytest.approx(2 * 4 * 1.5 / 7 / (8 + 10))
    assert (
        match_answer(name_string.replace("met", "and Ada and"), LONG_QUESTION, THRESHOLDS).f1 == 0
    )
    # A short answer may consist of names.
    assert match_answer(
        "Ada, Babbage, Turing and Neumann", LONG_QUESTION, THRESHOLDS
    ).plain_f1 == pytest.approx(2 * 4 / 14)
    # A reference that consists of names may be answered by names.
    names_question = msgspec.structs.replace(
        LONG_QUESTION, answer="Ada and Babbage and Turing and Neumann and Ada and Babbage."
    )
    assert match_answer(names_question.answer * 2, names_question, THRESHOLDS).plain_f1 > 0.6


def test_words_of_a_contradicted_sentence_count_a_quarter() -> None:
    wrong_sentence = "Books did not become cheaper."
    answer = f"Gutenberg invented it about 1440. {wrong_sentence}"
    full_match = match_answer(answer, PRESS_QUESTION, THRESHOLDS)
    reduced_match = match_answer(answer, PRESS_QUESTION, THRESHOLDS, [wrong_sentence])
    # Six words are right: Gutenberg, invented, about and 1440, and in the contradicted sentence
    # books and cheaper. The answer has 8 words, the facts have 18.
    assert full_match.plain_f1 == pytest.approx(2 * 6 / (8 + 18))
    assert reduced_match.plain_f1 == pytest.approx(2 * (4 + 0.25 * 2) / (8 + 18))
    parts = score_corrected(Prediction("HIA-01", answer), PRESS_QUESTION, None, THRESHOLDS)
    assert [claim.verdict for claim in parts.claims] == ["licensed", "contradicted"]
    assert parts.plain_f1 == reduced_match.plain_f1


def test_names_alone_support_no_step_or_claim() -> None:
    named_question = msgspec.structs.replace(
        PRESS_QUESTION,
        steps=(Step("x", PRESS_QUESTION.steps[0].fact, ("Gutenberg", "1440")),),
        answer="?",
        aliases=(),
    )
    names = "Gutenberg was in 1440."
    assert find_steps_taken(names, named_question, THRESHOLDS) == ()
    assert list_claim_verdicts(names, named_question) == ["unknown"]
    assert find_steps_taken("Gutenberg invented it in 1440.", named_question, THRESHOLDS) == (0,)
    assert list_claim_verdicts("Gutenberg invented it in 1440.", named_question) == ["licensed"]
    # Other words may paraphrase the fact, but do not confirm it.
    assert find_steps_taken("Gutenberg had it in mind by 1440.", named_question, THRESHOLDS) == (0,)
    assert list_claim_verdicts("Gutenberg had it in mind by 1440.", named_question) == ["unknown"]
    # A fact without other words may be given by names.
    names_only_question = msgspec.structs.replace(
        named_question, steps=(Step("x", "It was Gutenberg in 1440.", ("Gutenberg", "1440")),)
    )
    assert find_steps_taken(names, names_only_question, THRESHOLDS) == (0,)
    assert list_claim_verdicts(names, names_only_question) == ["licensed"]


def test_answer_within_the_question_counts_fully() -> None:
    question = msgspec.structs.replace(
        PRESS_QUESTION, question="Was it Rome or Carthage?", answer="Carthage", steps=(Step("x"),)
    )
    assert match_answer("Carthage", question, THRESHOLDS).f1 == 1
    assert match_answer("Rome", question, THRESHOLDS).f1 == 0


def test_the_best_of_answer_aliases_and_facts_counts() -> None:
    facts = " ".join(step.fact for step in PRESS_QUESTION.steps)
    assert match_answer(facts, PRESS_QUESTION, THRESHOLDS).f1 == 1
    question_with_alias = msgspec.structs.replace(
        PRESS_QUESTION, aliases=("Cheap paper made all the difference.",)
    )
    assert match_answer("Cheap paper made all the difference.", PRESS_QUESTION, THRESHOLDS).f1 < 0.2
    assert (
        match_answer("Cheap paper made all the difference.", question_with_alias, THRESHOLDS).f1
        == 1
    )


def test_word_order_score_is_corrected_for_chance() -> None:
    reference = list("abcdefgh")
    assert order(reference, reference) == 1
    assert order(reference[::-1], reference) == 0
    assert order([*"efgh", *"abcd"], reference) == pytest.approx(2 * 6 / 7 - 1)
    assert order(["e", "d", "c", "b", "a"], reference) == 1, "five words are too few to judge"
    assert order(list("xyz"), reference) == 1
    # A repeated word is matched where it continues the order.
    assert order(list("abcdea"), list("abcdea")) == 1
    # Three of five neighbours are in order: 2 · 3/5 - 1 = .2.
    assert order(list("adbecf"), list("abcdef")) == 0.2


def test_word_order_penalty_is_limited() -> None:
    # The third argument adds four pairs in the right order, because few pairs are weak evidence.
    assert order(list("fedcba"), list("abcdef"), 4) == pytest.approx(2 * 4 / 9 - 1, abs=0.2) == 0
    assert order(list("adbecf"), list("abcdef"), 4) == pytest.approx(2 * 7 / 9 - 1)
    assert order_factor(0, THRESHOLDS) == 0.5
    assert order_factor(0.2, THRESHOLDS) == pytest.approx(0.75)
    assert order_factor(0.4, THRESHOLDS) == order_factor(1, THRESHOLDS) == 1
    assert order_factor(0, msgspec.structs.replace(THRESHOLDS, order=0.0)) == 1


@settings(deadline=None, max_examples=60)
@given(st.integers(30, 60), st.integers())
def test_shuffled_words_have_no_order(size: int, seed: int) -> None:
    rng = random.Random(seed)
    reference = [str(number) for number in range(size)]
    shuffled = [list(reference) for _ in range(30)]
    for words in shuffled:
        rng.shuffle(words)
    scores = [order(words, reference) for words in shuffled]
    assert sum(scores) / len(scores) < 0.25
    assert all(0 <= value <= 1 for value in scores)


def test_keyword_list_is_not_prose() -> None:
    keywords = "Gutenberg, 1440, books, cheaper, people, learned, read, ideas, Reformation, spread"
    # ``small`` is the share of small words, such as "the" and "of".
    assert signs(keywords).small == 0
    match = match_answer(keywords, PRESS_QUESTION, THRESHOLDS)
    assert match.plain_f1 > 0.6
    assert match.prose == 0
    assert match.f1 == pytest.approx(0.25 * match.plain_f1), "a right list keeps a quarter"
    short_list = match_answer("Gutenberg, cheaper books", PRESS_QUESTION, THRESHOLDS)
    assert short_list.prose == 1, "three words are too few to judge"


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_every_metric_of_any_answer_is_between_0_and_1(text: str) -> None:
    prediction = Prediction("HIA-01", text, (text, text[:9]), (), (text,))
    parts = score_corrected(prediction, PRESS_QUESTION, None, THRESHOLDS)
    for value in (parts.f1, parts.p_at_5, parts.recall_at_5, parts.rqs, parts.ie, parts.aggregate):
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


# --- steps ------------------------------------------------------------------------------------


def test_steps_are_matched_in_any_order_by_separate_words() -> None:
    answer = (
        "The ideas of the Reformation spread by pamphlets. In about 1440 Gutenberg invented the "
        "printing press, which made printed books much cheaper."
    )
    assert find_steps_taken(answer, PRESS_QUESTION, THRESHOLDS) == (0, 1, 3)
    all_facts = " ".join(step.fact for step in reversed(PRESS_QUESTION.steps))
    assert find_steps_taken(all_facts, PRESS_QUESTION, THRESHOLDS) == (0, 1, 2, 3)


def test_one_statement_supports_one_step() -> None:
    repeated_step = msgspec.structs.replace(
        PRESS_QUESTION, steps=(PRESS_QUESTION.steps[2], PRESS_QUESTION.steps[2])
    )
    statement = "More people learned to read."
    assert len(find_steps_taken(statement, repeated_step, THRESHOLDS) or ()) == 1
    repeated_statement = "More people learned to read. And more people learned to read."
    assert len(find_steps_taken(repeated_statement, repeated_step, THRESHOLDS) or ()) == 2


@pytest.mark.parametrize(
    "answer",
    [
        "Did Gutenberg invent the printing press about 1440?",
        "Gutenberg did not invent the printing press about 1440.",
        "Gutenberg invented the printing press about 1540.",
        "Gutenberg.",
        "The kings of the towns of the roads of Gutenberg of the mills of the year 1440 of the "
        "ships of the sails of the maps of the stars of the clocks of the bells of the guns.",
    ],
)
def test_text_without_a_fact_supports_no_step(answer: str) -> None:
    one_step_question = msgspec.structs.replace(PRESS_QUESTION, steps=PRESS_QUESTION.steps[:1])
    assert find_steps_taken(answer, one_step_question, THRESHOLDS) == ()


def test_steps_of_a_too_long_answer_count_less() -> None:
    facts = " ".join(step.fact for step in PRESS_QUESTION.steps)
    fact_words = len(extract_content_words(facts))
    filler = "Besides, monks kept copying psalters by hand in remote abbeys for many years."
    padded = " ".join([facts, *[filler] * 9])
    answer_words = fact_words + 9 * len(extract_content_words(filler))
    assert find_steps_taken(padded, PRESS_QUESTION, THRESHOLDS) == (0, 1, 2, 3)
    parts = score_corrected(Prediction("HIA-01", padded), PRESS_QUESTION, None, THRESHOLDS)
    assert parts.brevity == pytest.approx(3 * fact_words / answer_words)
    assert parts.rqs == parts.brevity
    assert (
        score_corrected(Prediction("HIA-01", facts), PRESS_QUESTION, None, THRESHOLDS).brevity == 1
    )


def test_steps_need_facts() -> None:
    question_without_facts = msgspec.structs.replace(
        PRESS_QUESTION, steps=(Step("Find the inventor."),)
    )
    assert find_steps_taken("Gutenberg.", question_without_facts, THRESHOLDS) is None
    parts = score_corrected(
        Prediction("HIA-01", PRESS_QUESTION.answer), question_without_facts, None, THRESHOLDS
    )
    assert parts.rqs is None
    # Without RQS, the weights of F1 (.3), P@5 (.2), FCS (.1) and IE (.1) are divided by their sum.
    assert parts.f1 == parts.fcs == 1
    assert parts.aggregate == pytest.approx((0.3 + 0.1) / 0.7)


# --- claims -----------------------------------------------------------------------------------


def list_claim_verdicts(
    answer: str, question: Question = PRESS_QUESTION, guard: Guard | None = None
) -> list[str]:
    return [claim.verdict for claim in judge_claims(answer, question, guard, THRESHOLDS)]


def test_claims_are_checked_against_facts() -> None:
    assert list_claim_verdicts("Gutenberg invented it about 1440.") == ["licensed"]
    assert list_claim_verdicts("Gutenberg invented it about 1540.") == ["contradicted"]
    assert list_claim_verdicts("More people never learned to read.") == ["contradicted"]
    assert list_claim_verdicts("Monks copied bibles for the king in London.") == ["unknown"]
    assert list_claim_verdicts("Water boils at a hundred degrees.") == ["unknown"]


def test_repeated_claim_counts_once_and_a_question_never() -> None:
    answer = "Gutenberg invented it about 1440. About 1440 Gutenberg invented it. Was it 1440?"
    assert list_claim_verdicts(answer) == ["licensed"]
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
    claims = judge_claims("The Rhine drains into the North Sea.", question, guard, THRESHOLDS)
    assert (claims[0].verdict, claims[0].by) == ("licensed", "graph")
    # This claim is true in the graph, but does not concern the question.
    assert list_claim_verdicts("The Danube traverses Austria.", question, guard) == ["unknown"]


def test_sources_given_by_the_answer_verify_nothing() -> None:
    wrong_claim = "Charlemagne ordered every abbey to teach peasants."
    parts = score_corrected(
        Prediction("HIA-01", wrong_claim, sources_verified=(wrong_claim,)),
        PRESS_QUESTION,
        None,
        THRESHOLDS,
    )
    assert parts.fcs == 0


def test_missing_claims_are_null_and_score_zero() -> None:
    parts = score_corrected(
        Prediction("HIA-01", PRESS_QUESTION.question), PRESS_QUESTION, None, THRESHOLDS
    )
    assert parts.fcs is None
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
