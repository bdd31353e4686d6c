"""The stream guard: model text in, chunk by chunk; licensed text out, clause by clause."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from eval.guard.cutting import Cutter, Piece
from eval.guard.licensing import Context, Event, Licenser, Policy

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class Guard:
    """Guards streams with one knowledge base; each stream is on its own.

    Nothing of a clause is let through before all of it is there and its claims are licensed. What
    comes out does not depend on how the text was chunked, and no more than a few thousand
    characters are held at any time.
    """

    def __init__(self, knowledge: KnowledgeBase, policy: Policy | None = None) -> None:
        self.knowledge = knowledge
        self.policy = policy or Policy()
        self._licenser = Licenser(knowledge, self.policy)

    def open(self) -> GuardedStream:
        """A new stream, to be fed by hand."""
        return GuardedStream(self._licenser)

    def events(self, chunks: Iterable[str]) -> Iterator[Event]:
        """What becomes of each clause, as soon as that is known."""
        stream = self.open()
        for chunk in chunks:
            yield from stream.feed(chunk)
        yield from stream.close()

    async def events_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[Event]:
        """As ``events``, for an asynchronous stream such as ``ModelClient.stream``."""
        stream = self.open()
        async for chunk in chunks:
            for event in stream.feed(chunk):
                yield event
        for event in stream.close():
            yield event

    def text(self, chunks: Iterable[str]) -> Iterator[str]:
        """The guarded text, clause by clause."""
        return (event.text for event in self.events(chunks))

    async def text_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[str]:
        """As ``text``, for an asynchronous stream."""
        async for event in self.events_async(chunks):
            yield event.text


class GuardedStream:
    """One stream of text."""

    def __init__(self, licenser: Licenser) -> None:
        self._licenser = licenser
        self._cutter = Cutter()
        self._context = Context()

    def feed(self, chunk: str) -> Iterator[Event]:
        """Takes a chunk; yields what is decided by now."""
        for piece in self._cutter.feed(chunk):
            yield from self._judged(piece)

    def close(self) -> Iterator[Event]:
        """Ends the stream; yields the rest."""
        for piece in self._cutter.close():
            yield from self._judged(piece)

    def _judged(self, piece: Piece) -> Iterator[Event]:
        for event, context in self._licenser.judge(piece, self._context):
            self._context = context
            yield event
