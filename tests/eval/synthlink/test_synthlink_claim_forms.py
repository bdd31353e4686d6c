"""Tests that claims are decided in the forms in which people write them: denials, passive voice,
parts of a fact, labels, arrows, exchanged roles and German.

``answers_of_a_fourth_author.json`` has answers of seven kinds to ten questions, in the form of the
other sets. Its author knew the facts, and wrote it before reading the rules.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from eval.guard.stream import Guard
from eval.synthlink.catalog import read_catalog
from eval.synthlink.claims.claim_decider import ClaimDecider
from eval.synthlink.claims.comparison import compare_texts
from eval.synthlink.claims.consequences import list_consequences
from eval.synthlink.claims.german_claims import read_german
from eval.synthlink.claims.mutual_verbs import SYMMETRIC
from eval.synthlink.claims.polarity import read_polarity
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.verb_forms import form_past
from eval.synthlink.claims.words import split_text
from eval.synthlink.corrected.claims import judge_claims
from eval.synthlink.corrected.evidence import SourcePages
from kg.base.plain_text import list_words
from kg.knowledge import KnowledgeBase
from retrieval.corpus import read_corpus

ANSWERS: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "data/synthlink/answers_of_a_fourth_author.json").read_bytes()
)
QUESTIONS = {question.id: question for question in read_catalog().questions}
HONEST = ("good", "mediocre", "terse", "german")
WRONG = ("denied", "reversed", "shotgun")


@cache
def get_pages() -> SourcePages:
    return SourcePages(read_corpus())


@cache
def get_decider(question_id: str) -> ClaimDecider:
    return ClaimDecider(QUESTIONS[question_id], get_pages())


@pytest.mark.parametrize(
    ("question_id", "claim", "verdict"),
    [
        # what is denied with "did not", "never", "neither", "nobody" or "no"
        ("STE-01", "The transistor was never built at Bell Labs.", "contradicted"),
        ("STE-01", "Neither Noyce nor Kilby devised the integrated circuit.", "contradicted"),
        ("STE-01", "Busicom did not place an order with Intel.", "contradicted"),
        ("STE-01", "The 4004 isn't the first commercial microprocessor.", "contradicted"),
        ("SFT-04", "ML-KEM was not derived from CRYSTALS-Kyber.", "contradicted"),
        ("SFT-04", "Shor's algorithm would never break RSA.", "contradicted"),
        ("STE-02", "Heatley and Florey did not purify penicillin at Oxford.", "contradicted"),
        ("STE-08", "Nobody isolated potassium in 1807.", "contradicted"),
        ("EIS-05", "The exports of Indian indigo never collapsed.", "contradicted"),
        ("EEC-04", "Hugh Bennett did not convince Congress.", "contradicted"),
        ("EEC-04", "The Dust Bowl had not been caused by ploughing.", "contradicted"),
        ("EEC-04", "The Dust Bowl wasn't caused by ploughing.", "contradicted"),
        ("PSM-06", "Rodwell did not organise the Christopher Street march.", "open"),
        ("SFT-07", "White LEDs don't use less electricity than filament lamps.", "contradicted"),
        ("HIA-02", "The plague did not reach England in 1348.", "open"),
        # what is denied may be true with more words
        ("STE-01", "The transistor was not built at Bell Labs in secret.", "open"),
        # exchanged roles
        ("SFT-04", "CRYSTALS-Kyber was derived from ML-KEM.", "contradicted"),
        ("EEC-04", "Congress persuaded Hugh Bennett.", "contradicted"),
        ("SFT-07", "A filament lamp uses far less electricity than white LEDs.", "contradicted"),
        ("HIA-02", "The Statute of Labourers led to the shortage of labour.", "contradicted"),
        ("HIA-10", "The watch H4 led to the wreck of Shovell's fleet.", "contradicted"),
        # others may have made it, too
        ("STE-10", "Brock devised the polymerase chain reaction.", "open"),
        ("STE-08", "Nicholson made a voltaic pile.", "open"),
        ("STE-02", "Fleming purified penicillin.", "open"),
        ("STE-02", "Fleming's penicillin was purified at Oxford.", "open"),
        ("EIS-10", "The Erie Canal promoted DeWitt Clinton.", "contradicted"),
        ("HIA-02", "England reached the Black Death in 1348.", "contradicted"),
        ("EEC-02", "Queensland toads were released in Cane in 1935.", "open"),
        # parts of a fact, and passive voice
        ("STE-01", "Busicom placed an order with Intel.", "supported"),
        ("STE-01", "The transistor was built at Bell Labs in 1947.", "supported"),
        ("STE-02", "Florey and Heatley purified penicillin.", "supported"),
        ("PSM-06", "Craig Rodwell organised the march.", "open"),
        ("SFT-07", "White LEDs use less electricity than filament lamps.", "supported"),
        ("EIS-05", "Exports of Indian indigo collapsed.", "supported"),
        ("EIS-05", "Baeyer worked out the structure of indigo.", "supported"),
        # labels, headlines and arrows
        ("EIS-05", "BASF: synthetic indigo, 1897.", "supported"),
        ("EIS-05", "BASF: natural indigo, 1897.", "open"),
        ("EIS-05", "Natural indigo displaced.", "supported"),
        ("EIS-05", "Synthetic indigo displaced.", "open"),
        ("PSM-01", "Frances Perkins: Secretary of Labor, 1933.", "supported"),
        ("PSM-01", "Triangle fire, 1911, 146 dead.", "open"),
        ("HIA-02", "Black Death → shortage of labour", "supported"),
        ("STE-01", "Busicom's order to Intel → 4004, 1971", "supported"),
        ("STE-01", "Intel's order to Busicom → 4004, 1971", "open"),
        ("SFT-07", "white LED → less electricity for lighting", "supported"),
        ("SFT-07", "white LED → more electricity for lighting", "contradicted"),
        ("EIS-05", "Synthetic indigo led to Indian indigo planting.", "open"),
        ("EEC-01", "Midgley's CFCs (c. 1928) → Molina and Rowland's warning (1974)", "open"),
        # German
        (
            "STE-01",
            "Bardeen und Brattain bauten 1947 in den Bell Labs den Transistor.",
            "supported",
        ),
        ("STE-01", "Bardeen und Brattain bauten 1947 bei Bell Labs den Transistor.", "supported"),
        (
            "STE-01",
            "Jack Kilby und Robert Noyce erfanden den integrierten Schaltkreis.",
            "supported",
        ),
        ("EIS-05", "1897 brachte die BASF synthetischen Indigo auf den Markt.", "supported"),
        ("EIS-05", "Der natürliche Indigo verdrängte den synthetischen Indigo.", "open"),
        ("EIS-05", "Den synthetischen Indigo verdrängte der natürliche Indigo.", "open"),
        ("EIS-05", "Baeyer klärte die Struktur des Indigos nicht auf.", "open"),
        ("SFT-07", "Weiße LEDs verbrauchen weit mehr Strom als Glühlampen.", "open"),
        ("STE-02", "Fleming bemerkte 1928, dass ein Schimmelpilz Bakterien tötete.", "supported"),
        ("STE-02", "Fleming bemerkte 1928, dass Bakterien einen Schimmelpilz töteten.", "open"),
        ("EEC-04", "Hugh Bennett überzeugte angeblich den Kongress.", "open"),
    ],
)
def test_claims_are_decided_in_the_forms_people_write(
    question_id: str, claim: str, verdict: str
) -> None:
    (text,) = split_claims(claim)
    # A single sentence may be too short to show its language.
    is_german = text.german or re.search(r"[äöüß]|\b(?:und|der|den|die)\b", claim) is not None
    assert get_decider(question_id).decide(text._replace(german=is_german)).verdict == verdict


def test_what_follows_from_a_sentence_leaves_out_only_what_adds_to_it() -> None:
    def list_texts(sentence: str) -> set[str]:
        names = {"florey", "gandhi", "doudna", "casgevy"}
        found = list_consequences(split_text(sentence, names))
        return {" ".join(word.text for word in one) for one in found}

    found = list_texts("The calculator maker Busicom placed an order with Intel in 1969.")
    assert "Busicom placed an order with Intel in 1969" in found
    assert "an order was placed with Intel in 1969" in found
    found = list_texts("Florey, Chain and Heatley purified penicillin at Oxford.")
    assert {"Florey and Chain purified penicillin", "penicillin was purified at Oxford"} <= found
    found = list_texts("The chemist Florey purified penicillin at Oxford in 1940.")
    assert "Florey purified penicillin in 1940" in found
    found = list_texts("In 1940 Florey and Chain purified penicillin.")
    assert "In 1940 Florey purified penicillin" in found
    for sentence, absent in (
        # what several did, or are, together
        ("Britain and France lost 20,000 men.", "Britain lost 20,000 men"),
        ("Britain and France lost 1900 men.", "Britain lost 1900 men"),
        ("Britain and France lost twelve ships.", "Britain lost twelve ships"),
        ("Britain and France lost half a million men.", "Britain lost half a million men"),
        ("A mixture of copper and tin made bronze.", "A mixture of copper made bronze"),
        ("A blend of pure copper and tin pleased Rome.", "A blend of copper pleased Rome"),
        (
            "The union of England and Scotland created Great Britain.",
            "The union of England created Great Britain",
        ),
        ("A treaty with Spain and France ended the war.", "A treaty with Spain ended the war"),
        ("The war between Spain and France ended.", "The war between Spain ended"),
        ("England and Scotland formed Great Britain.", "England formed Great Britain"),
        ("Copper and tin make up bronze.", "Copper make up bronze"),
        ("England and Scotland merged in 1707.", "England merged in 1707"),
        ("Britain and France agreed in 1904.", "Britain agreed in 1904"),
        ("Spain and Portugal divided America.", "Spain divided America"),
        ("Spain and Portugal fought in Brazil.", "Spain fought in Brazil"),
        ("The Pure Food and Drug Act was signed.", "The Pure Food was signed"),
        # descriptions that change who is meant
        ("A new Rome was built on the Bosporus in 330.", "Rome was built on the Bosporus in 330"),
        ("The new Rome was built in 330.", "Rome was built in 330"),
        ("The other chemist Florey died in Paris.", "Florey died in Paris"),
        ("A chemist Florey died in Paris.", "Florey died in Paris"),
        ("The ruined Carthage was built in 330.", "Carthage was built in 330"),
        ("Its authors are Vaswani and Parmar.", "Its authors are Vaswani"),
        ("Gandhi and Irwin met in Delhi.", "Gandhi met in Delhi"),
        ("Casgevy was approved first in Britain.", "Casgevy was approved first"),
        ("The army tried to take Kabul in May.", "The army tried to take Kabul"),
        ("The strong guilder raised prices.", "The guilder raised prices"),
        ("The former king Edward died in Paris.", "Edward died in Paris"),
        ("Doudna made Cas9 into scissors.", "Doudna made Cas9"),
        ("All factories in Japan closed in 1990.", "All factories closed in 1990"),
    ):
        assert absent not in list_texts(sentence), sentence


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("1935 wurde der Pakt verabschiedet.", "der pact was passed 1935"),
        ("Er isolierte bei London das Kalium.", "it isolated das potassium at london"),
        ("Die Fabrik stellte 1897 den Kohlenstoff her.", "die factory made 1897 den carbon"),
        ("Davy isolierte Kalium und Natrium.", "davy isolated potassium und sodium"),
        ("Der Forscher isolierte das Kalium.", "der scientist isolated das potassium"),
        # which comes first, subject or object?
        ("Das Penicillin entdeckte Fleming.", None),
        ("Louisiana verkaufte Frankreich.", None),
        ("Das Penicillin entdeckte der Forscher.", None),
        ("Das Kalium isolierten Davy und London.", None),
        ("Der Schweiz verkaufte Frankreich Schiffe.", None),
        ("1803 verkaufte Frankreich das Louisiana.", None),
        ("Davy isolierte das Kalium.", None),
        ("Den Pakt verursachte der Krieg.", None),
        ("Sie haben den Vertrag unterzeichnet.", "it signed den treaty"),
    ],
)
def test_german_claims_are_read_in_english_order(german: str, english: str | None) -> None:
    known = {"davy", "london", "pact", "potassium"}
    readings = read_german(split_text(german, known, german=True), known)
    texts = {" ".join(word.key for word in one) for one in readings}
    assert not texts if english is None else english in texts, texts


def test_german_words_are_only_kept_by_rules_of_spelling() -> None:
    for german, known, expected in (
        ("Kongress", {"congress"}, "congress"),
        ("Protokoll", {"protocol", "protein"}, "protocol"),
        ("Kontinent", {"continued"}, "kontinent"),
        ("Kontinent", {"continued", "continent"}, "continent"),
        ("Patenten", {"patent", "patents"}, "patenten"),
        ("Residenz", {"resident"}, "residenz"),
        ("Moral", {"moral", "morale"}, "moral"),
        ("Musik", {"music", "musik"}, "musik"),
    ):
        sentence = f"Der Forscher fand den {german}"
        readings = read_german(split_text(sentence, german=True), known)
        assert {one[-1].key for one in readings} == {expected}, german


def test_past_of_verbs() -> None:
    words = list_words(
        "reach reached purify purified use used find found play played have had set set "
        "occur occurred stop stopped refer referred permit permitted control controlled "
        "travel travelled equip equipped offer offered visit visited open opened "
        "develop developed cook cooked fix fixed show showed look looked limit limited "
        "enter entered differ differed plan planned quote quoted sail sailed train trained"
    )
    for base, past in zip(words[::2], words[1::2], strict=True):
        assert form_past(base) == past


@pytest.mark.parametrize(
    ("text", "asserted"),
    [
        ("It did not only reach York.", "It only reached York."),
        ("It didn't even occur in York.", "It even occurred in York."),
        ("They did not fully agree.", "They fully agreed."),
        ("It did not supply York.", "It supplied York."),
        ("It did nothing to quickly stop the war.", "It quickly stopped the war."),
    ],
)
def test_a_word_before_the_denied_verb_is_left_beside_it(text: str, asserted: str) -> None:
    assert read_polarity(text).text == asserted


def test_verbs_that_say_the_same_of_both_sides() -> None:
    for verb in list_words(
        "met meets marries married borders bordered joined equals resembles allied fought fights "
        "competes competed traded trades collided agreed overlapped"
    ):
        assert verb in SYMMETRIC, verb
    for verb in ("built", "sold", "persuaded", "defeated", "led", "derived"):
        assert verb not in SYMMETRIC, verb


def test_no_exchange_of_both_sides_is_contradicted_where_it_may_be_true() -> None:
    def compare(first: str, second: str) -> str:
        return compare_texts(split_text(first), split_text(second)).outcome

    for verb in ("bordered", "competed with", "traded with", "fought", "agreed with", "resembles"):
        text, other = f"The Alpha {verb} Beta.", f"The Beta {verb} Alpha."
        assert compare(other, text) == "open", verb
    assert compare("The Beta defeated Alpha.", "The Alpha defeated Beta.") == "contradicted"


_NAME = re.compile(r"[A-Z][\w-]+(?: [A-Z][\w-]+)*")
_FIRST = frozenset(("The", "In", "A", "An", "It", "Its"))


def test_no_fact_is_supported_with_two_names_exchanged() -> None:
    count = 0
    for question in QUESTIONS.values():
        decider = get_decider(question.id)
        for fact in (step.fact for step in question.steps if step.fact):
            names = [name for name in _NAME.finditer(fact) if name.group() not in _FIRST]
            for first, second in itertools.combinations(names, 2):
                between = fact[first.end() : second.start()]
                # "The famine in Ireland" exchanged is no sentence.
                if between.strip(" ,") in ("", "and", "in") or first.group() == second.group():
                    continue
                before, after = fact[: first.start()], fact[second.end() :]
                text = f"{before}{second.group()}{between}{first.group()}{after}"
                count += 1
                verdicts = {decider.decide(claim).verdict for claim in split_claims(text)}
                assert verdicts != {"supported"}, text
    assert count > 80


@cache
def judge_answers() -> dict[str, Counter[str]]:
    guard = Guard(KnowledgeBase.open_cached("synthlink"))
    found: dict[str, Counter[str]] = {}
    for question_id, answers in ANSWERS.items():
        for kind, answer in answers.items():
            claims = judge_claims(answer, QUESTIONS[question_id], guard, get_pages())
            found.setdefault(kind, Counter()).update(claim.verdict for claim in claims)
    return found


def test_answers_of_a_fourth_author() -> None:
    """Nothing denied, reversed or listed is supported; nothing honest is contradicted."""
    counts = judge_answers()
    assert {counts[kind]["supported"] for kind in WRONG} == {0}
    assert {counts[kind]["contradicted"] for kind in HONEST} == {0}


def test_share_of_decided_claims_of_a_fourth_author() -> None:
    counts = judge_answers()
    total = sum(counts.values(), Counter[str]())
    assert total["unjudged"] < 0.58 * total.total()
    for kind in WRONG:
        assert counts[kind]["unjudged"] < 0.25 * counts[kind].total(), kind
    german = counts["german"]
    assert german["supported"] > 0.12 * german.total()
