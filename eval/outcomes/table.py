"""The graded answers of all systems as counts per question and outcome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eval.harness.predictions.reader import MAX_REPEATS, show_text
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.question_texts import OTHER_QUESTIONS_HINT, hash_text
from eval.outcomes.reader import SQUAD_SCORES, Answer, GradedAnswers
from eval.outcomes.record import OUTCOME_LETTERS, QuestionOutcomes
from eval.stats.bootstrap import Floats
from eval.stats.confidences import ConfidentReplies
from kg.base.errors import RecordError

_UNSEEN = "\0unseen "
"""Begins the ids of questions that a log was to have, and no file has."""


def _find_contents(graded: GradedAnswers) -> dict[str, str]:
    """Finds the hash of each question's text; empty if it is not known, or has several.

    Raises:
        RecordError: the same id has different questions in two systems.
    """
    by_id: dict[str, dict[str, list[Answer]]] = {}
    for answer in graded.answers:
        if answer.content:
            by_id.setdefault(answer.id, {}).setdefault(answer.system, []).append(answer)
    contents: dict[str, str] = {}
    different: list[tuple[Answer, Answer]] = []
    for id_, systems in by_id.items():
        first, *others = systems.values()
        known = {answer.content for answer in first}
        # Repeats of one system may have different texts.
        other = next((o for o in others if known.isdisjoint(a.content for a in o)), None)
        if other is not None:
            different.append((first[0], other[0]))
        contents[id_] = first[0].content if len(known) == 1 else ""
    if different:
        keys = [(answer.system, answer.id, answer.repeat) for answer in different[0]]
        places = [graded.places.get(key, key[0]) for key in keys]
        more = f", and so are {len(different) - 1:,} more" if len(different) > 1 else ""
        raise RecordError(
            f"the id {show_text(different[0][0].id)} is of another question than at "
            f"{places[0]}{more}",
            where=places[1],
            hint=OTHER_QUESTIONS_HINT,
        )
    return contents


class OutcomeTable:
    """The answers of all systems as counts per question and cell."""

    def __init__(self, graded: GradedAnswers) -> None:
        self.contents = _find_contents(graded)
        ids = dict.fromkeys(a.id for a in graded.answers)
        n_expected = max((n for n, _ in graded.expected.values()), default=0)
        unseen = [f"{_UNSEEN}{number}" for number in range(len(ids), n_expected)]
        self.ids = {id_: n for n, id_ in enumerate((*ids, *unseen))}
        self.systems = list(dict.fromkeys(a.system for a in graded.answers))
        answerable: dict[str, bool | None] = {}
        named: dict[str, str] = {}
        for answer in graded.answers:
            known = answerable.setdefault(answer.id, answer.answerable)
            if known is None:
                answerable[answer.id] = answer.answerable
            elif answer.answerable not in (None, known):
                raise RecordError(
                    f"the question {show_text(answer.id)} is answerable in one row and not in "
                    "another"
                )
            cluster = named.setdefault(answer.id, answer.cluster)
            if not cluster:
                named[answer.id] = answer.cluster
            elif answer.cluster not in ("", cluster):
                raise RecordError(
                    f"the question {show_text(answer.id)} is in the cluster {show_text(cluster)} "
                    f"and in {show_text(answer.cluster)}",
                    hint="Give a question the same cluster in all rows and files.",
                )
        for id_ in unseen:
            answerable[id_], named[id_] = None, ""
        clusters = {id_: cluster or f"\0{id_}" for id_, cluster in named.items()}
        self.is_answerability_known = None not in answerable.values()
        self.is_answerable = np.array([answerable[i] is not False for i in self.ids])
        self.has_skill = self.is_answerability_known and len(set(answerable.values())) > 1
        numbers = {name: n for n, name in enumerate(sorted(set(clusters.values())))}
        self.clusters: NDArray[np.int64] = np.array([numbers[clusters[i]] for i in self.ids])
        self.n_clusters = len(numbers)
        self.repeats: dict[str, int] = {}
        self.missing: dict[str, int] = {}
        self.counts: dict[str, Floats] = {}
        self.is_answered: dict[str, NDArray[np.bool_]] = {}
        self.replies: dict[str, ConfidentReplies] = {}
        self.questions: dict[str, NDArray[np.int64]] = {}
        self.scores: dict[str, Floats] = {}
        for system in self.systems:
            _, n_repeats = graded.expected.get(system, (0, 1))
            self._count(system, [a for a in graded.answers if a.system == system], n_repeats)

    def _count(self, system: str, answers: Sequence[Answer], n_repeats: int) -> None:
        # Some tools number repeats from 1, or by their seeds.
        repeats = max(n_repeats, len({answer.repeat for answer in answers}))
        if repeats > MAX_REPEATS:
            raise RecordError(
                f"{show_text(system)} has {repeats:,} repeats, more than {MAX_REPEATS:,}",
                hint="`repeat` tells the answers to one question apart, and is the same number "
                "for all questions of a repeat.",
            )
        counts = np.zeros((len(self.ids), len(OUTCOMES)))
        for answer in answers:
            counts[self.ids[answer.id], OUTCOMES.index(answer.outcome)] += 1
        self.is_answered[system] = counts.sum(axis=1) > 0
        lacking = repeats - counts.sum(axis=1)
        counts[:, OUTCOMES.index("unusable")] += lacking
        self.repeats[system], self.missing[system] = repeats, int(lacking.sum())
        self.counts[system] = counts

        if all(answer.scores for answer in answers):
            self.scores[system] = np.zeros((len(self.ids), len(SQUAD_SCORES)))
            for answer in answers:
                self.scores[system][self.ids[answer.id]] = answer.scores

        found = [
            (self.ids[answer.id], answer.confidence, float(answer.outcome == "right"))
            for answer in answers
            if answer.confidence is not None and answer.outcome in ("right", "wrong")
        ]
        if found:
            questions, confidences, right = zip(*found, strict=True)
            self.questions[system] = np.array(questions, dtype=np.int64)
            self.replies[system] = ConfidentReplies(
                np.array(confidences), np.array(right), self.clusters[self.questions[system]]
            )

    def describe_questions(self) -> QuestionOutcomes:
        """Describes the outcome of each question, for a comparison with another record."""
        letters = list(OUTCOME_LETTERS)
        outcomes: dict[str, tuple[str, ...]] = {}
        for system, counts in self.counts.items():
            cells = np.arange(len(letters))
            answers = [np.repeat(cells, row) for row in counts.astype(np.int64)]
            outcomes[system] = tuple(
                "".join(letters[cell] for cell in column)
                for column in np.stack(answers, axis=1).tolist()
            )
        return QuestionOutcomes(
            ids=tuple(hash_text(id_) for id_ in self.ids),
            contents=tuple(self.contents.get(id_, "") for id_ in self.ids)
            if any(self.contents.values())
            else None,
            answerable="".join("y" if known else "n" for known in self.is_answerable)
            if self.is_answerability_known
            else None,
            clusters=None if self.has_single_questions else tuple(self.clusters.tolist()),
            outcomes=outcomes,
        )

    def to_cells(self, counts: Floats) -> Floats:
        """Splits counts into those of answerable and of unanswerable questions."""
        is_answerable = self.is_answerable[:, None]
        return np.concatenate([counts * is_answerable, counts * ~is_answerable], axis=1)

    def sum_clusters(self, columns: Floats) -> Floats:
        """Sums columns of values of the questions by cluster, shape (clusters, columns)."""
        sums = np.zeros((self.n_clusters, columns.shape[1]))
        np.add.at(sums, self.clusters, columns)
        return sums

    @property
    def has_single_questions(self) -> bool:
        """Whether each cluster is one question."""
        return self.n_clusters == len(self.ids)
