"""Guards a stream of text with a graph: ``epoche guard``, or this file as a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.base.console import run_script, say, say_json
from kg.base.options import (
    DomainName,
    EngineName,
    GraphFiles,
    ModelName,
    ShapesEngine,
    ShapesFiles,
)

if TYPE_CHECKING:
    from eval.guard.licensing import Event
    from eval.guard.stream import Guard

_CHUNK = 65_536


def main(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Text files; standard input when none is given."),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(metavar="PROMPT", help="Guard what a model replies to this, as it writes."),
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
        typer.Option("--pass-unread", help="Let clauses pass that name things but are not read."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an event a clause, as JSON lines.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write counts and what was withheld there, as JSON.")
    ] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit 29 when anything was withheld.")
    ] = False,
) -> None:
    """Lets text through clause by clause; what the graph does not license is marked instead."""
    from kg.base.errors import WithheldError
    from kg.base.files import check_output, to_json_bytes, write_text_atomic

    if report is not None:
        check_output(report, [*(files or ()), *(kg or ()), *(shapes or ())])
    if ask is not None and files:
        raise typer.BadParameter("give text files or --ask, not both")
    if ask is None and model is not None:
        raise typer.BadParameter("--model needs --ask, the prompt that it replies to")
    from eval.guard.licensing import Policy
    from eval.guard.report import Tally
    from eval.guard.stream import Guard
    from kg.knowledge import KnowledgeBase

    base = KnowledgeBase.open(
        domain, graph=list(kg or ()), shapes=list(shapes or ()), engine=engine.value
    )
    guard = Guard(base, Policy(strict=strict, pass_unread=pass_unread))
    tally = Tally(guard)

    def show(event: Event) -> None:
        tally.add(event)
        if as_json:
            say_json(to_json_bytes(event).decode())
        else:
            say(event.text, end="")

    if ask is None:
        for event in guard.events(_chunks(files or ())):
            show(event)
    else:
        _guard_reply(guard, ask, model, show)
    if report is not None:
        write_text_atomic(report, to_json_bytes(tally.report(), indent=2).decode() + "\n")
    if fail and tally.withheld:
        raise WithheldError(
            f"{tally.withheld} of {tally.clauses} clauses were withheld",
            hint="--json or --report says which, and why.",
        )


def _guard_reply(
    guard: Guard, prompt: str, model: str | None, show: Callable[[Event], None]
) -> None:
    """Shows a model's reply while it is being written, guarded."""
    import asyncio

    from eval.llm import ClientOptions, ModelClient

    async def relay() -> None:
        async with ModelClient.open(ClientOptions(model=model)) as client:
            reply = client.stream([{"role": "user", "content": prompt}])
            async for event in guard.events_async(reply):
                show(event)

    asyncio.run(relay())


def _chunks(files: Sequence[Path]) -> Iterator[str]:
    """The text of the files, or of standard input, as it comes; bad bytes become U+FFFD."""
    import codecs
    import os
    import sys

    from kg.base.files import require_file

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    if not files:
        while block := os.read(sys.stdin.fileno(), _CHUNK):
            yield decoder.decode(block)
    for path in files:
        with require_file(path, "text").open("rb") as stream:
            while block := stream.read(_CHUNK):
                yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


if __name__ == "__main__":
    run_script(main)
