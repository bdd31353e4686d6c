"""Searches the web, or replays it: ``epoche retrieval web``, or this file as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import progress, run_script, say

if TYPE_CHECKING:
    from retrieval.web import FrozenSearch, Recording, WebSearch


def main(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    frozen: Annotated[
        Path | None,
        typer.Option("--frozen", help="File of recorded searches: replayed, with --live added to."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the web for what --frozen does not hold.")
    ] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions", help="Record a search for each question of this file (cards, JSONL)."
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Search engine, asked in turn; repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--top-k", min=1, help="Results to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Shows what a web search finds; only --live touches the network.

    A search that failed is an error (34), never an empty answer. Searches that are recorded in
    --frozen are found there ever after, and by `rag` with --set frozen=FILE.
    """
    from kg.base.errors import SettingError
    from retrieval.showing import show

    if (query is None) == (questions is None):
        raise SettingError(
            "either a query or a file of questions is needed", where="QUERY, --questions"
        )
    if questions is not None:
        if frozen is None or not live:
            raise SettingError(
                "recording needs a file to record in, and the network",
                where="--questions",
                hint="Add --live --frozen FILE.",
            )
        _record_all(questions, frozen, backend)
        return
    assert query is not None
    searched = _searched(frozen, backend, live=live)
    found = searched.search(query, k)
    show(query, searched, found, searched.passages, searched.addresses, as_json=as_json)


def _searched(
    frozen: Path | None, backend: list[str] | None, *, live: bool
) -> WebSearch | FrozenSearch | Recording:
    from kg.base.errors import SettingError
    from retrieval.web import BACKENDS, FrozenSearch, Recording, WebSearch

    if live:
        web = WebSearch(tuple(backend or BACKENDS))
        return web if frozen is None else Recording(web, frozen)
    if frozen is None or backend:
        raise SettingError(
            "nothing may be asked of the web",
            where="--backend" if backend else "--frozen",
            hint="Name a file of recorded searches with --frozen, or allow the network: --live.",
        )
    return FrozenSearch(frozen)


def _record_all(questions: Path, frozen: Path, backend: list[str] | None) -> None:
    """Records a search for each question; what the file holds already is not asked again.

    Raises:
        SearchError: a search failed; those before it are kept.
    """
    from kg.base.errors import RecordError
    from kg.base.files import check_output, iter_json_lines
    from retrieval.web import BACKENDS, Recording, WebSearch

    check_output(frozen, [questions])
    asked: dict[str, None] = {}
    for number, row in iter_json_lines(questions, "question file"):
        text = row.get("question")
        if not isinstance(text, str) or not text.strip():
            raise RecordError(
                "the line has no question",
                where=f"{questions}:{number}",
                hint="Each line must be a JSON object with a text under `question`.",
            )
        asked.setdefault(text)
    recording = Recording(WebSearch(tuple(backend or BACKENDS)), frozen)
    there = sum(map(recording.holds, asked))
    empty = 0
    for text in progress(list(asked), what="searching", total=len(asked)):
        empty += not recording.ask(text).results
    say(
        f"{len(asked)} searches recorded ({there} were there already; "
        f"{empty} found nothing) → {frozen}"
    )


if __name__ == "__main__":
    run_script(main)
