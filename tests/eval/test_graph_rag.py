"""Tests that graph_rag parses paraphrases and gives licensed answers or the reason for UNKNOWN."""

import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from shipped import open_shipped

from cards.card import CardView
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.graph_rag import GraphRag, create_system
from eval.abstention.systems.registry import make_systems
from eval.questions.parser import ClaimParser, ParseFailure, Reading
from kg.base.errors import EpocheError
from kg.claims import Claim
from kg.domain import list_shipped_domains
from kg.knowledge import KnowledgeBase
from kg.terms import RDF_TYPE

PARAPHRASES_FILE = Path(__file__).parent.parent / "data" / "rivers_paraphrases.jsonl"
RIVERS = "https://epoche.example/rivers#"
ROWS = [json.loads(line) for line in PARAPHRASES_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached()


@pytest.fixture(scope="module")
def parser(kb: KnowledgeBase) -> ClaimParser:
    return ClaimParser(kb)


@pytest.fixture(scope="module")
def system(kb: KnowledgeBase) -> GraphRag:
    return GraphRag(kb)


def make_view(question: str) -> CardView:
    return CardView((), (), question)


def find_iri(kb: KnowledgeBase, name: str) -> str:
    """Returns the IRI of an entity by its exact label."""
    iris = [iri for iri in kb.labels.find_entities(name) if kb.labels.get_label(iri) == name]
    assert len(iris) == 1, (name, iris)
    return iris[0]


def classify_reading(kb: KnowledgeBase, parser: ClaimParser, row: dict[str, object]) -> str:
    """Returns whether a question is parsed ``right``, left ``unread`` or ``misread``.

    A question whose row has no claim must be left unread or ambiguous. A tributary claim and its
    inverse count as the same claim. A homonym may be parsed as all entities of that name: the
    parser need not choose among them.
    """
    reading = parser.parse_question(str(row["question"]))
    expected = row["claim"]
    if expected is None:
        is_right = isinstance(reading, ParseFailure) or len(reading.claims) > 1
        return "right" if is_right else "misread"
    if isinstance(reading, ParseFailure):
        return "unread"
    assert isinstance(expected, list)
    subj, pred, obj = expected
    for claim in reading.claims:
        if claim.pred == RIVERS + "hasTributary":
            claim = Claim(claim.obj, RIVERS + "flowsInto", claim.subj)
        if claim.pred not in (RIVERS + pred, RDF_TYPE if pred == "type" else ""):
            return "misread"
        if claim.subj not in kb.labels.find_entities(subj):
            return "misread"
        same_object = claim.obj.startswith(f'"{obj}"') if isinstance(obj, int) else (
            claim.obj in kb.labels.find_entities(obj)
        )  # fmt: skip
        if not same_object:
            return "misread"
    return "right" if reading.inverted == bool(row.get("inverted")) else "misread"


def test_paraphrases_are_many_and_distinct() -> None:
    assert len(ROWS) >= 450
    assert len({row["question"] for row in ROWS}) == len(ROWS)
    assert sum(row["claim"] is not None for row in ROWS) >= 370


@pytest.mark.parametrize(
    ("batches", "min_parsed_share"),
    # The parser was tuned on all batches later; docs/explanation/graph-rag.md gives the results
    # before that.
    [({1, 2}, 0.96), ({3}, 0.8), ({4}, 0.9), ({5}, 0.85), ({6}, 0.9)],
)
def test_paraphrases_are_parsed_and_never_misread(
    kb: KnowledgeBase, parser: ClaimParser, batches: set[int], min_parsed_share: float
) -> None:
    answerable_rows = [row for row in ROWS if row["claim"] is not None and row["batch"] in batches]
    outcomes = {str(row["question"]): classify_reading(kb, parser, row) for row in answerable_rows}
    counts = Counter(outcomes.values())
    # Leaving a question unread costs an answer; misreading one gives a wrong answer.
    assert [question for question, result in outcomes.items() if result == "misread"] == []
    unread_questions = [question for question, result in outcomes.items() if result == "unread"]
    assert counts["right"] / len(answerable_rows) >= min_parsed_share, unread_questions


@pytest.mark.parametrize("word", ["quixotic", "not", "only", "nearly", "except", "more", "1850"])
def test_extra_word_leaves_any_question_unread(parser: ClaimParser, word: str) -> None:
    """The extra word changes the question, so a parser must not ignore it at any position."""
    parsed_questions = []
    for row in ROWS:
        words = str(row["question"]).split()
        for position in range(1, len(words) + 1, 2):
            question = " ".join((*words[:position], word, *words[position:]))
            reading = parser.parse_question(question)
            if isinstance(reading, Reading) and len(reading.claims) == 1:
                parsed_questions.append((question, reading.claims))
    assert parsed_questions == []


@pytest.mark.parametrize(
    ("question", "subj", "pred", "obj"),
    [
        ("Does the Danube have the Inn flow into it?", "Inn", "flowsInto", "Danube"),
        ("Is the Danube a river that the Inn flows into?", "Inn", "flowsInto", "Danube"),
        ("Is the Danube a river that flows into the Inn?", "Danube", "flowsInto", "Inn"),
        ("Is the Inn the river whose mouth is the Danube?", "Inn", "flowsInto", "Danube"),
        ("Is the Danube where the Inn has its mouth?", "Inn", "flowsInto", "Danube"),
        ("Is the Danube's water reached by the Inn?", "Inn", "drainsInto", "Danube"),
        ("Does the Inn lie upstream of the Danube?", "Inn", "drainsInto", "Danube"),
        ("Does the Danube lie downstream of the Inn?", "Inn", "drainsInto", "Danube"),
        ("Do the Inn's tributaries include the Danube?", "Inn", "hasTributary", "Danube"),
        ("Does the Inn count the Danube among its tributaries?", "Inn", "hasTributary", "Danube"),
        ("Does the Danube basin contain the Inn?", "Inn", "partOfSystem", "Danube river system"),
        ("Is the Inn in the Danube basin?", "Inn", "partOfSystem", "Danube river system"),
    ],
)
def test_grammar_decides_the_direction(
    kb: KnowledgeBase, parser: ClaimParser, question: str, subj: str, pred: str, obj: str
) -> None:
    assert parser.parse_question(question) == Reading(
        (Claim(find_iri(kb, subj), RIVERS + pred, find_iri(kb, obj)),)
    )


@pytest.mark.parametrize(
    "question",
    [
        "Does the Danube flow into the sea that the Rhine flows into?",
        "Does a tributary of the Inn flow into the Danube?",
        "Does the Inn feed on the Danube?",
        "Is the mouth of the Inn the source of the Danube?",
        "Is the mouth of the Inn in Austria?",
        "Does the Rhine rise 8 m?",
        "Does the Rhine measure 1,230?",
        "Is the Mediterranean Sea the final destination of the Saône's water?",
        "Does the Oder begin its course in Czechia?",
        "Is the Rhine up to 1,230 km long?",
        "Is the Rhine 300 km wide?",
        "Does the Rhine carry 2,900 m³/s in summer?",
        "Does the Danube flow through Germany before Austria?",
        "Into 5 km flows the Rhine?",
    ],
)
def test_other_relations_in_the_same_words_stay_unread(parser: ClaimParser, question: str) -> None:
    assert isinstance(parser.parse_question(question), ParseFailure)


def test_questions_without_a_claim_give_no_claim(kb: KnowledgeBase, parser: ClaimParser) -> None:
    misread_questions = [
        row["question"]
        for row in ROWS
        if row["claim"] is None and classify_reading(kb, parser, row) == "misread"
    ]
    assert misread_questions == []


@pytest.mark.parametrize("name", list_shipped_domains())
def test_every_generated_question_is_parsed_back(name: str) -> None:
    kb = open_shipped(name)
    parser = ClaimParser(kb)
    misread_questions = []
    for pred in kb.domain.predicates:
        for claim in list(kb.graph.iter_claims(pred))[:60]:
            for question in kb.verbaliser.render_questions(claim):
                reading = parser.parse_question(question)
                if not isinstance(reading, Reading) or claim not in reading.claims:
                    misread_questions.append((question, reading))
    assert misread_questions == []


def test_sentence_names_resolve_to_one_entity(kb: KnowledgeBase, parser: ClaimParser) -> None:
    """Homonyms are distinguished by the name that the verbaliser gives them."""
    ambiguous_claims = []
    for claim in kb.graph.iter_claims(RIVERS + "flowsInto"):
        reading = parser.parse_question(kb.verbaliser.render_questions(claim)[0])
        if not isinstance(reading, Reading) or reading.claims != (claim,):
            ambiguous_claims.append((claim, reading))
    assert ambiguous_claims == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does the Rhine empty into the North Sea?", "YES"),
        ("Does the North Sea receive the Rhine?", "YES"),
        ("Is the Rhine's mouth the Baltic Sea?", "NO"),
        ("Does the Rhine flow into Germany?", "NO"),
        ("Does the Rhine flow into itself?", "NO"),
        ("Is Germany a river?", "NO"),
        ("Is it false that the Rhine flows into the Baltic Sea?", "YES"),
        ("Is it false that the Rhine flows into the North Sea?", "NO"),
    ],
)
def test_answers_follow_the_licence(
    system: GraphRag, kb: KnowledgeBase, question: str, expected: str
) -> None:
    rhine, sea = find_iri(kb, "Rhine"), find_iri(kb, "North Sea")
    if not kb.graph.has_claim(Claim(rhine, RIVERS + "flowsInto", sea)):
        pytest.skip("the graph does not contain the mouth of the Rhine")
    answer = system.answer(make_view(question))
    assert answer.pred == expected
    assert answer.raw
    assert answer.confidence is None


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Does the Foobar flow into the Bazquux?", "nothing the question mentions is known"),
        ("Is the Rhine polluted?", "no words of the question point to a predicate"),
        ("Is the Rhine longer than 1,000 km?", "comparison"),
        ("Does the Rhine not flow into the North Sea?", "negated"),
        ("Is the Rhine longer than the Danube?", "compares"),
        ("Does the Rhine hardly flow into the North Sea?", "negated"),
        ("Does the Rhine once more flow out into the North Sea?", "says more"),
        ("Where does the Rhine flow?", "not a yes-no question"),
        ("Does the Rhine flow into the North Sea or the Baltic Sea?", "alternatives"),
        ("Does the Rhine flow into the Sea of Nowhere?", "only one thing"),
        ("", "no words"),
        ("?!", "no words"),
    ],
)
def test_unknown_always_has_a_reason(system: GraphRag, question: str, reason: str) -> None:
    answer = system.answer(make_view(question))
    assert answer.pred == "UNKNOWN"
    assert reason in answer.raw


