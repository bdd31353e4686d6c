"""Measures what a user names: results of cards, or run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.metrics.measurement import Measurement, PolicyName, ResamplingPlan
from eval.runs.measurement import measure_folders


def measure_paths(
    paths: Sequence[Path],
    plan: ResamplingPlan,
    *,
    baseline: Sequence[Path] = (),
    policy: PolicyName = "licensed",
    cards: Sequence[Path] = (),
    common: bool = True,
    without_mined: bool = False,
    allow_changed: bool = False,
) -> Measurement:
    """Measures run folders of one benchmark, or result files of cards.

    Args:
        paths: the folders or files.
        plan: how cards or items are resampled.
        baseline: earlier runs of the same kind, which are measured together with these.
        policy: only for cards, as are the following: as in ``measure_cards``.
        cards: as in ``measure_cards``.
        common: as in ``measure_cards``. Folders are always measured on the items of all runs.
        without_mined: as in ``measure_cards``.
        allow_changed: of folders and files, as in ``measure_folders`` and ``measure_cards``.

    Raises:
        SettingError, EpocheError: as in ``measure_folders`` and ``measure_cards``.
    """
    if any(path.is_dir() for path in paths):
        return measure_folders([*paths, *baseline], plan, allow_changed=allow_changed)
    from eval.abstention.measurement import measure_cards

    return measure_cards(
        paths,
        plan,
        baseline=baseline,
        policy=policy,
        cards=cards,
        common=common,
        without_mined=without_mined,
        allow_changed=allow_changed,
    )
