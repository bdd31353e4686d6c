"""Computes statistics of a set of samples: complexity, domains, languages, field types, lengths.

They describe the tasks of a data set, which a reader needs to interpret scores on it.
"""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import FEATURES, Complexity, compute_fields_complexity
from eval.extraction.schemas.schema_fields import SchemaField, list_schema_fields
from eval.extraction.schemas.schema_validator import SchemaValidator
from kg.words.plain_text import clean_text

if TYPE_CHECKING:
    from rich.table import Table

BINS = ("simple", "medium", "complex")
UNNAMED = "(none)"
"""Key for samples without a domain, and for fields without a type."""
MAX_TABLE_ROWS = 20
"""Maximum rows of a table of counts on the terminal; the JSON has all."""


class NumberSummary(msgspec.Struct, frozen=True):
    """Minimum, quartiles, mean and maximum of numbers."""

    least: float
    lower_quartile: float
    median: float
    mean: float
    upper_quartile: float
    most: float


class DatasetStatistics(msgspec.Struct, frozen=True):
    """Statistics of a set of samples. Counts are numbers of samples unless stated otherwise."""

    samples: int
    rejected: int
    """Number of malformed rows that were left out."""
    schemas: int
    """Number of distinct schemas."""
    bins: dict[str, int]
    """Samples by complexity bin, simplest first."""
    score: NumberSummary
    """Complexity scores."""
    features: dict[str, NumberSummary]
    """Complexity features; yes/no features count as 1 or 0."""
    domains: dict[str, int]
    """Most frequent first, like the other counts below."""
    languages: dict[str, int]
    drafts: dict[str, int]
    """Drafts of JSON Schema."""
    depths: dict[str, int]
    """Declared fields by nesting depth, shallowest first."""
    field_types: dict[str, int]
    """Declared fields by type; a field with several types counts under each."""
    required: dict[str, int]
    """Declared fields by ``required`` and ``optional``."""
    nullable: int
    """Declared fields that may be null."""
    enumerated: int
    """Declared fields that must be one of a list of values."""
    formats: dict[str, int]
    """Declared fields by their format."""
    text_characters: NumberSummary
    text_words: NumberSummary
    """Words separated by white space; not meaningful for scripts without white space."""
    expected_characters: NumberSummary
    """Length of the expected output as compact JSON."""


