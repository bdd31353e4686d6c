"""The numbers and questions of a folder of scores as CSV: names of tables → text."""

from __future__ import annotations

from collections.abc import Iterator

from eval.synthlink.blocks.samples import mark_of
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import METRICS, STEP_VERDICTS, VERDICTS
from kg.base.csv_text import to_csv

SAMPLES = "questions"

_MEASURES = (
    *("mode", "category", "measure", "value", "low", "high", "interval_method", "n", "nulls"),
    *("why", "answered_only", "questions", "answered", "abstained"),
)
_PAIRS = (
    *("mode", "category", "metric", "candidate", "baseline", "value_candidate", "value_baseline"),
    *("difference", "low", "high", "interval_method", "test", "exact", "p", "p_holm", "n"),
    *("n_differ", "minimum_detectable_effect", "better"),
)
_SAMPLES = (
    *("id", "category", "question", "expected", "status", "amounts_to", "answer", "docs"),
    "steps",
    *(f"steps_{verdict}" for verdict in STEP_VERDICTS),
    *(f"claims_{verdict}" for verdict in VERDICTS),
)


def csv_tables(folder: ScoredFolder) -> dict[str, str]:
    """Measures, paired differences and questions."""
    scored = [f"{measure}_{mode}" for mode in folder.modes for measure in METRICS]
    return {
        "measures": to_csv(_MEASURES, _measure_rows(folder)),
        "pairs": to_csv(_PAIRS, _pair_rows(folder)),
        SAMPLES: to_csv((*_SAMPLES, *scored), _sample_rows(folder)),
    }


def _measure_rows(folder: ScoredFolder) -> Iterator[list[object]]:
    for mode in folder.modes:
        scores = folder.report.modes[mode]
        for category, group in {"all": scores.overall, **scores.categories}.items():
            for key, one in group.measures.items():
                yield [
                    *(mode, category, key, one.value, one.low, one.high, one.method, one.n),
                    *(one.nulls, one.why, group.answered_only.get(key)),
                    *(group.n, group.answered, group.abstained),
                ]


def _pair_rows(folder: ScoredFolder) -> Iterator[list[object]]:
    for compared in folder.scored.comparisons:
        for one in compared.differences:
            yield [
                *(
                    one.mode,
                    one.group,
                    one.metric,
                    one.candidate,
                    one.baseline,
                    one.value_candidate,
                ),
                *(one.value_baseline, one.difference, one.low, one.high, one.method, one.test),
                *(one.exact, one.p, one.p_holm, one.n, one.n_differ, one.minimum_detectable_effect),
                one.better,
            ]


def _sample_rows(folder: ScoredFolder) -> Iterator[list[object]]:
    for at, view in enumerate(folder.answers):
        by_mode = folder.rows(at)
        headline = by_mode[folder.modes[0]]
        parts = by_mode.get("corrected", headline).parts
        verdicts = [claim.verdict for claim in parts.claims]
        yield [
            *(view.question_id, view.category, view.question, view.expected, view.status),
            *(mark_of(folder, at), view.answer, " ".join(view.docs)),
            sum(map(bool, view.facts)),
            *(sum(step.verdict == name for step in parts.steps) for name in STEP_VERDICTS),
            *(verdicts.count(verdict) for verdict in VERDICTS),
            *(getattr(by_mode[mode].parts, key) for mode in folder.modes for key in METRICS),
        ]
