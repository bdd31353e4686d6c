"""Guards a stream of text with a graph: ``epoche guard``, or this file as a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import print_json, print_text, run_script
from kg.base.options import (
    DomainName,
    EngineName,
    GraphFiles,
    ModelName,
    ShapesEngine,
    ShapesFiles,
)

if TYPE_CHECKING:
    from eval.guard.licenser import Event
    from eval.guard.stream import Guard

_CHUNK_BYTES = 65_536


def main(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Text files; standard input when none is given."),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(metavar="PROMPT", help="Guard a model's reply to this prompt as it streams."),
    ] = None,
    model: ModelName = None,
    kg: GraphFiles = None,
    shapes: ShapesFiles = None,
    domain: DomainName = None,
    engine: ShapesEngine = EngineName.incremental,
    strict: Annotated[
        bool, typer.Option("--strict", help="Withhold everything that the graph does not license.")
    ] = False,
    pass_unread: Annotated[
        bool,
        typer.Option(
            "--pass-unread", help="Let a clause pass if it names entities but cannot be parsed."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one event per clause, as JSON lines.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write counts and the withheld clauses to this JSON file.")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Maximum tokens of the reply to --ask.")
    ] = 512,
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit with code 29 if anything was withheld.")
    ] = False,
) -> None:
    """Passes text on clause by clause, and marks what the graph does not license."""
    from kg.base.errors import EpocheError, WithheldError
    from kg.base.files import check_output, to_json_bytes, write_text_atomic

    if report is not None:
        check_output(report, [*(files or ()), *(kg or ()), *(shapes or ())])
    if ask is not None and files:
        raise typer.BadParameter("give text files or --ask, not both")
    if ask is None and model is not None:
        raise typer.BadParameter("--model needs --ask, the prompt that it replies to")
    from eval.guard.licenser import Policy
    from eval.guard.report import Tally
    from eval.guard.stream import Guard
    from kg.knowledge import KnowledgeBase

    knowledge = KnowledgeBase.open_cached(domain, kg or (), shapes or (), engine.value)
    guard = Guard(knowledge, Policy(strict=strict, pass_unread=pass_unread))
    tally = Tally(guard)

    def show_event(event: Event) -> None:
        tally.add_event(event)
        if as_json:
            print_json(to_json_bytes(event).decode())
        else:
            print_text(event.text, end="")

    def write_report(error: str = "") -> None:
        if report is not None:
            raw = to_json_bytes(tally.build_report(error), indent=2)
            write_text_atomic(report, raw.decode() + "\n")

    try:
        if ask is None:
            for event in guard.iter_events(_read_chunks(files or ())):
                show_event(event)
        else:
            _guard_reply(guard, ask, model, max_tokens, show_event)
    except EpocheError as error:
        if tally.clauses:  # else nothing was guarded
            write_report(error.format_line())
        raise
    write_report()
    if fail and tally.withheld:
        raise WithheldError(
            f"{tally.withheld} of {tally.clauses} clauses were withheld",
            hint="--json or --report lists them with the reasons.",
        )


def _guard_reply(
    guard: Guard,
    prompt: str,
    model: str | None,
    max_tokens: int,
    show_event: Callable[[Event], None],
) -> None:
    """Guards a model's reply and shows it while it is being written."""
    import asyncio

    from eval.model.client import ClientOptions, ModelClient

    async def relay_reply() -> None:
        options = ClientOptions(model=model)
        async with ModelClient.open(options, max_tokens=max_tokens, logprobs=False) as client:
            reply = client.stream([{"role": "user", "content": prompt}])
            async for event in guard.iter_events_async(reply):
                show_event(event)

    asyncio.run(relay_reply())


def _read_chunks(files: Sequence[Path]) -> Iterator[str]:
    """Yields the text of the files, or of standard input, in chunks; bad bytes become U+FFFD."""
    import codecs
    import os
    import sys

    from kg.base.files import require_file

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    if not files:
        while block := os.read(sys.stdin.fileno(), _CHUNK_BYTES):
            yield decoder.decode(block)
    for path in files:
        with require_file(path, "text").open("rb") as stream:
            while block := stream.read(_CHUNK_BYTES):
                yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


if __name__ == "__main__":
    run_script(main)
