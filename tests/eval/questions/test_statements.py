"""Tests the parsing of statements, with negations, lists and omitted subjects."""

from pathlib import Path

import pytest

from eval.questions.parser import ClaimParser, ParseFailure
from eval.questions.statements import Statement, StatementReader
from kg.claims import Claim
from kg.knowledge import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached()


@pytest.fixture(scope="module")
def reader(kb: KnowledgeBase) -> StatementReader:
    return StatementReader(ClaimParser(kb))


def list_claims(kb: KnowledgeBase, reading: Statement | ParseFailure) -> list[str]:
    """Returns the first reading of each claim in the domain's words; empty if none was parsed."""
    if isinstance(reading, ParseFailure):
        return []
    return [kb.verbaliser.render_clause(group[0]) for group in reading.claims]


RHINE = "the Rhine flows into the North Sea"


@pytest.mark.parametrize(
    ("text", "claims", "negated"),
    [
        ("The Rhine flows into the North Sea.", [RHINE], False),
        ("However, it is true that the Rhine ends in the North Sea", [RHINE], False),
        ("The Rhine doesn't flow into the North Sea.", [RHINE], True),
        ("The Rhine cannot flow into the North Sea.", [RHINE], True),
        ("It's not true that the Rhine flows into the North Sea.", [RHINE], True),
        ("It is wrong that the Rhine does not flow into the North Sea.", [], False),
        ("The Rhine is a river", ["the Rhine is a river"], False),
        ("The Rhine is not a lake", ["the Rhine is a lake"], True),
        ("The Rhine and the Elbe flow into the North Sea",
         [RHINE, "the Elbe flows into the North Sea"], False),
        ("The Rhine is beautiful.", [], False),
        ("Only the Rhine flows into the North Sea.", [], False),
        ("The Rhine flows neither through Italy nor along its border.",
         ["the Rhine flows through or along the border of Italy"], True),
    ],
)  # fmt: skip
def test_statements_are_read(
    kb: KnowledgeBase, reader: StatementReader, text: str, claims: list[str], negated: bool
) -> None:
    reading = reader.read_statement(text)
    assert list_claims(kb, reading) == claims
    if isinstance(reading, Statement):
        assert reading.negated == negated


@pytest.mark.parametrize(
    "text",
    ["It flows into the North Sea.", "and flows into the North Sea", "Its mouth is the North Sea"],
)
def test_missing_subject_is_taken_from_the_preceding_clause(
    kb: KnowledgeBase, reader: StatementReader, text: str
) -> None:
    assert isinstance(reader.read_statement(text), ParseFailure)
    assert list_claims(kb, reader.read_statement(text, "the Rhine")) == [RHINE]


def test_subject_of_a_statement_is_reported(kb: KnowledgeBase, reader: StatementReader) -> None:
    reading = reader.read_statement("The North Sea receives the Rhine.")
    assert isinstance(reading, Statement)
    assert kb.labels.get_label(reading.subject) == "North Sea"


def test_every_fact_and_negation_is_read_back(kb: KnowledgeBase, reader: StatementReader) -> None:
    """Uses two claims of each predicate, asserted and negated."""
    index = kb.oracle.closure.index
    get_text = index.terms.get_text
    for pred in kb.domain.predicates:
        node = index.terms.get(pred)
        assert node is not None
        pairs = sorted((get_text(s), get_text(o)) for s, o in index.iter_pairs(node))
        for subj, obj in (pairs[0], pairs[len(pairs) // 2]):
            claim = Claim(subj, pred, obj)
            for sentence, negated in (
                (kb.verbaliser.render_fact(claim), False),
                (kb.verbaliser.render_denial(claim), True),
            ):
                reading = reader.read_statement(sentence)
                assert isinstance(reading, Statement), sentence
                assert reading.negated == negated
                assert kb.verbaliser.render_clause(claim) in list_claims(kb, reading), sentence


@pytest.mark.parametrize(
    ("text", "is_continuation", "expected"),
    [
        ("Hello there, my friend.", False, False),
        ("I like the Rhine.", False, True),
        ("The Foobar flows into the Barbaz.", False, True),
        ("which is 99 km long", True, True),
        ("which is cold", True, False),
        ("Water flows downhill.", False, False),
    ],
)
def test_statements_about_the_graph_are_recognised(
    reader: StatementReader, text: str, is_continuation: bool, expected: bool
) -> None:
    assert reader.concerns_graph(text, may_omit_subject=is_continuation) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("First Creek flows into Second Creek.", "First Creek"),
        ("First, First Creek flows into Second Creek.", "First Creek"),
        ("Well, no, No Name Creek flows into Second Creek.", "No Name Creek"),
        ("No Name Creek flows into Second Creek.", "No Name Creek"),
        ("first the First Creek flows into Second Creek.", "First Creek"),
    ],
)
def test_name_that_starts_like_a_lead_in_is_kept_whole(
    tmp_path: Path, text: str, name: str
) -> None:
    names = ("First Creek", "Second Creek", "No Name Creek")
    lines = ["@prefix : <http://example.org/> .",
             "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
             ':flowsInto rdfs:label "flows into" .']  # fmt: skip
    lines += [f':c{number} rdfs:label "{label}" .' for number, label in enumerate(names)]
    lines += [":c0 :flowsInto :c1 .", ":c2 :flowsInto :c1 ."]
    (tmp_path / "g.ttl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "s.ttl").write_text(
        "@prefix : <http://example.org/> .\n@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        ":S a sh:NodeShape ; sh:targetSubjectsOf :flowsInto ;\n"
        " sh:property [ sh:path :flowsInto ; sh:maxCount 1 ] .\n",
        encoding="utf-8",
    )
    kb = KnowledgeBase.open(graph=[tmp_path / "g.ttl"], shapes=[tmp_path / "s.ttl"])
    reading = StatementReader(ClaimParser(kb)).read_statement(text)
    assert isinstance(reading, Statement), reading
    assert kb.labels.find_entities(name) == [reading.claims[0][0].subj]
