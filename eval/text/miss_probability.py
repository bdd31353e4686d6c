"""Predicts the probability that BM25 misses a passage that a question needs.

The event can be checked: **at least one gold passage is missing from BM25's ten best.** The model
is logistic, over two features of BM25's own scores, and was fitted on labelled questions by
``benchmarks/fit_difficulty.py``. ``miss_model.json`` has its weights, what it was fitted on, and
how good its predictions are on a corpus that it was not fitted on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kg.difficulty.analysis import Analysis, CalibratedScore, analyze_in_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

if TYPE_CHECKING:
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.run.folder import Run

MODEL_FILE = Path(__file__).with_name("miss_model.json")
N_BEST = 10
FEATURES = ("top_score", "gap")


class MissModel(msgspec.Struct, frozen=True, kw_only=True):
    """The fitted model.

    Attributes:
        predicts: the event.
        intercept: of the log odds.
        weights: feature → its weight.
        fitted_on: name of a corpus → number of questions, number missed, and hashes.
        validation: name of a corpus → how good predictions of a model fitted on the others are.
        worth: the same in words.
    """

    predicts: str
    intercept: float
    weights: dict[str, float]
    fitted_on: dict[str, dict[str, Any]]
    validation: dict[str, dict[str, Any]]
    worth: str


def compute_score_features(scores: Sequence[float]) -> tuple[float, float]:
    """Computes the features, in the order of ``FEATURES``.

    Args:
        scores: BM25's ten best scores, best first; fewer if fewer passages share a word with the
            question, but at least one.

    Returns:
        ln(1 + best score), and by which share of the best score the tenth is below it.
    """
    best = scores[0]
    tenth = scores[N_BEST - 1] if len(scores) >= N_BEST else 0.0
    return math.log1p(best), (best - tenth) / best


def predict_miss_probability(bm25: BM25, question: str) -> CalibratedScore | None:
    """Predicts whether BM25's ten best passages lack one that the question needs.

    Returns:
        The probability; None if no passage shares a word with the question.
    """
    scores = sorted(bm25.get_scores(question, N_BEST).values(), reverse=True)
    if not scores:
        return None
    model = load_model()
    features = zip(FEATURES, compute_score_features(scores), strict=True)
    log_odds = model.intercept + sum(model.weights[name] * value for name, value in features)
    return CalibratedScore(
        probability=round(1 / (1 + math.exp(-log_odds)), 4),
        predicts=model.predicts,
        worth=model.worth,
    )


def analyze_question(run: Run, question: str, lookup: CanonicalLookup | None = None) -> Analysis:
    """Analyses a question in the concept graph of a run, with the probability of a miss."""
    bm25 = BM25([Passage(chunk.id, chunk.text) for chunk in run.chunks])
    return analyze_in_run(run, question, lookup, predict_miss_probability(bm25, question))


@cache
def load_model() -> MissModel:
    """Loads the shipped model."""
    return msgspec.json.decode(MODEL_FILE.read_bytes(), type=MissModel)
