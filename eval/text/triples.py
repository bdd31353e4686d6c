"""Triples by a model: statements read off each chunk, each with the words that support it.

Nothing is believed. The quote must stand in the chunk, subject and object in the chunk too, the
relation in the ontology; what is left is a proposal, and whether it enters the graph is decided by
the shapes (``eval.text.admitting``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eval.text.asking import BatchAsker
from eval.text.ontology import Ontology, UnusableError
from eval.text.prompts import MAX_TRIPLES, TRIPLES, FoundTriple, FoundTriples
from kg.claims import Claim
from kg.text.normaliser import mend, words

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.chunks import Chunk

MAX_TOKENS = 2048
MAX_QUOTE_CHARS = 1000


class Proposal(msgspec.Struct, frozen=True):
    """One statement as the model made it, and what it is as a triple."""

    chunk_id: str
    subject: str
    predicate: str
    object: str
    quote: str
    claim: Claim | None = None
    """None where it cannot be used."""
    problem: str = ""
    """Why not."""


class _Text:
    """A chunk's text, made ready once for all that is looked for in it."""

    def __init__(self, text: str) -> None:
        mended = mend(text)
        self._letters = mended.casefold()
        self._words = _framed(mended)

    def holds_quote(self, quote: str) -> bool:
        """Whether a quote stands in it, whatever the case."""
        return bool(quote) and quote.casefold() in self._letters

    def holds_name(self, name: str) -> bool:
        """Whether the words of a name stand in it together."""
        framed = _framed(name)
        return framed.strip() != "" and framed in self._words


def _framed(text: str) -> str:
    return f" {' '.join(words(text))} "


class ModelTriples:
    """Asks a model for the statements of every chunk.

    Args:
        options: which model, and how it is called.
        ontology: what may be said.

    Attributes:
        failed: chunks without a usable reply.

    Raises:
        EpocheError: as ``BatchAsker``.
    """

    def __init__(self, options: ClientOptions, ontology: Ontology) -> None:
        self._asker = BatchAsker(options, FoundTriples, MAX_TOKENS)
        self._ontology = ontology
        self._relations = ontology.relations()
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Model, prompt and relations."""
        return {
            "prompt": TRIPLES.params(),
            "relations": self._relations,
            **self._asker.params(),
        }

    def extract(self, chunks: Sequence[Chunk], on_done: Callable[[int], None]) -> list[Proposal]:
        """The statements of all chunks, in the chunks' order.

        Args:
            chunks: what to read.
            on_done: is told how many are done.

        Raises:
            ModelAccessError: no call can succeed.
        """
        replies: list[FoundTriples | None] = [None] * len(chunks)
        done = itertools.count(1)

        def keep(number: int, reply: FoundTriples | None) -> None:
            replies[number] = reply
            self.failed += reply is None
            on_done(next(done))

        prompts = [
            TRIPLES.messages(
                relations=self._relations,
                section=str(chunk.metadata.get("section", "")),
                passage=mend(chunk.text),
            )
            for chunk in chunks
        ]
        self._asker.ask(prompts, keep)
        # Read only now: which name is met first must not hang on which reply came first.
        return [
            proposal
            for chunk, reply in zip(chunks, replies, strict=True)
            for proposal in self._read(chunk, reply.triples if reply is not None else ())
        ]

    def _read(self, chunk: Chunk, triples: Sequence[FoundTriple]) -> list[Proposal]:
        text = _Text(chunk.text)
        read = []
        for place, said in enumerate(triples):
            claim, problem = None, f"more than {MAX_TRIPLES} statements of one chunk"
            proposal = Proposal(
                chunk_id=chunk.id,
                subject=mend(said.subject)[:MAX_QUOTE_CHARS],
                predicate=mend(said.predicate)[:MAX_QUOTE_CHARS],
                object=mend(said.object)[:MAX_QUOTE_CHARS],
                quote=mend(said.quote)[:MAX_QUOTE_CHARS],
            )
            if place < MAX_TRIPLES:
                try:
                    claim, problem = self._claim(text, proposal), ""
                except UnusableError as error:
                    problem = str(error)
            read.append(msgspec.structs.replace(proposal, claim=claim, problem=problem))
        return read

    def _claim(self, text: _Text, said: Proposal) -> Claim:
        if not text.holds_quote(said.quote):
            raise UnusableError("the quote does not stand in the chunk")
        for role, name in (("subject", said.subject), ("object", said.object)):
            if not text.holds_name(name):
                raise UnusableError(f"the {role} does not stand in the chunk")
        pred = self._ontology.predicate(said.predicate)
        return Claim(
            self._ontology.thing(said.subject), pred, self._ontology.value(pred, said.object)
        )
