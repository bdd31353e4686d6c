"""Tests that claims worded by a model are parsed if unambiguous and must match the question."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.questions.parser import ParseFailure
from eval.questions.proposals import ProposalReader, WordedClaim
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE

RIVER_BASE = "https://epoche.example/rivers/"
VOCABULARY = "https://epoche.example/rivers#"


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached("rivers")


@pytest.fixture(scope="module")
def reader(kb: KnowledgeBase) -> ProposalReader:
    return ProposalReader(kb)


RHINE = Claim(f"{RIVER_BASE}rhine", f"{VOCABULARY}flowsInto", f"{RIVER_BASE}north-sea")


@pytest.mark.parametrize(
    "wording",
    [
        ("the Rhine", "flows into", "the North Sea"),
        ("Rhine", "X flows into Y", "North Sea"),
        ("RHINE", "empties into", "north sea"),
        ("Rhine", "flowsInto", "North Sea"),
        ("Rhine", f"{VOCABULARY}flowsInto", "North Sea"),
        ("Rhine", "mouth", "North Sea"),
        ("North Sea", "is the mouth of", "the Rhine"),
        ("  Rhine\n", "flows\tinto", "North Sea"),
    ],
)
def test_names_and_predicates_are_linked_in_common_spellings(
    reader: ProposalReader, wording: tuple[str, str, str]
) -> None:
    assert reader.read_claim(WordedClaim(*wording)) == (RHINE,)


def test_value_and_type_wordings_are_read_as_claims(reader: ProposalReader) -> None:
    claims = reader.read_claim(
        WordedClaim("the Chari", "the mouth of X lies at an elevation of Y", "280 m")
    )
    assert not isinstance(claims, ParseFailure)
    assert [claim.pred for claim in claims] == [f"{VOCABULARY}mouthElevation"]
    for predicate in ("is a", "type", "rdf:type", "instance of"):
        assert reader.read_claim(WordedClaim("Rhine", predicate, "a river")) == (
            Claim(f"{RIVER_BASE}rhine", RDF_TYPE, f"{VOCABULARY}River"),
        )


@pytest.mark.parametrize(
    ("wording", "reason"),
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
def test_unclear_wording_is_not_guessed(
    reader: ProposalReader, wording: tuple[str, str, str], reason: str
) -> None:
    result = reader.read_claim(WordedClaim(*wording))
    assert isinstance(result, ParseFailure)
    assert reason in result.reason


def test_every_predicate_wording_of_a_domain_is_read_back(
    kb: KnowledgeBase, reader: ProposalReader
) -> None:
    graph, words = kb.graph, kb.verbaliser
    unread_wordings = []
    for pred in kb.domain.predicates:
        claim = next((claim for claim in graph.iter_claims() if claim.pred == pred), None)
        if claim is None:
            continue
        subject, object_ = words.render_term(claim.subj), words.render_term(claim.obj, pred)
        entry = words.get_wording(pred)
        phrasings = [(phrasing, False) for phrasing in (words.get_label(pred), *entry.synonyms)]
        phrasings += [(phrasing, True) for phrasing in entry.inverse_synonyms]
        for phrasing, is_inverse in phrasings:
            pair = (object_, subject) if is_inverse else (subject, object_)
            result = reader.read_claim(WordedClaim(pair[0], phrasing, pair[1]))
            if isinstance(result, ParseFailure) or claim not in result:
                unread_wordings.append((phrasing, result))
    assert not unread_wordings


def get_mismatch_reason(reader: ProposalReader, question: str, *wording: str) -> str:
    claims = reader.read_claim(WordedClaim(*wording))
    assert not isinstance(claims, ParseFailure)
    return reader.explain_mismatch(claims, reader.analyse_question(question))


def test_claim_must_match_the_question(reader: ProposalReader) -> None:
    question = "Does the Rhine flow into the Baltic Sea?"
    assert reader.analyse_question(question).reading is not None
    assert not get_mismatch_reason(reader, question, "Rhine", "flows into", "Baltic Sea")
    for wording in (
        ("Rhine", "flows into", "North Sea"),
        ("Baltic Sea", "directly receives", "Rhine"),
        ("Rhine", "is a", "river"),
    ):
        assert get_mismatch_reason(reader, question, *wording) == "the question asks something else"


def test_names_must_match_if_the_question_is_unreadable(reader: ProposalReader) -> None:
    question = "Would a paper boat put into the Main one day be seen on the Rhine?"
    analysis = reader.analyse_question(question)
    assert analysis.reading is None
    assert f"{RIVER_BASE}main-germany" in analysis.entities
    assert not get_mismatch_reason(reader, question, "Main", "flows into", "Rhine")
    assert "North Sea" in get_mismatch_reason(reader, question, "Rhine", "flows into", "North Sea")
    assert "mention" in get_mismatch_reason(reader, question, "Elbe", "flows into", "Rhine")
    type_claims = reader.read_claim(WordedClaim("Rhine", "is a", "river"))
    assert not isinstance(type_claims, ParseFailure)
    assert "Main" in reader.find_missing_mention(type_claims, analysis)
    flow_claims = reader.read_claim(WordedClaim("Main", "flows into", "Rhine"))
    assert not isinstance(flow_claims, ParseFailure)
    assert reader.find_missing_mention(flow_claims, analysis) == ""


def test_values_need_a_fitting_unit(reader: ProposalReader) -> None:
    wording = ("Rhine", "the length of X is Y", "1233 km")
    for question, reason in (
        ("Would one paddle 1,233 km to see all of the Rhine?", ""),
        ("Would one paddle 1,233 miles to see all of the Rhine?", "does not name the value"),
        ("Would one paddle 12 km to see all of the Rhine?", "does not name the value"),
    ):
        assert reader.analyse_question(question).reading is None
        assert reason in get_mismatch_reason(reader, question, *wording)
        assert bool(get_mismatch_reason(reader, question, *wording)) == bool(reason)
    claims = reader.read_claim(WordedClaim(*wording))
    assert not isinstance(claims, ParseFailure)
    analysis = reader.analyse_question(
        "Would one paddle 1,233 km in 80 days to see all of the Rhine?"
    )
    assert reader.find_missing_mention(claims, analysis) == "80"


pieces = st.sampled_from(
    ["Rhine", "the Main", "North Sea", "flows into", "X flows into Y", "is a", "river", "280 m",
     "1e999",
     "٣ km", "not", "{{ 7*7 }}", "</facts>", "?", "Is it false that", "’s", "\ud800", "", "²", "-0"]
)  # fmt: skip
phrases = st.lists(pieces | st.text(max_size=8), max_size=4).map(" ".join)


@given(phrases, phrases, phrases, phrases)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_give_claims_or_a_refusal(
    reader: ProposalReader, subject: str, predicate: str, object_: str, question: str
) -> None:
    result = reader.read_claim(WordedClaim(subject, predicate, object_))
    if isinstance(result, ParseFailure):
        assert result.reason
        return
    assert result
    analysis = reader.analyse_question(question)
    problem = reader.explain_mismatch(result, analysis)
    reader.find_missing_mention(result, analysis)
    if not problem and analysis.reading is None:
        assert {claim.subj for claim in result} <= set(analysis.entities)
