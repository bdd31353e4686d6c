"""Prints search results as text or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kg.base.console import print_json, print_text
from kg.base.files import to_json_bytes
from kg.base.plain_text import clean_text
from retrieval.base import describe_retriever
from retrieval.protocol import Passage, Retriever

MAX_SNIPPET_LENGTH = 240
"""Maximum number of characters of a passage in the text output; JSON output has all of them."""


def print_results(
    query: str,
    retriever: Retriever,
    results: Sequence[tuple[str, float]],
    passages: Iterable[Passage],
    notes: Mapping[str, str],
    *,
    as_json: bool,
) -> None:
    """Prints the passages found, best first.

    Args:
        query: the query.
        retriever: the retriever used.
        results: passage ids and scores, best first.
        passages: the corpus.
        notes: passage id → a note to print with it: the section or the URL.
        as_json: print JSON.
    """
    texts = {passage.id: passage.text for passage in passages}
    if as_json:
        rows = [
            {
                "rank": rank,
                "id": passage_id,
                "score": score,
                "note": notes.get(passage_id, ""),
                "text": texts[passage_id],
            }
            for rank, (passage_id, score) in enumerate(results, start=1)
        ]
        answer = {"query": query, "retriever": describe_retriever(retriever), "results": rows}
        print_json(to_json_bytes(answer, indent=2).decode())
        return
    for rank, (passage_id, score) in enumerate(results, start=1):
        note = clean_text(notes.get(passage_id, ""))
        print_text(f"{rank:>3}  {score:.4f}  {clean_text(passage_id)}  {note}".rstrip())
        print_text(f"     {clean_text(texts[passage_id], MAX_SNIPPET_LENGTH)}")
    if not results:
        print_text("nothing found")
