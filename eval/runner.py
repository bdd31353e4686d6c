"""The runner: puts a card file before systems and grows a result file that survives anything.

One run is a *plan* (every card × every repeat × every system, in card order), a *journal* (the
result file), and workers that ask what the journal does not hold yet. Resuming is therefore not a
special case: a fresh run is one whose journal is empty. All of that but the plan knows nothing of
cards and is in ``eval.running``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eval.answers import is_async
from eval.card_file import CardFile
from eval.card_plan import ERROR, CardPlan
from eval.described import combined, hash_of, model_of, observed_of, params_of
from eval.manifest import RunManifest, library_versions, now, read_manifest, write_manifest
from eval.registry import AnySystem
from eval.result import PREDS
from eval.resuming import continued, keep_cards_safe, set_stale_aside
from eval.running.journal import Journal
from eval.running.places import Shard
from eval.running.session import Limits, RunStatus, Session
from eval.running.totals import Meter
from eval.system import ClaimOracle
from kg.base.errors import WriteError
from kg.base.provenance import manifest_path, relative_name

_ALL = Shard()
_USUAL = Limits()


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


def run(
    cards_file: Path,
    systems: Sequence[AnySystem],
    out: Path,
    *,
    asked_as: str,
    seed: int = 12345,
    domain: str | None = None,
    limit: int | None = None,
    repeats: int = 1,
    shard: Shard = _ALL,
    resume: bool = True,
    overwrite: bool = False,
    set_aside: bool = False,
    retry_errors: bool = False,
    limits: Limits = _USUAL,
) -> Run:
    """Asks systems the cards of a file and appends each answer to ``out`` as it comes.

    If ``out`` holds rows of the same run (same cards, system, parameters, seed, graph and
    shapes, as its manifest says), only what is missing is asked; the finished file is then
    byte-identical to that of an uninterrupted run, whatever the concurrency.

    Args:
        cards_file: the card file.
        systems: what to ask; rows of several systems stand card by card in one file.
        out: the result file; its manifest is written beside it.
        asked_as: the system's name on the command line, for the manifest.
        seed: for the manifest; the systems were made with it.
        domain: of the cards, for the manifest.
        limit: ask only the first so many cards; a later run with a higher limit goes on.
        repeats: ask every card so often; a later run with more repeats goes on.
        shard: ask only these of the cards.
        resume: take up what ``out`` holds; else a file that holds anything is refused.
        overwrite: forget what ``out`` holds.
        set_aside: rename what ``out`` holds if it belongs to another run, and start afresh.
        retry_errors: ask again what ended in ``ERROR``.
        limits: how many are asked at once, and when to give up.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of the card file or of ``out``.
        CardSetMismatchError: ``out`` belongs to another run.
        WriteError: disk full, no permission, another run is writing ``out``, ``out`` would take
            the place of the cards, or it holds rows and ``resume`` is false.
        ModelAccessError: the model cannot be used at all.
        CostLimitError, TooManyErrorsError: a limit was reached before everything was asked. Rows
            are kept, as they are when no model can be reached.
        SettingError: there is a limit on the cost, and the price of a call is not known.
    """
    with CardFile(cards_file) as cards:
        keep_cards_safe(cards_file, out)
        names = [system.name for system in systems]
        manifest = RunManifest(
            results=out.name,
            cards_file=relative_name(cards_file, out.parent),
            cards_sha256=cards.sha256,
            cards_file_sha256=cards.file_sha256,
            card_count=len(cards),
            limit=limit,
            repeats=repeats,
            shard=str(shard) if shard.count > 1 else None,
            system=asked_as,
            systems=tuple(names),
            oracles=tuple(
                name
                for name, system in zip(names, systems, strict=True)
                if isinstance(system, ClaimOracle)
            ),
            params=params_of(systems, names),
            model=model_of(systems),
            seed=seed,
            domain=domain,
            graph_sha256=hash_of(systems, "graph"),
            shapes_sha256=hash_of(systems, "shapes"),
            versions=library_versions(),
            started=now(),
            status="running",
        )
        beside = manifest_path(out)
        if set_aside and resume and not overwrite:
            set_stale_aside(manifest, beside, out)
        meter = Meter()
        plan = CardPlan(cards, names, manifest.places, seen=meter.row)
        with Journal(out, plan.places.size) as journal:
            before: dict[str, Any] = {}
            if overwrite:
                journal.clear()
            elif out.stat().st_size:
                if not resume:
                    raise WriteError(
                        "the file holds results already, and --no-resume was given",
                        where=str(out),
                        hint="Choose another --out, or use --overwrite to replace it.",
                    )
                manifest = continued(manifest, beside, out)
                journal.load(plan)
                meter.earlier(manifest.calls)
                before = manifest.observed
                if retry_errors:
                    journal.drop(ERROR)
                    meter.drop(ERROR)

            def save(status: RunStatus) -> None:
                as_it_is = msgspec.structs.replace(
                    manifest,
                    status=status,
                    ended=None if status == "running" else now(),
                    counts=journal.counts(PREDS),
                    calls=meter.totals(),
                    observed=combined(before, observed_of(systems, names)),
                )
                write_manifest(beside, as_it_is)

            kept, missing = journal.held, plan.places.rows - journal.held
            session = Session(
                asked_as, journal, meter, limits, error=ERROR, missing=missing, save=save
            )
            session.run(
                plan.questions(systems, journal.has),
                waits=any(map(is_async, systems)),
                closing=[
                    close
                    for system in systems
                    if callable(close := getattr(system, "aclose", None))
                ],
            )
    return Run(read_manifest(beside), asked=missing, kept=kept)
