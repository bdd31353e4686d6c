"""What a search found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kg.base.console import say, say_json
from kg.base.files import to_json_bytes
from kg.words.plain_text import plain
from retrieval.protocol import Passage, Retriever
from retrieval.ranking import described

SNIPPET = 240
"""Characters of a passage that people are shown; JSON has all of them."""


def show(
    query: str,
    retriever: Retriever,
    found: Sequence[tuple[str, float]],
    passages: Iterable[Passage],
    notes: Mapping[str, str],
    *,
    as_json: bool,
) -> None:
    """Prints what was found, best first.

    Args:
        query: what was looked for.
        retriever: what searched.
        found: ids and scores, best first.
        passages: all that can be found.
        notes: what else is said of a passage, by its id: the section, the address.
        as_json: for programs.
    """
    texts = {passage.id: passage.text for passage in passages}
    if as_json:
        rows = [
            {
                "rank": rank,
                "id": one,
                "score": score,
                "note": notes.get(one, ""),
                "text": texts[one],
            }
            for rank, (one, score) in enumerate(found, start=1)
        ]
        answer = {"query": query, "retriever": described(retriever), "results": rows}
        say_json(to_json_bytes(answer, indent=2).decode())
        return
    for rank, (one, score) in enumerate(found, start=1):
        say(f"{rank:>3}  {score:.4f}  {plain(one)}  {plain(notes.get(one, ''))}".rstrip())
        say(f"     {plain(texts[one], SNIPPET)}")
    if not found:
        say("nothing found")
