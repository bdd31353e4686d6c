"""What an extraction kept of its text, counted by words."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.skn.formats.extracting import Extraction
from eval.skn.formats.flat_json import Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import plain, write
from eval.skn.grammar.document import CausalLink, Document, Fact, Source
from eval.skn.pipelines import PIPELINES
from eval.skn.rules.extractor import RuleExtractor
from eval.skn.rules.retention import Retention, Share, retained
from eval.skn.setting import Setting

TEXT = """\
The Main flows into the Rhine.
The Main is not a lake.
The Blue Nile may carry 1,500 m of water.
"""


def of_document(*facts: Fact, causal: tuple[CausalLink, ...] | None = None) -> Retention:
    content = Document(Source("river", "low", 0.5), facts, causal)
    return retained(TEXT, extraction(content, "skn"))


def extraction(content: Document | FlatExtraction, name: str) -> Extraction:
    context = write(content, PIPELINES[name])
    return Extraction(
        pipeline=name, context=context, validity="strict", raw=context, content=plain(content)
    )


def test_all_that_is_kept_is_counted() -> None:
    facts = [Fact(".", line, 0.9) for line in TEXT.splitlines()]
    found = of_document(*facts)
    assert found.shares() == {
        "facts": (3, 3),
        "negations": (1, 1),
        "numbers": (1, 1),
        "names": (4, 4),
        "hedges": (1, 1),
    }
    assert found.tokens == found.characters // 4
    assert found.words > 20


def test_nothing_is_kept_by_nothing() -> None:
    found = of_document()
    assert [kept for kept, _ in found.shares().values()] == [0] * 5
    assert found.facts.total == 3
    lost = Extraction(pipeline="skn", context="", validity="unreadable")
    assert retained(TEXT, lost).facts == Share(0, 3)
    assert retained(TEXT, lost).characters == 0
    assert retained("", lost).facts == Share(0, 0)


def test_a_lost_negation_is_a_lost_fact() -> None:
    found = of_document(Fact("!", "The Main is a lake.", 0.9))
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
def test_a_hedge_is_kept_by_words_sign_or_confidence(fact: Fact, kept: int) -> None:
    found = of_document(fact)
    assert found.facts == Share(1, 3)
    assert found.hedges == Share(kept, 1)


def test_links_relationships_and_entities_are_items_too() -> None:
    link = CausalLink("The Main", "flows into the Rhine", 0.9)
    assert of_document(causal=(link,)).facts == Share(1, 3)
    flat = FlatExtraction(
        entities=(Entity("Blue Nile", attributes={"carry": "1500 m"}),),
        relationships=(Relationship("The Main", "flows into", "the Rhine"),),
        claims=(FlatClaim("The Main is not a lake.", "fact"),),
    )
    found = retained(TEXT, extraction(flat, "json"))
    assert found.facts == Share(3, 3)
    assert found.hedges == Share(0, 1), "an attribute does not say that it is uncertain"
    assert found.negations == Share(1, 1)
    assert found.names == Share(4, 4)
    assert found.numbers == Share(1, 1)


def test_as_published_what_was_not_read_is_taken_line_by_line() -> None:
    handed_on = Extraction(pipeline="skn", context=f"[SKN]\n{TEXT}", validity="unreadable")
    assert retained(TEXT, handed_on).facts == Share(3, 3)


@given(st.text(alphabet="aBc1 .\nnot", max_size=120), st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None)
def test_no_more_is_kept_than_there_is(text: str, name: str) -> None:
    made = asyncio.run(RuleExtractor(PIPELINES[name], Setting(words=1000)).extract(text, ""))
    found = retained(text, made)
    assert all(0 <= kept <= total for kept, total in found.shares().values())
    assert found.facts.kept == found.facts.total, "with room for all, all is kept"