def compute_statistics(samples: Iterable[Sample], rejected: int = 0) -> DatasetStatistics:
    """Computes the statistics of ``samples``. Each distinct schema is analysed once.

    Args:
        samples: at least one sample.
        rejected: number of malformed rows that were left out, only reported.

    Raises:
        ValueError: there are no samples.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTER_NAMES}
    texts: list[int] = []
    words: list[int] = []
    outputs: list[int] = []
    complexities: list[Complexity] = []
    known: dict[bytes, tuple[str, tuple[SchemaField, ...], Complexity]] = {}
    for sample in samples:
        content = msgspec.json.encode(sample.schema, order="deterministic")
        key = hashlib.sha256(content).digest()
        if key not in known:
            check = SchemaValidator.from_schema(sample.schema)
            paths = list_schema_fields(check)
            known[key] = (check.draft, paths, compute_fields_complexity(paths))
        draft, paths, complexity = known[key]
        complexities.append(complexity)
        counts["domains"][sample.domain or UNNAMED] += 1
        counts["languages"][sample.language] += 1
        counts["drafts"][draft] += 1
        _count_fields(counts, paths)
        texts.append(len(sample.text))
        words.append(len(sample.text.split()))
        outputs.append(len(msgspec.json.encode(sample.expected).decode()))
    if not complexities:
        raise ValueError("no samples")
    binned = Counter(str(complexity.bin) for complexity in complexities)
    return DatasetStatistics(
        samples=len(complexities),
        rejected=rejected,
        schemas=len(known),
        bins={name: binned[name] for name in BINS},
        score=_summarise_numbers([complexity.score for complexity in complexities]),
        features={
            name: _summarise_numbers(
                [float(getattr(complexity, name)) for complexity in complexities]
            )
            for name in FEATURES
        },
        domains=_sort_by_count(counts["domains"]),
        languages=_sort_by_count(counts["languages"]),
        drafts=_sort_by_count(counts["drafts"]),
        depths={key: counts["depths"][key] for key in sorted(counts["depths"], key=int)},
        field_types=_sort_by_count(counts["field_types"]),
        required=_sort_by_count(counts["required"]),
        nullable=counts["marks"]["nullable"],
        enumerated=counts["marks"]["enumerated"],
        formats=_sort_by_count(counts["formats"]),
        text_characters=_summarise_numbers(texts),
        text_words=_summarise_numbers(words),
        expected_characters=_summarise_numbers(outputs),
    )


_COUNTER_NAMES = (
    "domains",
    "languages",
    "drafts",
    "depths",
    "field_types",
    "required",
    "marks",
    "formats",
)


def _count_fields(counts: dict[str, Counter[str]], paths: tuple[SchemaField, ...]) -> None:
    for field in paths:
        if field.kind != "field":
            continue
        counts["depths"][str(field.depth)] += 1
        counts["field_types"].update(field.types or (UNNAMED,))
        counts["required"]["required" if field.required else "optional"] += 1
        counts["marks"]["nullable"] += field.nullable
        counts["marks"]["enumerated"] += field.enumerated
        counts["formats"].update(field.formats)


def _sort_by_count(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _summarise_numbers(values: Sequence[float]) -> NumberSummary:
    """Summarises numbers; quartiles by the method *inclusive* of ``statistics`` (R's type 7)."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else None
    lower, middle, upper = quartiles or (values[0],) * 3
    return NumberSummary(
        least=min(values),
        lower_quartile=lower,
        median=middle,
        mean=statistics.fmean(values),
        upper_quartile=upper,
        most=max(values),
    )


def render_tables(stats: DatasetStatistics) -> Iterator[Table]:
    """Renders the statistics as tables for a terminal."""
    yield _render_summary_table(stats)
    for title, counts in (
        ("Complexity", stats.bins),
        ("Domains", stats.domains),
        ("Languages", stats.languages),
        ("Drafts of JSON Schema", stats.drafts),
    ):
        yield _render_count_table(title, counts, "samples", stats.samples)
    fields = sum(stats.required.values())
    marks = {
        **stats.required,
        "may be null": stats.nullable,
        "one of a list of values": stats.enumerated,
    }
    for title, counts in (
        ("Types of fields", stats.field_types),
        ("Depths of fields", stats.depths),
        ("Formats of fields", stats.formats),
        ("Requirements on fields", marks),
    ):
        yield _render_count_table(title, counts, "fields", fields)


def _render_summary_table(stats: DatasetStatistics) -> Table:
    from rich.table import Table as RichTable

    left_out = f", {_format_count(stats.rejected, 'row')} left out" if stats.rejected else ""
    schemas = _format_count(stats.schemas, "schema")
    title = f"{_format_count(stats.samples, 'sample')} of {schemas}{left_out}"
    table = RichTable(title=title, title_justify="left")
    table.add_column("per sample")
    for name in ("min", "quartile", "median", "mean", "quartile", "max"):
        table.add_column(name, justify="right")
    rows = {
        "characters of text": stats.text_characters,
        "words of text": stats.text_words,
        "characters of expected output": stats.expected_characters,
        "complexity score": stats.score,
        **{name.replace("_", " "): spread for name, spread in stats.features.items()},
    }
    for name, spread in rows.items():
        numbers = (getattr(spread, field) for field in NumberSummary.__struct_fields__)
        table.add_row(name, *map(_format_number, numbers))
    return table


def _format_count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def _render_count_table(title: str, counts: dict[str, int], what: str, total: int) -> Table:
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=title, title_justify="left")
    table.add_column("")
    table.add_column(what, justify="right")
    table.add_column("share", justify="right")
    shown = list(counts.items())[:MAX_TABLE_ROWS]
    n_hidden = sum(counts.values()) - sum(count for _, count in shown)
    for name, count in shown:
        table.add_row(Text(clean_text(name)), f"{count:,}", f"{count / total:.1%}")
    if len(counts) > MAX_TABLE_ROWS:
        others = f"{len(counts) - MAX_TABLE_ROWS:,} others"
        table.add_row(others, f"{n_hidden:,}", f"{n_hidden / total:.1%}")
    return table
