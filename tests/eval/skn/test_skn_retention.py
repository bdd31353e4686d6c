"""Retention: what an extraction keeps of its text, counted by words."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.formats.extraction import Extraction
from eval.skn.formats.flat_json import Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import to_plain_values, write_content
from eval.skn.grammar.document import CausalLink, Document, Fact, Source
from eval.skn.pipelines import PIPELINES
from eval.skn.rules.extractor import RuleExtractor
from eval.skn.rules.retention import Retention, Share, measure_retention
from eval.skn.run_settings import Setting

TEXT = """\
The Main flows into the Rhine.
The Main is not a lake.
The Blue Nile may carry 1,500 m of water.
"""


def document_retention(*facts: Fact, causal: tuple[CausalLink, ...] | None = None) -> Retention:
    content = Document(Source("river", "low", 0.5), facts, causal)
    return measure_retention(TEXT, make_extraction(content, "skn"))


def make_extraction(content: Document | FlatExtraction, name: str) -> Extraction:
    context = write_content(content, PIPELINES[name])
    return Extraction(
        pipeline=name,
        context=context,
        validity="strict",
        raw=context,
        content=to_plain_values(content),
    )


def test_complete_extraction_keeps_everything() -> None:
    facts = [Fact(".", line, 0.9) for line in TEXT.splitlines()]
    found = document_retention(*facts)
    assert found.list_shares() == {
        "facts": (3, 3),
        "negations": (1, 1),
        "numbers": (1, 1),
        "names": (4, 4),
        "hedges": (1, 1),
    }
    assert found.tokens == found.characters // 4
    assert found.words > 20


def test_empty_extraction_keeps_nothing() -> None:
    found = document_retention()
    assert [kept for kept, _ in found.list_shares().values()] == [0] * 5
    assert found.facts.total == 3
    lost = Extraction(pipeline="skn", context="", validity="unreadable")
    assert measure_retention(TEXT, lost).facts == Share(0, 3)
    assert measure_retention(TEXT, lost).characters == 0
    assert measure_retention("", lost).facts == Share(0, 0)


def test_fact_without_its_negation_is_lost() -> None:
    found = document_retention(Fact("!", "The Main is a lake.", 0.9))
    assert (found.facts, found.negations) == (Share(0, 3), Share(0, 1))
    assert found.names.kept == 1, "the name stands there all the same"


@pytest.mark.parametrize(
    ("fact", "kept"),
    [
        (Fact(".", "The Blue Nile may carry 1500 m of water.", 0.9), 1),
        (Fact(".", "The Blue Nile carries, carry 1500 m of water.", 0.9), 0),
        (Fact("~", "The Blue Nile carry 1500 m of water.", 0.9), 1),
        (Fact(".", "The Blue Nile carry 1500 m of water.", 0.5), 1),
    ],
)
def test_hedge_is_kept_by_words_sign_or_confidence(fact: Fact, kept: int) -> None:
    found = document_retention(fact)
    assert found.facts == Share(1, 3)
    assert found.hedges == Share(kept, 1)


def test_links_relationships_and_entities_count_as_items() -> None:
    link = CausalLink("The Main", "flows into the Rhine", 0.9)
    assert document_retention(causal=(link,)).facts == Share(1, 3)
    flat = FlatExtraction(
        entities=(Entity("Blue Nile", attributes={"carry": "1500 m"}),),
        relationships=(Relationship("The Main", "flows into", "the Rhine"),),
        claims=(FlatClaim("The Main is not a lake.", "fact"),),
    )
    found = measure_retention(TEXT, make_extraction(flat, "json"))
    assert found.facts == Share(3, 3)
    assert found.hedges == Share(0, 1), "an attribute does not say that it is uncertain"
    assert found.negations == Share(1, 1)
    assert found.names == Share(4, 4)
    assert found.numbers == Share(1, 1)


def test_as_published_unparsed_text_is_counted_by_line() -> None:
    handed_on = Extraction(pipeline="skn", context=f"[SKN]\n{TEXT}", validity="unreadable")
    assert measure_retention(TEXT, handed_on).facts == Share(3, 3)


@given(st.text(alphabet="aBc1 .\nnot", max_size=120), st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None)
def test_retention_is_at_most_the_total(text: str, name: str) -> None:
    made = asyncio.run(RuleExtractor(PIPELINES[name], Setting(words=1000)).extract(text, ""))
    found = measure_retention(text, made)
    assert all(0 <= kept <= total for kept, total in found.list_shares().values())
    assert found.facts.kept == found.facts.total, "with room for all, all is kept"
