"""The runner: puts a card file before systems and grows a result file that survives anything.

One run is a *plan* (every card × every system, in card order), a *journal* (the result file), and
a loop that asks what the journal does not hold yet. Resuming is therefore not a special case: a
fresh run is one whose journal is empty. Whoever makes the loop concurrent changes nothing else,
since the journal takes rows in any order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec

from cards.card import Card, card_set_hash, read_cards
from eval.answers import ask
from eval.journal import Journal, Key
from eval.manifest import (
    RunManifest,
    RunStatus,
    library_versions,
    now,
    read_manifest,
    write_manifest,
)
from eval.redaction import hide_secret_values
from eval.registry import AnySystem
from eval.result import PREDS
from eval.system import ClaimOracle
from kg.base.console import progress, warn
from kg.base.errors import (
    CardSetMismatchError,
    EpocheError,
    RecordError,
    SystemNotFoundError,
    WriteError,
)
from kg.base.files import sha256_file, write_errors_named
from kg.base.provenance import manifest_path, relative_name


@dataclass(frozen=True)
class Run:
    """What a run did.

    Attributes:
        manifest: as it stands on disk.
        asked: questions asked now.
        kept: answers that were there already.
    """

    manifest: RunManifest
    asked: int
    kept: int


@dataclass(frozen=True)
class _Task:
    card: Card
    system: AnySystem
    name: str

    @property
    def key(self) -> Key:
        return self.name, self.card.id


def run(
    cards_file: Path,
    systems: Sequence[AnySystem],
    out: Path,
    *,
    asked_as: str,
    seed: int = 12345,
    domain: str | None = None,
    limit: int | None = None,
    overwrite: bool = False,
    set_aside: bool = False,
    retry_errors: bool = False,
) -> Run:
    """Asks systems the cards of a file and appends each answer to ``out`` as it comes.

    If ``out`` holds rows of the same run (same cards, system, parameters, seed, graph and
    shapes, as its manifest says), only what is missing is asked; the finished file is then
    byte-identical to that of an uninterrupted run.

    Args:
        cards_file: the card file.
        systems: what to ask; rows of several systems stand card by card in one file.
        out: the result file; its manifest is written beside it.
        asked_as: the system's name on the command line, for the manifest.
        seed: for the manifest; the systems were made with it.
        domain: of the cards, for the manifest.
        limit: ask only the first so many cards; a later run with a higher limit goes on.
        overwrite: forget what ``out`` holds.
        set_aside: rename what ``out`` holds if it belongs to another run, and start afresh.
        retry_errors: ask again what ended in ``ERROR``.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of the card file or of ``out``.
        CardSetMismatchError: ``out`` belongs to another run.
        WriteError: disk full, no permission, another run is writing ``out``, or ``out`` would
            take the place of the cards.
    """
    cards = read_cards(cards_file)
    _keep_cards_safe(cards_file, out)
    card_set = card_set_hash(cards)
    names = [system.name for system in systems]
    order = {
        (name, card.id): place * len(names) + column
        for place, card in enumerate(cards)
        for column, name in enumerate(names)
    }
    planned = [
        _Task(card, system, name)
        for card in cards[:limit]
        for system, name in zip(systems, names, strict=True)
    ]
    manifest = RunManifest(
        results=out.name,
        cards_file=relative_name(cards_file, out.parent),
        cards_sha256=card_set,
        cards_file_sha256=sha256_file(cards_file),
        card_count=len(cards),
        limit=limit,
        system=asked_as,
        systems=tuple(names),
        oracles=tuple(
            name
            for name, system in zip(names, systems, strict=True)
            if isinstance(system, ClaimOracle)
        ),
        params=_params(systems, names),
        seed=seed,
        domain=domain,
        graph_sha256=_hash_of(systems, "graph"),
        shapes_sha256=_hash_of(systems, "shapes"),
        versions=library_versions(),
        started=now(),
        status="running",
    )
    beside = manifest_path(out)
    if set_aside and not overwrite:
        _set_stale_aside(manifest, beside, out)
    with Journal(out, order, card_set[:12]) as journal:
        if overwrite:
            journal.clear()
        elif out.stat().st_size:
            manifest = _continued(manifest, beside, out)
            journal.load()
            _check_limit(journal, order, len(planned), out)
            if retry_errors:
                journal.drop_errors()
        kept = len(journal.preds)
        missing = [task for task in planned if task.key not in journal.preds]
        write_manifest(beside, manifest)
        status: RunStatus = "failed"
        try:
            for task in progress(missing, what=asked_as, total=len(missing)):
                journal.append(ask(task.system, task.card, name=task.name, card_set=card_set))
            journal.put_in_order()
            status = "complete"
        except (KeyboardInterrupt, SystemExit):
            status = "interrupted"
            raise
        finally:
            finished = msgspec.structs.replace(
                manifest, status=status, ended=now(), counts=_counts(journal)
            )
            # When the run fails because the disk is full the manifest cannot be written either;
            # it then still says "running", and the first error is the one to show.
            swallowed = () if status == "complete" else (EpocheError,)
            with contextlib.suppress(*swallowed):
                if status != "complete":
                    journal.put_in_order()
                write_manifest(beside, finished)
    return Run(finished, asked=len(missing), kept=kept)


def _continued(new: RunManifest, beside: Path, out: Path) -> RunManifest:
    """The manifest of the run that is being taken up again.

    Raises:
        RecordError: ``out`` has no manifest, so nobody knows what it is.
        CardSetMismatchError: it was made from other cards or otherwise.
    """
    if not beside.is_file():
        raise RecordError(
            f"cannot be resumed: {beside.name} is not beside it, so nobody knows what it holds",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    old = read_manifest(beside)
    hint = "Choose another --out, or use --overwrite to replace it."
    if (old.cards_sha256, old.cards_file_sha256) != (new.cards_sha256, new.cards_file_sha256):
        raise CardSetMismatchError(
            f"the results are of another card set ({old.cards_file}, {old.cards_sha256[:12]}; "
            f"asked now: {new.cards_file}, {new.cards_sha256[:12]})",
            where=str(out),
            hint=hint,
        )
    for field in ("system", "systems", "params", "seed", "graph_sha256", "shapes_sha256"):
        was, is_now = getattr(old, field), getattr(new, field)
        if was != is_now:
            raise CardSetMismatchError(
                f"the results were made with another {field}: {was!r}, now {is_now!r}",
                where=str(out),
                hint=hint,
            )
    return msgspec.structs.replace(new, started=old.started, resumed=old.resumed + 1)


def _set_stale_aside(new: RunManifest, beside: Path, out: Path) -> None:
    """Renames results of another run to ``X.stale-<their card set>.jsonl``; nothing is deleted."""
    if not (out.is_file() and beside.is_file() and out.stat().st_size):
        return
    try:
        _continued(new, beside, out)
    except CardSetMismatchError as error:
        old = read_manifest(beside)
        stem = f"{out.stem}.stale-{old.cards_sha256[:12]}"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        places = (out.with_name(name + out.suffix) for name in names)
        aside = next(place for place in places if not place.exists())
        with write_errors_named(aside):
            out.replace(aside)
            beside.replace(manifest_path(aside))
        warn(f"set aside as {aside.name}: {error.what}")


def _keep_cards_safe(cards_file: Path, out: Path) -> None:
    taken = {cards_file.resolve(), manifest_path(cards_file).resolve()}
    if not taken.isdisjoint({out.resolve(), manifest_path(out).resolve()}):
        raise WriteError(
            "the results would take the place of the cards or their manifest",
            where=str(out),
            hint="Choose another --out.",
        )


def _check_limit(journal: Journal, order: dict[Key, int], planned: int, out: Path) -> None:
    if any(order[key] >= planned for key in journal.preds):
        raise CardSetMismatchError(
            "the results already hold answers to cards beyond --limit",
            where=str(out),
            hint="Leave --limit out or raise it, choose another --out, or use --overwrite.",
        )


def _params(systems: Sequence[AnySystem], names: list[str]) -> dict[str, Any]:
    """What the systems say of themselves, as JSON and without secrets."""
    every: dict[str, Any] = {}
    for system, name in zip(systems, names, strict=True):
        try:
            # There and back, so that it compares equal to what a manifest gives (tuples → lists).
            params = msgspec.json.decode(msgspec.json.encode(system.params()))
        except (TypeError, ValueError) as error:
            raise SystemNotFoundError(
                f"params() of system {name} is not JSON: {error}",
                where=type(system).__name__,
                hint="Return texts, numbers, lists and dicts.",
            ) from error
        if not isinstance(params, dict):
            raise SystemNotFoundError(
                f"params() of system {name} is not a dict", where=type(system).__name__
            )
        every[name] = hide_secret_values(params)
    return every if len(names) > 1 else every[names[0]]


def _hash_of(systems: Sequence[AnySystem], part: str) -> str | None:
    """SHA-256 of the graph or shapes that the systems say they use."""
    for system in systems:
        found = getattr(system, f"{part}_sha256", None)
        if found is None:
            found = getattr(getattr(getattr(system, "knowledge", None), part, None), "sha256", None)
        if isinstance(found, str):
            return found
    return None


def _counts(journal: Journal) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(PREDS, 0)
    for pred in journal.preds.values():
        counts[pred] += 1
    return counts
