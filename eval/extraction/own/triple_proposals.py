"""What ``epoche kg extract`` proposed, as extractions of the chunks it read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from eval.extraction.own.graph_triples import Naming, Triple, written
from eval.extraction.own.predictions import Prediction
from eval.extraction.samples.sample import Sample
from kg.base.errors import RecordError
from kg.base.files import iter_decoded_lines
from kg.claims import Claim
from kg.terms import is_literal, parse_literal

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

Fate = Literal["admitted", "known", "contradicted", "unusable"]
FATES: tuple[Fate, ...] = get_args(Fate)
LICENSED = ("admitted", "known")
"""What may be handed on: the graph's shapes do not contradict it."""


class ProposedRow(msgspec.Struct, frozen=True):
    """One line of the ``.proposals.jsonl`` that ``epoche kg extract`` writes."""

    chunk_id: str
    subject: str
    predicate: str
    object: str
    outcome: Fate
    quote: str = ""
    claim: Claim | None = None
    reason: str = ""


def read_proposals(path: Path | str) -> Iterator[ProposedRow]:
    """Yields the rows of a proposals file.

    Raises:
        MissingFileError, RecordError: as named there, with file and line.
    """
    decode = msgspec.json.Decoder(ProposedRow).decode
    return (row for _, row in iter_decoded_lines(path, "proposals file", decode))


def predictions_of(
    rows: Iterable[ProposedRow], samples: Sequence[Sample], kb: KnowledgeBase
) -> Iterator[Prediction]:
    """What was proposed, and what of it was licensed, as two systems.

    ``proposed`` has every statement a model made; ``licensed`` those that were found to be usable
    and are not contradicted. A text without a row had no statement, of either.

    Args:
        rows: of the proposals file; of chunks that are no samples nothing is taken.
        samples: by chunk id.
        kb: names things, so that a statement in other words is the same triple.

    Raises:
        RecordError: no row is of a chunk that is a sample.
    """
    known: dict[str, list[ProposedRow]] = {sample.id: [] for sample in samples}
    for row in rows:
        if row.chunk_id in known:
            known[row.chunk_id].append(row)
    if not any(known.values()):
        raise RecordError(
            "no proposal is of a chunk that has a gold sample",
            hint="Name the run that `epoche kg extract` read, or samples under its chunks' ids.",
        )
    naming = Naming(kb)
    for system, fates in (("proposed", FATES), ("licensed", LICENSED)):
        for id_, of_chunk in known.items():
            named = [_named(row, kb, naming) for row in of_chunk if row.outcome in fates]
            yield Prediction(id=id_, system=system, predicted=written(named))


def _named(row: ProposedRow, kb: KnowledgeBase, naming: Naming) -> Triple:
    """A proposal by names: the graph's where it has any, else those it was made with."""
    said = Triple(row.subject, row.predicate, row.object)
    if row.claim is None:
        return naming.one_way(said)
    claim, labels = row.claim, kb.labels
    obj = said.object
    if is_literal(claim.obj):
        obj = parse_literal(claim.obj).lexical
    elif labels.has_label(claim.obj):
        obj = labels.label(claim.obj)
    subject = labels.label(claim.subj) if labels.has_label(claim.subj) else said.subject
    return naming.one_way(Triple(subject, kb.words.label(claim.pred), obj))
