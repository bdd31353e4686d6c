"""Where a score comes from and where it is lost: by part, by step, by length of the chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from eval.blocks.text_format import ChartEstimate
from eval.synthlink.blocks.metric_texts import PARTS, VERDICTS
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import MetricName, Mode, QuestionScore
from eval.synthlink.scoring.outputs import AnswerView
from eval.synthlink.scoring.record import ModeScores
from kg.base.proportions import wilson_interval

_MOST_STEPS: Final = 12
"""Steps, and lengths of chains, that are told one by one."""


class PartOfScore(NamedTuple):
    """One weighted part of the score; ``gained`` and ``lost`` add up to ``weight``."""

    measure: MetricName
    weight: float
    """Mean over questions: a part that the catalogue lacks leaves its weight to the others."""
    gained: float
    lost: float

    @property
    def share(self) -> float:
        """Of the weight, what is gained."""
        return self.gained / self.weight


def parts_of_score(
    scores: ModeScores, weights: Mapping[MetricName, float]
) -> tuple[PartOfScore, ...]:
    """What each part adds to the score and what is lost on it, heaviest part first.

    All that is gained is the score, and all that is lost is what it lacks to 1.

    Args:
        scores: of one mode.
        weights: of the parts, as specified.
    """
    held = {key: [0.0, 0.0] for key in PARTS}
    n = len(scores.questions)
    for row in scores.questions:
        takes_part = [key for key in PARTS if key == "fcs" or getattr(row.parts, key) is not None]
        total = sum(weights[key] for key in takes_part)
        for key in takes_part:
            share = weights[key] / total / n
            held[key][0] += share
            # An answer that claims nothing has no share of claims, which is worth 0.
            held[key][1] += share * (getattr(row.parts, key) or 0.0)
    found = [
        PartOfScore(key, weight, gained, weight - gained)
        for key, (weight, gained) in held.items()
        if weight
    ]
    return tuple(sorted(found, key=lambda part: -weights[part.measure]))


class StepTaken(NamedTuple):
    """How often the steps at one place of their chains are taken."""

    number: int
    taken: int
    asked: int
    """Questions that have such a step, answered or not."""

    def share(self, confidence: float) -> ChartEstimate:
        """The share taken, with Wilson's interval."""
        low, high = wilson_interval(self.taken, self.asked, confidence)
        return ChartEstimate(self.taken / self.asked, low, high)


def steps_by_place(scores: ModeScores, answers: Sequence[AnswerView]) -> tuple[StepTaken, ...]:
    """First steps, second steps and so on; only those whose fact the catalogue states."""
    asked: Counter[int] = Counter()
    taken: Counter[int] = Counter()
    for row, view in zip(scores.questions, answers, strict=True):
        known = set(facts_of(view))
        asked.update(known)
        taken.update(known.intersection(row.parts.steps))
    return tuple(StepTaken(number, taken[number], asked[number]) for number in sorted(asked))[
        :_MOST_STEPS
    ]


def facts_of(view: AnswerView) -> Iterator[int]:
    """Numbers, from 1, of the steps whose fact the catalogue states."""
    return (number for number, fact in enumerate(view.facts, start=1) if fact)


class Chains(NamedTuple):
    """Questions whose chains are equally long."""

    length: int
    whole: int
    """Questions of which every step is taken."""
    broken: int
    """Of which some are."""
    none: int
    unanswered: int
    """Of ``none``, those that have no answer."""


def chains(scores: ModeScores, answers: Sequence[AnswerView]) -> tuple[Chains, ...]:
    """By length of the chain, how far it was followed."""
    found: dict[int, list[QuestionScore]] = {}
    for row, view in zip(scores.questions, answers, strict=True):
        length = sum(1 for _ in facts_of(view))
        if length:
            found.setdefault(length, []).append(row)
    lines = []
    for length, rows in sorted(found.items())[:_MOST_STEPS]:
        taken = [len(row.parts.steps) for row in rows]
        lines.append(
            Chains(
                length,
                sum(count >= length for count in taken),
                sum(0 < count < length for count in taken),
                sum(not count for count in taken),
                sum(row.status != "answered" for row in rows),
            )
        )
    return tuple(lines)


def verdict_counts(scores: ModeScores, category: str | None = None) -> dict[str, int]:
    """How many claims got each verdict; only of a category, if one is given."""
    found = claims_by(scores, category)
    return {
        verdict: sum(count for (said, _), count in found.items() if said == verdict)
        for verdict in VERDICTS
    }


def claims_by(scores: ModeScores, category: str | None = None) -> Counter[tuple[str, str]]:
    """How many claims got each verdict, by what decided.

    Args:
        scores: of one mode.
        category: only of its questions.
    """
    return Counter(
        (claim.verdict, claim.by)
        for row in scores.questions
        if category in (None, row.category)
        for claim in row.parts.claims
    )


def first_correct(folder: ScoredFolder, mode: Mode) -> dict[str, int]:
    """Questions by the round whose answer is the first correct one, in words and in order."""
    bar = folder.correct_from(mode)
    counts = dict.fromkeys((*(f"in round {n}" for n in range(1, 5)), "in round 5 on", "never"), 0)
    for row in folder.report.modes[mode].questions:
        scores = row.parts.iteration_f1
        first = next((n for n, f1 in enumerate(scores, start=1) if f1 >= bar), None)
        name = "never" if first is None else "in round 5 on" if first >= 5 else f"in round {first}"
        counts[name] += 1
    return counts
