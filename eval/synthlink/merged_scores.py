"""Finds the settings with which a merged SynthLink run is scored: those of its shards' scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from eval.synthlink.file_scorer import SHIPPED_DOMAIN, SHIPPED_NAME
from eval.synthlink.files import PREDICTIONS
from eval.synthlink.scoring.manifest import SynthLinkManifest, read_manifest
from eval.synthlink.scoring.options import NO_RESOURCE, ScoreOptions
from eval.synthlink.scoring.outputs import MANIFEST_FILE

_OF_ONE_SHARD = (
    *("predictions", "predictions_sha256", "files_sha256", "repeats", "catalog", "pages"),
    "signature",
    "versions",
)
"""Fields that may differ between shards: what was scored, where, and on which machine."""


def build_score_options(shards: Sequence[Path], out: Path) -> ScoreOptions | str:
    """Returns the settings with which a run without shards would have been scored.

    Args:
        shards: the folders of the shards.
        out: the merged folder.

    Returns:
        The settings; or, as a clause, why the merged run cannot be scored.

    Raises:
        RecordError: the manifest of a shard's scores is damaged.
    """
    without = [shard for shard in shards if not (shard / MANIFEST_FILE).is_file()]
    if without:
        return f"{without[0]} has no scores (`epoche synthlink score` computes them)"
    manifests = [read_manifest(shard) for shard in shards]
    first = manifests[0]
    for shard, manifest in zip(shards, manifests, strict=True):
        theirs, ours = _get_settings(manifest), _get_settings(first)
        different = [name for name in ours if theirs[name] != ours[name]]
        if different:
            return f"{shards[0]} and {shard} were scored with another {different[0]}"
    if first.judge is not None:
        return "a model judged the shards' claims (`epoche synthlink score --judge-model` asks it)"
    if first.domain not in ("", SHIPPED_DOMAIN):
        return f"the place of the domain {first.domain} is not known (`epoche synthlink score`)"
    thresholds = {first.thresholds.correct, first.readings.correct}
    return ScoreOptions(
        predictions=out / PREDICTIONS,
        output_dir=out,
        catalog=None if first.catalog == SHIPPED_NAME else shards[0] / first.catalog,
        mode="both" if len(first.modes) > 1 else first.modes[0],
        compare=tuple(shards[0] / compared.file for compared in first.compared),
        domain=first.domain or NO_RESOURCE,
        pages=_find_pages(shards[0], first),
        correct=thresholds.pop() if len(thresholds) == 1 else None,
        confidence=first.confidence,
        resamples=first.resamples,
        seed=first.seed,
    )


def _get_settings(manifest: SynthLinkManifest) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(manifest)
    compared = [item["sha256"] for item in fields["compared"]]
    settings = {name: value for name, value in fields.items() if name not in _OF_ONE_SHARD}
    return settings | {"compared": compared, "judge": manifest.judge is not None}


def _find_pages(shard: Path, manifest: SynthLinkManifest) -> str | None:
    if manifest.pages == SHIPPED_NAME:
        return None
    return str(shard / manifest.pages) if manifest.pages else NO_RESOURCE
