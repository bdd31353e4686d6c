"""Adds the manifests of runs to the files that were read, and says what they are to be told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.abstention.manifest import RunManifest, read_manifest
from kg.base.plain_text import clean_text, join_list
from kg.base.provenance import manifest_path

if TYPE_CHECKING:
    from eval.abstention.metrics.record import Source


def attach_manifests(
    sources: Sequence[Source], files: Sequence[Path], suffixes: dict[Path, str]
) -> tuple[list[Source], list[str], list[str]]:
    """Adds each file's manifest to its source; also returns the oracles and notes on the runs."""
    extended_sources: list[Source] = []
    oracles: list[str] = []
    notes: list[str] = []
    for source, path in zip(sources, files, strict=True):
        manifest_file = manifest_path(path)
        if not manifest_file.is_file():
            extended_sources.append(source)
            continue
        manifest = read_manifest(manifest_file)
        suffix = suffixes.get(path, "")
        oracle_names = [name + suffix for name in manifest.oracles]
        oracles += oracle_names
        notes += [
            f"{name} is a declared oracle: it was given the claims, not only the cards."
            for name in oracle_names
        ]
        notes += _describe_measures(manifest, suffix)
        if manifest.status != "complete":
            notes.append(f"The run of {', '.join(source.systems)} is not complete.")
        extended_sources.append(
            msgspec.structs.replace(
                source,
                # These are of use only beside the rows, and digests of lines are long.
                manifest=msgspec.to_builtins(
                    msgspec.structs.replace(
                        manifest, line_digests=msgspec.UNSET, statistics_sha256=msgspec.UNSET
                    )
                ),
            )
        )
    return extended_sources, oracles, notes


def _describe_measures(manifest: RunManifest, suffix: str) -> list[str]:
    """Describes what systems' answers measure, if their parameters say so under ``measures``."""
    has_one_system = len(manifest.systems) == 1
    params_by_system = {manifest.systems[0]: manifest.params} if has_one_system else manifest.params
    systems_by_measure: dict[str, list[str]] = {}
    for name in manifest.systems:
        params = params_by_system.get(name)
        measure = params.get("measures") if isinstance(params, dict) else None
        if isinstance(measure, str):
            systems_by_measure.setdefault(clean_text(measure), []).append(name + suffix)
    return [
        f"{join_list(names)} measure {measure}." for measure, names in systems_by_measure.items()
    ]