def test_homonyms_are_ambiguous_unless_the_question_decides(
    system: GraphRag, kb: KnowledgeBase
) -> None:
    homonyms = kb.labels.find_entities("Colorado River")
    assert len(homonyms) >= 2
    answer = system.answer(make_view("Is the Colorado River 1,387 km long?"))
    assert answer.pred == "UNKNOWN"
    for entity in homonyms:
        assert kb.verbaliser.render_term(entity) != "the Colorado River"


def test_only_the_question_is_read(system: GraphRag) -> None:
    """Facts on the card have no effect: the system answers from its graph, as documented."""
    question = "Does the Rhine flow into the North Sea?"
    answer = system.answer(make_view(question))
    answer_with_facts = system.answer(
        CardView(("The Rhine flows into the Baltic Sea.",), ("Answer NO.",), question)
    )
    assert answer == answer_with_facts


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Stops the garbage collector: it would traverse the objects of all tests before this one."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    "question",
    [
        "x" * 1_000_000,
        "Does the Rhine " * 60_000,
        "Does the Rhine flow into " + "the North Sea " * 500,
        "(" * 5_000 + "Rhine" + ")" * 5_000,
        "[a-z]+(?P<x>.*)\\",
        "\u202eRhine\u202c flows \u0000 into \ud800 the North Sea",
        "نهر الراين يصب في بحر الشمال؟",
        "{{7*7}} {% for x in y %} <script>alert(1)</script>",
        "Rhine " * 300,
        "1" * 100_000,
        "is " * 600,
    ],
)
def test_hostile_questions_are_answered_quickly(system: GraphRag, question: str) -> None:
    start = time.process_time()
    answer = system.answer(make_view(question))
    assert time.process_time() - start < 1.0
    assert isinstance(answer, Answer)
    assert answer.pred in ("UNKNOWN", "YES")
    answer.raw.encode("utf-8")


@pytest.mark.usefixtures("no_collection")
def test_three_hundred_questions_a_second(system: GraphRag) -> None:
    views = [make_view(str(row["question"])) for row in ROWS]
    system.answer(views[0])
    start = time.process_time()
    for view in views:
        system.answer(view)
    assert len(views) / (time.process_time() - start) > 300  # twice as many, but for a busy machine


def test_answers_are_deterministic(kb: KnowledgeBase) -> None:
    views = [make_view(str(row["question"])) for row in ROWS]
    first_system, second_system = GraphRag(kb), GraphRag(kb)
    assert [first_system.answer(view) for view in views] == [
        second_system.answer(view) for view in views
    ]


def test_system_is_registered_and_shares_the_knowledge_base() -> None:
    (graph_rag,) = make_systems("graph_rag", SystemOptions())
    assert isinstance(graph_rag, GraphRag)
    assert graph_rag.knowledge is create_system(SystemOptions()).knowledge
    assert graph_rag.params() == {"regime": "owl-rl", "unique_names": True}


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(EpocheError):
        create_system(SystemOptions(settings={"topk": "3"}))
