"""From the rows of a run to its report.

Rows are read once and streamed into ``Gathered``, by system; everything else is made of that. What
is gathered from the halves of a run and merged gives the report of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from eval.extraction.measuring.gathering import WHOLE, Gathered, gather
from eval.extraction.measuring.measure_plan import Plan as Plan
from eval.extraction.measuring.notes import run_notes
from eval.extraction.measuring.system_report import system_report
from eval.extraction.record import ExtractionReport
from eval.extraction.row import ExtractionRow
from eval.stats.intervals import Draws, tidy
from kg.base.errors import DuplicateIdError, RecordError
from kg.base.files import sha256_bytes
from kg.base.provenance import package_version


def aggregate(rows: Iterable[ExtractionRow], plan: Plan | None = None) -> ExtractionReport:
    """Measures a run.

    Args:
        rows: of any number of systems, in any order; read once.
        plan: how to measure.

    Raises:
        RecordError: no rows, two that contradict each other about a sample, or more repeats than
            planned.
        DuplicateIdError: two rows of one sample, system and repeat.
    """
    plan = plan or Plan()
    return report_of(gather(rows, repeated=plan.repeats > 1), plan)


def report_of(gathered: Mapping[str, Gathered], plan: Plan) -> ExtractionReport:
    """The report of what was gathered, by system.

    Raises:
        RecordError, DuplicateIdError: as ``aggregate``.
    """
    for system, one in gathered.items():
        _refuse_repeated(system, one, plan.repeats)
    expected = _expected(gathered)
    if not expected:
        raise RecordError("no rows to measure", hint="Run `epoche extract run` first.")
    names = sorted(expected)
    place = {name: number for number, name in enumerate(names)}
    draws = Draws(len(names), plan.resamples, plan.seed)
    systems = {}
    for name, one in sorted(gathered.items()):
        places = np.array([place[sample] for sample in one.ids], dtype=np.int64)
        one.sort(places)
        systems[name] = system_report(one, places, draws, plan)
    digest = sha256_bytes(msgspec.json.encode([[name, expected[name]] for name in names]))[:12]
    version = package_version()
    weights = msgspec.structs.asdict(plan.weights)
    return ExtractionReport(
        version=version,
        signature=_signature(digest, len(names), plan, version),
        samples=digest,
        n_samples=len(names),
        repeats=plan.repeats,
        n_expected=sum(expected.values()),
        systems=systems,
        invalid=plan.invalid,
        average=plan.average,
        weights={
            name: tidy(share) for name, share in zip(weights, plan.weights.shares, strict=True)
        },
        confidence=plan.confidence,
        resamples=plan.resamples,
        seed=plan.seed,
        notes=tuple(run_notes(len(names), plan)),
    )


def _refuse_repeated(system: str, gathered: Gathered, repeats: int) -> None:
    """Refuses rows that would count twice.

    Raises:
        RecordError: more repeats than planned, which would be taken for independent samples.
        DuplicateIdError: two rows of one sample and repeat.
    """
    whole = gathered.whole
    found = whole[:, [WHOLE.index("sample"), WHOLE.index("repeat")]]
    names = list(gathered.ids)
    most = int(found[:, 1].max(initial=0)) + 1
    if most > repeats:
        raise RecordError(
            f"rows of {most} repeats, where {repeats} were planned",
            where=system,
            hint="Measure them by a plan of as many repeats as the run made.",
        )
    distinct, times = np.unique(found, axis=0, return_counts=True)
    if (times > 1).any():
        sample, repeat = distinct[times > 1][0].tolist()
        raise DuplicateIdError(
            f"two rows of sample {names[sample]!r}, repeat {repeat}",
            where=system,
            hint="Were two runs joined? Keep one of them.",
        )


def _expected(gathered: Mapping[str, Gathered]) -> dict[str, int]:
    """Number of expected fields by sample.

    Raises:
        RecordError: two rows disagree about it, so that they are not of one run.
    """
    found: dict[str, int] = {}
    for system, one in gathered.items():
        names = list(one.ids)
        whole = one.whole[:, [WHOLE.index("sample"), WHOLE.index("expected")]]
        for place, count in np.unique(whole, axis=0).tolist():
            if found.setdefault(names[place], count) != count:
                raise RecordError(
                    f"rows of sample {names[place]!r} expect {found[names[place]]} fields and "
                    f"{count}",
                    where=system,
                    hint="These are rows of different data, schemas or matchers.",
                )
    return found


def _signature(digest: str, samples: int, plan: Plan, version: str) -> str:
    weights = ",".join(f"{share:g}" for share in plan.weights.shares)
    parts = (
        "EQS",
        f"samples:{digest}",
        f"n:{samples}",
        f"repeats:{plan.repeats}",
        f"match:{plan.matching}",
        f"invalid:{plan.invalid}",
        f"avg:{plan.average}",
        f"w:{weights}",
        f"boot:{plan.resamples}",
        f"seed:{plan.seed}",
        f"conf:{plan.confidence:g}",
        f"v:{version}",
    )
    return "|".join(parts)
