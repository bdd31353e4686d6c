"""What a set of samples consists of: complexity, domains, languages, field types, text lengths.

Numbers made of a set mean little to a reader who does not know what it asks for; these say it.
"""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.complexity import FEATURES, Complexity, complexity_of_fields
from eval.extraction.schemas.schema_check import SchemaCheck
from eval.extraction.schemas.schema_fields import SchemaField, fields_of
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from rich.table import Table

BINS = ("simple", "medium", "complex")
UNNAMED = "(none)"
"""Stands for a domain that no sample names, and a type that no schema says."""
MOST_SHOWN = 20
"""Rows a table of counts has on the terminal; the JSON has all."""


class Spread(msgspec.Struct, frozen=True):
    """How numbers are spread."""

    least: float
    lower_quartile: float
    median: float
    mean: float
    upper_quartile: float
    most: float


class DatasetStatistics(msgspec.Struct, frozen=True):
    """What a set of samples consists of. Counts are of samples unless said otherwise."""

    samples: int
    rejected: int
    """Rows that were left out because they are no samples."""
    schemas: int
    """Distinct schemas."""
    bins: dict[str, int]
    """By complexity, simplest first."""
    score: Spread
    """Of the complexity score."""
    features: dict[str, Spread]
    """Of the complexity features; those that are yes or no count as 1 or 0."""
    domains: dict[str, int]
    """The most frequent first, as all that follow."""
    languages: dict[str, int]
    drafts: dict[str, int]
    """Of JSON Schema."""
    depths: dict[str, int]
    """Declared fields by nesting depth, shallowest first."""
    field_types: dict[str, int]
    """Declared fields by type; one of several types counts under each."""
    required: dict[str, int]
    """Declared fields by whether their object must have them."""
    nullable: int
    """Declared fields that may be null."""
    enumerated: int
    """Declared fields that must be one of given values."""
    formats: dict[str, int]
    """Declared fields by the format they must have."""
    text_characters: Spread
    text_words: Spread
    """Runs of characters between white space, which says little of scripts that set none."""
    expected_characters: Spread
    """Of the expected output, written as compact JSON."""


def statistics_of(samples: Iterable[Sample], rejected: int = 0) -> DatasetStatistics:
    """What ``samples`` consist of. Each distinct schema is analysed once.

    Args:
        samples: at least one.
        rejected: rows that were left out before, for the record.

    Raises:
        ValueError: there are no samples.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTED}
    texts: list[int] = []
    words: list[int] = []
    outputs: list[int] = []
    complexities: list[Complexity] = []
    known: dict[bytes, tuple[str, tuple[SchemaField, ...], Complexity]] = {}
    for sample in samples:
        content = msgspec.json.encode(sample.schema, order="deterministic")
        key = hashlib.sha256(content).digest()
        if key not in known:
            check = SchemaCheck.of(sample.schema)
            paths = fields_of(check)
            known[key] = (check.draft, paths, complexity_of_fields(paths))
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
    binned = Counter(str(one.bin) for one in complexities)
    return DatasetStatistics(
        samples=len(complexities),
        rejected=rejected,
        schemas=len(known),
        bins={name: binned[name] for name in BINS},
        score=_spread([one.score for one in complexities]),
        features={
            name: _spread([float(getattr(one, name)) for one in complexities]) for name in FEATURES
        },
        domains=_sorted(counts["domains"]),
        languages=_sorted(counts["languages"]),
        drafts=_sorted(counts["drafts"]),
        depths={key: counts["depths"][key] for key in sorted(counts["depths"], key=int)},
        field_types=_sorted(counts["field_types"]),
        required=_sorted(counts["required"]),
        nullable=counts["marks"]["nullable"],
        enumerated=counts["marks"]["enumerated"],
        formats=_sorted(counts["formats"]),
        text_characters=_spread(texts),
        text_words=_spread(words),
        expected_characters=_spread(outputs),
    )


_COUNTED = (
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


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _spread(values: Sequence[float]) -> Spread:
    """Quartiles as ``statistics.quantiles`` has them with the method *inclusive* (R's type 7)."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else None
    lower, middle, upper = quartiles or (values[0],) * 3
    return Spread(
        least=min(values),
        lower_quartile=lower,
        median=middle,
        mean=statistics.fmean(values),
        upper_quartile=upper,
        most=max(values),
    )


def describe(found: DatasetStatistics) -> Iterator[Table]:
    """The statistics as tables for a terminal."""
    yield _spread_table(found)
    for title, counts in (
        ("Complexity", found.bins),
        ("Domains", found.domains),
        ("Languages", found.languages),
        ("Drafts of JSON Schema", found.drafts),
    ):
        yield _count_table(title, counts, "samples", found.samples)
    fields = sum(found.required.values())
    marks = {
        **found.required,
        "may be null": found.nullable,
        "one of given values": found.enumerated,
    }
    for title, counts in (
        ("Types of fields", found.field_types),
        ("Depths of fields", found.depths),
        ("Formats of fields", found.formats),
        ("Demands on fields", marks),
    ):
        yield _count_table(title, counts, "fields", fields)


def _spread_table(found: DatasetStatistics) -> Table:
    from rich.table import Table as RichTable

    left_out = f", {_counted(found.rejected, 'row')} left out" if found.rejected else ""
    title = f"{_counted(found.samples, 'sample')} of {_counted(found.schemas, 'schema')}{left_out}"
    table = RichTable(title=title, title_justify="left")
    table.add_column("per sample")
    for name in ("least", "quartile", "median", "mean", "quartile", "most"):
        table.add_column(name, justify="right")
    rows = {
        "characters of text": found.text_characters,
        "words of text": found.text_words,
        "characters of expected output": found.expected_characters,
        "complexity score": found.score,
        **{name.replace("_", " "): spread for name, spread in found.features.items()},
    }
    for name, spread in rows.items():
        numbers = (getattr(spread, field) for field in Spread.__struct_fields__)
        table.add_row(name, *map(_short, numbers))
    return table


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def _count_table(title: str, counts: dict[str, int], what: str, total: int) -> Table:
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=title, title_justify="left")
    table.add_column("")
    table.add_column(what, justify="right")
    table.add_column("share", justify="right")
    shown = list(counts.items())[:MOST_SHOWN]
    rest = sum(counts.values()) - sum(count for _, count in shown)
    for name, count in shown:
        table.add_row(Text(plain(name)), f"{count:,}", f"{count / total:.1%}")
    if len(counts) > MOST_SHOWN:
        others = f"{len(counts) - MOST_SHOWN:,} others"
        table.add_row(others, f"{rest:,}", f"{rest / total:.1%}")
    return table
