"""The corrected scores: each metric against manual values, and its invariants."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_attacks import make_prediction, read_six_questions

from eval.guard.stream import Guard
from eval.synthlink.corrected.answer_match import match_answer, order_factor
from eval.synthlink.corrected.answer_scores import iteration_efficiency, score_corrected
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.pages import parse_citation, score_retrieval
from eval.synthlink.corrected.prose import signs
from eval.synthlink.corrected.steps import find_steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import order
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question, Source, Step
from eval.synthlink.scores import score_predictions
from kg.knowledge import KnowledgeBase
from kg.text.normaliser import extract_content_words

BAR = Thresholds()

PRESS = Question(
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

# F1


def test_f1_counts_repeated_words() -> None:
    question = msgspec.structs.replace(
        PRESS, question="What?", answer="red cat met the blue dog", steps=(Step("x"),)
    )
    # red, cat, met, blue, dog against red, cat, cat, sat: two shared of 5 and of 4.
    found = match_answer("The red cat, a cat, sat", question, BAR)
    assert found.plain_f1 == pytest.approx(2 * 2 / (5 + 4))
    assert found.f1 == found.plain_f1
    assert match_answer("red " * 50, question, BAR).plain_f1 == pytest.approx(2 / 55)
    assert match_answer("", question, BAR).f1 == 0
    assert match_answer(question.answer, question, BAR).f1 == 1


def test_question_words_do_not_change_f1() -> None:
    assert match_answer(PRESS.question, PRESS, BAR).f1 == 0
    answer = "Gutenberg made books cheaper."
    longer = "In Europe, where the printing press had its influence on literacy, Gutenberg made " \
        "books cheaper."  # fmt: skip
    assert match_answer(longer, PRESS, BAR).plain_f1 == match_answer(answer, PRESS, BAR).plain_f1


LONG = msgspec.structs.replace(
    PRESS,
    question="What?",
    answer="Ada built the engine, Babbage drew it, Turing proved it and Neumann wired the machine.",
    steps=(Step("x", keywords=("Ada", "Babbage", "Turing", "Neumann")),),
)
"""Whose answer has six words beside four names: built, engine, drew, proved, wired, machine."""


def test_strings_of_names_count_less() -> None:
    few = msgspec.structs.replace(BAR, names=0.5)
    assert match_answer(LONG.answer, LONG, few).plain_f1 == 1, (
        "as many as the reference has are enough"
    )
    # Four names and no other right word: an answer with its own verbs loses nothing.
    answer = "Ada met Babbage near Turing while Neumann found some house by lucky chance."
    said = 4 + 8
    assert match_answer(answer, LONG, BAR).plain_f1 == pytest.approx(2 * 4 / (said + 10))
    # Seven names on one other word, of which four are right: 1.5 of the seven count.
    strung = "Ada and Babbage and Turing and Neumann and Ada met Babbage and Turing."
    found = match_answer(strung, LONG, BAR)
    assert found.keyword_factor == pytest.approx(1.5 / 7)
    assert found.plain_f1 == pytest.approx(2 * 4 * 1.5 / 7 / (8 + 10))
    assert match_answer(strung.replace("met", "and Ada and"), LONG, BAR).f1 == 0
    # A short answer may consist of names.
    assert match_answer("Ada, Babbage, Turing and Neumann", LONG, BAR).plain_f1 == pytest.approx(
        2 * 4 / 14
    )
    # A reference that consists of names may be answered by names.
    names = msgspec.structs.replace(
        LONG, answer="Ada and Babbage and Turing and Neumann and Ada and Babbage."
    )
    assert match_answer(names.answer * 2, names, BAR).plain_f1 > 0.6


def test_words_of_a_contradicted_sentence_count_a_quarter() -> None:
    wrong = "Books did not become cheaper."
    answer = f"Gutenberg invented it about 1440. {wrong}"
    whole, less = match_answer(answer, PRESS, BAR), match_answer(answer, PRESS, BAR, [wrong])
    # Gutenberg, invented, about and 1440; of the refuted sentence, books and cheaper. The answer
    # has 8 words, the facts 18.
    assert whole.plain_f1 == pytest.approx(2 * 6 / (8 + 18))
    assert less.plain_f1 == pytest.approx(2 * (4 + 0.25 * 2) / (8 + 18))
    parts = score_corrected(Prediction("HIA-01", answer), PRESS, None, BAR)
    assert [claim.verdict for claim in parts.claims] == ["licensed", "contradicted"]
    assert parts.plain_f1 == less.plain_f1


def test_names_alone_support_no_step_or_claim() -> None:
    named = msgspec.structs.replace(
        PRESS,
        steps=(Step("x", PRESS.steps[0].fact, ("Gutenberg", "1440")),),
        answer="?",
        aliases=(),
    )
    names = "Gutenberg was in 1440."
    assert find_steps_taken(names, named, BAR) == ()
    assert claim_verdicts(names, named) == ["unknown"]
    assert find_steps_taken("Gutenberg invented it in 1440.", named, BAR) == (0,)
    assert claim_verdicts("Gutenberg invented it in 1440.", named) == ["licensed"]
    # Other words may paraphrase the fact, but do not confirm it.
    assert find_steps_taken("Gutenberg had it in mind by 1440.", named, BAR) == (0,)
    assert claim_verdicts("Gutenberg had it in mind by 1440.", named) == ["unknown"]
    # A fact without other words may be given by names.
    only = msgspec.structs.replace(
        named, steps=(Step("x", "It was Gutenberg in 1440.", ("Gutenberg", "1440")),)
    )
    assert find_steps_taken(names, only, BAR) == (0,)
    assert claim_verdicts(names, only) == ["licensed"]


def test_answer_within_the_question_counts_fully() -> None:
    question = msgspec.structs.replace(
        PRESS, question="Was it Rome or Carthage?", answer="Carthage", steps=(Step("x"),)
    )
    assert match_answer("Carthage", question, BAR).f1 == 1
    assert match_answer("Rome", question, BAR).f1 == 0


def test_the_best_of_answer_aliases_and_facts_counts() -> None:
    facts = " ".join(step.fact for step in PRESS.steps)
    assert match_answer(facts, PRESS, BAR).f1 == 1
    aliased = msgspec.structs.replace(PRESS, aliases=("Cheap paper made all the difference.",))
    assert match_answer("Cheap paper made all the difference.", PRESS, BAR).f1 < 0.2
    assert match_answer("Cheap paper made all the difference.", aliased, BAR).f1 == 1


def test_word_order_score_is_corrected_for_chance() -> None:
    reference = list("abcdefgh")
    assert order(reference, reference) == 1
    assert order(reference[::-1], reference) == 0
    assert order([*"efgh", *"abcd"], reference) == pytest.approx(2 * 6 / 7 - 1)
    assert order(["e", "d", "c", "b", "a"], reference) == 1, "too few to tell"
    assert order(list("xyz"), reference) == 1
    # A repeated word is matched where it continues the order.
    assert order(list("abcdea"), list("abcdea")) == 1
    # Exactly at the threshold: three of five neighbours in order suffice.
    assert order(list("adbecf"), list("abcdef")) == 0.2


def test_word_order_penalty_is_limited() -> None:
    assert order(list("fedcba"), list("abcdef"), 4) == pytest.approx(2 * 4 / 9 - 1, abs=0.2) == 0
    assert order(list("adbecf"), list("abcdef"), 4) == pytest.approx(2 * 7 / 9 - 1)
    assert order_factor(0, BAR) == 0.5
    assert order_factor(0.2, BAR) == pytest.approx(0.75)
    assert order_factor(0.4, BAR) == order_factor(1, BAR) == 1
    assert order_factor(0, msgspec.structs.replace(BAR, order=0.0)) == 1


@settings(deadline=None, max_examples=60)
@given(st.integers(30, 60), st.integers())
def test_shuffled_words_have_no_order(size: int, seed: int) -> None:
    chance = random.Random(seed)
    reference = [str(number) for number in range(size)]
    shuffled = [list(reference) for _ in range(30)]
    for one in shuffled:
        chance.shuffle(one)
    found = [order(one, reference) for one in shuffled]
    assert sum(found) / len(found) < 0.25
    assert all(0 <= value <= 1 for value in found)


def test_keyword_list_is_not_prose() -> None:
    keywords = "Gutenberg, 1440, books, cheaper, people, learned, read, ideas, Reformation, spread"
    assert signs(keywords).small == 0
    found = match_answer(keywords, PRESS, BAR)
    assert found.plain_f1 > 0.6
    assert found.prose == 0
    assert found.f1 == pytest.approx(0.25 * found.plain_f1), "for right answers come as lists too"
    assert match_answer("Gutenberg, cheaper books", PRESS, BAR).prose == 1  # too short to tell


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_every_metric_of_any_answer_is_between_0_and_1(text: str) -> None:
    one = Prediction("HIA-01", text, (text, text[:9]), (), (text,))
    parts = score_corrected(one, PRESS, None, BAR)
    for value in (parts.f1, parts.p_at_5, parts.recall_at_5, parts.rqs, parts.ie, parts.aggregate):
        assert value is not None
        assert 0 <= value <= 1
    assert parts.fcs is None or 0 <= parts.fcs <= 1


# Pages


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
    found = score_retrieval([citation], PRESS.sources)
    assert found is not None
    assert found == (0.5, 0.5)


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
    assert score_retrieval([citation], PRESS.sources) == (0, 0)


def test_addresses_of_other_sites_keep_their_query() -> None:
    assert parse_citation("https://www.a.example:443/x/?b=2&a=1&utm_medium=m") == parse_citation(
        "//a.example/x?a=1&b=2"
    )
    assert parse_citation("https://a.example/x?id=1") != parse_citation("https://a.example/x?id=2")
    assert parse_citation("https://a.example/X") != parse_citation("https://a.example/x")


def test_precision_uses_as_many_pages_as_sources() -> None:
    press, reform = (source.url for source in PRESS.sources)
    other = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    assert score_retrieval([press, reform], PRESS.sources) == (1, 1)
    assert score_retrieval([press, *other, reform], PRESS.sources) == (0.5, 1)
    late = [*other, "https://a.example/4", "https://a.example/5", press]
    assert score_retrieval(late, PRESS.sources) == (0, 0)
    # Repeated pages neither help nor displace others, by address or title.
    assert score_retrieval([press] * 5, PRESS.sources) == (0.5, 0.5)
    assert score_retrieval([press, "Printing press", *[other[0]] * 9, reform], PRESS.sources) == (
        0.5,
        1,
    )
    assert score_retrieval([], PRESS.sources) == (0, 0)
    assert score_retrieval([press], ()) is None
    many = tuple(Source(f"Page {number}") for number in range(8))
    assert score_retrieval([f"page {number}" for number in range(8)], many) == (1, 5 / 8)


# Steps


def test_steps_are_matched_in_any_order_by_separate_words() -> None:
    answer = (
        "The ideas of the Reformation spread by pamphlets. In about 1440 Gutenberg invented the "
        "printing press, which made printed books much cheaper."
    )
    assert find_steps_taken(answer, PRESS, BAR) == (0, 1, 3)
    whole = " ".join(step.fact for step in reversed(PRESS.steps))
    assert find_steps_taken(whole, PRESS, BAR) == (0, 1, 2, 3)


def test_one_statement_supports_one_step() -> None:
    twice = msgspec.structs.replace(PRESS, steps=(PRESS.steps[2], PRESS.steps[2]))
    assert len(find_steps_taken("More people learned to read.", twice, BAR) or ()) == 1
    said_twice = "More people learned to read. And more people learned to read."
    assert len(find_steps_taken(said_twice, twice, BAR) or ()) == 2


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
    first = msgspec.structs.replace(PRESS, steps=PRESS.steps[:1])
    assert find_steps_taken(answer, first, BAR) == ()


def test_steps_of_a_too_long_answer_count_less() -> None:
    facts = " ".join(step.fact for step in PRESS.steps)
    longest = len(extract_content_words(facts))
    more = "Besides, monks kept copying psalters by hand in remote abbeys for many years."
    padded = " ".join([facts, *[more] * 9])
    said = longest + 9 * len(extract_content_words(more))
    assert find_steps_taken(padded, PRESS, BAR) == (0, 1, 2, 3)
    parts = score_corrected(Prediction("HIA-01", padded), PRESS, None, BAR)
    assert parts.brevity == pytest.approx(3 * longest / said)
    assert parts.rqs == parts.brevity
    assert score_corrected(Prediction("HIA-01", facts), PRESS, None, BAR).brevity == 1


def test_steps_need_facts() -> None:
    bare = msgspec.structs.replace(PRESS, steps=(Step("Find the inventor."),))
    assert find_steps_taken("Gutenberg.", bare, BAR) is None
    parts = score_corrected(Prediction("HIA-01", PRESS.answer), bare, None, BAR)
    assert parts.rqs is None
    # F1 of .3, P@5 of .2, FCS and IE of .1 share the weight of 1.
    assert parts.f1 == parts.fcs == 1
    assert parts.aggregate == pytest.approx((0.3 + 0.1) / 0.7)


# Claims


def claim_verdicts(
    answer: str, question: Question = PRESS, guard: Guard | None = None
) -> list[str]:
    return [claim.verdict for claim in judge_claims(answer, question, guard, BAR)]


def test_claims_are_checked_against_facts() -> None:
    assert claim_verdicts("Gutenberg invented it about 1440.") == ["licensed"]
    assert claim_verdicts("Gutenberg invented it about 1540.") == ["contradicted"]
    assert claim_verdicts("More people never learned to read.") == ["contradicted"]
    assert claim_verdicts("Monks copied bibles for the king in London.") == ["unknown"]
    assert claim_verdicts("Water boils at a hundred degrees.") == ["unknown"]


def test_repeated_claim_counts_once_and_a_question_never() -> None:
    answer = "Gutenberg invented it about 1440. About 1440 Gutenberg invented it. Was it 1440?"
    assert claim_verdicts(answer) == ["licensed"]
    assert claim_verdicts(PRESS.question) == []
    assert claim_verdicts("The printing press did influence literacy in Europe.") == []
    assert claim_verdicts("") == []


def test_graph_is_consulted_first() -> None:
    guard = Guard(KnowledgeBase.open_cached("rivers"))
    rhine = Question(
        id="EEC-01",
        category="EEC",
        question="Where does the Rhine go?",
        answer="The Rhine flows into the North Sea.",
        sources=(Source("Rhine"),),
        steps=(Step("x", "The Rhine flows into the North Sea."),),
    )
    assert claim_verdicts("The Rhine flows into the Black Sea.", rhine, guard) == ["contradicted"]
    assert claim_verdicts("The Rhine flows into the North Sea.", rhine, guard) == ["licensed"]
    found = judge_claims("The Rhine drains into the North Sea.", rhine, guard, BAR)
    assert (found[0].verdict, found[0].by) == ("licensed", "graph")
    # True, but about something else.
    assert claim_verdicts("The Danube traverses Austria.", rhine, guard) == ["unknown"]


def test_sources_given_by_the_answer_verify_nothing() -> None:
    wrong = "Charlemagne ordered every abbey to teach peasants."
    parts = score_corrected(
        Prediction("HIA-01", wrong, sources_verified=(wrong,)), PRESS, None, BAR
    )
    assert parts.fcs == 0


def test_missing_claims_are_null_and_score_zero() -> None:
    parts = score_corrected(Prediction("HIA-01", PRESS.question), PRESS, None, BAR)
    assert parts.fcs is None
    assert parts.aggregate == 0


# Iterations


def test_efficiency_uses_the_first_correct_round() -> None:
    assert iteration_efficiency(0.9, (0.1, 0.6, 0.9), 0.5) == 0.5
    assert iteration_efficiency(0.9, (0.1, 0.6, 0.9), 0.8) == pytest.approx(1 / 3)
    assert iteration_efficiency(0.9, (0.0,) * 7 + (1.0,), 0.5) == 0.2
    assert iteration_efficiency(0.9, (), 0.5) == 0
    assert iteration_efficiency(0.4, (1.0,), 0.5) == 0, "found and lost again"


def test_round_with_many_answers_counts_as_one_answer() -> None:
    others = (f"The {word} did all of it by some chance. " * 3 for word in "abcdefgh")
    guesses = [PRESS.answer, *others]
    row = make_prediction(PRESS, PRESS.answer, [])
    row["iterations"] = [{"answers": guesses}]
    modes = score_predictions([row], one_question_catalog(PRESS), "both").modes
    assert modes["corrected"].questions[0].parts.ie == 0
    assert modes["literal"].questions[0].parts.ie == 1


def one_question_catalog(question: Question):  # type: ignore[no-untyped-def]
    return msgspec.structs.replace(read_six_questions(), questions=(question,), notes=())
