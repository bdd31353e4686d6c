"""Reports rows that are ERROR at the end of a command, after everything was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.benchmark import Benchmark
from eval.harness.folder_manifest import FolderManifest
from kg.base.console import print_warning
from kg.base.errors import TooManyErrorsError
from kg.base.files import iter_decoded_lines
from kg.base.plain_text import join_list

ERROR = "ERROR"
"""The outcome of a failed row, in all benchmarks."""
RETRY_HINT = "use --retry-errors to ask them again"
REPLACE_HINT = "replace these predictions and use --overwrite"
"""The hint for rows that were not asked, but read from a file."""


def format_counts(counts: Mapping[str, int]) -> str:
    """Renders the number of rows by outcome, without those that do not occur."""
    return ", ".join(f"{outcome} {count}" for outcome, count in counts.items() if count)


def report_failed_run(
    folder: Path,
    benchmark: Benchmark[Any, Any, Any],
    manifest: FolderManifest,
    *,
    field: str,
    hint: str = RETRY_HINT,
) -> None:
    """Warns of the rows of a run folder that are ERROR; see ``report_failed_rows``.

    Args:
        folder: the folder.
        benchmark: the benchmark.
        manifest: its manifest.
        field: name of the row's field with the reason.
        hint: what to do when the cause is fixed.

    Raises:
        TooManyErrorsError: as ``report_failed_rows``.
    """
    if not manifest.counts.get(ERROR):
        return

    def iter_outcomes() -> Iterator[tuple[str, str]]:
        decode = msgspec.json.Decoder(benchmark.row_type).decode
        for _, row in iter_decoded_lines(folder / benchmark.rows_file, "rows", decode):
            key = benchmark.row_key(row)
            yield key.system, benchmark.outcomes[key.outcome]

    report_failed_rows(iter_outcomes(), field=field, where=folder, hint=hint)


def report_failed_rows(
    outcomes: Iterable[tuple[str, str]], *, field: str, where: Path, hint: str = RETRY_HINT
) -> None:
    """Warns of rows that are ERROR, and fails if all rows of a system are.

    ``--max-consecutive-errors`` aborts a long run early. A run with fewer questions than that
    limit, or in which other systems answer, ends normally; this check gives it a failing exit code,
    so that scripts notice.

    Args:
        outcomes: system and outcome of each row.
        field: name of the row's field with the reason.
        where: the file of rows, or its folder.
        hint: what to do when the cause is fixed.

    Raises:
        TooManyErrorsError: all rows of a system are ERROR.
    """
    failed: dict[str, int] = {}
    totals: dict[str, int] = {}
    for system, outcome in outcomes:
        totals[system] = totals.get(system, 0) + 1
        failed[system] = failed.get(system, 0) + (outcome == ERROR)
    n_failed, n_rows = sum(failed.values()), sum(totals.values())
    if not n_failed:
        return
    broken = [name for name in totals if failed[name] == totals[name]]
    problem = f"{n_failed} of {n_rows} rows are {ERROR} (see their `{field}`)"
    if broken and len(broken) < len(totals):
        problem = f"all rows of {join_list(broken)} are {ERROR} (see their `{field}`)"
    if broken:
        raise TooManyErrorsError(
            problem, where=str(where), hint=f"When the cause is fixed, {hint}."
        )
    print_warning(f"{problem}; {hint}")
