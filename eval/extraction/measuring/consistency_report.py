"""What the repeats of a run say of its consistency, with intervals over the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eval.extraction.measuring.consistency import COLUMNS
from eval.extraction.measuring.gathering import Gathered
from eval.extraction.measuring.resampling import Part
from eval.extraction.record import Consistency
from eval.stats.intervals import Resampled
from eval.stats.measured import Measure, values

_NAMES = tuple(f"{name}{side}" for side in (":sum", ":n") for name in COLUMNS)
_ONCE = "no sample has two replies"
_WHY = (_ONCE, _ONCE, "no number came in two replies", "no number but 0 came in two replies")
_BETTER = (True, True, False, False)
_UNITS = (True, True, False, False)
_MEASURES = tuple(
    Measure(
        name,
        {f"{name}:sum": 1.0},
        {f"{name}:n": 1.0},
        better,
        unit=unit,
        missing="",
        nothing=why,
    )
    for name, why, better, unit in zip(COLUMNS, _WHY, _BETTER, _UNITS, strict=True)
)


def consistency_part(gathered: Gathered, places: NDArray[np.int64], samples: int) -> Part:
    """The sums by sample, to be resampled; empty where each sample was put once.

    Args:
        gathered: a system's rows.
        places: place in the run of each of its samples.
        samples: how many the run has.
    """
    table = np.zeros((samples, len(_NAMES)))
    if gathered.prints is not None:
        own = gathered.prints.per_sample(len(places))
        known = ~np.isnan(own)
        table[places] = np.concatenate([np.where(known, own, 0.0), known], axis=1)
    return Part(None, table)


def consistency(data: Resampled, confidence: float) -> Consistency:
    """The four numbers."""
    found = values(_MEASURES, _NAMES, data, confidence=confidence, repeated=True)
    exact, field, variance, variation = (found[name] for name in COLUMNS)
    return Consistency(
        samples=exact.n,
        exact_match_consistency=exact,
        field_level_consistency=field,
        value_variance=variance,
        value_variation=variation,
    )
