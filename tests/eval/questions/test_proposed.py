"""Claims a model proposes in words: read when they are plain, and only if a question asks them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.questions.parsing import Unread
from eval.questions.proposed import ProposalReader, Wording
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE

RIVER = "https://epoche.example/rivers/"
WM = "https://epoche.example/rivers#"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.shared("rivers")


@pytest.fixture(scope="module")
def reader(kb: KnowledgeBase) -> ProposalReader:
    return ProposalReader(kb)


RHINE = Claim(f"{RIVER}rhine", f"{WM}flowsInto", f"{RIVER}north-sea")


@pytest.mark.parametrize(
    "wording",
    [
        ("the Rhine", "flows into", "the North Sea"),
        ("Rhine", "X flows into Y", "North Sea"),
        ("RHINE", "empties into", "north sea"),
        ("Rhine", "flowsInto", "North Sea"),
        ("Rhine", f"{WM}flowsInto", "North Sea"),
        ("Rhine", "mouth", "North Sea"),
        ("North Sea", "is the mouth of", "the Rhine"),
        ("  Rhine\n", "flows\tinto", "North Sea"),
    ],
)
def test_names_and_predicates_are_linked_as_people_write_them(
    reader: ProposalReader, wording: tuple[str, str, str]
) -> None:
    assert reader.read(Wording(*wording)) == (RHINE,)


def test_values_and_kinds_are_claims_too(reader: ProposalReader) -> None:
    read = reader.read(Wording("the Chari", "the mouth of X lies at an elevation of Y", "280 m"))
    assert not isinstance(read, Unread)
    assert [claim.pred for claim in read] == [f"{WM}mouthElevation"]
    for predicate in ("is a", "type", "rdf:type", "instance of"):
        assert reader.read(Wording("Rhine", predicate, "a river")) == (
            Claim(f"{RIVER}rhine", RDF_TYPE, f"{WM}River"),
        )


@pytest.mark.parametrize(
    ("wording", "why"),
    [
        (("the Rhein-Zzyzx", "flows into", "the North Sea"), "names nothing"),
        (("the Rhine", "is longer than", "the Main"), "no claim"),
        (("the Rhine", "flows into", "Zzyzx"), "no claim"),
        (("the Rhine", "", "the Main"), "no predicate"),
        (("", "flows into", "the Main"), "no subject"),
        (("the Rhine", "flows into", "\x00"), "no object"),
        (
            ("the Rhine", "flows into the North Sea and the Main flows into", "the Rhine"),
            "no claim",
        ),
        (("Is it false that the Rhine", "flows into", "the North Sea"), "names nothing"),
        (("the Rhine", "does not flow into", "the North Sea"), "no claim"),
        (("Rhine", "flows into", "North Sea? Does the Main flow into the Elbe"), "no claim"),
    ],
)
def test_what_is_not_plain_is_not_guessed(
    reader: ProposalReader, wording: tuple[str, str, str], why: str
) -> None:
    read = reader.read(Wording(*wording))
    assert isinstance(read, Unread)
    assert why in read.reason


def test_every_way_a_domain_says_its_predicates_is_read_back(
    kb: KnowledgeBase, reader: ProposalReader
) -> None:
    graph, words = kb.graph, kb.words
    missed = []
    for pred in kb.domain.predicates:
        claim = next((claim for claim in graph.claims() if claim.pred == pred), None)
        if claim is None:
            continue
        subject, object_ = words.name(claim.subj), words.name(claim.obj, pred)
        entry = words.words_of(pred)
        ways = [(way, False) for way in (words.label(pred), *entry.synonyms)]
        ways += [(way, True) for way in entry.inverse_synonyms]
        for way, swapped in ways:
            pair = (object_, subject) if swapped else (subject, object_)
            read = reader.read(Wording(pair[0], way, pair[1]))
            if isinstance(read, Unread) or claim not in read:
                missed.append((way, read))
    assert not missed


def unasked(reader: ProposalReader, question: str, *wording: str) -> str:
    read = reader.read(Wording(*wording))
    assert not isinstance(read, Unread)
    return reader.unasked(read, reader.asked(question))


def test_a_claim_must_be_the_questions_own(reader: ProposalReader) -> None:
    question = "Does the Rhine flow into the Baltic Sea?"
    assert reader.asked(question).reading is not None
    assert not unasked(reader, question, "Rhine", "flows into", "Baltic Sea")
    for wording in (
        ("Rhine", "flows into", "North Sea"),
        ("Baltic Sea", "directly receives", "Rhine"),
        ("Rhine", "is a", "river"),
    ):
        assert unasked(reader, question, *wording) == "the question asks something else"


def test_of_a_question_nobody_can_read_the_names_must_agree(reader: ProposalReader) -> None:
    question = "Would a paper boat put into the Main one day be seen on the Rhine?"
    asked = reader.asked(question)
    assert asked.reading is None
    assert f"{RIVER}main-germany" in asked.things
    assert not unasked(reader, question, "Main", "flows into", "Rhine")
    assert "North Sea" in unasked(reader, question, "Rhine", "flows into", "North Sea")
    assert "mention" in unasked(reader, question, "Elbe", "flows into", "Rhine")
    one = reader.read(Wording("Rhine", "is a", "river"))
    assert not isinstance(one, Unread)
    assert "Main" in reader.left_out(one, asked)
    both = reader.read(Wording("Main", "flows into", "Rhine"))
    assert not isinstance(both, Unread)
    assert reader.left_out(both, asked) == ""


def test_values_must_be_named_with_a_unit_that_fits(reader: ProposalReader) -> None:
    wording = ("Rhine", "the length of X is Y", "1233 km")
    for question, why in (
        ("Would one paddle 1,233 km to see all of the Rhine?", ""),
        ("Would one paddle 1,233 miles to see all of the Rhine?", "does not name the value"),
        ("Would one paddle 12 km to see all of the Rhine?", "does not name the value"),
    ):
        assert reader.asked(question).reading is None
        assert why in unasked(reader, question, *wording)
        assert bool(unasked(reader, question, *wording)) == bool(why)
    read = reader.read(Wording(*wording))
    assert not isinstance(read, Unread)
    asked = reader.asked("Would one paddle 1,233 km in 80 days to see all of the Rhine?")
    assert reader.left_out(read, asked) == "80"


pieces = st.sampled_from(
    ["Rhine", "the Main", "North Sea", "flows into", "X flows into Y", "is a", "river", "280 m",
     "1e999",
     "٣ km", "not", "{{ 7*7 }}", "</facts>", "?", "Is it false that", "’s", "\ud800", "", "²", "-0"]
)  # fmt: skip
phrases = st.lists(pieces | st.text(max_size=8), max_size=4).map(" ".join)


@given(phrases, phrases, phrases, phrases)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_are_read_or_refused_and_never_more(
    reader: ProposalReader, subject: str, predicate: str, object_: str, question: str
) -> None:
    read = reader.read(Wording(subject, predicate, object_))
    if isinstance(read, Unread):
        assert read.reason
        return
    assert read
    asked = reader.asked(question)
    problem = reader.unasked(read, asked)
    reader.left_out(read, asked)
    if not problem and asked.reading is None:
        assert {claim.subj for claim in read} <= set(asked.things)
