"""Finds the benchmark that wrote a run folder."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.benchmark import Benchmark
from kg.base.errors import RecordError

ENTRY_POINT_GROUP = "epoche.benchmarks"

_BUILT_IN = {
    "extraction": "eval.extraction.benchmark:EXTRACTION",
    "retrieval": "eval.ranking.benchmark:RETRIEVAL",
    "skn": "eval.skn.description:SKN",
    "synthlink": "eval.synthlink.benchmark:SYNTHLINK",
}


def find_benchmark(folder: Path) -> Benchmark[Any, Any, Any]:
    """Returns the benchmark whose manifest is in a run folder.

    Raises:
        RecordError: the folder contains no manifest of a known benchmark.
    """
    for benchmark in list_benchmarks():
        path = folder / benchmark.manifest_file
        if path.is_file() and read_kind(path) == _expected_kind(benchmark):
            return benchmark
    names = ", ".join(benchmark.name for benchmark in list_benchmarks())
    raise RecordError(
        "the folder contains no readable manifest of a known benchmark",
        where=str(folder),
        hint=f"Benchmarks that write folders: {names}.",
    )


def list_benchmarks() -> list[Benchmark[Any, Any, Any]]:
    """Returns the built-in benchmarks, and those of installed packages."""
    found = [_import_benchmark(target) for target in _BUILT_IN.values()]
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return [*found, *(point.load() for point in points)]


def _import_benchmark(target: str) -> Benchmark[Any, Any, Any]:
    module, _, name = target.partition(":")
    benchmark: Benchmark[Any, Any, Any] = getattr(importlib.import_module(module), name)
    return benchmark


def read_kind(path: Path) -> str:
    """Returns the kind that a manifest names; empty if the file is none, or cannot be read."""
    try:
        kind = msgspec.json.decode(path.read_bytes())["kind"]
    except (
        OSError,
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        LookupError,
        TypeError,
    ):
        return ""
    return kind if isinstance(kind, str) else ""


def _expected_kind(benchmark: Benchmark[Any, Any, Any]) -> str:
    fields = msgspec.structs.fields(benchmark.manifest_type)
    return next(str(field.default) for field in fields if field.name == "kind")
