"""Extracts triples with a model: statements of each chunk, with the quotes that support them.

The model's output is validated: quote, subject and object must occur in the chunk, and the relation
in the ontology. Valid statements become claims, and the graph's shapes decide whether they are
admitted (``eval.text.admission``). Without an ontology, any relation is valid, and statements
become facts (``kg.text.facts``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eval.text.batch_client import BatchClient
from eval.text.ontology import Ontology, UnusableError
from eval.text.prompts import FACTS, MAX_TRIPLES, TRIPLES, FoundTriple, FoundTriples
from kg.claims import Claim
from kg.text.facts.fact import Fact
from kg.words.normaliser import repair_text, split_words

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.chunks import Chunk

MAX_REPLY_TOKENS = 2048
"""Maximum number of tokens in a reply."""
MAX_FIELD_CHARS = 1000
"""Maximum number of characters in each field of a statement; longer ones are cut."""


class ProposedTriple(msgspec.Struct, frozen=True):
    """One statement of the model, with its claim or the reason why it is unusable."""

    chunk_id: str
    subject: str
    predicate: str
    object: str
    quote: str
    claim: Claim | None = None
    """None if the statement is unusable."""
    problem: str = ""
    """Why it is unusable."""


class _ChunkText:
    """A chunk's text, prepared once for all searches in it."""

    def __init__(self, text: str) -> None:
        cleaned = repair_text(text)
        self._folded_text = cleaned.casefold()
        self._padded_words = _pad_words(cleaned)

    def contains_quote(self, quote: str) -> bool:
        """Whether a quote occurs in the text, ignoring case."""
        return bool(quote) and quote.casefold() in self._folded_text

    def contains_name(self, name: str) -> bool:
        """Whether the words of a name occur in the text as a sequence."""
        padded = _pad_words(name)
        return padded.strip() != "" and padded in self._padded_words


def _pad_words(text: str) -> str:
    """Returns the words of a text, each between spaces, so that substrings match whole words."""
    return f" {' '.join(split_words(text))} "


class ModelTriples:
    """Asks a model for the statements of every chunk.

    Args:
        options: the model and how it is called.
        ontology: the allowed relations; None for any relation.

    Attributes:
        failed: number of chunks without a usable reply.

    Raises:
        EpocheError: as ``BatchClient``.
    """

    def __init__(self, options: ClientOptions, ontology: Ontology | None) -> None:
        self._client = BatchClient(options, FoundTriples, MAX_REPLY_TOKENS)
        self._ontology = ontology
        self._prompt = FACTS if ontology is None else TRIPLES
        self._blocks = {} if ontology is None else {"relations": ontology.describe_relations()}
        self.failed = 0

    def params(self) -> dict[str, Any]:
        """Returns the model, prompt and relations."""
        return {
            "prompt": self._prompt.params(),
            **self._blocks,
            **self._client.params(),
        }

    def extract_triples(
        self, chunks: Sequence[Chunk], on_done: Callable[[int], None]
    ) -> list[ProposedTriple]:
        """Returns the statements of all chunks, in the chunks' order.

        Args:
            chunks: the chunks.
            on_done: called after each chunk with the number of chunks done until then.

        Raises:
            ModelAccessError: no call can succeed, for instance because the key is refused.
        """
        replies: list[FoundTriples | None] = [None] * len(chunks)
        done_counter = itertools.count(1)

        def store_reply(chunk_index: int, reply: FoundTriples | None) -> None:
            replies[chunk_index] = reply
            self.failed += reply is None
            on_done(next(done_counter))

        prompts = [
            self._prompt.build_messages(
                **self._blocks,
                section=str(chunk.metadata.get("section", "")),
                passage=repair_text(chunk.text),
            )
            for chunk in chunks
        ]
        self._client.send_prompts(prompts, store_reply)
        # Converted only after all replies arrived: the first spelling of a new name becomes its
        # label, which must not depend on the order of the replies.
        return [
            proposal
            for chunk, reply in zip(chunks, replies, strict=True)
            for proposal in self._make_proposals(chunk, reply.triples if reply is not None else ())
        ]

    def _make_proposals(self, chunk: Chunk, triples: Sequence[FoundTriple]) -> list[ProposedTriple]:
        """Returns a proposal for each triple; only the first ``MAX_TRIPLES`` can be usable."""
        text = _ChunkText(chunk.text)
        proposals = []
        for index, triple in enumerate(triples):
            claim, problem = None, f"more than {MAX_TRIPLES} statements in one chunk"
            proposal = ProposedTriple(
                chunk_id=chunk.id,
                subject=repair_text(triple.subject)[:MAX_FIELD_CHARS],
                predicate=repair_text(triple.predicate)[:MAX_FIELD_CHARS],
                object=repair_text(triple.object)[:MAX_FIELD_CHARS],
                quote=repair_text(triple.quote)[:MAX_FIELD_CHARS],
            )
            if index < MAX_TRIPLES:
                try:
                    _check_statement(text, proposal)
                    claim, problem = self._make_claim(proposal), ""
                except UnusableError as error:
                    problem = str(error)
            proposals.append(msgspec.structs.replace(proposal, claim=claim, problem=problem))
        return proposals

    def _make_claim(self, proposal: ProposedTriple) -> Claim | None:
        """Returns the claim of a statement; None without an ontology.

        Raises:
            UnusableError: the ontology does not have the relation, or the object does not fit it.
        """
        if self._ontology is None:
            return None
        pred = self._ontology.find_predicate(proposal.predicate)
        return Claim(
            self._ontology.resolve_entity(proposal.subject),
            pred,
            self._ontology.make_object(pred, proposal.object),
        )


def list_facts(proposals: Sequence[ProposedTriple]) -> list[Fact]:
    """Returns the usable statements as facts."""
    return [
        Fact(
            chunk_id=proposal.chunk_id,
            subject=proposal.subject,
            relation=proposal.predicate,
            object=proposal.object,
            quote=proposal.quote,
        )
        for proposal in proposals
        if not proposal.problem
    ]


def _check_statement(text: _ChunkText, proposal: ProposedTriple) -> None:
    """Checks that the chunk has the words of a statement.

    Raises:
        UnusableError: quote, subject or object do not occur in the chunk.
    """
    if not text.contains_quote(proposal.quote):
        raise UnusableError("the quote does not occur in the chunk")
    for role, name in (("subject", proposal.subject), ("object", proposal.object)):
        if not text.contains_name(name):
            raise UnusableError(f"the {role} does not occur in the chunk")
