"""Tests that the guard passes licensed claims and marks all others, however the text is split."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.guard.licenser import Event, Policy
from eval.guard.report import MAX_LISTED_CLAUSES, Tally
from eval.guard.stream import Guard
from kg.knowledge import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.open_cached()


@pytest.fixture(scope="module")
def guard(kb: KnowledgeBase) -> Guard:
    return Guard(kb)


def guard_text(guard: Guard, text: str) -> str:
    return "".join(guard.iter_text([text]))


TRUE_CLAIM = "The Rhine flows into the North Sea"
CONTRADICTED_NOTICE = "[withheld: the graph contradicts that the Elbe flows into the Black Sea]"
UNREAD_NOTICE = "[withheld: it could not be checked against the graph]"


@pytest.mark.parametrize(
    ("text", "withheld"),
    [
        ("Does the Rhine flow into the Black Sea? Yes.", "Yes"),
        ("Does the Rhine flow into the Black Sea? Yes, it does.", "it does"),
        ("Does the Rhine flow into the Black Sea? Let me see. Of course!", "Of course"),
        ("Does the Rhine flow into the Black Sea?\n\nIndeed it does.", "it does"),
        ("Does the Rhine flow into the Black Sea? Sí. Claro.", "Sí"),
        ("What if the Rhine flows into the Black Sea? It does.", "It does"),
        ("Does the Rhine flow into the North Sea? No. It doesn't.", "doesn't"),
        (
            "Does the Rhine flow into the Black Sea? "
            f"Yes, {TRUE_CLAIM[0].lower()}{TRUE_CLAIM[1:]}.",
            "Yes",
        ),
    ],
)
def test_question_with_yes_is_checked_as_a_claim(guard: Guard, text: str, withheld: str) -> None:
    guarded = guard_text(guard, text)
    assert withheld not in guarded
    assert UNREAD_NOTICE in guarded


def test_yes_without_a_graph_question_passes(guard: Guard) -> None:
    for text in (
        "Shall we begin? Yes.",
        f"{TRUE_CLAIM}. Yes, it is pretty.",
        "Yes. No. Of course.",
    ):
        assert "Yes" in guard_text(guard, text)
    question = "Does the Rhine flow into the North Sea?"
    for reply in (f"{TRUE_CLAIM}. Yes!", "That is a good question.", f"Well, {TRUE_CLAIM}."):
        assert guard_text(guard, f"{question} {reply}") == f"{question} {reply}"


@pytest.mark.parametrize(
    "text",
    [
        f"{TRUE_CLAIM}.",
        f"Hello! {TRUE_CLAIM}. Bye, dear friend.",
        "However, it is well known that the Rhine flows into the North Sea.",
        "**The Rhine** flows into the _North Sea_!",
        "The Rhine does not flow into the Black Sea.",
        "The Rhine doesn't flow into the Black Sea.",
        "It is false that the Rhine flows into the Black Sea.",
        "The Rhine is 1,230 km long.",
        "The Rhine is a river.",
        "The Rhine flows through Germany and Switzerland.",
        "The Rhine and the Elbe flow into the North Sea.",
        f"{TRUE_CLAIM}. It is 1,230 km long.",
        f"{TRUE_CLAIM} and the Elbe flows into the North Sea, which is cold.",
        f"{TRUE_CLAIM} and is 1,230 km long.",
        "1. The Rhine flows into the North Sea\n2. The Elbe flows into the North Sea\n",
        "Does the Rhine flow into the Black Sea?",
        "Water flows downhill, as Dr. J. R. Smith of the U.S. said in 3.14 ways, e.g. here.",
        "",
        "\n\n \n",
    ],
)
def test_accepted_text_is_unchanged(guard: Guard, text: str) -> None:
    assert guard_text(guard, text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Elbe flows into the Black Sea.", f"{CONTRADICTED_NOTICE}."),
        (
            f"{TRUE_CLAIM} and the Elbe flows into the Black Sea!",
            f"{TRUE_CLAIM} and {CONTRADICTED_NOTICE}!",
        ),
        (
            "The Elbe flows into the Black Sea, but the Rhine flows into the North Sea.",
            f"{CONTRADICTED_NOTICE}, but the Rhine flows into the North Sea.",
        ),
        (
            f"{TRUE_CLAIM}. It flows into the Black Sea.",
            f"{TRUE_CLAIM}. "
            "[withheld: the graph contradicts that the Rhine flows into the Black Sea].",
        ),
        (
            f"{TRUE_CLAIM} and is 99 km long.",
            f"{TRUE_CLAIM} and "
            "[withheld: the graph contradicts that the length of the Rhine is 99 km].",
        ),
        (
            "The Rhine does not flow into the North Sea.",
            "[withheld: the graph says that the Rhine flows into the North Sea].",
        ),
        (
            "The Rhine never flows into the North Sea.",
            "[withheld: the graph says that the Rhine flows into the North Sea].",
        ),
        (
            "The Moselle joins the Danube.",
            "[withheld: nothing in the graph says that the Moselle flows into the Danube].",
        ),
        ("The Rhine is a beautiful river.", f"{UNREAD_NOTICE}."),
        ("Did you know that the Rhine flows into the Black Sea?", f"{UNREAD_NOTICE}?"),
        ("It is false that the Rhine flows into the Black Sea and the Elbe flows into the North "
         "Sea.", f"{UNREAD_NOTICE}."),
        ("If the Rhine flows into the Black Sea, I eat my hat.", f"{UNREAD_NOTICE}."),
        ("The Rhine flows into the Black Sea, right?", f"{UNREAD_NOTICE}?"),
        ("The Rhi\u200bne flows into the Black Sea.",
         "[withheld: the graph contradicts that the Rhine flows into the Black Sea]."),
        # A type given in passing ("a lake") is a claim too.
        (f"{TRUE_CLAIM}, a lake.", f"{TRUE_CLAIM}, {UNREAD_NOTICE}."),
        ("The lake Rhine flows into the North Sea.", f"{UNREAD_NOTICE}."),
        (f"{TRUE_CLAIM}, is a lake.",
         f"{TRUE_CLAIM}, [withheld: the graph contradicts that the Rhine is a lake]."),
        ("The Rhine, which flows into the North Sea, is a lake.",
         "The Rhine, which flows into the North Sea, [withheld: the graph contradicts that the "
         "Rhine is a lake]."),
        # "Which" refers to the preceding name, not to the subject of the sentence.
        ("The Aare directly receives the Limmat, which flows into the Rhine.",
         "The Aare directly receives the Limmat, which [withheld: the graph contradicts that the "
         "Limmat flows into the Rhine]."),
        ("The Aare directly receives the Limmat, which is a lake.",
         "The Aare directly receives the Limmat, which [withheld: the graph contradicts that the "
         "Limmat is a lake]."),
    ],
)  # fmt: skip
def test_unlicensed_claims_are_marked(guard: Guard, text: str, expected: str) -> None:
    assert guard_text(guard, text) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{a} flows into {b}, {kind}.",
        "{a}, {kind}, flows into {b}.",
        "{a}, which is {kind}, flows into {b}.",
        "{a} flows into {b}, which is {kind}.",
        "{a}, which flows into {b}, is {kind}.",
        "{kind} called {a} flows into {b}.",
    ],
)
def test_wrong_types_are_never_licensed(kb: KnowledgeBase, guard: Guard, template: str) -> None:
    predicate = kb.resolve_predicate("flows into")
    # Every fortieth claim, to limit the run time.
    claims = [claim for claim in kb.graph.iter_claims() if claim.pred == predicate][::40]
    for claim, kind in itertools.product(claims, ("a lake", "a country")):
        # A river that flows into a lake makes "a lake" a right type, so it is not tested.
        if any(
            kind.endswith(kb.verbaliser.get_class_noun(type_))
            for iri in (claim.subj, claim.obj)
            for type_ in kb.verbaliser.collect_types(iri)
        ):
            continue
        subject = kb.verbaliser.render_term(claim.subj)
        object_ = kb.verbaliser.render_term(claim.obj)
        text = template.format(a=subject, b=object_, kind=kind)
        text = text[0].upper() + text[1:]
        licensed = [event.source for event in guard.iter_events([text]) if event.kind == "licensed"]
        assert not any(kind in source.lower() for source in licensed), text


def test_which_refers_to_the_preceding_name(kb: KnowledgeBase, guard: Guard) -> None:
    flows_into, has_tributary = map(kb.resolve_predicate, ("flows into", "has tributary"))
    mouths = {claim.subj: claim.obj for claim in kb.graph.iter_claims() if claim.pred == flows_into}
    tributary_claims = [
        claim
        for claim in kb.graph.iter_claims()
        if claim.pred == has_tributary and claim.subj in mouths
    ]
    assert len(tributary_claims) > 50
    for claim in tributary_claims[::5]:
        river, tributary = (
            kb.verbaliser.render_term(claim.subj),
            kb.verbaliser.render_term(claim.obj),
        )
        mouth = kb.verbaliser.render_term(mouths[claim.subj])
        river = river[0].upper() + river[1:]
        text = f"{river} directly receives {tributary}, which flows into {mouth}."
        *_, last_event = guard.iter_events([text])
        assert last_event.kind != "licensed", text


@pytest.mark.parametrize(
    "text",
    [
        "The Foobar flows into the Barbaz.",
        "The Rhine flows into the Foo Sea.",
        "The Rhine flows through Germany and Brazil.",
        "The Rhine and the Amazon flow into the North Sea.",
        "The Rhine does not fail to flow into the Black Sea.",
        "The Rhine doesn't not flow into the Black Sea.",
        "The Rhine flows into the North Sea or the Black Sea.",
        "Neither the Rhine nor the Elbe flows into the North Sea.",
        "Some say the Rhine flows into the Black Sea, and they are right.",
        "Why does the Rhine flow into the Black Sea?",
        "The Rhine flows " + "slowly " * 300 + "into the Black Sea.",
    ],
)
def test_false_claims_never_pass_in_any_wording(guard: Guard, text: str) -> None:
    events = [event for event in guard.iter_events([text]) if event.source.strip(" .")]
    assert any(not event.passed for event in events)
    # In "The Rhine flows into the North Sea or the Black Sea", the part before "or" is true, so it
    # may be licensed.
    assert not any(event.kind == "licensed" for event in events) or "or the" in text


def test_policies_change_what_is_withheld(kb: KnowledgeBase) -> None:
    text = f"Hello. {TRUE_CLAIM}. The Rhine is pretty. The Elbe flows into the Black Sea. Is it?"
    strict = guard_text(Guard(kb, Policy(strict=True)), text)
    assert strict.count("[withheld: ") == 4
    assert TRUE_CLAIM in strict
    lenient = guard_text(Guard(kb, Policy(pass_unread=True)), text)
    assert lenient == text.replace("The Elbe flows into the Black Sea", CONTRADICTED_NOTICE)


SENTENCES = [
    f"{TRUE_CLAIM}.", "The Elbe flows into the Black Sea.", " It is 1,230 km long. ",
    "Hello, e.g. you!", f"{TRUE_CLAIM} and the Elbe flows into the Black Sea.", "\n\n", " ",
    "It flows into the Black Sea.",
    "“The Rhine is a lake.” ", "The Rhine does not flow into the Black Sea; it is a river.",
    "- The Moselle joins the Rhine\n", "Dr. Who? ", "3.14", "...", '"',
]  # fmt: skip


@given(
    st.lists(st.sampled_from(SENTENCES), max_size=8).map("".join),
    st.lists(st.integers(1, 30), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_any_chunking_gives_the_same_events(guard: Guard, text: str, sizes: list[int]) -> None:
    chunks, start = [], 0
    while start < len(text):
        chunks.append(text[start : start + sizes[len(chunks) % len(sizes)]])
        start += len(chunks[-1])
    events = list(guard.iter_events([text]))
    assert list(guard.iter_events(chunks)) == events
    assert "".join(event.source for event in events) == text
    assert [event.start for event in events] == [
        sum(len(earlier_event.source) for earlier_event in events[:index])
        for index in range(len(events))
    ]

    async def stream_chunks() -> AsyncIterator[str]:
        for chunk in chunks:
            yield chunk

    async def collect_events() -> list[Event]:
        return [event async for event in guard.iter_events_async(stream_chunks())]

    async def collect_text() -> str:
        return "".join([piece async for piece in guard.iter_text_async(stream_chunks())])

    assert asyncio.run(collect_events()) == events
    assert asyncio.run(collect_text()) == "".join(guard.iter_text([text]))


def test_clause_is_emitted_as_soon_as_it_is_decided(guard: Guard) -> None:
    stream = guard.open()
    assert not list(stream.feed(TRUE_CLAIM))
    assert not list(stream.feed(". The Elbe"))
    events = list(stream.feed(" flows into the Black Sea, as they say."))
    assert [event.source for event in events] == [f"{TRUE_CLAIM}."]
    assert [event.passed for event in stream.close()] == [False]


def test_tally_counts_everything_and_lists_a_limited_part(guard: Guard) -> None:
    tally = Tally(guard)
    for event in guard.iter_events(
        ["The Elbe flows into the Black Sea. "] * (MAX_LISTED_CLAUSES + 5)
    ):
        tally.add_event(event)
    report = tally.build_report()
    assert report.withheld == report.kinds["contradicted"] == MAX_LISTED_CLAUSES + 5
    assert report.clauses == report.passed + report.withheld
    assert len(report.listed) == MAX_LISTED_CLAUSES
