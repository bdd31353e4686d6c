"""Tests each rule of the reply parser on examples, and its properties on any text."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.replies.lexicon import load_lexicon
from eval.replies.parser import MAX_REPLY_CHARS, read_reply

CORPUS = Path(__file__).parents[2] / "data" / "replies.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
ABSTENTIONS = [row["text"] for row in ROWS if row["class"] == "abstain"]
PREDS = ("YES", "NO", "UNKNOWN", "INVALID")


@pytest.mark.parametrize(
    ("text", "pred"),
    [
        # Verdict words inside other words or longer phrases do not count.
        ("I know.", "INVALID"),
        ("yesterday", "INVALID"),
        ("Nothing.", "INVALID"),
        ("No-one", "INVALID"),
        ("No. 5 is the longest.", "INVALID"),
        ("No river flows uphill.", "INVALID"),
        ("A yes-no question.", "INVALID"),
        # The last marker called final counts; other markers must agree.
        ("Answer: YES\nHm.\nFinal answer: NO", "NO"),
        ("Answer: YES\nQuestion: another?\nAnswer: NO", "INVALID"),
        ("Answer: YES. Actually, no.", "INVALID"),
        ("Answer: NO\nBut I really don't know.", "INVALID"),
        ("Answer: maybe", "INVALID"),
        ("Answer:\n\nThe facts say so. Yes.", "YES"),
        ("Q: Does it?\nA: No", "NO"),
        # JSON.
        ('{"answer": true}', "YES"),
        ('{"answer": null}', "INVALID"),
        ('{"answer": "YES", "answer": "NO"}', "INVALID"),
        ('{"answer": "YES"} {"answer": "NO"}', "INVALID"),
        ('{"answer": "NO"}\nOn second thought: yes.', "INVALID"),
        ('{"answer": "I do not know"}', "UNKNOWN"),
        ('{"answer": "NO", "reason": "cut o', "NO"),
        ('{"final_answer": "UNKNOWN"}', "UNKNOWN"),
        # Reasoning blocks.
        ("<think>no</think>Yes", "YES"),
        ("no</think>Yes", "YES"),
        ("Yes<think>no", "YES"),
        ("<think>no", "INVALID"),
        ("[THINK]maybe no[/THINK]Yes.", "YES"),
        ("<|channel|>analysis<|message|>Perhaps no", "INVALID"),
        # "The answer is …" with a topic, and with a second verdict in the same sentence.
        ("The answer to the question is YES.", "YES"),
        ("Based on the facts, the answer to this question would be NO", "NO"),
        ("Die Antwort auf die Frage lautet nein.", "NO"),
        ("Het antwoord op de vraag is nee.", "NO"),
        ("Svaret på frågan är nej.", "NO"),
        ("The answer is NO, but I'm not sure.", "INVALID"),
        ("The answer is YES, although it cannot be determined with certainty.", "INVALID"),
        ("So the answer is NO, since the facts do not say that it flows there.", "INVALID"),
        ("The answer is long, as I do not know where it ends.", "UNKNOWN"),
        ("<|channel|>analysis<|message|>no<|end|><|channel|>final<|message|>Yes.", "YES"),
        # Quotations, questions and lists of the possible answers.
        ('"Does it, yes or no?" I cannot tell.', "UNKNOWN"),
        ("> No.\nYes.", "YES"),
        ("YES, NO, or UNKNOWN", "INVALID"),
        ("Yes/No", "INVALID"),
        ("Yes?", "INVALID"),
        ("If you do not know, say UNKNOWN.", "INVALID"),
        # A no inferred from missing information may be an abstention; a yes cannot.
        ("No. The facts do not say so.", "INVALID"),
        ("Yes, though it is not stated outright.", "YES"),
        ("NO\nThe facts do not say so.", "NO"),
        # Other scripts.
        ("ＮＯ", "NO"),
        ("H\u0130ÇB\u0130R F\u0130KR\u0130M YOK", "UNKNOWN"),
        ("ye\u200bs", "YES"),
        ("\u202eNo\u202c", "NO"),
        ("Non è noto.", "UNKNOWN"),
        ("✅", "INVALID"),
        ("❌", "INVALID"),
    ],
)
def test_reply_is_parsed_by_its_rule(text: str, pred: str) -> None:
    assert read_reply(text).pred == pred


def test_every_reading_names_its_rule() -> None:
    assert all(read_reply(row["text"]).reason for row in ROWS)


VARIANTS = (
    str,
    str.upper,
    str.lower,
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: text.rstrip(".。।"),
)


@given(
    st.sampled_from(ABSTENTIONS),
    st.sampled_from(["", "Answer: ", "Well, ", "**", "- ", "\n\n"]),
    st.sampled_from(VARIANTS),
)
def test_abstention_variants_are_never_read_as_answers(text, prefix, transform) -> None:
    assert read_reply(prefix + transform(text)).pred in ("UNKNOWN", "INVALID")


@given(st.sampled_from([text for text in ABSTENTIONS if read_reply(text).pred == "UNKNOWN"]))
def test_the_word_no_next_to_an_abstention_is_never_read_as_no(text: str) -> None:
    assert read_reply("No. " + text).pred in ("INVALID", "UNKNOWN")
    assert read_reply(text.rstrip(".。") + ". No.").pred in ("INVALID", "UNKNOWN")


@given(st.text(max_size=300))
@example("")
@example("\ud800")
@example('{"answer": ' + "[" * 50 + "]" * 50 + "}")
@settings(max_examples=300)
def test_any_text_is_parsed_deterministically(text: str) -> None:
    reply = read_reply(text)
    assert reply.pred in PREDS
    assert read_reply(text) == reply


WORDS = sorted({" ".join(words) for words in load_lexicon().clauses} | set(load_lexicon().markers))


@given(st.lists(st.sampled_from([*WORDS, ",", ".", "\n", ":", "?", '"', "{", "}", "or", "<think>",
                                 "not", "sure"]), max_size=40))  # fmt: skip
@settings(max_examples=300)
def test_mixed_verdict_words_never_raise(parts: list[str]) -> None:
    assert read_reply(" ".join(parts)).pred in PREDS


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        *((text, "UNKNOWN") for text in ("NEI", " NEI.", "**NEI**", "Answer: NEI")),
        *((text, "UNKNOWN") for text in ('{"answer": "NEI"}', r"\boxed{NEI}", "NOT ENOUGH INFO")),
        *((text, "NO") for text in ("nei", "Nei", "Nei.", "Svar: nei", "NEI, det stemmer ikke.")),
        ("NEI\nnei", "INVALID"),
    ],
)
def test_label_for_too_little_information_is_no_norwegian_no(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred


@pytest.mark.parametrize(
    "piece",
    [
        *("no ", "yes, ", "{", '{"answer":', "<think>", '"', "“", "answer to ", "can not be "),
        *("无法", "no\n", "kann sich ", "A:\n", "(", "answer:\n\n", "\\boxed{", "情報が", "{}"),
    ],
)
def test_hostile_repetition_finishes_quickly(piece: str) -> None:
    # With quadratic run time this test would take hours.
    assert read_reply(piece * (200_000 // len(piece))).pred in PREDS


def test_too_long_replies_are_invalid() -> None:
    assert read_reply("yes" + " " * MAX_REPLY_CHARS).pred == "INVALID"


@pytest.mark.parametrize(
    "text",
    [
        *("Ne, ne znam.", "Не, не знам.", "Ne, to ne vem.", "Nie, neviem.", "Non, non o sei."),
        *(
            "No, no ho sé.",
            "Non lo so, no.",
            "No, no lo sé.",
            "No sé.",
            "Nein, das weiß ich nicht.",
        ),
        *(
            "Nee, dat weet ik niet.",
            "Nej, det ved jeg ikke.",
            "Nej, jag vet inte.",
            "Nei, vet ikke.",
        ),
        *(
            "Nie, nie wiem.",
            "Ne, nevím.",
            "Нет, не знаю.",
            "Ні, не знаю.",
            "Não, não sei.",
            "Nu, nu știu.",
        ),
        *(
            "Nem, nem tudom.",
            "Όχι, δεν ξέρω.",
            "Hayır, bilmiyorum.",
            "لا، لا أعلم.",
            "نه، نمی دانم.",
        ),
        *("לא, אני לא יודע.", "नहीं, मुझे नहीं पता।", "不，我不知道。", "いいえ、わかりません。"),
        *(
            "아니요, 모르겠습니다.",
            "Tidak, saya tidak tahu.",
            "Không, tôi không biết.",
            "En, en tiedä.",
        ),
    ],
)
def test_i_do_not_know_after_the_word_no_is_never_read_as_no(text: str) -> None:
    assert read_reply(text).pred in ("UNKNOWN", "INVALID")


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("I don't think the answer is no.", "INVALID"),
        ("I'm not convinced the answer is yes.", "INVALID"),
        ("I cannot say the answer is yes.", "UNKNOWN"),
        ("It would be wrong to say the answer is no.", "INVALID"),
        ("I doubt that the answer is yes.", "INVALID"),
        ("Nobody knows whether the answer is yes.", "UNKNOWN"),
        ("I am unable to determine if the answer is yes.", "UNKNOWN"),
        ("If the canal counts, the answer is yes.", "INVALID"),
        ("Some say the answer is yes.", "INVALID"),
        (
            "Ich weiß nicht, ob die Antwort ja ist. Ich bezweifle, dass die Antwort ja ist.",
            "UNKNOWN",
        ),
        ("Since it does not flow into the Black Sea, the answer is no.", "NO"),
        ("It does not flow there, so I believe that the answer is no.", "NO"),
        ("It does not flow there and thus the answer is no.", "NO"),
        ("I think the answer is yes.", "YES"),
    ],
)
def test_doubted_answer_is_not_counted(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred


@pytest.mark.parametrize(
    "reply",
    [
        "No, I can't help with that.",
        "No, I cannot answer that.",
        "No. I won't answer this question.",
        "No, I'm sorry, but I can't assist.",
        "No, I am not able to discuss that.",
        "No — I must decline.",
        "Final answer: No, I can't help with that.",
        "Answer: No\nI can't help with that.",
        "Nein, das kann ich nicht beantworten.",
        "Nein, dabei kann ich Ihnen nicht helfen.",
        "Nein, ich darf dazu nichts sagen.",
        "Nein, ich darf keine medizinischen Auskünfte geben.",
        "No. As an AI, I don't have personal opinions.",
        "Nein, dazu möchte ich mich nicht äußern.",
        "No. I refuse to answer.",
        "No, I can't help with that, but I can tell you more about rivers.",
        "Nein, ich lehne die Beantwortung ab.",
    ],
)
def test_no_that_refuses_to_answer_is_no_answer(reply: str) -> None:
    assert read_reply(reply).pred == "INVALID"


@pytest.mark.parametrize(
    "reply",
    [
        "It is false that the answer is yes",
        "It is untrue that the answer is no.",
        "It is false that the answer is: yes",
        "It's incorrect to say that the answer is yes.",
        "Es ist falsch, dass die Antwort lautet: ja.",
        "Es ist unwahr, dass die Antwort ist: nein.",
        "I don't think the answer is: no",
        "I cannot say whether the answer is: yes",
        "It is wrong to say the answer is: yes",
        "There is no doubt that it is false that the answer is: yes",
    ],
)
def test_answer_said_to_be_false_is_not_counted(reply: str) -> None:
    assert read_reply(reply).pred == "INVALID"


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("Because the river does not reach the sea the answer is: no", "NO"),
        ("Since it is false the answer is: NO", "NO"),
        ("- Rule 2 does not apply -> the answer is: NO", "NO"),
        ("* the facts never say otherwise → final answer is: YES", "YES"),
        ("None of the facts contradict this - the answer is: yes", "YES"),
        ("Given the facts do not mention any lake the answer would be: UNKNOWN", "UNKNOWN"),
        ("There is no doubt that the answer is: yes", "YES"),
        ("It cannot be denied that the answer is: no", "NO"),
        ("Nobody doubts that the answer is yes", "YES"),
        ("Es besteht kein Zweifel, dass die Antwort lautet: ja", "YES"),
    ],
)
def test_words_before_a_mark_overturn_it_only_if_they_are_tied_to_it(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("Yes, it does. I cannot share further details on the basin.", "YES"),
        ("FINAL ANSWER: NO. I can't provide further details.", "NO"),
        ('{"answer": "yes"} I can\'t provide more.', "YES"),
        ('{"answer": "no"} I can\'t help with that.', "NO"),
        ("\\boxed{yes} I will not comment further.", "YES"),
        ("<answer>no</answer> I will not comment on this.", "NO"),
        ("No, residents are not allowed to provide water.", "NO"),
        ("No, companies are unable to comply.", "NO"),
        ("No, that violates our policies.", "NO"),
        ("No, we do not share a border with it.", "NO"),
        ("No. I refuse the hypothesis.", "NO"),
        ("Nein, ich lehne die Behauptung ab.", "NO"),
        ("Nein. Ich kann keine weiteren Angaben machen.", "NO"),
        ("Ja. Ich muss keine weitere Auskunft geben.", "YES"),
        ("Nein. Ich muss keine weitere Auskunft geben.", "NO"),
    ],
)
def test_what_is_no_refusal_of_the_question_leaves_the_verdict(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("No, not always.", "NO"),
        ("No. Not necessarily.", "NO"),
        ("Nein, nicht unbedingt.", "NO"),
        ("Yes. Not always.", "INVALID"),
        ("Only sometimes.", "INVALID"),
        (
            "Yes, although only two rivers cross the border, the Rhine is one of them.",
            "YES",
        ),
        ("Yes, according to the facts, though when he lived is not said.", "YES"),
        ("Ja, doch ob er dort entspringt, ist egal.", "YES"),
        ("Ja, aber bloß weil es in den Fakten steht.", "YES"),
        ("Yes, but only aspirin was given.", "YES"),
    ],
)
def test_a_limit_takes_a_yes_back_and_no_reason_does(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred


@pytest.mark.parametrize(
    "reply",
    [
        "Yes, but only sometimes.",
        "Yes, sometimes.",
        "Yes, to a degree.",
        "Yes. But only in part.",
        "Yes, but not always.",
        "Yes, it does, but only when it rains.",
        "Yes, but only in the north.",
        "Ja, aber nur, wenn es regnet.",
        "Yes (in most cases).",
        "No, though only if it rains.",
        "Ja, aber nur manchmal",
        "Ja, aber nicht immer.",
        "Ja, wenn auch nur zum Teil.",
        "Ja, unter bestimmten Bedingungen.",
        "Nein, allerdings nur, wenn es regnet.",
    ],
)
def test_verdict_that_holds_in_part_is_invalid(reply: str) -> None:
    assert read_reply(reply).pred == "INVALID"


@pytest.mark.parametrize(
    ("reply", "pred"),
    [
        ("insufficient evidence", "UNKNOWN"),
        ("Inadequate context.", "UNKNOWN"),
        ("There is insufficient evidence.", "UNKNOWN"),
        ("Evidence insufficient", "UNKNOWN"),
        ("Unzureichende Belege", "UNKNOWN"),
        ("nicht genügend Belege", "UNKNOWN"),
        ("No evidence.", "INVALID"),
        ("In most cases, rivers end in a sea. Yes.", "YES"),
        ("Not always, as with the Okavango, do they end there. No.", "NO"),
        ("Yes, and only the Rhine does.", "YES"),
        ("Yes, it is only one of three.", "YES"),
        ("No, it does not help.", "NO"),
        ("False, the answer is no.", "NO"),
        ("No, I would not say so.", "NO"),
    ],
)
def test_too_little_evidence_abstains_and_plain_verdicts_stay(reply: str, pred: str) -> None:
    assert read_reply(reply).pred == pred
