"""Checks that metrics were computed from the cards, runs and rows of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cards.card import Card, hash_card_set
from eval.abstention.manifest import FIXED_FIELDS, read_manifest
from eval.abstention.metrics.record import MetricsReport, Source
from eval.abstention.row_statistics.record import digest_rows
from kg.base.errors import CardSetMismatchError
from kg.base.provenance import manifest_path

_HASH_LENGTH = 12
_IDENTITY = (
    *(*FIXED_FIELDS, "model", "cards_sha256", "cards_file_sha256"),
    *("limit", "repeats", "shard", "counts", "rows_sha256"),
)
"""Fields of a run manifest that two sessions of the same finished run have in common."""


def check_run(
    path: Path, rows_by_system: Counter[str], report: MetricsReport, metrics: Path
) -> None:
    """Refuses metrics that were computed from another run, or another state of this one.

    Raises:
        CardSetMismatchError: none of the files that the metrics were computed from is like this.
    """
    systems, n_rows = tuple(sorted(rows_by_system)), rows_by_system.total()
    of_same_systems = [source for source in report.sources if source.systems == systems]
    if not of_same_systems:
        return  # The comparison of all systems says which ones are missing.
    problems = [_describe_other_run(path, n_rows, source) for source in of_same_systems]
    if not all(problems):
        return
    raise CardSetMismatchError(
        f"the metrics were computed from another run of {', '.join(systems)} than this: "
        f"{problems[0]}",
        where=f"{path} and {metrics}",
        hint="Compute the metrics again (`make metrics`), or name theirs with --metrics.",
    )


def _describe_other_run(path: Path, n_rows: int, source: Source) -> str:
    """Says how a result file differs from one that metrics were computed from; empty if not.

    A file that was copied without its manifest is known by its rows only.
    """
    if n_rows != source.rows:
        return f"it has {n_rows} rows, not {source.rows}"
    manifest_file = manifest_path(path)
    if source.manifest is None or not manifest_file.is_file():
        return ""
    own = _identify_run(msgspec.to_builtins(read_manifest(manifest_file)))
    theirs = _identify_run(source.manifest)
    fields = [name for name in own if theirs[name] != own[name]]
    return f"their manifests differ in {', '.join(fields)}" if fields else ""


def _identify_run(manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a run manifest that say which run it is, as JSON values."""
    fields: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode({name: manifest.get(name) for name in _IDENTITY})
    )
    return fields


def check_sources(
    results: Sequence[Path], report: MetricsReport, metrics: Path, *, allow_others: bool = False
) -> None:
    """Refuses metrics that were not computed from exactly these rows.

    Metrics of versions that recorded no digests are only compared by ``check_run``; they have no
    digest either, and a warning says so.

    Args:
        results: the result files.
        report: the metrics.
        metrics: their file, for messages.
        allow_others: whether there may be result files that the metrics are not about.

    Raises:
        CardSetMismatchError: a file changed since, or is not one that they were computed from.
    """
    sources = {source.rows_digest: source for source in report.sources}
    if "" in sources and not report.content_sha256:
        return
    hint = "Compute the metrics again (`make metrics`), or name theirs with --metrics."
    found = {digest_rows(path): path for path in results}
    for digest, path in found.items():
        if digest not in sources and not allow_others:
            raise CardSetMismatchError(
                f"the metrics were not computed from these rows: {path.name} changed since, or is "
                "another file",
                where=f"{path} and {metrics}",
                hint=hint,
            )
    for digest, source in sources.items():
        if digest not in found:
            raise CardSetMismatchError(
                f"the metrics were computed from {Path(source.path).name} too, which is not among "
                "the results as it was then",
                where=f"{metrics} and {', '.join(map(str, results))}",
                hint=hint,
            )


def check_card_set(cards: list[Card], report: MetricsReport) -> None:
    """Raises ``CardSetMismatchError`` if metrics are of other cards."""
    own_hash = hash_card_set(cards)[:_HASH_LENGTH]
    # Results that name no card set ("ids-…") can be compared by ids and gold answers only.
    if own_hash != report.cards and not report.cards.startswith("ids-"):
        raise CardSetMismatchError(
            f"the cards are set {own_hash}, the metrics are of {report.cards}",
            where="--cards",
            hint="Pass exactly the card files that the systems were run on, in the same order.",
        )
