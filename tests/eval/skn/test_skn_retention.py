"""Tests of retention: how many facts, names, numbers, negations and hedges are extracted."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.card_rules.extractor import RuleExtractor
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.flat_json import Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import to_plain_values, write_content
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import CausalLink, Document, Fact, Source
from eval.skn.retention.retention import Retention, Share, measure_retention

TEXT = """\
The Main flows into the Rhine.
The Main is not a lake.
The Blue Nile may carry 1,500 m of water.
"""


def measure_document_retention(
    *facts: Fact, causal: tuple[CausalLink, ...] | None = None
) -> Retention:
    content = Document(Source("river", "low", 0.5), facts, causal)
    return measure_retention(TEXT, make_extraction(content, "skn"))


def make_extraction(content: Document | FlatExtraction, pipeline_name: str) -> Extraction:
    context = write_content(content, PIPELINES[pipeline_name])
    return Extraction(
        pipeline=pipeline_name,
        context=context,
        validity="strict",
        raw=context,
        content=to_plain_values(content),
    )


def test_complete_extraction_keeps_everything() -> None:
    facts = [Fact(".", line, 0.9) for line in TEXT.splitlines()]
    retention = measure_document_retention(*facts)
    assert retention.list_shares() == {
        "facts": (3, 3),
        "negations": (1, 1),
        "numbers": (1, 1),
        "names": (4, 4),
        "hedges": (1, 1),
    }
    assert retention.tokens == retention.characters // 4, "tokens are estimated from characters"
    assert retention.words > 20


def test_empty_extraction_keeps_nothing() -> None:
    retention = measure_document_retention()
    assert [kept for kept, _ in retention.list_shares().values()] == [0] * 5
    assert retention.facts.total == 3
    unreadable = Extraction(pipeline="skn", context="", validity="unreadable")
    assert measure_retention(TEXT, unreadable).facts == Share(0, 3)
    assert measure_retention(TEXT, unreadable).characters == 0
    assert measure_retention("", unreadable).facts == Share(0, 0)


def test_fact_without_its_negation_is_lost() -> None:
    retention = measure_document_retention(Fact("!", "The Main is a lake.", 0.9))
    assert (retention.facts, retention.negations) == (Share(0, 3), Share(0, 1))
    assert retention.names.kept == 1, "the extraction still contains the name"


@pytest.mark.parametrize(
    ("fact", "hedge_count"),
    # The hedge of the text is the word "may".
    [
        (Fact(".", "The Blue Nile may carry 1500 m of water.", 0.9), 1),
        (Fact(".", "The Blue Nile carries, carry 1500 m of water.", 0.9), 0),
        (Fact("~", "The Blue Nile carry 1500 m of water.", 0.9), 1),
        (Fact(".", "The Blue Nile carry 1500 m of water.", 0.5), 1),
    ],
)
def test_hedge_is_kept_by_words_sign_or_confidence(fact: Fact, hedge_count: int) -> None:
    retention = measure_document_retention(fact)
    assert retention.facts == Share(1, 3)
    assert retention.hedges == Share(hedge_count, 1)


def test_links_relationships_and_entities_count_as_items() -> None:
    link = CausalLink("The Main", "flows into the Rhine", 0.9)
    assert measure_document_retention(causal=(link,)).facts == Share(1, 3)
    flat = FlatExtraction(
        entities=(Entity("Blue Nile", attributes={"carry": "1500 m"}),),
        relationships=(Relationship("The Main", "flows into", "the Rhine"),),
        claims=(FlatClaim("The Main is not a lake.", "fact"),),
    )
    retention = measure_retention(TEXT, make_extraction(flat, "json"))
    assert retention.facts == Share(3, 3)
    assert retention.hedges == Share(0, 1), "an attribute cannot express uncertainty"
    assert retention.negations == Share(1, 1)
    assert retention.names == Share(4, 4)
    assert retention.numbers == Share(1, 1)


def test_as_published_unparsed_text_is_counted_by_line() -> None:
    unparsed = Extraction(pipeline="skn", context=f"[SKN]\n{TEXT}", validity="unreadable")
    assert measure_retention(TEXT, unparsed).facts == Share(3, 3)


@given(st.text(alphabet="aBc1 .\nnot", max_size=120), st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None)
def test_retention_is_at_most_the_total(text: str, name: str) -> None:
    extraction = asyncio.run(RuleExtractor(PIPELINES[name], Setting(words=1000)).extract(text, ""))
    retention = measure_retention(text, extraction)
    assert all(0 <= kept <= total for kept, total in retention.list_shares().values())
    assert retention.facts.kept == retention.facts.total, "a large word budget keeps every fact"
