"""Runs systems over a card file and writes a result file that survives interruptions.

A run asks every card × every repeat × every system, in card order. This module describes it to
``eval.harness.file_run``, which asks the questions that the result file has no row for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cards.card_integrity import accept_changed_cards
from cards.card_origin import read_card_origin
from eval.abstention.answers import is_async
from eval.abstention.card_file import CardFile
from eval.abstention.card_plan import ERROR_OUTCOME, CardPlan
from eval.abstention.manifest import COMMAND, FIXED_FIELDS, RunManifest
from eval.abstention.metrics.reader import ResultReader
from eval.abstention.result import PREDS
from eval.abstention.row_statistics.columns import compute_statistics, write_statistics
from eval.abstention.row_statistics.record import statistics_path
from eval.abstention.system import AnySystem, ClaimOracle
from eval.harness.base_run import RunFlags
from eval.harness.file_run import FileRunDescription, run_in_file
from eval.harness.journals.row_layout import ALL_ITEMS, Shard
from eval.harness.session import RunLimits
from eval.harness.systems.description import collect_observed, collect_params, find_hash, find_model
from eval.harness.systems.system import find_close_functions
from kg.base.files import check_output
from kg.base.provenance import library_versions, make_relative_name, manifest_path, utc_now

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
    other_graph: bool = False,
    limit: int | None = None,
    repeats: int = 1,
    shard: Shard = ALL_ITEMS,
    resume: bool = True,
    overwrite: bool = False,
    set_aside: bool = False,
    retry_errors: bool = False,
    allow_changed: bool = False,
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
        other_graph: whether the systems may use another graph than the cards', for the manifest.
        limit: ask only the first ``limit`` cards; a later run with a higher limit resumes this one.
        repeats: ask every card this many times; a later run with more repeats resumes this one.
        shard: ask only the cards of this shard.
        resume: resume the run in ``out``; if false, a file that contains rows is refused.
        overwrite: delete the contents of ``out``.
        set_aside: if ``out`` contains another run, rename it and start a new file.
        retry_errors: ask again the questions that ended in ``ERROR``.
        allow_changed: ask cards that their manifest does not describe, and resume rows that were
            changed after the last session; the manifest says so.
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
        ChangedRunError: the cards changed after they were made, or the rows after the last
            session, and this is not accepted.
    """
    with CardFile(cards_file) as cards:
        accepted = accept_changed_cards(
            [cards_file], allow_changed=allow_changed, card_set=cards.sha256
        )
        for path in (out, manifest_path(out)):
            check_output(path, (cards_file, manifest_path(cards_file)))
        names = [system.name for system in systems]
        manifest = RunManifest(
            results=out.name,
            cards_file=make_relative_name(cards_file, out.parent),
            cards_sha256=cards.sha256,
            cards_file_sha256=cards.file_sha256,
            card_count=len(cards),
            card_warnings=read_card_origin(cards_file).warnings,
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
            other_graph=other_graph,
            shapes_sha256=find_hash(systems, "shapes"),
            versions=library_versions(),
            started=utc_now(),
            status="running",
            accepted_card_changes=accepted or msgspec.UNSET,
        )
        description = FileRunDescription(
            title=system_name,
            command=COMMAND,
            noun="card",
            manifest=manifest,
            fixed_fields=FIXED_FIELDS,
            make_plan=lambda on_row: CardPlan(
                cards, names, manifest.layout, systems, on_row=on_row
            ),
            outcomes=PREDS,
            error_outcome=ERROR_OUTCOME,
            has_async=any(map(is_async, systems)),
            observed=lambda: collect_observed(systems, names),
            on_close=find_close_functions(systems),
            locate_derived_file=statistics_path,
        )
        flags = RunFlags(
            out=out,
            resume=resume,
            overwrite=overwrite,
            retry_errors=retry_errors,
            allow_changed=allow_changed,
            limits=limits,
        )
        result = run_in_file(flags, description, set_aside=set_aside)
    manifest = result.manifest
    if manifest.status == "complete" and manifest.rows_sha256:
        is_shard = manifest.shard is not None
        statistics = compute_statistics(out, ResultReader()) if is_shard else None
        manifest = write_statistics(out, manifest, statistics)
    return Run(manifest, asked=result.asked, already_answered=result.existing)
