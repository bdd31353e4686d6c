"""Searches the web or replays recorded searches: ``epoche retrieval web``, or this as a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_text, run_script, track_progress

if TYPE_CHECKING:
    from retrieval.web import FrozenSearch, RecordingSearch, WebSearch


def main(
    query: Annotated[str | None, typer.Argument(help="The question or search terms.")] = None,
    frozen: Annotated[
        Path | None,
        typer.Option("--frozen", help="File of recorded searches to replay; --live adds to it."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Search the web for queries not in --frozen.")
    ] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions", help="Record a search for each question of this file (cards, JSONL)."
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Search engine; repeatable, tried in order until one finds something."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--top-k", min=1, help="Results to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Shows the results of a web search; only --live uses the network.

    A failed search is an error (exit code 34), never an empty result. Searches recorded with
    --frozen can be replayed, also by `rag` with --set frozen=FILE.
    """
    from kg.base.errors import SettingError
    from retrieval.display import print_results

    if (query is None) == (questions is None):
        raise SettingError(
            "give either a query or --questions, and not both", where="QUERY, --questions"
        )
    if questions is not None:
        if frozen is None or not live:
            raise SettingError(
                "--questions needs --live and a file to record in",
                where="--questions",
                hint="Add --live --frozen FILE.",
            )
        _record_questions(questions, frozen, backend)
        return
    assert query is not None
    searcher = _open_search(frozen, backend, live=live)
    results = searcher.search(query, k)
    print_results(query, searcher, results, searcher.passages, searcher.addresses, as_json=as_json)


def _open_search(
    frozen: Path | None, backend: list[str] | None, *, live: bool
) -> WebSearch | FrozenSearch | RecordingSearch:
    from kg.base.errors import SettingError
    from retrieval.web import BACKENDS, FrozenSearch, RecordingSearch, WebSearch

    if live:
        web = WebSearch(tuple(backend or BACKENDS))
        return web if frozen is None else RecordingSearch(web, frozen)
    if frozen is None or backend:
        raise SettingError(
            "--backend needs --live" if backend else "either --frozen or --live is needed",
            where="--backend" if backend else "--frozen",
            hint="Name a file of recorded searches with --frozen, or use the network with --live.",
        )
    return FrozenSearch(frozen)


def _record_questions(questions: Path, frozen: Path, backend: list[str] | None) -> None:
    """Records a search for each question that is not in the file yet.

    Raises:
        SearchError: a search failed; those before it are in the file.
    """
    from kg.base.errors import RecordError
    from kg.base.files import check_output, iter_json_lines
    from retrieval.web import BACKENDS, RecordingSearch, WebSearch

    check_output(frozen, [questions])
    queries: dict[str, None] = {}
    for number, row in iter_json_lines(questions, "question file"):
        text = row.get("question")
        if not isinstance(text, str) or not text.strip():
            raise RecordError(
                "the line has no question",
                where=f"{questions}:{number}",
                hint="Each line must be a JSON object with a non-empty string `question`.",
            )
        queries.setdefault(text)
    recording = RecordingSearch(WebSearch(tuple(backend or BACKENDS)), frozen)
    n_recorded = sum(map(recording.is_recorded, queries))
    n_without_results = 0
    for text in track_progress(list(queries), what="searching", total=len(queries)):
        n_without_results += not recording.run_query(text).results
    print_text(
        f"{len(queries)} searches recorded ({n_recorded} were recorded before; "
        f"{n_without_results} found nothing) → {frozen}"
    )


if __name__ == "__main__":
    run_script(main)
