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

from eval.extraction.samples.sample import UNNAMED, Sample
from eval.extraction.schemas.complexity import FEATURES, Complexity, compute_fields_complexity
from eval.extraction.schemas.schema_fields import SchemaField, list_schema_fields
from eval.extraction.schemas.schema_validator import SchemaValidator
from kg.base.plain_text import clean_text

if TYPE_CHECKING:
    from rich.table import Table

BINS = ("simple", "medium", "complex")
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
    text_lengths: list[int] = []
    word_counts: list[int] = []
    output_lengths: list[int] = []
    complexities: list[Complexity] = []
    analyses: dict[bytes, tuple[str, tuple[SchemaField, ...], Complexity]] = {}
    for sample in samples:
        schema_json = msgspec.json.encode(sample.schema, order="deterministic")
        key = hashlib.sha256(schema_json).digest()
        if key not in analyses:
            validator = SchemaValidator.from_schema(sample.schema)
            fields = list_schema_fields(validator)
            analyses[key] = (validator.draft, fields, compute_fields_complexity(fields))
        draft, fields, complexity = analyses[key]
        complexities.append(complexity)
        counts["domains"][sample.domain or UNNAMED] += 1
        counts["languages"][sample.language] += 1
        counts["drafts"][draft] += 1
        _count_fields(counts, fields)
        text_lengths.append(len(sample.text))
        word_counts.append(len(sample.text.split()))
        output_lengths.append(len(msgspec.json.encode(sample.expected).decode()))
    if not complexities:
        raise ValueError("no samples")
    bin_counts = Counter(str(complexity.bin) for complexity in complexities)
    return DatasetStatistics(
        samples=len(complexities),
        rejected=rejected,
        schemas=len(analyses),
        bins={name: bin_counts[name] for name in BINS},
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
        nullable=counts["constraints"]["nullable"],
        enumerated=counts["constraints"]["enumerated"],
        formats=_sort_by_count(counts["formats"]),
        text_characters=_summarise_numbers(text_lengths),
        text_words=_summarise_numbers(word_counts),
        expected_characters=_summarise_numbers(output_lengths),
    )


_COUNTER_NAMES = (
    "domains",
    "languages",
    "drafts",
    "depths",
    "field_types",
    "required",
    "constraints",
    "formats",
)


def _count_fields(counts: dict[str, Counter[str]], fields: tuple[SchemaField, ...]) -> None:
    for field in fields:
        if field.kind == "holder":  # It only holds other fields.
            continue
        counts["depths"][str(field.depth)] += 1
        counts["field_types"].update(field.types or (UNNAMED,))
        counts["required"]["required" if field.required else "optional"] += 1
        counts["constraints"]["nullable"] += field.nullable
        counts["constraints"]["enumerated"] += field.enumerated
        counts["formats"].update(field.formats)


def _sort_by_count(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _summarise_numbers(values: Sequence[float]) -> NumberSummary:
    """Summarises numbers; quartiles by the method *inclusive* of ``statistics`` (R's type 7)."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else None
    lower, median, upper = quartiles or (values[0],) * 3
    return NumberSummary(
        least=min(values),
        lower_quartile=lower,
        median=median,
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
    n_fields = sum(stats.required.values())
    constraints = {
        **stats.required,
        "may be null": stats.nullable,
        "one of a list of values": stats.enumerated,
    }
    for title, counts in (
        ("Types of fields", stats.field_types),
        ("Depths of fields", stats.depths),
        ("Formats of fields", stats.formats),
        ("Requirements on fields", constraints),
    ):
        yield _render_count_table(title, counts, "fields", n_fields)


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
        **{name.replace("_", " "): summary for name, summary in stats.features.items()},
    }
    for name, summary in rows.items():
        numbers = (getattr(summary, field) for field in NumberSummary.__struct_fields__)
        table.add_row(name, *map(_format_number, numbers))
    return table


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def _render_count_table(title: str, counts: dict[str, int], noun: str, total: int) -> Table:
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=title, title_justify="left")
    table.add_column("")
    table.add_column(noun, justify="right")
    table.add_column("share", justify="right")
    top_counts = list(counts.items())[:MAX_TABLE_ROWS]
    n_hidden = sum(counts.values()) - sum(count for _, count in top_counts)
    for name, count in top_counts:
        table.add_row(Text(clean_text(name)), f"{count:,}", f"{count / total:.1%}")
    if len(counts) > MAX_TABLE_ROWS:
        rest_label = f"{len(counts) - MAX_TABLE_ROWS:,} others"
        table.add_row(rest_label, f"{n_hidden:,}", f"{n_hidden / total:.1%}")
    return table
