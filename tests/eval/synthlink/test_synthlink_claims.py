"""Tests how claims are split and decided, on answers that were written before the rules.

``seven_kinds_of_answers.json`` has, for each of ten questions, a good, a mediocre, a terse, a
German, a denied, a reversed and a shotgun answer. They were written from the questions alone,
without the facts, the pages or the rules at hand. ``answers_of_another_author.json`` has the same
for ten other questions, and five sentences each in which one thing is wrong; their author knew
nothing of the rules; classes of claims that they show were added to the rules later.
``held_out_answers.json`` has three more, by a third author, for which no rule was changed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.guard.stream import Guard
from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.cause_chain import is_causal
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.completeness import judge_steps
from eval.synthlink.claims.polarity import read_polarity
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.words import (
    are_opposite,
    collect_names,
    is_german,
    is_same_word,
    split_text,
)
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.metrics import JudgedClaim
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

ANSWERS: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "data/synthlink/seven_kinds_of_answers.json").read_bytes()
)
OTHER_ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data/synthlink/answers_of_another_author.json").read_bytes()
)
HELD_OUT_ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data/synthlink/held_out_answers.json").read_bytes()
)
QUESTIONS = {question.id: question for question in read_catalog().questions}


@cache
def get_pages() -> SourcePages:
    return SourcePages(read_corpus())


@cache
def judge_answers() -> dict[tuple[str, str], tuple[JudgedClaim, ...]]:
    guard = Guard(KnowledgeBase.open_cached("synthlink"))
    return {
        (question_id, kind): judge_claims(answer, QUESTIONS[question_id], guard, get_pages())
        for question_id, answers in ANSWERS.items()
        for kind, answer in answers.items()
    }


def count_verdicts(*kinds: str) -> Counter[str]:
    return Counter(
        claim.verdict
        for (_, kind), claims in judge_answers().items()
        if kind in kinds
        for claim in claims
    )


# --- splitting --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("A → B -> C", ["A → B", "B → C"]),
        (
            "The canal, which opened in 1825, lowered costs.",
            ["which opened in 1825", "The canal lowered costs."],
        ),
        (
            "The snake reached Guam and the birds died out.",
            ["The snake reached Guam", "the birds died out."],
        ),
        ("Watson and Crick published it.", ["Watson and Crick published it."]),
        ("It is a myth that A was sold and B was bought.", None),
        ("Growth began because trade opened.", None),
        ("Trade opened; growth began.", ["Trade opened", "growth began."]),
        (
            "Der Kanal wurde eröffnet, während die Kosten sanken.",
            ["Der Kanal wurde eröffnet", "die Kosten sanken."],
        ),
        ("Was it so? It was.", ["It was."]),
        (
            "The canal was opened in 1825 and joined the Hudson to Lake Erie.",
            ["The canal was opened in 1825", "The canal joined the Hudson to Lake Erie."],
        ),
        (
            "The drug was banned in 2006 and replaced by meloxicam.",
            ["The drug was banned in 2006", "The drug was replaced by meloxicam."],
        ),
        ("Brindley planned and built the canal.", None),
        ("Brindley tried to open the canal and sell the ships.", None),
        (
            "CASP, begun by Moult in 1994, was won in 2020.",
            [
                "CASP was begun by Moult in 1994",
                "CASP was won in 2020.",
            ],
        ),
        (
            "In the Treaty of Nanking, signed in 1842, China ceded Hong Kong Island to Britain.",
            [
                "The Treaty of Nanking was signed in 1842",
                "In the Treaty of Nanking, China ceded Hong Kong Island to Britain.",
            ],
        ),
        ("In 1839 at the port of Humen, destroyed by Lin Zexu, opium burnt.", None),
        ("Its success led Moult and his colleagues to found CASP.", None),
        ("Critics reject the notion that canals, which ships used, opened.", None),
        (
            "The canal did not open, and no ship was built.",
            ["The canal did not open", "no ship was built."],
        ),
        (
            "Man nannte es „Jahr ohne Sommer“. Es war kalt.",
            [
                "Man nannte es „Jahr ohne Sommer“.",
                "Es war kalt.",
            ],
        ),
    ],
)
def test_answers_are_split_into_claims(answer: str, claims: list[str] | None) -> None:
    assert [claim.text for claim in split_claims(answer)] == (claims or [answer])


def test_pronouns_have_the_text_before_as_context() -> None:
    first, second = split_claims("The Erie Canal was dug. It opened in 1825.")
    assert (first.context, second.context) == ("", "The Erie Canal was dug.")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Haiti, Jamaica, Cuba, Martinique.", True),
        ("It was led by Louverture or Bolívar.", True),
        ("1791, 1803, 1819 and 1845.", True),
        ("Costs rose, fell.", True),
        ("Philadelphia, Boston and Baltimore were overtaken.", False),
        ("The canal opened.", False),
    ],
)
def test_lists_and_alternatives_state_nothing(answer: str, expected: bool) -> None:
    assert [claim.is_list for claim in split_claims(answer)] == [expected]


def test_a_sentence_can_take_back_what_was_said() -> None:
    def list_retracted(answer: str) -> list[bool]:
        return [claim.is_retracted for claim in split_claims(answer)]

    assert list_retracted("It opened. It closed. That is a myth.") == [False, True, True]
    assert list_retracted("It opened. It closed. All of this is false.") == [True, True, True]
    assert list_retracted("It opened. The canal was not deep.") == [False, False]
    assert [claim.text for claim in split_claims("The canal opened, which is a lie.")] == [
        "The canal opened, which is a lie."
    ]


def test_what_follows_a_denial_may_be_denied_too() -> None:
    claims = split_claims("It is a myth that the canal opened; ships used it.")
    assert [(claim.text, claim.is_retracted) for claim in claims] == [
        ("It is a myth that the canal opened", False),
        ("ships used it.", True),
    ]


def test_relative_pronouns_stand_for_the_last_name() -> None:
    first, second = split_claims("Parliament passed the Longitude Act of 1714, which had rewards.")
    assert (first.resolved, second.resolved) == ("", "Longitude Act of 1714 had rewards.")
    *_, unknown = split_claims("The canal carried ships, which had sails.")
    assert unknown.resolved == ""


@settings(max_examples=60)
@given(st.text(max_size=300))
def test_any_text_can_be_split_and_judged(text: str) -> None:
    for claim in split_claims(text):
        assert claim.text in text or "→" in claim.text or "," in text
    judge_claims(text, QUESTIONS["HIA-01"], None)


# --- polarity ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("The canal opened in 1825.", "asserted"),
        ("It is well known that the canal opened in 1825.", "asserted"),
        ("The canal did not open in 1825.", "denied"),
        ("The canal never opened.", "denied"),
        ("It is a popular myth, debunked long ago, that the canal opened in 1825.", "denied"),
        ("It's simply not true that the canal opened.", "denied"),
        ("Contrary to popular belief, the canal did not open.", "denied"),
        ("The idea that the canal opened in 1825 is a myth.", "denied"),
        ("There is no truth in the story that the canal opened.", "denied"),
        ("Es stimmt nicht, dass der Kanal eröffnet wurde.", "denied"),
        ("Es ist ein Mythos, dass der Kanal eröffnet wurde.", "denied"),
        ("Der Kanal wurde nicht eröffnet.", "denied"),
        ("It is not true that the canal never opened.", "unclear"),
        ("Hardly anybody believes that the canal opened.", "unclear"),
        ("Nobody opened the canal.", "denied"),
        ("There is no evidence that the canal ever opened.", "denied"),
        ("No canal was ever opened.", "denied"),
        ("It offered no rewards whatsoever.", "denied"),
        ("With no rivals the canal opened.", "unclear"),
        ("The canal never opened, whatever the guidebooks say.", "denied"),
        ("Contrary to what textbooks say, the canal never opened.", "denied"),
        ("Nor did the canal open.", "denied"),
        ("Es gibt keine Belege dafür, dass der Kanal eröffnet wurde.", "denied"),
        ("Contrary to the claim that it opened, the canal closed.", "unclear"),
    ],
)
def test_denials_are_found(text: str, polarity: str) -> None:
    assert read_polarity(text).polarity == polarity


# --- words ------------------------------------------------------------------------------------


def test_forms_of_a_word_are_equal_and_opposites_are_not() -> None:
    for first, second in (
        ("patented", "patent"),
        ("erupted", "eruption"),
        ("plantation", "planters"),
        ("entdeckten", "found"),
        ("haiti", "haitian"),
    ):
        assert is_same_word(first, second), (first, second)
    for first, second in (
        ("profitable", "unprofitable"),
        ("useful", "useless"),
        ("employer", "employee"),
        ("possible", "impossible"),
        ("import", "important"),
    ):
        assert not is_same_word(first, second), (first, second)
    assert are_opposite("rose", "fell")
    assert are_opposite("sold", "bought")
    assert not are_opposite("rose", "grew")


def test_numbers_are_compared_by_value() -> None:
    def read(text: str) -> list[float]:
        return [word.value for word in split_text(text) if word.value is not None]

    assert read("£20,000 and 20.000 Mark") == [20_000, 20_000]
    assert read("almost four million; 1.5 million; vier Millionen") == [4e6, 1.5e6, 4e6]
    assert read("in 1794, twelve ships") == [1794, 12]
    assert is_german("Der Kanal wurde 1825 eröffnet.")
    assert not is_german("The canal was opened in 1825.")


# --- decisions --------------------------------------------------------------------------------

TRIANGLE = QUESTIONS["HIA-01"]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Eli Whitney patented the cotton gin in 1794.", "supported"),
        ("In 1794 the cotton gin was patented by Eli Whitney.", "supported"),
        ("Eli Whitney patented the cotton gin in 1793.", "contradicted"),
        ("The cotton gin patented Eli Whitney in 1794.", "contradicted"),
        ("Eli Whitney's brother patented the cotton gin in 1794.", "open"),
        ("It is a popular myth that Eli Whitney patented the cotton gin.", "contradicted"),
        ("Some say that Eli Whitney patented the cotton gin.", "open"),
        ("Thomas Edison patented the cotton gin in 1794.", "not found"),
        ("The cotton gin made growing of short-staple cotton unprofitable.", "open"),
        ("Slave labour in the American South led to the cotton gin.", "contradicted"),
        ("Eli Whitney patented the cotton gin because of slave labour.", "contradicted"),
        ("Eli Whitney ließ die Cotton Gin nicht 1794 patentieren.", "open"),
        ("Eli Whitney did not patent the cotton gin in secret in 1794.", "open"),
        ("There is no evidence that Eli Whitney patented the cotton gin.", "contradicted"),
    ],
)
def test_claims_are_decided_where_the_evidence_is_sure(claim: str, verdict: str) -> None:
    decider = ClaimDecider(TRIANGLE, None)
    (text,) = split_claims(claim)
    assert decider.decide(text).verdict == verdict


@pytest.mark.parametrize(
    ("question_id", "fact", "changes"),
    [
        ("STE-09", "Harry Hess described sea-floor spreading in 1962.", [("1962", "1963")]),
        (
            "HIA-07",
            "The Government of India Act 1858 took power from the East India Company.",
            [(" from ", " to "), (" took ", " virtually took "), (" took ", " nearly took ")],
        ),
        (
            "HIA-07",
            "The mutiny at Meerut grew into the Indian Rebellion.",
            [("into", "out of"), ("into", "against"), ("grew", "practically grew")],
        ),
        (
            "EEC-03",
            "The Nile perch was introduced into Lake Victoria in the 1950s.",
            [("into", "out of"), ("into", "from"), ("into", "outside"), ("was", "was almost")],
        ),
    ],
)
def test_numbers_and_words_of_direction_count(
    question_id: str, fact: str, changes: list[tuple[str, str]]
) -> None:
    decider = ClaimDecider(QUESTIONS[question_id], None)
    assert [decider.decide(claim).verdict for claim in split_claims(fact)] == ["supported"]
    for old, new in changes:
        for claim in split_claims(fact.replace(old, new, 1)):
            assert decider.decide(claim).verdict != "supported", claim.text


@pytest.mark.parametrize(
    ("first", "second"), [("from", "to"), ("into", "out of"), ("for", "against"), ("with", "by")]
)
def test_no_fact_is_supported_with_another_word_of_direction(first: str, second: str) -> None:
    """Every fact of the catalogue in which such a word precedes a name, and is not part of one."""
    names = collect_names([step.fact for q in QUESTIONS.values() for step in q.steps if step.fact])
    count = 0
    for question in QUESTIONS.values():
        decider = ClaimDecider(question, None)
        for fact in (step.fact for step in question.steps if step.fact):
            for old, new in ((first, second), (second, first)):
                found = re.search(rf" [a-z]\w+( {old} )(?:the )?([A-Z]\w+)", fact)
                if found is None or found[2].casefold() not in names:
                    continue
                text = f"{fact[: found.start(1)]} {new} {fact[found.end(1) :]}"
                for claim in split_claims(text):
                    if f" {new} " in claim.text and claim.text.strip(". ") not in fact:
                        count += 1
                        assert decider.decide(claim).verdict != "supported", claim.text
    assert count


def test_no_fact_is_supported_when_it_is_denied_or_reversed() -> None:
    """Every fact and every link of the catalogue, in forms that the rules were not made for."""
    frames = (
        "It is a myth that {}",
        "Nobody believes that {}",
        "It has long been disproved that {}",
        "Historians reject the notion that {}",
        "It would be wrong to claim that {}",
        "Entgegen verbreiteter Meinung: {}",
        "It is questionable whether {}",
        "If {}",
        "It is a canard that {}",
        "Had it been otherwise, {}",
        "{} Or so the legend goes.",
        "Fake news: {}",
        "{} All of this is false.",
    )
    for question in QUESTIONS.values():
        decider = ClaimDecider(question, None)
        for step in question.steps:
            for frame in frames:
                for claim in split_claims(frame.format(step.fact)):
                    assert decider.decide(claim).verdict != "supported", claim
        for triple in question.triples:
            if is_causal(triple, hindering=True):
                subject, thing = (
                    name.partition(":")[2].replace("-", " ") for name in (triple[0], triple[2])
                )
                (claim,) = split_claims(f"The {thing} led to the {subject}.")
                assert decider.decide(claim).verdict != "supported", claim
                (claim,) = split_claims(f"The {subject} was caused by the {thing}.")
                assert decider.decide(claim).verdict != "supported", claim


def test_facts_themselves_are_supported() -> None:
    for question in QUESTIONS.values():
        decider = ClaimDecider(question, None)
        for step in question.steps:
            verdicts = {decider.decide(claim).verdict for claim in split_claims(step.fact)}
            assert "contradicted" not in verdicts, step.fact


def test_denied_reversed_and_shotgun_answers_are_never_supported() -> None:
    for kind in ("denied", "reversed", "shotgun"):
        assert count_verdicts(kind)["supported"] == 0, kind


def test_no_true_answer_is_contradicted() -> None:
    assert count_verdicts("good", "terse", "german")["contradicted"] == 0
    assert count_verdicts("good", "terse", "german")["supported"] >= 12


@pytest.mark.parametrize("question_id", [*OTHER_ANSWERS, *HELD_OUT_ANSWERS])
def test_answers_of_other_authors(question_id: str) -> None:
    question = QUESTIONS[question_id]
    answers = (OTHER_ANSWERS | HELD_OUT_ANSWERS)[question_id]
    decider = ClaimDecider(question, get_pages())
    for kind in ("denied", "reversed", "shotgun"):
        for claim in split_claims(answers[kind]):
            assert decider.decide(claim).verdict != "supported", claim
    for kind in ("good", "mediocre", "terse", "german"):
        for claim in split_claims(answers[kind]):
            assert decider.decide(claim).verdict != "contradicted", claim
    for sentence in answers["swapped"]:
        verdicts = [decider.decide(claim).verdict for claim in split_claims(sentence)]
        assert not all(verdict == "supported" for verdict in verdicts), sentence


def test_lists_state_no_fact() -> None:
    verdicts: Counter[str] = Counter()
    for question_id, answers in OTHER_ANSWERS.items():
        question = QUESTIONS[question_id]
        decider, answer = ClaimDecider(question, get_pages()), answers["shotgun"]
        steps = judge_steps(answer, split_claims(answer), question, decider)
        verdicts.update(step.verdict for step in steps)
    assert verdicts["stated"] == 0
    assert verdicts["missing"] > 0.9 * verdicts.total()


def test_share_of_decided_claims() -> None:
    """The rules decide a third of all claims; a judge must decide the others."""
    counts = count_verdicts(*ANSWERS["HIA-04"])
    assert counts.total() > 200
    assert counts["unjudged"] < 0.67 * counts.total()
    for kind in ("denied", "reversed", "shotgun"):
        of_kind = count_verdicts(kind)
        assert of_kind["unjudged"] < 0.6 * of_kind.total(), kind


def test_steps_are_stated_in_other_words_but_not_by_reports() -> None:
    question = QUESTIONS["HIA-04"]
    decider = ClaimDecider(question, get_pages())
    fact = "France sold Louisiana to the United States in 1803."
    for claim, expected in (
        ("In 1803 France sold the whole territory of Louisiana to the United States.", True),
        (
            "Historians reject the notion that France sold Louisiana to the United States in 1803.",
            False,
        ),
        ("Spain and France sold Louisiana to the United States in 1803.", False),
        ("The United States sold Louisiana to France in 1803.", False),
        ("France planned to sell Louisiana to the United States in 1803.", False),
        ("France sold Louisiana to the United States in 1804.", False),
    ):
        (text,) = split_claims(claim)
        assert (fact in decider.find_stated(text).facts) == expected, claim
