"""Computes the calibrated score: the probability that BM25 misses a chunk a question needs.

The score comes from a logistic model over log-transformed features, fitted by
``benchmarks/fit_difficulty.py`` on the labelled questions that ship with Epoché. The model predicts
a narrow, checkable event: **at least one gold chunk is missing from BM25's ten best chunks.**
``calibrated.json`` in this folder contains the weights, a description of the data they were fitted
on, and the results on questions they were not fitted on.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kg.difficulty.features import QueryFeatures

MODEL_FILE = Path(__file__).with_name("calibrated.json")


class ModelTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One feature's term in the model: ``weight · (ln(1 + x) - mean) / scale``."""

    feature: str
    mean: float
    scale: float
    weight: float


class DifficultyModel(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted model with its training data and validation results."""

    predicts: str
    intercept: float
    terms: tuple[ModelTerm, ...]
    fitted_on: dict[str, Any]
    """Corpus, questions and run it was fitted on, with hashes and settings."""
    out_of_fold: dict[str, Any]
    """Quality of its predictions on questions it was not fitted on."""

    def predict_probability(self, features: QueryFeatures) -> float:
        """Predicts the probability of the event, in (0, 1)."""
        log_odds = self.intercept + sum(
            term.weight * (log_feature(features, term.feature) - term.mean) / term.scale
            for term in self.terms
        )
        return 1 / (1 + math.exp(-log_odds))


def log_feature(features: QueryFeatures, name: str) -> float:
    """Returns ``ln(1 + x)`` of one feature."""
    return math.log1p(getattr(features, name))


def predict_miss_probability(features: QueryFeatures) -> float | None:
    """Predicts the probability that BM25's ten best chunks lack a chunk the question needs.

    Applies to questions about a text only: a knowledge graph has no chunks to retrieve.

    Returns:
        A probability in (0, 1); None if the question names no concept, since the model was not
        fitted on such questions.
    """
    return load_shipped_model().predict_probability(features) if features.query_node_count else None


@cache
def load_shipped_model() -> DifficultyModel:
    """Loads the model that ships with Epoché."""
    return msgspec.json.decode(MODEL_FILE.read_bytes(), type=DifficultyModel)
