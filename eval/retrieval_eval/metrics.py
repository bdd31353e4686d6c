"""Computes the metrics of rankings with ir_measures, whose metric names are used.

* ``R@k``: share of the gold chunks that are among the first k.
* ``nDCG@10``: normalised discounted cumulative gain with log₂ (Järvelin & Kekäläinen, ACM TOIS
  2002, 20:422); the gain of a chunk is its grade of relevance.
* ``RR``: 1 / rank of the first gold chunk; its mean is MRR.
* ``AllGold@10``: 1 if every gold chunk is among the first ten, else 0; for questions that need
  several chunks. ir_measures does not have it, so it is computed as ``R@10`` = 1.

ir_measures computes the values with pytrec_eval, and they are the same as those of trec_eval. See
S. MacAvaney, C. Macdonald, I. Ounis, Streamlining Evaluation with ir-measures, ECIR 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.retrieval_eval.questions import Question
from eval.stats.bootstrap import Floats

MAX_ALL_GOLD = 10
"""Number of chunks among which ``ALL_GOLD`` wants all gold; with more gold it is 0."""
ALL_GOLD = f"AllGold@{MAX_ALL_GOLD}"
HEADLINE_METRIC = "nDCG@10"
"""The metric that tuning maximises."""
_IR_MEASURES_NAMES = ("R@1", "R@5", "R@10", HEADLINE_METRIC, "RR")
METRIC_NAMES = (*_IR_MEASURES_NAMES, ALL_GOLD)
"""The columns of the scores. All are in [0, 1], and higher is better."""


def score_questions(rankings: Mapping[str, Sequence[str]], questions: Sequence[Question]) -> Floats:
    """Computes every metric of every question.

    A question for which nothing was found has 0, because all of its gold was missed. Chunks that a
    question excludes do not count. The metrics are undefined for unanswerable questions, which have
    no gold.

    Args:
        rankings: id of a question → ids of the chunks found, best first.
        questions: the questions.

    Returns:
        Shape (questions, len(METRIC_NAMES)); nan for unanswerable questions.
    """
    values = np.full((len(questions), len(METRIC_NAMES)), np.nan)
    answerable = [i for i, question in enumerate(questions) if question.answerable]
    if not answerable:
        return values
    import ir_measures

    requested = [ir_measures.parse_measure(name) for name in _IR_MEASURES_NAMES]
    # Questions are identified by index, so that results can be written to their rows. The negative
    # rank is used as score, because trec_eval sorts by score and would break ties by chunk id.
    qrels = {str(i): questions[i].qrels for i in answerable}
    run: dict[str, dict[str, float]] = {}
    for i in answerable:
        question = questions[i]
        ranking = [id_ for id_ in rankings[question.id] if not question.is_excluded(id_)]
        if ranking:
            run[str(i)] = {chunk_id: float(-rank) for rank, chunk_id in enumerate(ranking)}
    values[answerable] = 0.0
    if run:
        columns = {str(measure): METRIC_NAMES.index(str(measure)) for measure in requested}
        for metric in ir_measures.iter_calc(requested, qrels, run):
            values[int(metric.query_id), columns[str(metric.measure)]] = metric.value
    all_gold = values[answerable, METRIC_NAMES.index("R@10")] == 1.0
    values[answerable, METRIC_NAMES.index(ALL_GOLD)] = all_gold
    return values
