"""What is measured of each ranking, through ir_measures: a measure's name is its definition.

``R@k``: share of the gold chunks among the first k. ``nDCG@10``: discounted gain, log₂ (Järvelin &
Kekäläinen, ACM TOIS 2002, 20:422). ``RR``: 1 / rank of the first gold chunk (its mean is MRR).
``AllGold@10``: 1 if every gold chunk is among the first ten, which is what a question that needs
several asks for; ir_measures has no such measure, but it is ``R@10`` = 1.

S. MacAvaney, C. Macdonald, I. Ounis, Streamlining Evaluation with ir-measures, ECIR 2022; the
numbers are pytrec_eval's, and so trec_eval's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings
from eval.stats.intervals import Floats

ALL_GOLD = "AllGold@10"
HEADLINE = "nDCG@10"
"""The measure that weights are chosen by."""
_OF_IR_MEASURES = ("R@1", "R@5", "R@10", HEADLINE, "RR")
MEASURES = (*_OF_IR_MEASURES, ALL_GOLD)
"""The columns, all in [0, 1], higher is better."""


def per_question(rankings: Rankings, questions: Sequence[Question]) -> Floats:
    """Every measure of every question.

    A question for which nothing was found has 0: all of its gold was missed. An unanswerable one
    has nothing to be found, and so no value.

    Returns:
        Shape (questions, len(MEASURES)); nan for unanswerable questions.
    """
    values = np.full((len(questions), len(MEASURES)), np.nan)
    answerable = [place for place, question in enumerate(questions) if question.answerable]
    if not answerable:
        return values
    import ir_measures

    wanted = [ir_measures.parse_measure(name) for name in _OF_IR_MEASURES]
    # Under their places rather than ids, and scored by places: trec_eval would settle ties by id.
    qrels = {str(place): dict.fromkeys(questions[place].gold, 1) for place in answerable}
    run: dict[str, dict[str, float]] = {}
    for place in answerable:
        found = rankings.by_question[questions[place].id]
        if found:
            run[str(place)] = {chunk_id: float(-rank) for rank, chunk_id in enumerate(found)}
    values[answerable] = 0.0
    if run:
        column = {str(measure): MEASURES.index(str(measure)) for measure in wanted}
        for metric in ir_measures.iter_calc(wanted, qrels, run):
            values[int(metric.query_id), column[str(metric.measure)]] = metric.value
    whole = values[answerable, MEASURES.index("R@10")] == 1.0
    values[answerable, MEASURES.index(ALL_GOLD)] = whole
    return values
