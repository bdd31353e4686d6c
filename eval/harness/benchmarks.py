"""Finds the benchmark that wrote a run folder."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import msgspec

from eval.harness.benchmark import Benchmark
from kg.base.errors import RecordError

ENTRY_POINT_GROUP = "epoche.benchmarks"
SHARED_MANIFEST = "manifest.json"
"""Name of the manifest of most benchmarks, and of the scores of SynthLink."""

_BUILT_IN = {
    "extraction": "eval.extraction.benchmark:EXTRACTION",
    "retrieval": "eval.retrieval_eval.benchmark:RETRIEVAL",
    "skn": "eval.skn.benchmark:SKN",
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


def find_measured_benchmark(folder: Path) -> Benchmark[Any, Any, Any]:
    """Does the same as ``find_benchmark``, also for folders of scores without a run."""
    kind = read_kind(folder / SHARED_MANIFEST)
    for benchmark in list_benchmarks() if kind else ():
        if benchmark.scores_kind == kind:
            return benchmark
    return find_benchmark(folder)


def find_other_benchmark(folder: Path, manifest_type: type[msgspec.Struct]) -> str:
    """Returns the name of the benchmark that a folder is of, if it is not that of a manifest type.

    Args:
        folder: the folder.
        manifest_type: type of the manifest that the folder should contain.

    Returns:
        The name, or the kind that the manifest in the folder has if no benchmark has this kind.
        Empty if the folder may be of the type's benchmark, or the type has no kind.
    """
    own = _read_default_kind(manifest_type)
    if not own:
        return ""
    names = {_expected_kind(item): item.name for item in list_benchmarks()}
    files = dict.fromkeys([SHARED_MANIFEST, *(item.manifest_file for item in list_benchmarks())])
    kinds = [kind for kind in (read_kind(folder / name) for name in files) if kind]
    found = [names.get(kind, kind) for kind in kinds]
    return "" if not found or names.get(own, own) in found else found[0]


def list_benchmarks() -> list[Benchmark[Any, Any, Any]]:
    """Returns the built-in benchmarks, and those of installed packages."""
    found = [_import_benchmark(target) for target in _BUILT_IN.values()]
    return [*found, *(point.load() for point in _find_entry_points(tuple(sys.path)))]


@cache
def _find_entry_points(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Finds the benchmarks of packages on the path; reads a file of each package, so only once.

    What a running process installs into a folder that was on the path before is not found until the
    next process.
    """
    return tuple(sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name))


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
    return _read_default_kind(benchmark.manifest_type)


def _read_default_kind(manifest_type: type[msgspec.Struct]) -> str:
    """Returns the kind of a type of manifest; empty if it has none."""
    fields = msgspec.structs.fields(manifest_type)
    return next((str(field.default) for field in fields if field.name == "kind"), "")
