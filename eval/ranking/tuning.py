"""How the ensemble is fused, chosen on the dev questions, so that the test questions stay unseen.

Tried is every way to share out five fifths of weight, with ranks and with scores fused, and with
each set of components. Finer steps would only follow the noise of so few questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from eval.ranking.ablation import Fuser
from eval.ranking.measures import HEADLINE, MEASURES, per_question
from eval.ranking.rankings import Rankings
from eval.ranking.record import Tuning
from kg.base.errors import RecordError
from retrieval.ensemble import Method

STEPS = 5

Shares = tuple[int, ...]


class Setting(NamedTuple):
    """One way to fuse."""

    shares: Shares
    """Fifths of the weight, by component."""
    method: Method
    components: int
    """Which set of components."""


def tune(
    fuser: Fuser,
    sets: Sequence[Mapping[str, Rankings]],
    watched: Callable[[Sequence[Setting]], Iterable[Setting]] = iter,
) -> Tuning:
    """The way to fuse that has the greatest mean ``nDCG@10``.

    Of equally good ones that with the most equal weights is taken, then ranks before scores, then
    the first set of components.

    Args:
        fuser: over the dev questions.
        sets: of components, by name; all of one size, which is at least one.
        watched: passes the settings to try through; shows progress.

    Raises:
        RecordError: no question has gold.
    """
    # Unanswerable questions have no value, so nothing is fused for them.
    fuser = Fuser(fuser.passages, [one for one in fuser.questions if one.answerable], fuser.depth)

    if not fuser.questions:
        raise RecordError(
            "no dev question has gold", where="--tune", hint="There is nothing to tune on."
        )

    def value(setting: Setting) -> float:
        parts = list(sets[setting.components].values())
        fused = fuser.fuse(parts, "tuned", _weights(setting), setting.method)
        scores = per_question(fused, fuser.questions)
        return float(scores[:, MEASURES.index(HEADLINE)].mean())

    tried = list(settings(len(sets[0]), len(sets)))
    best, chosen = -1.0, tried[0]
    for setting in watched(tried):
        found = value(setting)
        if found > best + 1e-12:
            best, chosen = found, setting
    equal = Setting((1,) * len(sets[0]), "rrf", 0)
    return Tuning(
        measure=HEADLINE,
        n=len(fuser.questions),
        tried=len(tried),
        components=tuple(sets[chosen.components]),
        weights=_weights(chosen),
        fusion=chosen.method,
        value=best,
        value_untuned=value(equal),
    )


def settings(components: int, sets: int) -> Iterator[Setting]:
    """Every setting tried, the most equal weights first."""
    by_evenness = sorted(
        shares(STEPS, components), key=lambda one: (sum(share * share for share in one), one)
    )
    for one in by_evenness:
        for method in get_args(Method):
            for number in range(sets):
                yield Setting(one, method, number)


def shares(total: int, count: int) -> Iterator[Shares]:
    """Every way to share ``total`` equal pieces out among ``count``, in ascending order."""
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in shares(total - first, count - 1):
            yield (first, *rest)


def _weights(setting: Setting) -> tuple[float, ...]:
    return tuple(share / sum(setting.shares) for share in setting.shares)
