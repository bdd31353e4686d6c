"""The corrected scores: each measure by hand, and its invariants."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthlink_attacks import prediction, six_questions

from eval.guard.stream import Guard
from eval.synthlink.corrected.answering import efficiency, score_corrected
from eval.synthlink.corrected.answers import match, together
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.pages import page, retrieval
from eval.synthlink.corrected.prose import signs
from eval.synthlink.corrected.steps import steps_taken
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.corrected.wording import order
from eval.synthlink.predictions import Prediction
from eval.synthlink.question import Question, Source, Step
from eval.synthlink.scores import score
from kg.knowledge import KnowledgeBase
from kg.text.normaliser import content_words

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


def test_f1_counts_words_as_often_as_they_stand() -> None:
    question = msgspec.structs.replace(
        PRESS, question="What?", answer="red cat met the blue dog", steps=(Step("x"),)
    )
    # red, cat, met, blue, dog against red, cat, cat, sat: two shared of 5 and of 4.
    found = match("The red cat, a cat, sat", question, BAR)
    assert found.plain == pytest.approx(2 * 2 / (5 + 4))
    assert found.f1 == found.plain
    assert match("red " * 50, question, BAR).plain == pytest.approx(2 / 55)
    assert match("", question, BAR).f1 == 0
    assert match(question.answer, question, BAR).f1 == 1


def test_words_of_the_question_neither_help_nor_harm() -> None:
    assert match(PRESS.question, PRESS, BAR).f1 == 0
    answer = "Gutenberg made books cheaper."
    longer = "In Europe, where the printing press had its influence on literacy, Gutenberg made " \
        "books cheaper."  # fmt: skip
    assert match(longer, PRESS, BAR).plain == match(answer, PRESS, BAR).plain


LONG = msgspec.structs.replace(
    PRESS,
    question="What?",
    answer="Ada built the engine, Babbage drew it, Turing proved it and Neumann wired the machine.",
    steps=(Step("x", keywords=("Ada", "Babbage", "Turing", "Neumann")),),
)
"""Whose answer has six words beside four names: built, engine, drew, proved, wired, machine."""


def test_names_count_less_where_they_are_strung_together() -> None:
    few = msgspec.structs.replace(BAR, names=0.5)
    assert match(LONG.answer, LONG, few).plain == 1, "as many as the reference has are enough"
    # Four names, none of the other words right: an answer in verbs of its own loses nothing.
    answer = "Ada met Babbage near Turing while Neumann found some house by lucky chance."
    said = 4 + 8
    assert match(answer, LONG, BAR).plain == pytest.approx(2 * 4 / (said + 10))
    # Seven names on one other word, of which four are right: 1.5 of the seven count.
    strung = "Ada and Babbage and Turing and Neumann and Ada met Babbage and Turing."
    found = match(strung, LONG, BAR)
    assert found.named == pytest.approx(1.5 / 7)
    assert found.plain == pytest.approx(2 * 4 * 1.5 / 7 / (8 + 10))
    assert match(strung.replace("met", "and Ada and"), LONG, BAR).f1 == 0
    # A short answer may be names.
    assert match("Ada, Babbage, Turing and Neumann", LONG, BAR).plain == pytest.approx(2 * 4 / 14)
    # A reference of names is answered by names.
    names = msgspec.structs.replace(
        LONG, answer="Ada and Babbage and Turing and Neumann and Ada and Babbage."
    )
    assert match(names.answer * 2, names, BAR).plain > 0.6


def test_words_of_a_refuted_sentence_are_hits_by_a_quarter() -> None:
    wrong = "Books did not become cheaper."
    answer = f"Gutenberg invented it about 1440. {wrong}"
    whole, less = match(answer, PRESS, BAR), match(answer, PRESS, BAR, [wrong])
    # Gutenberg, invented, about and 1440; of the refuted sentence, books and cheaper. The answer
    # has 8 words, the facts 18.
    assert whole.plain == pytest.approx(2 * 6 / (8 + 18))
    assert less.plain == pytest.approx(2 * (4 + 0.25 * 2) / (8 + 18))
    parts = score_corrected(Prediction("HIA-01", answer), PRESS, None, BAR)
    assert [claim.verdict for claim in parts.claims] == ["licensed", "contradicted"]
    assert parts.plain_f1 == less.plain


def test_names_alone_take_no_step_and_are_no_licence() -> None:
    named = msgspec.structs.replace(
        PRESS,
        steps=(Step("x", PRESS.steps[0].fact, ("Gutenberg", "1440")),),
        answer="?",
        aliases=(),
    )
    names = "Gutenberg was in 1440."
    assert steps_taken(names, named, BAR) == ()
    assert verdicts(names, named) == ["unknown"]
    assert steps_taken("Gutenberg invented it in 1440.", named, BAR) == (0,)
    assert verdicts("Gutenberg invented it in 1440.", named) == ["licensed"]
    # Other words state the fact, perhaps; that it is so they do not tell.
    assert steps_taken("Gutenberg had it in mind by 1440.", named, BAR) == (0,)
    assert verdicts("Gutenberg had it in mind by 1440.", named) == ["unknown"]
    # A fact that has no other words is stated by names.
    only = msgspec.structs.replace(
        named, steps=(Step("x", "It was Gutenberg in 1440.", ("Gutenberg", "1440")),)
    )
    assert steps_taken(names, only, BAR) == (0,)
    assert verdicts(names, only) == ["licensed"]


def test_an_answer_that_stands_in_the_question_counts_whole() -> None:
    question = msgspec.structs.replace(
        PRESS, question="Was it Rome or Carthage?", answer="Carthage", steps=(Step("x"),)
    )
    assert match("Carthage", question, BAR).f1 == 1
    assert match("Rome", question, BAR).f1 == 0


def test_the_best_of_answer_aliases_and_facts_counts() -> None:
    facts = " ".join(step.fact for step in PRESS.steps)
    assert match(facts, PRESS, BAR).f1 == 1
    aliased = msgspec.structs.replace(PRESS, aliases=("Cheap paper made all the difference.",))
    assert match("Cheap paper made all the difference.", PRESS, BAR).f1 < 0.2
    assert match("Cheap paper made all the difference.", aliased, BAR).f1 == 1


def test_order_is_neighbours_going_forward_less_chance() -> None:
    reference = list("abcdefgh")
    assert order(reference, reference) == 1
    assert order(reference[::-1], reference) == 0
    assert order([*"efgh", *"abcd"], reference) == pytest.approx(2 * 6 / 7 - 1)
    assert order(["e", "d", "c", "b", "a"], reference) == 1, "too few to tell"
    assert order(list("xyz"), reference) == 1
    # A word that stands twice is taken where it goes forward.
    assert order(list("abcdea"), list("abcdea")) == 1
    # To the last bit: three of five forward are as far in order as a fact must be.
    assert order(list("adbecf"), list("abcdef")) == 0.2


def test_few_words_prove_little_and_disorder_takes_at_most_half() -> None:
    assert order(list("fedcba"), list("abcdef"), 4) == pytest.approx(2 * 4 / 9 - 1, abs=0.2) == 0
    assert order(list("adbecf"), list("abcdef"), 4) == pytest.approx(2 * 7 / 9 - 1)
    assert together(0, BAR) == 0.5
    assert together(0.2, BAR) == pytest.approx(0.75)
    assert together(0.4, BAR) == together(1, BAR) == 1
    assert together(0, msgspec.structs.replace(BAR, order=0.0)) == 1


@settings(deadline=None, max_examples=60)
@given(st.integers(30, 60), st.integers())
def test_words_thrown_together_have_no_order(size: int, seed: int) -> None:
    chance = random.Random(seed)
    reference = [str(number) for number in range(size)]
    shuffled = [list(reference) for _ in range(30)]
    for one in shuffled:
        chance.shuffle(one)
    found = [order(one, reference) for one in shuffled]
    assert sum(found) / len(found) < 0.25
    assert all(0 <= value <= 1 for value in found)


def test_a_list_of_keywords_is_no_prose() -> None:
    keywords = "Gutenberg, 1440, books, cheaper, people, learned, read, ideas, Reformation, spread"
    assert signs(keywords).small == 0
    found = match(keywords, PRESS, BAR)
    assert found.plain > 0.6
    assert found.prose == 0
    assert found.f1 == pytest.approx(0.25 * found.plain), "for right answers come as lists too"
    assert match("Gutenberg, cheaper books", PRESS, BAR).prose == 1  # too short to tell


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=200))
def test_every_measure_of_any_answer_lies_within_0_and_1(text: str) -> None:
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
def test_one_page_is_one_page_however_it_is_cited(citation: str) -> None:
    found = retrieval([citation], PRESS.sources)
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
def test_another_page_is_another(citation: str) -> None:
    assert retrieval([citation], PRESS.sources) == (0, 0)


def test_addresses_of_other_sites_keep_what_tells_them_apart() -> None:
    assert page("https://www.a.example:443/x/?b=2&a=1&utm_medium=m") == page(
        "//a.example/x?a=1&b=2"
    )
    assert page("https://a.example/x?id=1") != page("https://a.example/x?id=2")
    assert page("https://a.example/X") != page("https://a.example/x")


def test_precision_is_of_as_many_pages_as_there_are_sources() -> None:
    press, reform = (source.url for source in PRESS.sources)
    other = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    assert retrieval([press, reform], PRESS.sources) == (1, 1)
    assert retrieval([press, *other, reform], PRESS.sources) == (0.5, 1)
    assert retrieval([*other, "https://a.example/4", "https://a.example/5", press], PRESS.sources) \
        == (0, 0)  # fmt: skip
    # Repetition neither helps nor pushes others out, whether by address or title.
    assert retrieval([press] * 5, PRESS.sources) == (0.5, 0.5)
    assert retrieval([press, "Printing press", *[other[0]] * 9, reform], PRESS.sources) == (0.5, 1)
    assert retrieval([], PRESS.sources) == (0, 0)
    assert retrieval([press], ()) is None
    many = tuple(Source(f"Page {number}") for number in range(8))
    assert retrieval([f"page {number}" for number in range(8)], many) == (1, 5 / 8)


# Steps


def test_steps_are_taken_in_any_order_each_by_words_of_its_own() -> None:
    answer = (
        "The ideas of the Reformation spread by pamphlets. In about 1440 Gutenberg invented the "
        "printing press, which made printed books much cheaper."
    )
    assert steps_taken(answer, PRESS, BAR) == (0, 1, 3)
    whole = " ".join(step.fact for step in reversed(PRESS.steps))
    assert steps_taken(whole, PRESS, BAR) == (0, 1, 2, 3)


def test_what_is_said_once_takes_one_step() -> None:
    twice = msgspec.structs.replace(PRESS, steps=(PRESS.steps[2], PRESS.steps[2]))
    assert len(steps_taken("More people learned to read.", twice, BAR) or ()) == 1
    said_twice = "More people learned to read. And more people learned to read."
    assert len(steps_taken(said_twice, twice, BAR) or ()) == 2


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
def test_what_states_no_fact_takes_no_step(answer: str) -> None:
    first = msgspec.structs.replace(PRESS, steps=PRESS.steps[:1])
    assert steps_taken(answer, first, BAR) == ()


def test_steps_of_an_answer_too_long_count_less() -> None:
    facts = " ".join(step.fact for step in PRESS.steps)
    longest = len(content_words(facts))
    more = "Besides, monks kept copying psalters by hand in remote abbeys for many years."
    padded = " ".join([facts, *[more] * 9])
    said = longest + 9 * len(content_words(more))
    assert steps_taken(padded, PRESS, BAR) == (0, 1, 2, 3)
    parts = score_corrected(Prediction("HIA-01", padded), PRESS, None, BAR)
    assert parts.brevity == pytest.approx(3 * longest / said)
    assert parts.rqs == parts.brevity
    assert score_corrected(Prediction("HIA-01", facts), PRESS, None, BAR).brevity == 1


def test_without_facts_steps_cannot_be_checked() -> None:
    bare = msgspec.structs.replace(PRESS, steps=(Step("Find the inventor."),))
    assert steps_taken("Gutenberg.", bare, BAR) is None
    parts = score_corrected(Prediction("HIA-01", PRESS.answer), bare, None, BAR)
    assert parts.rqs is None
    # F1 of .3, P@5 of .2, FCS and IE of .1 share the weight of 1.
    assert parts.f1 == parts.fcs == 1
    assert parts.aggregate == pytest.approx((0.3 + 0.1) / 0.7)


# Claims


def verdicts(answer: str, question: Question = PRESS, guard: Guard | None = None) -> list[str]:
    return [claim.verdict for claim in judge_claims(answer, question, guard, BAR)]


def test_claims_are_held_against_facts() -> None:
    assert verdicts("Gutenberg invented it about 1440.") == ["licensed"]
    assert verdicts("Gutenberg invented it about 1540.") == ["contradicted"]
    assert verdicts("More people never learned to read.") == ["contradicted"]
    assert verdicts("Monks copied bibles for the king in London.") == ["unknown"]
    assert verdicts("Water boils at a hundred degrees.") == ["unknown"]


def test_a_claim_said_again_is_one_claim_and_a_question_none() -> None:
    answer = "Gutenberg invented it about 1440. About 1440 Gutenberg invented it. Was it 1440?"
    assert verdicts(answer) == ["licensed"]
    assert verdicts(PRESS.question) == []
    assert verdicts("The printing press did influence literacy in Europe.") == []
    assert verdicts("") == []


def test_a_graph_is_asked_first() -> None:
    guard = Guard(KnowledgeBase.shared("rivers"))
    rhine = Question(
        id="EEC-01",
        category="EEC",
        question="Where does the Rhine go?",
        answer="The Rhine flows into the North Sea.",
        sources=(Source("Rhine"),),
        steps=(Step("x", "The Rhine flows into the North Sea."),),
    )
    assert verdicts("The Rhine flows into the Black Sea.", rhine, guard) == ["contradicted"]
    assert verdicts("The Rhine flows into the North Sea.", rhine, guard) == ["licensed"]
    found = judge_claims("The Rhine drains into the North Sea.", rhine, guard, BAR)
    assert (found[0].verdict, found[0].by) == ("licensed", "graph")
    # True, but of another matter.
    assert verdicts("The Danube traverses Austria.", rhine, guard) == ["unknown"]


def test_what_an_answer_brings_along_verifies_nothing() -> None:
    wrong = "Charlemagne ordered every abbey to teach peasants."
    parts = score_corrected(
        Prediction("HIA-01", wrong, sources_verified=(wrong,)), PRESS, None, BAR
    )
    assert parts.fcs == 0


def test_no_claims_are_null_and_worth_nothing() -> None:
    parts = score_corrected(Prediction("HIA-01", PRESS.question), PRESS, None, BAR)
    assert parts.fcs is None
    assert parts.aggregate == 0


# Iterations


def test_efficiency_is_that_of_the_first_correct_round() -> None:
    assert efficiency(0.9, (0.1, 0.6, 0.9), 0.5) == 0.5
    assert efficiency(0.9, (0.1, 0.6, 0.9), 0.8) == pytest.approx(1 / 3)
    assert efficiency(0.9, (0.0,) * 7 + (1.0,), 0.5) == 0.2
    assert efficiency(0.9, (), 0.5) == 0
    assert efficiency(0.4, (1.0,), 0.5) == 0, "found and lost again"


def test_a_round_that_names_everything_is_one_answer() -> None:
    others = (f"The {word} did all of it by some chance. " * 3 for word in "abcdefgh")
    guesses = [PRESS.answer, *others]
    row = prediction(PRESS, PRESS.answer, [])
    row["iterations"] = [{"answers": guesses}]
    modes = score([row], six_like(PRESS), "both").modes
    assert modes["corrected"].questions[0].parts.ie == 0
    assert modes["literal"].questions[0].parts.ie == 1


def six_like(question: Question):  # type: ignore[no-untyped-def]
    return msgspec.structs.replace(six_questions(), questions=(question,), notes=())
