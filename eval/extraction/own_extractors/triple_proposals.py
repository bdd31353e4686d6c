"""Converts the proposals of ``epoche kg extract`` to predictions for the chunks it has read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from eval.extraction.own_extractors.graph_triples import Triple, TripleNormaliser, triples_to_json
from eval.extraction.samples.sample import Sample
from eval.harness.reply import Reply
from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines
from kg.claims import Claim
from kg.terms import is_literal, parse_literal

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

ProposalOutcome = Literal["admitted", "known", "contradicted", "unusable"]
PROPOSAL_OUTCOMES: tuple[ProposalOutcome, ...] = get_args(ProposalOutcome)
LICENSED_OUTCOMES = ("admitted", "known")
"""Outcomes of proposals that the graph's shapes do not contradict."""


class ProposalRow(msgspec.Struct, frozen=True):
    """One line of the ``.proposals.jsonl`` that ``epoche kg extract`` writes."""

    chunk_id: str
    subject: str
    predicate: str
    object: str
    outcome: ProposalOutcome
    quote: str = ""
    claim: Claim | None = None
    reason: str = ""


def read_proposals(path: Path | str) -> Iterator[ProposalRow]:
    """Yields the rows of a proposals file.

    Raises:
        MissingFileError, RecordError: the file is missing or a line is damaged; the message names
            file and line.
    """
    decode = msgspec.json.Decoder(ProposalRow).decode
    return (row for _, row in iter_decoded_lines(path, "proposals file", decode))


def build_predictions(
    rows: Iterable[ProposalRow], samples: Sequence[Sample], kb: KnowledgeBase
) -> Iterator[Reply]:
    """Yields the predictions of two systems: ``proposed`` and ``licensed``.

    ``proposed`` has all statements of the model; ``licensed`` has only the usable ones that
    the graph does not contradict. A sample without rows has an empty prediction in both.

    Args:
        rows: rows of the proposals file; rows of chunks without a sample are ignored.
        samples: gold samples; their ids are chunk ids.
        kb: gold graph; its labels make differently worded statements the same triple.

    Raises:
        RecordError: no row belongs to a chunk with a sample.
    """
    rows_by_chunk: dict[str, list[ProposalRow]] = {sample.id: [] for sample in samples}
    for row in rows:
        if row.chunk_id in rows_by_chunk:
            rows_by_chunk[row.chunk_id].append(row)
    if not any(rows_by_chunk.values()):
        raise RecordError(
            "no proposal belongs to a chunk with a gold sample",
            hint="Use the run that `epoche kg extract` read, or samples whose ids are its chunk "
            "ids.",
        )
    normaliser = TripleNormaliser(kb)
    for system, outcomes in (("proposed", PROPOSAL_OUTCOMES), ("licensed", LICENSED_OUTCOMES)):
        for id_, chunk_rows in rows_by_chunk.items():
            triples = [
                _normalise_proposal(row, kb, normaliser)
                for row in chunk_rows
                if row.outcome in outcomes
            ]
            yield Reply(id=id_, system=system, value=triples_to_json(triples))


def _normalise_proposal(
    row: ProposalRow, kb: KnowledgeBase, normaliser: TripleNormaliser
) -> Triple:
    """Returns a proposal as a triple of labels; names unknown to the graph stay as proposed."""
    proposal = Triple(row.subject, row.predicate, row.object)
    if row.claim is None:
        return normaliser.normalise_triple(proposal)
    claim, labels = row.claim, kb.labels
    obj = proposal.object
    if is_literal(claim.obj):
        obj = parse_literal(claim.obj).lexical
    elif labels.has_label(claim.obj):
        obj = labels.get_label(claim.obj)
    subject = labels.get_label(claim.subj) if labels.has_label(claim.subj) else proposal.subject
    return normaliser.normalise_triple(Triple(subject, kb.verbaliser.get_label(claim.pred), obj))
