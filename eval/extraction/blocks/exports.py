"""The numbers and samples of a run as tables, for CSV and for Parquet.

A column is text, a whole number, a number or yes/no. CSV guards text against spreadsheets; Parquet
keeps it as it is.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from eval.extraction.blocks.row_summaries import RowSummary
from eval.extraction.blocks.run_data import RunData
from eval.extraction.record import Estimate
from kg.base.csv_text import to_csv

SAMPLES = "samples"
NO_PARQUET = (
    "There are no Parquet files beside this page, because pyarrow is not installed: "
    "`pip install 'epoche[parquet]'`."
)

Kind = Literal["text", "whole", "number", "flag"]

_VALUE: tuple[tuple[str, Kind], ...] = (
    ("value", "number"),
    ("low", "number"),
    ("high", "number"),
    ("interval_method", "text"),
    ("n", "whole"),
    ("numerator", "number"),
    ("denominator", "number"),
    ("worst", "number"),
    ("best", "number"),
    ("higher_is_better", "flag"),
    ("why", "text"),
)
_SAMPLE_VALUES = (
    *("eqs", "precision_strict", "recall_strict", "f1_strict", "precision_partial"),
    *("recall_partial", "f1_partial", "precision_lenient", "recall_lenient", "f1_lenient"),
    *("type_accuracy", "hallucination_rate", "omission_rate"),
)


@dataclass(frozen=True)
class DataTable:
    """A table of typed columns.

    Attributes:
        columns: name and kind.
        rows: makes its rows anew each time, each with one value or ``None`` per column.
    """

    columns: tuple[tuple[str, Kind], ...]
    rows: Callable[[], Iterable[Sequence[Any]]]

    def to_csv(self) -> str:
        """Renders it as guarded CSV."""
        return to_csv([name for name, _ in self.columns], self.rows())

    def to_parquet(self) -> bytes:
        """Renders it as compressed Parquet; with one version of pyarrow, always the same bytes.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow as pa
        from pyarrow import parquet

        kinds = {
            "text": pa.string(),
            "whole": pa.int64(),
            "number": pa.float64(),
            "flag": pa.bool_(),
        }
        columns: list[list[Any]] = [[] for _ in self.columns]
        for row in self.rows():
            for column, value in zip(columns, row, strict=True):
                column.append(_make_storable(value))
        arrays = [
            pa.array(column, kinds[kind])
            for column, (_, kind) in zip(columns, self.columns, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, names=[name for name, _ in self.columns])
        out = io.BytesIO()
        parquet.write_table(table, out, compression="zstd")
        return out.getvalue()


def _make_storable(value: Any) -> Any:
    """Replaces lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value


def has_parquet() -> bool:
    """Returns whether Parquet can be written here."""
    return find_spec("pyarrow") is not None


def build_data_tables(run: RunData) -> dict[str, DataTable]:
    """Builds every table of a run by name."""
    return {
        "metrics": DataTable(
            (("system", "text"), ("group", "text"), ("metric", "text"), *_VALUE),
            lambda: _iter_metrics(run),
        ),
        "breakdowns": DataTable(
            (
                *((name, "text") for name in ("system", "dimension", "key", "metric")),
                ("samples", "whole"),
                ("expected", "whole"),
                ("predicted", "whole"),
                *_VALUE,
            ),
            lambda: _iter_breakdowns(run),
        ),
        "errors": DataTable(
            (
                *((name, "text") for name in ("system", "group", "pattern", "field")),
                ("count", "whole"),
            ),
            lambda: _iter_errors(run),
        ),
        "correlations": DataTable(
            (
                *((name, "text") for name in ("system", "metric", "feature")),
                ("n", "whole"),
                *((name, "number") for name in _CORRELATION),
                ("why", "text"),
            ),
            lambda: _iter_correlations(run),
        ),
        SAMPLES: DataTable(_SAMPLE_COLUMNS, lambda: _iter_samples(run.summaries)),
    }


def _list_values(value: Estimate) -> tuple[Any, ...]:
    return (
        *(value.value, value.low, value.high, value.method, value.n, value.numerator),
        *(value.denominator, value.worst, value.best, value.higher_is_better, value.why),
    )


def _iter_metrics(run: RunData) -> Iterator[tuple[Any, ...]]:
    for name, system in run.systems:
        for key, value in system.metrics.items():
            yield name, "headline", key, *_list_values(value)
        for key, averages in system.averages.items():
            for average, value in averages.items():
                yield name, average, key, *_list_values(value)
        for key, value in system.other_policy.items():
            yield name, "other reading of invalid replies", key, *_list_values(value)
        for part, values in (
            ("latency", system.performance.latency_s),
            ("time to first token", system.performance.time_to_first_token_s),
            ("generation", system.performance.generation_s),
        ):
            for key, value in values.items():
                yield name, part, key, *_list_values(value)


def _iter_breakdowns(run: RunData) -> Iterator[tuple[Any, ...]]:
    for name, system in run.systems:
        for dimension, breakdown in system.breakdowns.items():
            for key, group in breakdown.groups.items():
                sizes = (group.samples, group.expected, group.predicted)
                for metric, value in group.metrics.items():
                    yield name, dimension, key, metric, *sizes, *_list_values(value)


def _iter_errors(run: RunData) -> Iterator[tuple[Any, ...]]:
    for name, system in run.systems:
        for group, patterns in system.errors.groups.items():
            for pattern, count in patterns.items():
                yield name, group, pattern, None, count
        for top in system.errors.top:
            yield name, top.group, top.pattern, top.path, top.count


_CORRELATION = (
    *("pearson", "pearson_low", "pearson_high"),
    *("spearman", "spearman_low", "spearman_high"),
)


def _iter_correlations(run: RunData) -> Iterator[tuple[Any, ...]]:
    for name, system in run.systems:
        for c in (*system.correlations, *system.metric_correlations):
            yield (
                *(name, c.metric, c.feature, c.n, c.pearson, c.pearson_low, c.pearson_high),
                *(c.spearman, c.spearman_low, c.spearman_high, c.why),
            )


_SAMPLE_COLUMNS: tuple[tuple[str, Kind], ...] = (
    *((name, "text") for name in ("id", "system")),
    ("repeat", "whole"),
    *((name, "text") for name in ("outcome", "domain", "language", "complexity_bin")),
    ("schema_fields", "whole"),
    ("schema_depth", "whole"),
    ("complexity", "number"),
    ("valid", "flag"),
    ("exact_match", "flag"),
    *((name, "number") for name in _SAMPLE_VALUES),
    *((name, "whole") for name in ("expected", "predicted", "missed", "spurious")),
    *((f"hallucinations_{kind}", "whole") for kind in range(1, 5)),
    ("latency_s", "number"),
    ("input_tokens", "whole"),
    ("output_tokens", "whole"),
    ("cost_usd", "number"),
    ("confidence", "number"),
    ("errors", "text"),
    ("problem", "text"),
)


def _iter_samples(summaries: dict[str, list[RowSummary]]) -> Iterator[tuple[Any, ...]]:
    for rows in summaries.values():
        for row in rows:
            values = row.metrics
            errors = "; ".join(f"{kind} {count}" for kind, count in row.errors.items())
            yield (
                *(
                    row.id,
                    row.system,
                    row.repeat,
                    row.outcome,
                    row.domain,
                    row.language,
                    row.bin,
                    row.fields,
                ),
                *(
                    row.depth,
                    row.complexity,
                    values and values.valid,
                    values and values.exact_match,
                ),
                *(values and getattr(values, name) for name in _SAMPLE_VALUES),
                *(
                    row.expected,
                    row.predicted,
                    row.missed,
                    row.spurious,
                    *row.hallucinations,
                    row.latency_s,
                ),
                *(
                    row.input_tokens,
                    row.output_tokens,
                    row.cost_usd,
                    row.confidence,
                    errors,
                    row.problem,
                ),
            )
