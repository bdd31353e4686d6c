"""Checks that runs are the shards of one run, and combines their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.journals.row_layout import Shard
from eval.harness.resume import describe_difference
from eval.harness.systems.description import merge_observed
from eval.harness.totals import CallMeter
from kg.base.console import print_warning
from kg.base.errors import CardSetMismatchError, IncompleteRunError

MAX_SHOWN = 5
"""Maximum number of missing shards or answers that a message lists."""


def sort_shards(manifests: Sequence[tuple[Path, Any]], same_fields: Sequence[str]) -> list[Path]:
    """Returns the files or folders in the order of their shards.

    Args:
        manifests: each file or folder with its manifest.
        same_fields: fields of the manifest that must be equal in all shards.

    Raises:
        CardSetMismatchError: they are not shards of one run, or two are the same shard.
        IncompleteRunError: a shard is missing.
    """
    first_path, first = manifests[0]
    for path, manifest in manifests:
        for field in (*same_fields, "limit", "repeats"):
            first_value, value = getattr(first, field), getattr(manifest, field)
            if first_value != value:
                raise CardSetMismatchError(
                    f"{path} and {first_path} differ in "
                    f"{describe_difference(field, value, first_value, second_label='there')}",
                    where=str(path),
                    hint="Only shards of one run can be merged.",
                )
        if manifest.versions != first.versions:
            print_warning(f"{path} was written with other library versions than {first_path}")
    by_shard: dict[Shard, Path] = {}
    for path, manifest in manifests:
        shard = manifest.layout.shard
        if shard.count != first.layout.shard.count:
            raise CardSetMismatchError(
                f"{path} is shard {shard}, {first_path} is {first.layout.shard}",
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
    count = first.layout.shard.count
    # Lazily, because a damaged manifest may name any number of shards.
    expected = (Shard(number, count) for number in range(1, count + 1))
    if len(by_shard) < count:
        absent = join_first(str(shard) for shard in expected if shard not in by_shard)
        raise IncompleteRunError(
            f"of {count} shards, these are missing: {absent}",
            where=", ".join(str(path) for path, _ in manifests),
            hint="Give all shards.",
        )
    return [by_shard[shard] for shard in expected]


def combine_manifests(manifests: Sequence[Any], counts: dict[str, int], meter: CallMeter) -> Any:
    """Returns the manifest of the merged run.

    Args:
        manifests: those of the shards, in order.
        counts: number of rows by outcome.
        meter: has the usage of all rows; the calls of the shards are added to it.
    """
    for manifest in manifests:
        meter.add_totals(manifest.calls)
    accepted = dict.fromkeys(
        change for manifest in manifests for change in manifest.accepted_changes or ()
    )
    return msgspec.structs.replace(
        manifests[0],
        shard=None,
        started=min(manifest.started for manifest in manifests),
        ended=max((manifest.ended or manifest.started) for manifest in manifests),
        resumed=sum(manifest.resumed for manifest in manifests),
        status="complete",
        counts=counts,
        calls=meter.compute_totals(),
        observed=reduce(merge_observed, (manifest.observed for manifest in manifests)),
        accepted_changes=tuple(accepted) or msgspec.UNSET,
    )


def join_first(names: Iterable[str]) -> str:
    """Joins the first names with commas, followed by an ellipsis if there are more."""
    listed = list(islice(names, MAX_SHOWN + 1))
    return ", ".join(listed[:MAX_SHOWN]) + (", …" if len(listed) > MAX_SHOWN else "")
