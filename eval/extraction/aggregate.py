"""Computes the report of a run from its rows.

Rows are read once and collected in one ``SystemRows`` per system; the report is computed from
these. If parts of a run are collected separately, their ``SystemRows`` can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from eval.extraction.metrics.measurement_plan import MeasurementPlan as MeasurementPlan
from eval.extraction.metrics.notes import run_notes
from eval.extraction.metrics.system_report import build_system_report
from eval.extraction.metrics.system_rows import INTEGER_COLUMNS, SystemRows, collect_rows
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ExtractionRow
from eval.stats.bootstrap import ClusterResamples, round_significant
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import sha256_bytes
from kg.base.provenance import package_version


def aggregate_rows(
    rows: Iterable[ExtractionRow], plan: MeasurementPlan | None = None
) -> ExtractionReport:
    """Computes the report of a run from its rows.

    Args:
        rows: rows of any number of systems, in any order; iterated once.
        plan: settings of the measurement.

    Raises:
        RecordError: there are no rows, two rows contradict each other about a sample, or there are
            more repeats than planned.
        DuplicateIdError: two rows have the same sample, system and repeat.
    """
    plan = plan or MeasurementPlan()
    return build_report(collect_rows(rows, repeated=plan.repeats > 1), plan)


def build_report(
    rows_by_system: Mapping[str, SystemRows], plan: MeasurementPlan
) -> ExtractionReport:
    """Computes the report from the collected rows of each system.

    Raises:
        RecordError, DuplicateIdError: as for ``aggregate_rows``.
    """
    for system, system_rows in rows_by_system.items():
        _require_distinct_rows(system, system_rows, plan.repeats)
    expected_counts = _count_expected_fields(rows_by_system)
    if not expected_counts:
        raise RecordError("no rows to measure", hint="Run `epoche extract run` first.")
    names = sorted(expected_counts)
    position_by_sample = {name: position for position, name in enumerate(names)}
    resamples = ClusterResamples(len(names), plan.resamples, plan.seed)
    systems = {}
    for name, system_rows in sorted(rows_by_system.items()):
        positions = np.array(
            [position_by_sample[sample] for sample in system_rows.ids], dtype=np.int64
        )
        system_rows.sort_rows(positions)
        systems[name] = build_system_report(system_rows, positions, resamples, plan)
    digest = sha256_bytes(msgspec.json.encode([[name, expected_counts[name]] for name in names]))[
        :12
    ]
    version = package_version()
    weights = msgspec.structs.asdict(plan.weights)
    return ExtractionReport(
        version=version,
        signature=_build_signature(digest, len(names), plan, version),
        samples=digest,
        n_samples=len(names),
        repeats=plan.repeats,
        n_expected=sum(expected_counts.values()),
        systems=systems,
        invalid=plan.invalid,
        headline=plan.headline,
        average=plan.average,
        weights={
            name: round_significant(share)
            for name, share in zip(weights, plan.weights.shares, strict=True)
        },
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        notes=tuple(run_notes(len(names), plan)),
    )


def _require_distinct_rows(system: str, system_rows: SystemRows, repeats: int) -> None:
    """Checks that no row would be counted twice.

    Raises:
        RecordError: there are more repeats than planned; they would be counted as independent
            samples.
        DuplicateIdError: two rows have the same sample and repeat.
    """
    integers = system_rows.integers
    row_keys = integers[:, [INTEGER_COLUMNS.index("sample"), INTEGER_COLUMNS.index("repeat")]]
    names = list(system_rows.ids)
    n_repeats = int(row_keys[:, 1].max(initial=0)) + 1
    if n_repeats > repeats:
        raise RecordError(
            f"the rows have {n_repeats} repeats, but {repeats} were planned",
            where=system,
            hint="Use a plan with the number of repeats of the run.",
        )
    unique_keys, counts = np.unique(row_keys, axis=0, return_counts=True)
    if (counts > 1).any():
        sample, repeat = unique_keys[counts > 1][0].tolist()
        raise DuplicateIdError(
            f"two rows of sample {names[sample]!r}, repeat {repeat}",
            where=system,
            hint="Were two runs concatenated? Keep one of them.",
        )


def _count_expected_fields(rows_by_system: Mapping[str, SystemRows]) -> dict[str, int]:
    """Returns the number of expected fields of each sample, by sample id.

    Raises:
        RecordError: two rows have different numbers, so they do not belong to the same run.
    """
    expected_counts: dict[str, int] = {}
    for system, system_rows in rows_by_system.items():
        names = list(system_rows.ids)
        sample_counts = system_rows.integers[
            :, [INTEGER_COLUMNS.index("sample"), INTEGER_COLUMNS.index("expected")]
        ]
        for position, count in np.unique(sample_counts, axis=0).tolist():
            if expected_counts.setdefault(names[position], count) != count:
                raise RecordError(
                    f"rows of sample {names[position]!r} expect {expected_counts[names[position]]} "
                    f"fields and {count}",
                    where=system,
                    hint="The rows come from runs with different data, schemas or matchers.",
                )
    return expected_counts


def _build_signature(digest: str, samples: int, plan: MeasurementPlan, version: str) -> str:
    weights = ",".join(f"{share:g}" for share in plan.weights.shares)
    parts = (
        "EQS",
        f"samples:{digest}",
        f"n:{samples}",
        f"repeats:{plan.repeats}",
        f"match:{plan.matching}",
        f"invalid:{plan.invalid}",
        *(() if plan.failed == "left_out" else (f"failed:{plan.failed}",)),
        f"avg:{plan.average}",
        f"w:{weights}",
        f"boot:{plan.resamples}",
        f"seed:{plan.seed}",
        f"conf:{plan.confidence:g}",
        f"v:{version}",
    )
    return "|".join(parts)
