"""The calibrated score: how probable it is that a plain search misses what a question needs.

A logistic model over log-transformed features, fitted by ``benchmarks/fit_difficulty.py`` on the
labelled questions that ship with Epoché. What it predicts is narrow and checkable: **BM25's ten
best chunks lack at least one gold chunk.** ``calibrated.json`` beside this file holds the weights,
what they were fitted on, and what they were worth on questions not fitted on.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kg.difficulty.features import QueryFeatures

MODEL_FILE = Path(__file__).with_name("calibrated.json")


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One feature's part in the model: ``weight · (ln(1 + x) - mean) / scale``."""

    feature: str
    mean: float
    scale: float
    weight: float


class DifficultyModel(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted model and all that is known about it."""

    predicts: str
    intercept: float
    terms: tuple[Term, ...]
    fitted_on: dict[str, Any]
    """Corpus, questions and run it was fitted on, with hashes and settings."""
    out_of_fold: dict[str, Any]
    """What its predictions were worth on questions it was not fitted on."""

    def probability(self, features: QueryFeatures) -> float:
        """The probability of what is predicted, in (0, 1)."""
        log_odds = self.intercept + sum(
            term.weight * (logged(features, term.feature) - term.mean) / term.scale
            for term in self.terms
        )
        return 1 / (1 + math.exp(-log_odds))


def logged(features: QueryFeatures, name: str) -> float:
    """``ln(1 + x)`` of one feature."""
    return math.log1p(getattr(features, name))


def calibrated_score(features: QueryFeatures) -> float | None:
    """The probability that BM25's ten best chunks lack one the question needs.

    It is known for questions about a text only: a knowledge graph has no chunks to miss.

    Returns:
        In (0, 1); None where the question names no concept, since those are not what the model
        was fitted on.
    """
    return shipped_model().probability(features) if features.query_node_count else None


@cache
def shipped_model() -> DifficultyModel:
    """The model that ships with Epoché."""
    return msgspec.json.decode(MODEL_FILE.read_bytes(), type=DifficultyModel)
