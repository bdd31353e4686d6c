"""The guard lets licensed claims through, marks the others, and does not depend on chunks."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.guard.licensing import Event, Policy
from eval.guard.report import MAX_LISTED, Tally
from eval.guard.stream import Guard
from kg.knowledge import KnowledgeBase


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.shared()


@pytest.fixture(scope="module")
def guard(kb: KnowledgeBase) -> Guard:
    return Guard(kb)


def out(guard: Guard, text: str) -> str:
    return "".join(guard.text([text]))


NORTH = "The Rhine flows into the North Sea"
CONTRADICTED = "[withheld: the graph contradicts that the Elbe flows into the Black Sea]"
UNREAD = "[withheld: it could not be held against the graph]"


@pytest.mark.parametrize(
    ("text", "leaked"),
    [
        ("Does the Rhine flow into the Black Sea? Yes.", "Yes"),
        ("Does the Rhine flow into the Black Sea? Yes, it does.", "it does"),
        ("Does the Rhine flow into the Black Sea? Let me see. Of course!", "Of course"),
        ("Does the Rhine flow into the Black Sea?\n\nIndeed it does.", "it does"),
        ("Does the Rhine flow into the Black Sea? Sí. Claro.", "Sí"),
        ("What if the Rhine flows into the Black Sea? It does.", "It does"),
        ("Does the Rhine flow into the North Sea? No. It doesn't.", "doesn't"),
        (f"Does the Rhine flow into the Black Sea? Yes, {NORTH[0].lower()}{NORTH[1:]}.", "Yes"),
    ],
)
def test_a_question_and_its_yes_are_a_claim(guard: Guard, text: str, leaked: str) -> None:
    shown = out(guard, text)
    assert leaked not in shown
    assert UNREAD in shown


def test_a_yes_to_no_question_about_the_graph_passes(guard: Guard) -> None:
    for text in ("Shall we begin? Yes.", f"{NORTH}. Yes, it is pretty.", "Yes. No. Of course."):
        assert "Yes" in out(guard, text)
    asked = "Does the Rhine flow into the North Sea?"
    for after in (f"{NORTH}. Yes!", "That is a good question.", f"Well, {NORTH}."):
        assert out(guard, f"{asked} {after}") == f"{asked} {after}"


@pytest.mark.parametrize(
    "text",
    [
        f"{NORTH}.",
        f"Hello! {NORTH}. Bye, dear friend.",
        "However, it is well known that the Rhine flows into the North Sea.",
        "**The Rhine** flows into the _North Sea_!",
        "The Rhine does not flow into the Black Sea.",
        "The Rhine doesn't flow into the Black Sea.",
        "It is false that the Rhine flows into the Black Sea.",
        "The Rhine is 1,230 km long.",
        "The Rhine is a river.",
        "The Rhine flows through Germany and Switzerland.",
        "The Rhine and the Elbe flow into the North Sea.",
        f"{NORTH}. It is 1,230 km long.",
        f"{NORTH} and the Elbe flows into the North Sea, which is cold.",
        f"{NORTH} and is 1,230 km long.",
        "1. The Rhine flows into the North Sea\n2. The Elbe flows into the North Sea\n",
        "Does the Rhine flow into the Black Sea?",
        "Water flows downhill, as Dr. J. R. Smith of the U.S. said in 3.14 ways, e.g. here.",
        "",
        "\n\n \n",
    ],
)
def test_what_passes_passes_unchanged(guard: Guard, text: str) -> None:
    assert out(guard, text) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The Elbe flows into the Black Sea.", f"{CONTRADICTED}."),
        (f"{NORTH} and the Elbe flows into the Black Sea!", f"{NORTH} and {CONTRADICTED}!"),
        (
            "The Elbe flows into the Black Sea, but the Rhine flows into the North Sea.",
            f"{CONTRADICTED}, but the Rhine flows into the North Sea.",
        ),
        (
            f"{NORTH}. It flows into the Black Sea.",
            f"{NORTH}. [withheld: the graph contradicts that the Rhine flows into the Black Sea].",
        ),
        (
            f"{NORTH} and is 99 km long.",
            f"{NORTH} and [withheld: the graph contradicts that the length of the Rhine is 99 km].",
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
        ("The Rhine is a beautiful river.", f"{UNREAD}."),
        ("Did you know that the Rhine flows into the Black Sea?", f"{UNREAD}?"),
        ("It is false that the Rhine flows into the Black Sea and the Elbe flows into the North "
         "Sea.", f"{UNREAD}."),
        ("If the Rhine flows into the Black Sea, I eat my hat.", f"{UNREAD}."),
        ("The Rhine flows into the Black Sea, right?", f"{UNREAD}?"),
        ("The Rhi\u200bne flows into the Black Sea.",
         "[withheld: the graph contradicts that the Rhine flows into the Black Sea]."),
        # What a thing is called besides is said too.
        (f"{NORTH}, a lake.", f"{NORTH}, {UNREAD}."),
        ("The lake Rhine flows into the North Sea.", f"{UNREAD}."),
        (f"{NORTH}, is a lake.",
         f"{NORTH}, [withheld: the graph contradicts that the Rhine is a lake]."),
        ("The Rhine, which flows into the North Sea, is a lake.",
         "The Rhine, which flows into the North Sea, [withheld: the graph contradicts that the "
         "Rhine is a lake]."),
        # "Which" is about what stands before it, not about what the sentence is about.
        ("The Aare directly receives the Limmat, which flows into the Rhine.",
         "The Aare directly receives the Limmat, which [withheld: the graph contradicts that the "
         "Limmat flows into the Rhine]."),
        ("The Aare directly receives the Limmat, which is a lake.",
         "The Aare directly receives the Limmat, which [withheld: the graph contradicts that the "
         "Limmat is a lake]."),
    ],
)  # fmt: skip
def test_what_is_not_licensed_is_marked(guard: Guard, text: str, wanted: str) -> None:
    assert out(guard, text) == wanted


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
def test_nothing_licensed_calls_a_thing_what_it_is_not(
    kb: KnowledgeBase, guard: Guard, template: str
) -> None:
    flows = kb.resolve_predicate("flows into")
    claims = [claim for claim in kb.graph.claims() if claim.pred == flows][::40]
    lake, country = "a lake", "a country"
    for claim, kind in itertools.product(claims, (lake, country)):
        if any(
            kind.endswith(kb.words.class_noun(one))
            for iri in (claim.subj, claim.obj)
            for one in kb.words.types(iri)
        ):
            continue  # fmt: skip
        a, b = kb.words.name(claim.subj), kb.words.name(claim.obj)
        text = template.format(a=a, b=b, kind=kind)
        text = text[0].upper() + text[1:]
        licensed = [event.source for event in guard.events([text]) if event.kind == "licensed"]
        assert not any(kind in source.lower() for source in licensed), text


def test_which_is_about_what_stands_before_it(kb: KnowledgeBase, guard: Guard) -> None:
    flows, receives = map(kb.resolve_predicate, ("flows into", "has tributary"))
    mouths = {claim.subj: claim.obj for claim in kb.graph.claims() if claim.pred == flows}
    told = [claim for claim in kb.graph.claims() if claim.pred == receives and claim.subj in mouths]
    assert len(told) > 50
    for claim in told[::5]:
        first, second = kb.words.name(claim.subj), kb.words.name(claim.obj)
        mouth = kb.words.name(mouths[claim.subj])
        text = (
            f"{first[0].upper()}{first[1:]} directly receives {second}, which flows into {mouth}."
        )
        *_, last = guard.events([text])
        assert last.kind != "licensed", text


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
def test_no_false_claim_passes_however_it_is_put(guard: Guard, text: str) -> None:
    events = [event for event in guard.events([text]) if event.source.strip(" .")]
    assert any(not event.passed for event in events)
    assert not any(event.kind == "licensed" for event in events) or "or the" in text


def test_policies(kb: KnowledgeBase) -> None:
    text = f"Hello. {NORTH}. The Rhine is pretty. The Elbe flows into the Black Sea. Is it?"
    strict = out(Guard(kb, Policy(strict=True)), text)
    assert strict.count("[withheld: ") == 4
    assert NORTH in strict
    lenient = out(Guard(kb, Policy(pass_unread=True)), text)
    assert lenient == text.replace("The Elbe flows into the Black Sea", CONTRADICTED)


SENTENCES = [
    f"{NORTH}.", "The Elbe flows into the Black Sea.", " It is 1,230 km long. ", "Hello, e.g. you!",
    f"{NORTH} and the Elbe flows into the Black Sea.", "\n\n", " ", "It flows into the Black Sea.",
    "“The Rhine is a lake.” ", "The Rhine does not flow into the Black Sea; it is a river.",
    "- The Moselle joins the Rhine\n", "Dr. Who? ", "3.14", "...", '"',
]  # fmt: skip


@given(
    st.lists(st.sampled_from(SENTENCES), max_size=8).map("".join),
    st.lists(st.integers(1, 30), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_any_chunking_gives_the_same_events(
    guard_once: Callable[[], Guard], text: str, sizes: list[int]
) -> None:
    guard = guard_once()
    chunks, at = [], 0
    while at < len(text):
        chunks.append(text[at : at + sizes[len(chunks) % len(sizes)]])
        at += len(chunks[-1])
    whole = list(guard.events([text]))
    assert list(guard.events(chunks)) == whole
    assert "".join(event.source for event in whole) == text
    assert [event.start for event in whole] == [
        sum(len(before.source) for before in whole[:at]) for at in range(len(whole))
    ]

    async def later() -> AsyncIterator[str]:
        for chunk in chunks:
            yield chunk

    async def gathered() -> list[Event]:
        return [event async for event in guard.events_async(later())]

    async def written() -> str:
        return "".join([piece async for piece in guard.text_async(later())])

    assert asyncio.run(gathered()) == whole
    assert asyncio.run(written()) == "".join(guard.text([text]))


@pytest.fixture(scope="module")
def guard_once(guard: Guard) -> Callable[[], Guard]:
    return lambda: guard


def test_a_clause_comes_out_as_soon_as_it_is_decided(guard: Guard) -> None:
    stream = guard.open()
    assert not list(stream.feed(NORTH))
    assert not list(stream.feed(". The Elbe"))
    first = list(stream.feed(" flows into the Black Sea, as they say."))
    assert [event.source for event in first] == [f"{NORTH}."]
    assert [event.passed for event in stream.close()] == [False]


def test_the_tally_counts_everything_and_lists_a_bounded_part(guard: Guard) -> None:
    tally = Tally(guard)
    for event in guard.events(["The Elbe flows into the Black Sea. "] * (MAX_LISTED + 5)):
        tally.add(event)
    report = tally.report()
    assert report.withheld == report.kinds["contradicted"] == MAX_LISTED + 5
    assert report.clauses == report.passed + report.withheld
    assert len(report.listed) == MAX_LISTED
