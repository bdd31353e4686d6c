"""The stream guard: takes model text chunk by chunk and yields licensed text clause by clause."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from eval.guard.licenser import Context, Event, Licenser, Policy
from eval.guard.segmenter import Segment, Segmenter

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase


class Guard:
    """Guards any number of independent streams with one knowledge base.

    No part of a clause is yielded before the clause is complete and its claims are licensed. The
    output does not depend on how the text was chunked, and at most a few thousand characters are
    buffered.
    """

    def __init__(self, knowledge: KnowledgeBase, policy: Policy | None = None) -> None:
        self.knowledge = knowledge
        self.policy = policy or Policy()
        self._licenser = Licenser(knowledge, self.policy)

    def open(self) -> GuardedStream:
        """Opens a new stream; the caller passes the chunks to it."""
        return GuardedStream(self._licenser)

    def iter_events(self, chunks: Iterable[str]) -> Iterator[Event]:
        """Yields the event of each clause as soon as it is decided.

        An error of ``chunks`` is raised after the events of the text before it.
        """
        stream = self.open()
        try:
            for chunk in chunks:
                yield from stream.feed(chunk)
        except Exception:
            yield from stream.close(is_cut_off=True)
            raise
        yield from stream.close()

    async def iter_events_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[Event]:
        """Yields events as ``iter_events`` does, for an asynchronous stream of chunks."""
        stream = self.open()
        try:
            async for chunk in chunks:
                for event in stream.feed(chunk):
                    yield event
        except Exception:
            for event in stream.close(is_cut_off=True):
                yield event
            raise
        for event in stream.close():
            yield event

    def iter_text(self, chunks: Iterable[str]) -> Iterator[str]:
        """Yields the guarded text, clause by clause."""
        return (event.text for event in self.iter_events(chunks))

    async def iter_text_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[str]:
        """Yields text as ``iter_text`` does, for an asynchronous stream of chunks."""
        async for event in self.iter_events_async(chunks):
            yield event.text


class GuardedStream:
    """One stream of text."""

    def __init__(self, licenser: Licenser) -> None:
        self._licenser = licenser
        self._segmenter = Segmenter()
        self._context = Context()

    def feed(self, chunk: str) -> Iterator[Event]:
        """Takes a chunk and yields the events that are now decided."""
        for segment in self._segmenter.feed(chunk):
            yield from self._judge_segment(segment)

    def close(self, *, is_cut_off: bool = False) -> Iterator[Event]:
        """Ends the stream and yields the remaining events.

        Args:
            is_cut_off: whether the text breaks off, so that its last sentence is only a part.
        """
        segments = list(self._segmenter.close())
        if is_cut_off and segments:
            segments[-1] = segments[-1]._replace(forced=True)
        for segment in segments:
            yield from self._judge_segment(segment)

    def _judge_segment(self, segment: Segment) -> Iterator[Event]:
        for event, context in self._licenser.judge_segment(segment, self._context):
            self._context = context
            yield event
