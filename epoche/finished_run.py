"""The results of a run, for use from Python: metrics, rows, report and comparison."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval.metrics.comparison import Comparison
    from eval.metrics.measurement import Measurement
    from eval.stats.estimates import Estimate
    from reporting.card_report.report_files import Format

Metrics = Mapping[str, Mapping[str, "Estimate"]]
"""System → metric → estimate."""


class Run:
    """A finished run of any benchmark.

    Args:
        path: the folder of the run; for cards the results file.
        temporary_folder: a folder that contains the run and is deleted with this object.

    Attributes:
        path: as given.
    """

    def __init__(self, path: Path | str, *, temporary_folder: str | None = None) -> None:
        self.path = Path(path)
        if temporary_folder is not None:
            weakref.finalize(self, shutil.rmtree, temporary_folder, ignore_errors=True)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows as dictionaries, in the order of the file.

        Raises:
            RecordError: a row is damaged.
        """
        from kg.base.files import iter_json_lines

        return [row for _, row in iter_json_lines(self._get_rows_file(), "rows")]

    def metrics(
        self, *, resamples: int = 2000, seed: int = 12345, confidence: float = 0.95
    ) -> Metrics:
        """Computes the metrics of all systems of the run.

        Args:
            resamples: number of bootstrap resamples.
            seed: seed of the resamples.
            confidence: nominal coverage of the intervals.

        Returns:
            System → metric → estimate, each with value, interval and denominator. For cards the
            policy is ``licensed``.
        """
        measurement = measure_runs([self], resamples=resamples, seed=seed, confidence=confidence)
        return {name: measurement.estimates(name) for name in measurement.runs.names}

    def to_frame(self) -> Any:
        """Returns the rows as a data frame of pandas or, if that is not installed, of polars.

        Nested objects become columns whose names are joined by full stops, such as
        ``usage.prompt_tokens``.

        Raises:
            MissingExtraError: neither library is installed.
        """
        rows = [_flatten(row) for row in self.rows()]
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            pass
        else:
            return pandas.DataFrame(rows)
        try:
            import polars  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            from kg.base.errors import MissingExtraError

            raise MissingExtraError(
                "to_frame needs pandas or polars",
                hint="Install one of them: pip install pandas",
            ) from error
        return polars.DataFrame(rows, infer_schema_length=None, strict=False)

    def report(self, path: Path | str) -> Path:
        """Writes the report page and its tables, and returns the path of the page.

        Raises:
            WriteError: the page cannot be written, or would overwrite an input.
        """
        from reporting.card_report.report_files import parse_formats

        out, formats = Path(path), parse_formats("html,csv,md,json")
        if self.path.is_dir():
            from eval.runs.sections import build_sections
            from reporting.sections_page import write_sections

            write_sections(build_sections([self.path]), out, formats)
        else:
            _write_card_report(self.path, out, formats)
        return out

    def _get_rows_file(self) -> Path:
        if self.path.is_file():
            return self.path
        from eval.harness.benchmarks import find_benchmark

        return self.path / find_benchmark(self.path).rows_file


def compare(
    baseline: Run | Path | str,
    candidate: Run | Path | str,
    *,
    resamples: int = 2000,
    seed: int = 12345,
    confidence: float = 0.95,
) -> tuple[Comparison, ...]:
    """Compares the systems of two runs on the items that both answered.

    The order is that of time; ``epoche compare`` takes the candidate first. A system of the
    candidate run is compared with the system of the same name in the baseline run,
    or with its only system.

    Args:
        baseline: the earlier run.
        candidate: the run that may be better.
        resamples: number of bootstrap resamples.
        seed: seed of the resamples.
        confidence: nominal coverage of the intervals.

    Returns:
        One comparison for each metric and pair: difference = candidate − baseline.

    Raises:
        CardSetMismatchError: the runs have no item in common.
        SystemNotFoundError: no system can be paired.
    """
    runs = [run if isinstance(run, Run) else Run(run) for run in (baseline, candidate)]
    measurement = measure_runs(runs, resamples=resamples, seed=seed, confidence=confidence)
    names: list[dict[str, str]] = [{}, {}]
    for system in measurement.runs.systems:
        names[system.run][system.own_name] = system.name
    pairs = [
        (name, names[0][own_name]) for own_name, name in names[1].items() if own_name in names[0]
    ]
    if not pairs and len(names[0]) == len(names[1]) == 1:
        pairs = [(next(iter(names[1].values())), next(iter(names[0].values())))]
    if not pairs:
        from kg.base.errors import SystemNotFoundError

        raise SystemNotFoundError(
            "no system is in both runs",
            hint=f"Baseline: {', '.join(names[0])}. Candidate: {', '.join(names[1])}.",
        )
    compared = [name for name, info in measurement.runs.metrics.items() if info.is_compared]
    return measurement.compare(pairs, compared)


def measure_runs(
    runs: Sequence[Run], *, resamples: int, seed: int, confidence: float
) -> Measurement:
    """Measures runs of one benchmark on the items that they have in common."""
    from eval.commands.measurement import measure_paths
    from eval.metrics.measurement import ResamplingPlan

    return measure_paths([run.path for run in runs], ResamplingPlan(resamples, seed, confidence))


def _write_card_report(results: Path, out: Path, formats: list[Format]) -> None:
    from cards.card_origin import find_common_sources
    from eval.abstention.metrics.observations import read_observations
    from eval.abstention.metrics.report import measure
    from kg.base.files import write_json_atomic
    from reporting.card_report.inputs import read_inputs
    from reporting.card_report.report_files import (
        open_proof_source,
        refuse_overwriting,
        write_report,
    )

    refuse_overwriting(out, formats, [results], ())
    with TemporaryDirectory() as folder:
        metrics = Path(folder) / "metrics.json"
        write_json_atomic(metrics, measure(read_observations([results])))
        inputs = read_inputs([results], metrics, None)
    source = open_proof_source(
        *find_common_sources(inputs.card_files), cards=inputs.card_files, is_required=False
    )
    write_report(inputs, out, source, formats, ())


def _flatten(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
