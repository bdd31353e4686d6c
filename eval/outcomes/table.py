"""The graded answers of all systems as counts per question and outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eval.harness.predictions.reader import MAX_REPEATS, show_text
from eval.outcomes.grades import OUTCOMES
from eval.outcomes.reader import SQUAD_SCORES, Answer, GradedAnswers
from eval.outcomes.record import OUTCOME_LETTERS, QuestionOutcomes
from eval.stats.bootstrap import Floats
from eval.stats.confidences import ConfidentReplies
from kg.base.errors import RecordError

_HASH_LENGTH = 16


def hash_question(id_: str) -> str:
    """Returns the start of the hash of a question's id."""
    return hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


class OutcomeTable:
    """The answers of all systems as counts per question and cell."""

    def __init__(self, graded: GradedAnswers) -> None:
        self.ids = {id_: n for n, id_ in enumerate(dict.fromkeys(a.id for a in graded.answers))}
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
            self._count(system, [a for a in graded.answers if a.system == system])

    def _count(self, system: str, answers: Sequence[Answer]) -> None:
        # Some tools number repeats from 1, or by their seeds.
        repeats = len({answer.repeat for answer in answers})
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
            ids=tuple(hash_question(id_) for id_ in self.ids),
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
