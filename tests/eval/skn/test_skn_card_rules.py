"""Tests that rule-based extraction and answers are deterministic and independent of the format."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eval.skn.card_rules.agent import Decision, RuleAgent
from eval.skn.card_rules.analysis import analyse_text
from eval.skn.card_rules.context import read_context
from eval.skn.card_rules.extractor import RuleExtractor
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.forms import parse_content, write_content
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source, drop_sections
from eval.skn.notation import serialize
from eval.skn.retention.statements import find_written_names, split_statements
from kg.base.errors import NotationError
from kg.words.normaliser import split_words

SOURCE = Source("flow", "medium", 1.0)

SEARCH_RESULT = "[Result 1]\nTitle: T\nURL: u\nContent: Autovacuum may fail. It needs Node.js v1.2!"


def run_extractor(name: str, text: str, question: str, **setting: object) -> Extraction:
    extractor = RuleExtractor(PIPELINES[name], Setting(**setting))  # type: ignore[arg-type]
    return asyncio.run(extractor.extract(text, question))


def run_agent(context: str, question: str) -> Decision:
    return RuleAgent().answer_yes_no_question(read_context(context), question)


# --- extraction -----------------------------------------------------------------------------

NAMES = ("Main", "Rhine", "Acme", "Zephyr", "7", "12.5")
PHRASES = st.lists(
    st.sampled_from(
        (
            *NAMES,
            "flows into",
            "is not",
            "may be",
            "causes",
            "because of",
            "a lake",
            "the disk",
            "?",
        )
    ),
    min_size=1,
    max_size=9,
).map(lambda parts: " ".join(parts) + ".")
TEXTS = st.lists(PHRASES, max_size=12).map("\n".join)
QUESTIONS = st.sampled_from(
    (
        "Does the Main flow into the Rhine?",
        "Why does the disk of Acme fill?",
        "Acme has a lake. Which lake does the Zephyr 7 flow into?",
        "What is a lake?",
        "",
    )
)


@given(TEXTS, QUESTIONS, st.integers(20, 80), st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None)
def test_extraction_is_valid_within_budget_and_quotes_the_text(
    text: str, question: str, budget: int, name: str
) -> None:
    pipeline = PIPELINES[name]
    extraction = run_extractor(name, text, question, words=budget)
    assert (
        parse_content(extraction.context, pipeline, strict=True).content == extraction.to_content()
    )
    content = extraction.to_content()
    if isinstance(content, Document):
        quotes = [fact.text for fact in content.facts]
        quotes += [side for link in content.causal or () for side in (link.cause, link.effect)]
        quotes += content.gaps or ()
        sections = {"causal": content.causal, "gaps": content.gaps, "risk": content.risk}
        assert {key for key, value in sections.items() if value is not None} == pipeline.sections
        gaps: tuple[str, ...] = content.gaps or ()
    else:
        assert content is not None
        quotes = [claim.statement for claim in content.claims]
        quotes += [side for link in content.relationships for side in (link.source, link.target)]
        quotes += [entity.name for entity in content.entities]
        assert all(
            (claim.confidence is not None) == pipeline.confidence for claim in content.claims
        )
        gaps = ()
    assert sum(len(split_words(quote)) for quote in quotes) <= budget
    statements = " ".join(split_statements(text))
    names = " ".join(find_written_names(statements))
    assert all(quote in statements or quote in names or quote in gaps for quote in quotes)
    assert all(gap in " ".join(find_written_names(question)) for gap in gaps)


@given(TEXTS, st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None, max_examples=30)
def test_hidden_question_does_not_change_the_extraction(text: str, name: str) -> None:
    extraction = run_extractor(
        name, text, "Does the Main flow into the Rhine?", show_question=False
    )
    assert extraction == run_extractor(name, text, "What is Acme?", show_question=False)


def test_too_long_statement_is_replaced_by_shorter_ones() -> None:
    text = f"The Main {'very ' * 30}flows into the Rhine.\nThe Main is a river."
    extraction = run_extractor("skn_min", text, "Does the Main flow into the Rhine?", words=20)
    content = extraction.to_content()
    assert isinstance(content, Document)
    assert [fact.text for fact in content.facts] == ["The Main is a river."]


def test_flat_json_keeps_whole_statements_causes_and_names() -> None:
    text = "A full disk causes the crash of Acme Zephyr. It may rain. There are 12 pods."
    extraction = msgspec.json.decode(run_extractor("json", text, "").context)
    assert {claim["statement"]: claim["category"] for claim in extraction["claims"]} == {
        "A full disk causes the crash of Acme Zephyr.": "fact",
        "It may rain.": "opinion",
        "There are 12 pods.": "statistic",
    }
    assert extraction["relationships"] == [
        {"source": "A full disk", "relation": "causes", "target": "the crash of Acme Zephyr"}
    ]
    assert {entity["name"] for entity in extraction["entities"]} == {"Acme Zephyr", "12"}


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import asyncio\n"
        "from eval.skn.formats.pipelines import PIPELINES\n"
        "from eval.skn.card_rules.agent import RuleAgent\n"
        "from eval.skn.card_rules.context import read_context\n"
        "from eval.skn.card_rules.extractor import RuleExtractor\n"
        "from eval.skn.retention.retention import measure_retention\n"
        "from eval.skn.formats.settings import Setting\n"
        f"text, question = {SEARCH_RESULT!r}, 'May Node.js of Acme Zephyr fail?'\n"
        "for pipeline in PIPELINES.values():\n"
        "    extraction = asyncio.run(RuleExtractor(pipeline, Setting()).extract(text, question))\n"
        "    print(extraction)\n"
        "    context = read_context(extraction.context)\n"
        "    print(RuleAgent().answer_yes_no_question(context, question))\n"
        "    print(measure_retention(text, extraction))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"Autovacuum" in outputs.pop()


# --- answers --------------------------------------------------------------------------------


@given(TEXTS, QUESTIONS, st.sampled_from(sorted(PIPELINES)))
@settings(deadline=None)
def test_answers_use_only_the_context(text: str, question: str, name: str) -> None:
    context = run_extractor(name, text, question).context
    decision = run_agent(context, question)
    if decision.pred == "UNKNOWN":
        assert decision.confidence is None
    else:
        statement, _, _ = decision.reason.rpartition(" [covers")
        assert set(split_words(statement)) <= set(split_words(context))
        assert decision.confidence is not None
        assert 0.25 <= decision.confidence <= 1


CONFIDENCES = st.sampled_from((0.0, 0.3, 0.5, 0.9, 1.0))
LEVELS = st.sampled_from(("low", "medium", "high"))
DOCUMENTS = st.builds(
    Document,
    source=st.just(SOURCE),
    facts=st.lists(
        st.builds(Fact, priority=st.sampled_from("!.~"), text=PHRASES, confidence=CONFIDENCES),
        max_size=5,
    ).map(tuple),
    causal=st.none()
    | st.lists(
        st.builds(CausalLink, cause=PHRASES, effect=PHRASES, strength=CONFIDENCES), max_size=2
    ).map(tuple),
    gaps=st.none() | st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    risk=st.none() | st.builds(Risk, misdirection=LEVELS, missing_context=LEVELS),
)


@given(DOCUMENTS, QUESTIONS)
@settings(deadline=None)
def test_notation_does_not_change_the_answer(document: Document, question: str) -> None:
    notations = [write_content(document, PIPELINES[name]) for name in ("skn", "json_meta")]
    assert notations[0] != notations[1]
    assert run_agent(notations[0], question) == run_agent(notations[1], question)


@given(TEXTS, QUESTIONS, st.sampled_from(("causal", "gaps", "risk")))
@settings(deadline=None)
def test_dropped_section_leaves_the_rest_unchanged(text: str, question: str, section: str) -> None:
    content = run_extractor("skn", text, question, words=10_000).to_content()
    assert isinstance(content, Document)
    shortened = drop_sections(content, section)  # type: ignore[arg-type]
    context = run_extractor(f"skn_no_{section}", text, question, words=10_000).context
    assert context == serialize(shortened)
    assert f"@{section}" not in context


PLAIN_FACTS = st.lists(
    st.builds(
        "The {} {} the {}.".format,
        st.sampled_from(NAMES),
        st.sampled_from(("flows into", "does not flow into", "is near")),
        st.sampled_from(NAMES),
    ),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(PLAIN_FACTS)
@settings(deadline=None)
def test_all_formats_agree_on_plain_facts(facts: list[str]) -> None:
    question = "Does the Main flow into the Rhine?"
    # A high risk lowers the confidence, but only in formats that state risks.
    assume(analyse_text("\n".join(facts), question).misdirection != "high")
    predictions = set()
    for name in PIPELINES:
        context = read_context(run_extractor(name, "\n".join(facts), question).context)
        predictions.add(RuleAgent().answer_yes_no_question(context, question).pred)
    assert len(predictions) == 1


def serialize_facts(*facts: Fact, **sections: object) -> str:
    return serialize(Document(SOURCE, facts, **sections))  # type: ignore[arg-type]


FLOW_FACT = Fact("!", "The Main flows into the Rhine.", 0.9)
QUESTION = "Does the Main flow into the Rhine?"


def test_yes_no_and_unknown_answers() -> None:
    decision = run_agent(serialize_facts(FLOW_FACT), QUESTION)
    assert decision.pred == "YES"
    assert decision.reason.startswith(FLOW_FACT.text)
    denial = Fact("!", "The Main does not flow into the Rhine.", 0.9)
    assert run_agent(serialize_facts(denial), QUESTION).pred == "NO"
    assert run_agent(serialize_facts(), QUESTION).pred == "UNKNOWN"


def test_confidence_decides_if_a_statement_is_certain() -> None:
    assert run_agent(serialize_facts(FLOW_FACT), QUESTION).confidence == pytest.approx(0.9)
    uncertain = msgspec.structs.replace(FLOW_FACT, confidence=0.5)
    assert run_agent(serialize_facts(uncertain), QUESTION).pred == "UNKNOWN"
    hedged_fact = Fact("!", "The Main may flow into the Rhine.", 1.0)
    assert run_agent(serialize_facts(hedged_fact), QUESTION).pred == "UNKNOWN", (
        "the word “may” makes the fact uncertain whatever its confidence"
    )


def test_gap_blocks_only_answers_about_it() -> None:
    about_it = serialize_facts(FLOW_FACT, gaps=("the length of the Main",))
    assert run_agent(about_it, QUESTION).pred == "UNKNOWN"
    assert run_agent(serialize_facts(FLOW_FACT, gaps=("Acme",)), QUESTION).pred == "YES"


def test_high_risk_halves_the_confidence() -> None:
    confidences = [
        run_agent(serialize_facts(FLOW_FACT, risk=Risk(*levels)), QUESTION).confidence
        for levels in (("low", "low"), ("medium", "medium"), ("high", "low"), ("low", "high"))
    ]
    assert confidences == pytest.approx([0.9, 0.9, 0.45, 0.45])
    risky = serialize_facts(FLOW_FACT, risk=Risk("high", "high"))
    assert run_agent(risky, QUESTION).pred == "UNKNOWN", (
        "two halvings of 0.9 give less than the minimum confidence of 0.25"
    )


def test_missing_name_leads_to_abstention_in_every_format() -> None:
    question = "Does the Zephyr 7000 of Acme Kestrel flow into the Rhine?"
    text = "The Main flows into the Rhine."
    for name in PIPELINES:
        context = run_extractor(name, text, question).context
        assert run_agent(context, question).pred == "UNKNOWN"


@pytest.mark.parametrize(
    "context",
    [
        *("", "no notation", "[SKN]", "{", "{}", '{"claims": 1}', '{"facts": []}', "[" * 5000),
        '{"claims":' + "[" * 100_000,
    ],
)
def test_unreadable_context_is_refused(context: str) -> None:
    with pytest.raises(NotationError):
        read_context(context)
