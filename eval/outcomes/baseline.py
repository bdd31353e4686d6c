"""Compares records of graded answers with earlier ones, on the questions that both have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.metrics.measurement import ResamplingPlan
from eval.outcomes.measures import list_measures
from eval.outcomes.pairs import ACCURACY, compare_pairs, resample_measures
from eval.outcomes.question_texts import OTHER_QUESTIONS_HINT
from eval.outcomes.reader import Answer, GradedAnswers
from eval.outcomes.record import (
    OUTCOME_LETTERS,
    OutcomeComparison,
    OutcomesReport,
    QuestionOutcomes,
)
from eval.outcomes.table import OutcomeTable
from eval.stats.bootstrap import ClusterResamples
from kg.base.errors import RecordError, SystemNotFoundError
from kg.base.plain_text import format_count, join_list

_CANDIDATE, _BASELINE = "candidate", "baseline"


@dataclass(frozen=True)
class RecordedSystem:
    """A system of a record.

    Attributes:
        name: its name in the record.
        path: the record's file.
        report: the record.
    """

    name: str
    path: Path
    report: OutcomesReport


@dataclass(frozen=True)
class BaselineComparison:
    """A system compared with its baseline.

    Attributes:
        comparisons: one for each measure.
        higher_is_better: measure → its direction.
        n_answered: number of questions to which the baseline has a usable answer.
        n_left_out: number of these that are not in the system's record.
        notes: which questions are left out.
    """

    comparisons: tuple[OutcomeComparison, ...]
    higher_is_better: dict[str, bool | None]
    n_answered: int
    n_left_out: int
    notes: tuple[str, ...]


def pair_systems(
    current: Sequence[RecordedSystem], earlier: Sequence[RecordedSystem], *, where: str
) -> list[tuple[RecordedSystem, RecordedSystem]]:
    """Pairs each system with the earlier one of the same name, or a single one with a single one.

    Args:
        current: the systems that are checked.
        earlier: the systems of the baseline.
        where: files of the baseline, for the message.

    Raises:
        SystemNotFoundError: no system is in both.
    """
    by_name = {system.name: system for system in earlier}
    pairs = [(system, by_name[system.name]) for system in current if system.name in by_name]
    if not pairs and len(current) == len(earlier) == 1:
        pairs = [(current[0], earlier[0])]
    if not pairs:
        names = [join_list([system.name for system in systems]) for systems in (current, earlier)]
        raise SystemNotFoundError(
            "no system has graded answers both now and in the baseline",
            where=where,
            hint=f"Now: {names[0]}. Baseline: {names[1]}.",
        )
    return pairs


def compare_with_baseline(
    candidate: RecordedSystem,
    baseline: RecordedSystem,
    names: Sequence[str],
    plan: ResamplingPlan,
) -> BaselineComparison:
    """Compares a system with an earlier one, by paired tests on the questions of both.

    The headline measure and accuracy are compared, and the measures that are named. The headline is
    skill if the shared questions are answerable and unanswerable ones, else utility. If only the
    baseline has skill, because only its questions all say whether they are answerable, a comparison
    says that the value is lost.

    Args:
        candidate: the system.
        baseline: the earlier system, which may have another name.
        names: further measures; those that are not computed from outcomes are left out.
        plan: how questions (or clusters of them) are resampled.

    Raises:
        RecordError: a record does not have the outcomes of its questions, the records have no
            question in common, an id is of different questions, or a question is answerable in one
            of them only.
    """
    found = _get_questions(candidate), _get_questions(baseline)
    # Sorted, so that resamples do not depend on the order of the records.
    shared = sorted(set(found[0].ids) & set(found[1].ids))
    if not shared:
        raise RecordError(
            f"no question is also in {baseline.path}",
            where=str(candidate.path),
            hint="A baseline has answers to the same questions, with the same ids.",
        )
    _check_contents(candidate, baseline, shared)
    is_known = all(questions.answerable is not None for questions in found)
    # Clusters are the candidate's, if it has any: those of the baseline have other numbers.
    clustered = found[0] if found[0].clusters is not None else found[1]
    clusters = dict(zip(clustered.ids, clustered.clusters or (), strict=False))
    answers = [
        answer
        for questions, system, name in zip(
            found, (candidate, baseline), (_CANDIDATE, _BASELINE), strict=True
        )
        for answer in _iter_answers(
            questions, system.name, name, shared, clusters, is_known=is_known
        )
    ]
    table = OutcomeTable(GradedAnswers(answers))
    measures = list_measures(is_answerability_known=is_known, has_skill=table.has_skill)
    resamples = ClusterResamples(table.n_clusters, plan.resamples, plan.seed)
    compared = compare_pairs(
        table,
        [(_CANDIDATE, _BASELINE)],
        measures,
        [measures[0].name, ACCURACY, *names],
        {
            name: resample_measures(table, counts, measures, resamples)
            for name, counts in table.counts.items()
        },
        resamples,
        plan,
    )
    notes = list(_describe_left_out(found, len(shared), candidate.name))
    directions = {measure.name: measure.higher_is_better for measure in measures}
    skill = list_measures(is_answerability_known=True)[0].name
    now, earlier = (_get_value(system, skill) for system in (candidate, baseline))
    if not is_known and found[0].answerable is None and earlier is not None:
        lost = OutcomeComparison(
            metric=skill, candidate=_CANDIDATE, baseline=_BASELINE, value_baseline=earlier
        )
        compared, directions = (lost, *compared), {skill: True, **directions}
        notes.append(
            f"{candidate.name} has no {skill}, unlike the baseline: not all of its questions say "
            "whether they are `answerable`"
        )
    elif is_known and not table.has_skill and (now is not None or earlier is not None):
        kind = "answerable" if table.is_answerable.all() else "unanswerable"
        notes.append(
            f"all questions that both have are {kind}, so that there is no {skill}; "
            f"{measures[0].name} of {candidate.name} is compared"
        )
    elif not is_known and now is not None:
        notes.append(
            f"the baseline has no {skill}, because not all of its questions say whether they are "
            f"`answerable`; {measures[0].name} of {candidate.name} is compared"
        )
    answered = _list_answered(found[1], baseline.name)
    return BaselineComparison(
        comparisons=compared,
        higher_is_better=directions,
        n_answered=len(answered),
        n_left_out=len(answered - set(shared)),
        notes=tuple(notes),
    )


def _get_value(system: RecordedSystem, measure: str) -> float | None:
    estimate = system.report.systems[system.name].measures.get(measure)
    return None if estimate is None else estimate.value


def _get_questions(system: RecordedSystem) -> QuestionOutcomes:
    questions = system.report.questions
    if questions is None:
        raise RecordError(
            "the record does not say how each question was answered",
            where=str(system.path),
            hint="An older version wrote it: make it again with `epoche outcomes --out`.",
        )
    return questions


def _check_contents(
    candidate: RecordedSystem, baseline: RecordedSystem, shared: Sequence[str]
) -> None:
    """Raises a ``RecordError`` if the same id is of different questions, by their texts."""
    now, earlier = (
        dict(zip(questions.ids, questions.contents or (), strict=False))
        for questions in map(_get_questions, (candidate, baseline))
    )
    different = [
        id_ for id_ in shared if now.get(id_) and earlier.get(id_) and now[id_] != earlier[id_]
    ]
    if different:
        raise RecordError(
            f"{format_count(len(different), 'question')} of {len(shared):,} with the same id "
            f"{'is another one' if len(different) == 1 else 'are others'} in {baseline.path}; the "
            f"hash of {'the' if len(different) == 1 else 'the first'} id is {different[0]}",
            where=str(candidate.path),
            hint=OTHER_QUESTIONS_HINT,
        )


def _list_answered(questions: QuestionOutcomes, system: str) -> set[str]:
    """Lists the questions to which a system has a usable answer."""
    return {
        id_
        for id_, letters in zip(
            questions.ids, zip(*questions.outcomes[system], strict=True), strict=True
        )
        if set(letters) != {"u"}
    }


def _iter_answers(
    questions: QuestionOutcomes,
    system: str,
    name: str,
    shared: Sequence[str],
    clusters: dict[str, int],
    *,
    is_known: bool,
) -> Iterator[Answer]:
    """Yields the answers of a system to the shared questions, under another name."""
    positions = {id_: number for number, id_ in enumerate(questions.ids)}
    for id_ in shared:
        number = positions[id_]
        answerable = None
        if is_known and questions.answerable is not None:
            answerable = questions.answerable[number] == "y"
        for repeat, letters in enumerate(questions.outcomes[system]):
            yield Answer(
                system=name,
                id=id_,
                outcome=OUTCOME_LETTERS[letters[number]],
                answerable=answerable,
                repeat=repeat,
                cluster=str(clusters.get(id_, "")),
            )


def _describe_left_out(
    found: tuple[QuestionOutcomes, QuestionOutcomes], n_shared: int, name: str
) -> Iterator[str]:
    n_new, n_gone = (len(questions.ids) - n_shared for questions in found)
    if n_new or n_gone:
        yield (
            f"{name} is compared with the baseline on the {format_count(n_shared, 'question')} "
            f"that both have; {n_gone:,} of the baseline's and {n_new:,} new ones are left out"
        )
