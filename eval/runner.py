"""Runs systems over a card file and writes a result file that survives interruptions.

A run is a *plan* (every card × every repeat × every system, in card order), a *journal* (the
result file), and workers that ask the questions the journal has no row for. Resuming is therefore
not a special case: a new run is a run with an empty journal. Only the plan depends on cards; the
journal and the workers are in ``eval.harness``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eval.answers import is_async
from eval.card_file import CardFile
from eval.card_plan import ERROR_OUTCOME, CardPlan
from eval.harness.journal import Journal
from eval.harness.row_layout import ALL_ITEMS, Shard
from eval.harness.session import RunLimits, RunStatus, Session
from eval.harness.totals import CallMeter
from eval.manifest import RunManifest, library_versions, read_manifest, utc_now, write_manifest
from eval.registry import AnySystem
from eval.result import PREDS
from eval.run_identity import protect_card_file, rename_stale_results, resume_manifest
from eval.system import ClaimOracle
from eval.system_description import (
    collect_observed,
    collect_params,
    find_hash,
    find_model,
    merge_observed,
)
from kg.base.errors import WriteError
from kg.base.provenance import make_relative_name, manifest_path

_DEFAULT_LIMITS = RunLimits()


@dataclass(frozen=True)
class Run:
    """The outcome of a run.

    Attributes:
        manifest: the manifest as written to disk.
        asked: number of questions asked in this session.
        already_answered: number of answers that were in the file before.
    """

    manifest: RunManifest
    asked: int
    already_answered: int


def run(
    cards_file: Path,
    systems: Sequence[AnySystem],
    out: Path,
    *,
    system_name: str,
    seed: int = 12345,
    domain: str | None = None,
    limit: int | None = None,
    repeats: int = 1,
    shard: Shard = ALL_ITEMS,
    resume: bool = True,
    overwrite: bool = False,
    set_aside: bool = False,
    retry_errors: bool = False,
    limits: RunLimits = _DEFAULT_LIMITS,
) -> Run:
    """Asks systems the cards of a file and appends each answer to ``out`` as it arrives.

    If ``out`` contains rows of the same run (same cards, system, parameters, seed, graph and
    shapes, according to its manifest), only missing answers are requested. The finished file is
    byte-identical to that of an uninterrupted run, at any concurrency.

    Args:
        cards_file: the card file.
        systems: the systems to ask; rows of several systems alternate card by card in one file.
        out: the result file; its manifest is written to the same folder.
        system_name: the system's name on the command line, for the manifest.
        seed: the seed that the systems were created with, for the manifest.
        domain: domain of the cards, for the manifest.
        limit: ask only the first ``limit`` cards; a later run with a higher limit resumes this one.
        repeats: ask every card this many times; a later run with more repeats resumes this one.
        shard: ask only the cards of this shard.
        resume: resume the run in ``out``; if false, a file that contains rows is refused.
        overwrite: delete the contents of ``out``.
        set_aside: if ``out`` contains another run, rename it and start a new file.
        retry_errors: ask again the questions that ended in ``ERROR``.
        limits: concurrency, and the limits at which the run is aborted.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: the card file or ``out`` is missing or
            damaged.
        CardSetMismatchError: ``out`` belongs to another run.
        WriteError: disk full, no permission, another run is writing ``out``, ``out`` would
            overwrite the cards, or it contains rows and ``resume`` is false.
        ModelAccessError: the model cannot be used. Rows are kept.
        CostLimitError, TooManyErrorsError: a limit was reached with questions left. Rows are
            kept.
        SettingError: there is a limit on the cost, and the price of a call is not known.
    """
    with CardFile(cards_file) as cards:
        protect_card_file(cards_file, out)
        names = [system.name for system in systems]
        manifest = RunManifest(
            results=out.name,
            cards_file=make_relative_name(cards_file, out.parent),
            cards_sha256=cards.sha256,
            cards_file_sha256=cards.file_sha256,
            card_count=len(cards),
            limit=limit,
            repeats=repeats,
            shard=shard.to_field(),
            system=system_name,
            systems=tuple(names),
            oracles=tuple(
                name
                for name, system in zip(names, systems, strict=True)
                if isinstance(system, ClaimOracle)
            ),
            params=collect_params(systems, names),
            model=find_model(systems),
            seed=seed,
            domain=domain,
            graph_sha256=find_hash(systems, "graph"),
            shapes_sha256=find_hash(systems, "shapes"),
            versions=library_versions(),
            started=utc_now(),
            status="running",
        )
        manifest_file = manifest_path(out)
        if set_aside and resume and not overwrite:
            rename_stale_results(manifest, manifest_file, out)
        meter = CallMeter()
        plan = CardPlan(cards, names, manifest.layout, on_row=meter.add_row)
        with Journal(out, plan.layout.size) as journal:
            before: dict[str, Any] = {}
            if overwrite:
                journal.clear()
            elif out.stat().st_size:
                if not resume:
                    raise WriteError(
                        "the file already contains results, and --no-resume was given",
                        where=str(out),
                        hint="Choose another --out, or use --overwrite to replace it.",
                    )
                manifest = resume_manifest(manifest, manifest_file, out)
                journal.load_rows(plan)
                meter.add_earlier_sessions(manifest.calls)
                before = manifest.observed
                if retry_errors:
                    journal.remove_outcome(ERROR_OUTCOME)
                    meter.remove_outcome(ERROR_OUTCOME)

            def save_manifest(status: RunStatus) -> None:
                current = msgspec.structs.replace(
                    manifest,
                    status=status,
                    ended=None if status == "running" else utc_now(),
                    counts=journal.count_outcomes(PREDS),
                    calls=meter.compute_totals(),
                    observed=merge_observed(before, collect_observed(systems, names)),
                )
                write_manifest(manifest_file, current)

            answered_before, missing = journal.row_count, plan.layout.row_count - journal.row_count
            session = Session(
                system_name,
                journal,
                meter,
                limits,
                error_outcome=ERROR_OUTCOME,
                n_missing=missing,
                save_manifest=save_manifest,
            )
            session.run(
                plan.iter_questions(systems, journal.has_row),
                has_async=any(map(is_async, systems)),
                on_close=[
                    close
                    for system in systems
                    if callable(close := getattr(system, "aclose", None))
                ],
            )
    return Run(read_manifest(manifest_file), asked=missing, already_answered=answered_before)
