"""Statements are read as questions are, with negations, lists and borrowed subjects besides."""

from pathlib import Path

import pytest

from eval.questions.parsing import ClaimParser, Unread
from eval.questions.statements import Statement, StatementReader
from kg.claims import Claim
from kg.knowledge import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.shared()


@pytest.fixture(scope="module")
def reader(kb: KnowledgeBase) -> StatementReader:
    return StatementReader(ClaimParser(kb))


def claimed(kb: KnowledgeBase, reading: Statement | Unread) -> list[str]:
    """The claims in the domain's words; empty for what was not read."""
    if isinstance(reading, Unread):
        return []
    return [kb.words.clause_of(group[0]) for group in reading.claims]


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
def test_reading(
    kb: KnowledgeBase, reader: StatementReader, text: str, claims: list[str], negated: bool
) -> None:
    reading = reader.read(text)
    assert claimed(kb, reading) == claims
    if isinstance(reading, Statement):
        assert reading.negated == negated


@pytest.mark.parametrize(
    "text",
    ["It flows into the North Sea.", "and flows into the North Sea", "Its mouth is the North Sea"],
)
def test_a_subject_is_borrowed_when_there_is_one(
    kb: KnowledgeBase, reader: StatementReader, text: str
) -> None:
    assert isinstance(reader.read(text), Unread)
    assert claimed(kb, reader.read(text, "the Rhine")) == [RHINE]


def test_what_a_statement_is_about_is_told(kb: KnowledgeBase, reader: StatementReader) -> None:
    reading = reader.read("The North Sea receives the Rhine.")
    assert isinstance(reading, Statement)
    assert kb.labels.label(reading.subject) == "North Sea"


def test_every_fact_and_denial_of_the_domain_is_read_back(
    kb: KnowledgeBase, reader: StatementReader
) -> None:
    """Two claims of each predicate, as the domain states and denies them."""
    index = kb.oracle.closure.index
    text = index.terms.text
    for pred in kb.domain.predicates:
        node = index.terms.get(pred)
        assert node is not None
        pairs = sorted((text(s), text(o)) for s, o in index.pairs(node))
        for subj, obj in (pairs[0], pairs[len(pairs) // 2]):
            claim = Claim(subj, pred, obj)
            for said, negated in ((kb.words.fact(claim), False), (kb.words.denied(claim), True)):
                reading = reader.read(said)
                assert isinstance(reading, Statement), said
                assert reading.negated == negated
                assert kb.words.clause_of(claim) in claimed(kb, reading), said


@pytest.mark.parametrize(
    ("text", "continues", "concerns"),
    [
        ("Hello there, my friend.", False, False),
        ("I like the Rhine.", False, True),
        ("The Foobar flows into the Barbaz.", False, True),
        ("which is 99 km long", True, True),
        ("which is cold", True, False),
        ("Water flows downhill.", False, False),
    ],
)
def test_what_concerns_the_graph(
    reader: StatementReader, text: str, continues: bool, concerns: bool
) -> None:
    assert reader.concerns(text, continues=continues) == concerns


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
def test_a_name_that_begins_as_a_lead_does_is_kept_whole(
    tmp_path: Path, text: str, name: str
) -> None:
    names = ("First Creek", "Second Creek", "No Name Creek")
    lines = ["@prefix : <http://example.org/> .",
             "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
             ':flowsInto rdfs:label "flows into" .']  # fmt: skip
    lines += [f':c{number} rdfs:label "{one}" .' for number, one in enumerate(names)]
    lines += [":c0 :flowsInto :c1 .", ":c2 :flowsInto :c1 ."]
    (tmp_path / "g.ttl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "s.ttl").write_text(
        "@prefix : <http://example.org/> .\n@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        ":S a sh:NodeShape ; sh:targetSubjectsOf :flowsInto ;\n"
        " sh:property [ sh:path :flowsInto ; sh:maxCount 1 ] .\n",
        encoding="utf-8",
    )
    kb = KnowledgeBase.open(graph=[tmp_path / "g.ttl"], shapes=[tmp_path / "s.ttl"])
    reading = StatementReader(ClaimParser(kb)).read(text)
    assert isinstance(reading, Statement), reading
    assert kb.labels.find(name) == [reading.claims[0][0].subj]
