"""Counts or leaves out the cards that are contradictory only by rules found in the data.

`epoche kg init` finds such rules where a publisher states none. All data confirm them, but they can
be false of the world, and then so is the gold answer NO of the cards whose proof rests on them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eval.abstention.metrics.observations import Observations
from eval.abstention.metrics.outcomes import LABEL_CODE
from kg.base.errors import SettingError
from kg.base.plain_text import format_count

_C = LABEL_CODE["C"]
_SIGNATURE_DETAIL = "mined:left-out"


def count_mined_cards(observations: Observations) -> int:
    """Counts the headline cards that rest on nothing but rules found in the data."""
    return int((observations.mined & observations.headline_mask).sum())


def describe_mined_cards(observations: Observations) -> list[str]:
    """Says how many cards rest on rules found in the data, and how many were left out for that."""
    sentences = []
    if n_mined := count_mined_cards(observations):
        labels = observations.labels[observations.headline_mask]
        sentences.append(
            f"{n_mined:,} of {format_count(int((labels == _C).sum()), 'C card')} rest on rules "
            "that were found in the data and that their publisher does not state; "
            "--without-mined leaves them out."
        )
    if observations.n_mined_left_out is not None:
        sentences.append(
            f"--without-mined left out {format_count(observations.n_mined_left_out, 'C card')} for "
            "resting only on rules found in the data; the E and U cards of the same triplets are "
            "kept, but all-three leaves out these triplets."
        )
    return sentences


def leave_out_mined_cards(observations: Observations) -> Observations:
    """Leaves out the C cards whose proof rests on nothing but rules found in the data.

    The E and U cards of the same triplets are kept; they enter all metrics but all-three.

    Raises:
        SettingError: no card remains.
    """
    is_kept = ~observations.mined
    if not is_kept.any():
        raise SettingError(
            "every card rests on rules found in the data, so none remains",
            where="--without-mined",
            hint="Leave the option out, or have the rules confirmed: `epoche kg init` says how.",
        )
    kept = np.flatnonzero(is_kept)
    _, clusters = np.unique(observations.clusters[is_kept], return_inverse=True)
    remaining = replace(
        observations,
        ids=observations.ids.take(kept),
        labels=observations.labels[is_kept],
        golds=observations.golds[is_kept],
        kinds=observations.kinds.take(is_kept),
        difficulties=observations.difficulties.take(is_kept),
        full_labels=observations.full_labels.take(is_kept),
        clusters=clusters.astype(np.int32),
        triplets=observations.triplets[is_kept],
        preds={name: codes[is_kept] for name, codes in observations.preds.items()},
        confidences={name: values[is_kept] for name, values in observations.confidences.items()},
        mined=observations.mined[is_kept],
        n_mined_left_out=int(observations.mined.sum()),
        signature_details=(*observations.signature_details, _SIGNATURE_DETAIL),
    )
    if _has_contradictions(observations) and not _has_contradictions(remaining):
        warning = (
            "Without the cards that rest on rules found in the data, no card has the answer NO, so "
            "these scores cannot show whether a system answers NO where it should."
        )
        remaining = replace(remaining, warnings=(*remaining.warnings, warning))
    return remaining


def _has_contradictions(observations: Observations) -> bool:
    return bool((observations.labels[observations.headline_mask] == _C).any())
