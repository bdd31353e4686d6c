"""Shards of one run put together: file and manifest as a single run would have made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import islice
from pathlib import Path

import msgspec

from eval.card_file import CardFile
from eval.card_plan import CardPlan
from eval.described import combined
from eval.manifest import RunManifest, find_cards, read_manifest, write_manifest
from eval.result import PREDS, Usage
from eval.resuming import SAME_IN_A_RUN, differing
from eval.running.journal import RowIndex
from eval.running.places import Places, Shard
from eval.running.totals import Meter
from kg.base.console import warn
from kg.base.errors import CardSetMismatchError, IncompleteRunError, MissingFileError
from kg.base.files import atomic_writer, check_output, require_file
from kg.base.provenance import manifest_path, relative_name

_SHOWN = 5
"""Missing answers that a message names."""


def merge(shards: Sequence[Path], out: Path, cards_file: Path | None = None) -> RunManifest:
    """Merges the result files of all shards of a run.

    Args:
        shards: the result files, in any order, each with its manifest beside it.
        out: the merged result file; its manifest is written beside it. Byte for byte what a run
            without ``--shard`` would have written, but for the times in the manifest.
        cards_file: what was asked; by default where the manifests say.

    Returns:
        The merged manifest.

    Raises:
        MissingFileError: a shard, its manifest or the card file is not there.
        RecordError: a row is damaged, or answers none of the run's questions.
        CardSetMismatchError: the files are not shards of one run, or two are the same shard.
        DuplicateIdError: a question is answered twice.
        IncompleteRunError: a shard or an answer is missing.
        WriteError: ``out`` cannot be written.
    """
    manifests = {path: read_manifest(manifest_path(require_file(path, "shard"))) for path in shards}
    ordered = _of_one_run([(path, manifests[path]) for path in shards])
    first = manifests[ordered[0]]
    cards_file = cards_file or find_cards(manifest_path(ordered[0]))
    if cards_file is None:
        raise MissingFileError(
            f"the cards that were asked ({first.cards_file}) are not where the manifest says",
            where=str(manifest_path(ordered[0])),
            hint="Name them with --cards.",
        )
    check_output(out, [*shards, *map(manifest_path, shards), cards_file])
    with CardFile(cards_file) as cards:
        if (cards.sha256, cards.file_sha256) != (first.cards_sha256, first.cards_file_sha256):
            raise CardSetMismatchError(
                "these are not the cards that were asked",
                where=str(cards_file),
                hint="Name the card file of the run with --cards.",
            )
        meter = Meter()
        rows = RowIndex(first.places.size)
        lacking = [
            said
            for path in ordered
            if (said := _read_shard(path, manifests[path], cards, rows, meter.row))
        ]
        if lacking:
            raise IncompleteRunError(
                "; ".join(lacking),
                where=", ".join(map(str, ordered)),
                hint="Give the command of each of these shards again; it goes on where it stopped.",
            )
    with atomic_writer(out) as handle:
        handle.writelines(_lines(ordered, rows, first.places))
    merged = _merged_manifest([manifests[path] for path in ordered], rows, meter)
    merged = msgspec.structs.replace(
        merged, results=out.name, cards_file=relative_name(cards_file, out.parent)
    )
    write_manifest(manifest_path(out), merged)
    return merged


def _of_one_run(manifests: Sequence[tuple[Path, RunManifest]]) -> list[Path]:
    """The files in the order of their shards.

    Raises:
        CardSetMismatchError: they are not shards of one run, or two are the same.
        IncompleteRunError: a shard is missing.
    """
    first_path, first = manifests[0]
    for path, manifest in manifests:
        for field in (*SAME_IN_A_RUN, "cards_sha256", "cards_file_sha256", "limit", "repeats"):
            one, other = getattr(first, field), getattr(manifest, field)
            if one != other:
                raise CardSetMismatchError(
                    f"{path} and {first_path} differ in "
                    f"{differing(field, other, one, apart='there')}",
                    where=str(path),
                    hint="Only shards of one run can be merged.",
                )
        if manifest.versions != first.versions:
            warn(f"{path} was made with other library versions than {first_path}")
    by_shard: dict[Shard, Path] = {}
    for path, manifest in manifests:
        shard = manifest.places.shard
        if shard.count != first.places.shard.count:
            raise CardSetMismatchError(
                f"{path} is shard {shard}, {first_path} is {first.places.shard}",
                where=str(path),
                hint="Only shards of one run can be merged.",
            )
        if shard in by_shard:
            raise CardSetMismatchError(
                f"{by_shard[shard]} and {path} are both shard {shard}",
                where=str(path),
                hint="Give each shard once.",
            )
        by_shard[shard] = path
    count = first.places.shard.count
    wanted = [Shard(number, count) for number in range(1, count + 1)]
    absent = [str(shard) for shard in wanted if shard not in by_shard]
    if absent:
        raise IncompleteRunError(
            f"of the {count} shards these are not given: {_few(absent)}",
            where=", ".join(str(path) for path, _ in manifests),
            hint="Merge all of them at once.",
        )
    return [by_shard[shard] for shard in wanted]


def _read_shard(
    path: Path,
    manifest: RunManifest,
    cards: CardFile,
    rows: RowIndex,
    seen: Callable[[int, Usage | None], None],
) -> str:
    """Enters the rows of one shard; says what it lacks, if anything."""
    plan = CardPlan(cards, manifest.systems, manifest.places, seen=seen)
    before = rows.held
    rows.read(path, plan)
    missing = manifest.rows_expected - (rows.held - before)
    if not missing:
        return ""
    absent = (
        plan.describe(place)
        for item in plan.places.asked
        for place, _, _ in plan.places.of_item(item)
        if not rows.has(place)
    )
    return f"shard {plan.places.shard} lacks {missing} answers: {_few(islice(absent, _SHOWN + 1))}"


def _few(names: Iterable[str]) -> str:
    shown = list(islice(names, _SHOWN + 1))
    return ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")


def _lines(ordered: Sequence[Path], rows: RowIndex, places: Places) -> Iterator[bytes]:
    """All rows in the order of their places."""
    with ExitStack() as stack:
        handles = [stack.enter_context(path.open("rb")) for path in ordered]
        for place in rows.places():
            handle = handles[places.item(place) % len(handles)]
            handle.seek(rows.offsets[place])
            yield handle.readline()


def _merged_manifest(manifests: Sequence[RunManifest], rows: RowIndex, meter: Meter) -> RunManifest:
    for manifest in manifests:
        meter.also(manifest.calls)
    return msgspec.structs.replace(
        manifests[0],
        shard=None,
        started=min(manifest.started for manifest in manifests),
        ended=max((manifest.ended or manifest.started) for manifest in manifests),
        resumed=sum(manifest.resumed for manifest in manifests),
        status="complete",
        counts=rows.counts(PREDS),
        calls=meter.totals(),
        observed=reduce(combined, (manifest.observed for manifest in manifests)),
    )
