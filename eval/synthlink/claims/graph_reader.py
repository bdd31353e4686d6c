"""Asks the graph about a claim, by the reader and licence oracle of the stream guard.

The guard lets pass what claims nothing of the graph. Here a claim is only supported if the graph
licenses all of it: "began in 1858 and hardly lasted" is not licensed because its first half is, and
"could be signed in 1842" is not what the graph says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from eval.synthlink.claims.small_words import begins_with_preposition, has_bare_have
from eval.synthlink.claims.words import Word, is_same_event, is_verb, split_text
from kg.base.plain_text import list_words

if TYPE_CHECKING:
    from eval.guard.stream import Guard
    from kg.claims import Claim

_CHANGING: Final = frozenset(
    list_words(
        "will can shall get gets got gotten getting let lets ever always currently today now "
        "located situated considered called named known found published"
    )
)
"""Words that the reader takes for small or the same ones, but that may say something else.

What "first appeared" in a year may have been published in another.
"""
_VAGUE: Final = "appeared"
"""A predicate's verb that the graph has for what was proposed, built or sold first."""


class GraphFinding(NamedTuple):
    """What the graph says of a claim."""

    verdict: Literal["supported", "contradicted"] | None = None
    claims: tuple[Claim, ...] = ()
    """The claims as which a supported text was read."""


_NOTHING: Final = GraphFinding()


def ask_graph(text: str, guard: Guard | None) -> GraphFinding:
    """Returns the graph's verdict on all clauses of a claim.

    Args:
        text: the claim.
        guard: stream guard of the graph; None for none.
    """
    events = list(guard.iter_events([text])) if guard is not None else []
    kinds = {event.kind for event in events}
    if guard is None or not kinds & {"licensed", "contradicted"}:
        return _NOTHING
    claims = tuple(claim for event in events for claim in event.claims)
    words = split_text(text)
    told = split_text(" ".join(map(guard.knowledge.verbaliser.render_clause, claims)))
    keys = {word.key for word in told}
    # "Physiology or Medicine" is a name, and "a ghost story contest" was held.
    if any(word.kind == "hedge" and word.key not in keys for word in words):
        return _NOTHING
    if "contradicted" in kinds:
        is_other = any(_tells_other_event(words, claim, guard) for claim in claims)
        return _NOTHING if is_other else GraphFinding("contradicted")
    if not kinds <= {"licensed", "no-claim"} or any(
        word.kind != "light"
        for event in events
        if event.kind == "no-claim"
        for word in split_text(event.source)
    ):
        return _NOTHING
    if any(word.key in _CHANGING - keys for word in words) or begins_with_preposition(words):
        return _NOTHING
    if has_bare_have(words) and not has_bare_have(told):
        return _NOTHING
    return GraphFinding("supported", claims)


def _tells_other_event(words: Sequence[Word], claim: Claim, guard: Guard) -> bool:
    """Returns whether the words of a claim may mean another event than the predicate of its year.

    "Photo 51 was published in 1953" does not contradict that it "first appeared" in 1952. A denial
    is read as the statement that it denies, which has the year of the graph.
    """
    rendered = split_text(guard.knowledge.verbaliser.render_clause(claim))
    if not claim.obj.startswith('"') or not any(word.number.is_year for word in rendered):
        return False
    keys = {word.key for word in rendered}
    if any(word.kind == "negation" for word in words):
        return any(word.key in _CHANGING - keys for word in words)
    verbs = [word.key for word in rendered if word.kind == "content" and is_verb(word)]
    return _VAGUE in keys or not any(
        is_same_event(word.key, verb) for word in words for verb in verbs
    )
