"""Merges the shards of one run into the result file and manifest of a single run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cards.card_integrity import accept_changed_cards
from eval.abstention.card_file import CardFile
from eval.abstention.card_plan import CardPlan
from eval.abstention.manifest import (
    FIXED_FIELDS,
    RunManifest,
    read_manifest,
    require_card_file,
    write_manifest,
)
from eval.abstention.metrics.reader import ResultReader
from eval.abstention.result import PREDS
from eval.abstention.row_statistics.columns import merge_statistics, write_statistics
from eval.harness.journals.journal import Journal
from eval.harness.merging.journal_merger import read_shards, write_shards
from eval.harness.merging.shards import combine_manifests, sort_shards
from eval.harness.totals import CallMeter
from eval.harness.verification.changed_files import MERGE_HINT, make_changed_error, record_accepted
from eval.harness.verification.line_digests import digest_lines
from kg.base.errors import CardSetMismatchError, ChangedRunError, WriteError
from kg.base.files import check_output, require_file, sha256_file
from kg.base.provenance import make_relative_name, manifest_path


def merge_shards(
    shards: Sequence[Path],
    out: Path,
    cards_file: Path | None = None,
    *,
    allow_changed: bool = False,
) -> RunManifest:
    """Merges the result files of all shards of a run.

    Args:
        shards: the result files, in any order, each with its manifest in the same folder.
        out: the merged result file, next to which its manifest is written. Both are identical to
            those of a run without ``--shard``, except for the times in the manifest and the
            statistics of shards.
        cards_file: the cards that were asked; by default the file the manifests name.
        allow_changed: merge shards and cards that were changed; the manifest then says so.

    Returns:
        The merged manifest.

    Raises:
        MissingFileError: a shard, its manifest or the card file does not exist.
        RecordError: a row is damaged, or belongs to no question of the run.
        CardSetMismatchError: the files are not shards of one run, or two are the same shard.
        DuplicateIdError: a question is answered twice.
        IncompleteRunError: a shard or an answer is missing.
        ChangedRunError: the cards changed after they were made, or a shard after its run, and
            this is not accepted.
        WriteError: ``out`` contains a run, another process is writing it, or it cannot be written.
    """
    manifests = {path: read_manifest(manifest_path(require_file(path, "shard"))) for path in shards}
    ordered = sort_shards(
        [(path, manifests[path]) for path in shards],
        (*FIXED_FIELDS, "cards_sha256", "cards_file_sha256"),
    )
    first = manifests[ordered[0]]
    cards_file = require_card_file(manifest_path(ordered[0]), cards_file)
    check_output(out, [*shards, *map(manifest_path, shards), cards_file])
    with CardFile(cards_file) as cards:
        if (cards.sha256, cards.file_sha256) != (first.cards_sha256, first.cards_file_sha256):
            raise CardSetMismatchError(
                "these are not the cards of the run",
                where=str(cards_file),
                hint="Name the card file of the run with --cards.",
            )
        accepted_cards = accept_changed_cards(
            [cards_file], allow_changed=allow_changed, card_set=cards.sha256
        )
        meter = CallMeter()
        plans = [
            CardPlan(cards, manifests[path].systems, manifests[path].layout, on_row=meter.add_row)
            for path in ordered
        ]
        rows = read_shards(ordered, plans)
    accepted: list[ChangedRunError] = []
    # Of a killed session's rows nothing is recorded either.
    is_recorded = all(manifests[path].rows_sha256 is not None for path in ordered)
    for path in ordered:
        if manifests[path].rows_sha256 not in (None, sha256_file(path)):
            problem = make_changed_error(
                [path], manifest=manifests[path], hint=MERGE_HINT.format(path)
            )
            if not allow_changed:
                raise problem
            accepted.append(problem)
    # The journal is open as a lock: no other process writes the file in the meantime.
    with Journal(out, 0) as existing:
        if existing.path.stat().st_size:
            raise WriteError(
                "the file already contains a run", where=str(out), hint="Choose another --out."
            )
        write_shards(out, ordered, rows, first.layout)
        merged: RunManifest = combine_manifests(
            [manifests[path] for path in ordered], rows.count_outcomes(PREDS), meter
        )
        merged = msgspec.structs.replace(
            record_accepted(merged, accepted),
            results=out.name,
            cards_file=make_relative_name(cards_file, out.parent),
            accepted_card_changes=tuple(
                dict.fromkeys(
                    change
                    for path in ordered
                    for change in (*(manifests[path].accepted_card_changes or ()), *accepted_cards)
                )
            )
            or msgspec.UNSET,
            rows_sha256=sha256_file(out) if is_recorded else None,
            statistics_sha256=msgspec.UNSET,
            line_digests={out.name: digest_lines(out)} if is_recorded else msgspec.UNSET,
        )
        write_manifest(manifest_path(out), merged)
        statistics = merge_statistics(ordered, out, ResultReader()) if is_recorded else None
        return write_statistics(out, merged, statistics)
