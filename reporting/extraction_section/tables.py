"""The numbers and samples of a run as tables: once, for CSV and for Parquet.

A column is text, a whole number, a number or yes/no. CSV guards text against spreadsheets; Parquet
keeps it as it is.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from eval.extraction.record import Estimate
from kg.base.csv_text import to_csv
from reporting.extraction_section.points import Point
from reporting.extraction_section.shown import Shown

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
class Table:
    """A table.

    Attributes:
        columns: name and kind.
        rows: makes its rows anew each time, each with one value or ``None`` a column.
    """

    columns: tuple[tuple[str, Kind], ...]
    rows: Callable[[], Iterable[Sequence[Any]]]

    def csv(self) -> str:
        """As guarded CSV."""
        return to_csv([name for name, _ in self.columns], self.rows())

    def parquet(self) -> bytes:
        """As Parquet, compressed; the same table gives the same bytes with one pyarrow.

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
                column.append(_storable(value))
        arrays = [
            pa.array(column, kinds[kind])
            for column, (_, kind) in zip(columns, self.columns, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, names=[name for name, _ in self.columns])
        out = io.BytesIO()
        parquet.write_table(table, out, compression="zstd")
        return out.getvalue()


def _storable(value: Any) -> Any:
    """Text without lone surrogates, which no UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value


def has_parquet() -> bool:
    """Whether Parquet can be written here."""
    return find_spec("pyarrow") is not None


def tables_of(shown: Shown) -> dict[str, Table]:
    """Every table of a run by name."""
    return {
        "metrics": Table(
            (("system", "text"), ("group", "text"), ("metric", "text"), *_VALUE),
            lambda: _metrics(shown),
        ),
        "breakdowns": Table(
            (
                *((name, "text") for name in ("system", "dimension", "key", "metric")),
                ("samples", "whole"),
                ("expected", "whole"),
                ("predicted", "whole"),
                *_VALUE,
            ),
            lambda: _breakdowns(shown),
        ),
        "errors": Table(
            (
                *((name, "text") for name in ("system", "group", "pattern", "field")),
                ("count", "whole"),
            ),
            lambda: _errors(shown),
        ),
        "correlations": Table(
            (
                *((name, "text") for name in ("system", "metric", "feature")),
                ("n", "whole"),
                *((name, "number") for name in _CORRELATION),
                ("why", "text"),
            ),
            lambda: _correlations(shown),
        ),
        SAMPLES: Table(_SAMPLE_COLUMNS, lambda: _samples(shown.points)),
    }


def _of(value: Estimate) -> tuple[Any, ...]:
    return (
        *(value.value, value.low, value.high, value.method, value.n, value.numerator),
        *(value.denominator, value.worst, value.best, value.higher_is_better, value.why),
    )


def _metrics(shown: Shown) -> Iterator[tuple[Any, ...]]:
    for name, one in shown.systems:
        for key, value in one.metrics.items():
            yield name, "headline", key, *_of(value)
        for key, averages in one.averages.items():
            for average, value in averages.items():
                yield name, average, key, *_of(value)
        for key, value in one.other_policy.items():
            yield name, "other reading of invalid replies", key, *_of(value)
        for part, values in (
            ("latency", one.performance.latency_s),
            ("time to first token", one.performance.time_to_first_token_s),
            ("generation", one.performance.generation_s),
        ):
            for key, value in values.items():
                yield name, part, key, *_of(value)


def _breakdowns(shown: Shown) -> Iterator[tuple[Any, ...]]:
    for name, one in shown.systems:
        for dimension, found in one.breakdowns.items():
            for key, group in found.groups.items():
                sizes = (group.samples, group.expected, group.predicted)
                for metric, value in group.metrics.items():
                    yield name, dimension, key, metric, *sizes, *_of(value)


def _errors(shown: Shown) -> Iterator[tuple[Any, ...]]:
    for name, one in shown.systems:
        for group, patterns in one.errors.groups.items():
            for pattern, count in patterns.items():
                yield name, group, pattern, None, count
        for top in one.errors.top:
            yield name, top.group, top.pattern, top.path, top.count


_CORRELATION = (
    *("pearson", "pearson_low", "pearson_high"),
    *("spearman", "spearman_low", "spearman_high"),
)


def _correlations(shown: Shown) -> Iterator[tuple[Any, ...]]:
    for name, one in shown.systems:
        for c in (*one.correlations, *one.metric_correlations):
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


def _samples(points: dict[str, list[Point]]) -> Iterator[tuple[Any, ...]]:
    for mine in points.values():
        for p in mine:
            found = p.values
            said = "; ".join(f"{kind} {count}" for kind, count in p.errors.items())
            yield (
                *(p.id, p.system, p.repeat, p.outcome, p.domain, p.language, p.bin, p.fields),
                *(p.depth, p.complexity, found and found.valid, found and found.exact_match),
                *(found and getattr(found, name) for name in _SAMPLE_VALUES),
                *(p.expected, p.predicted, p.missed, p.spurious, *p.hallucinations, p.latency_s),
                *(p.input_tokens, p.output_tokens, p.cost_usd, p.confidence, said, p.problem),
            )
