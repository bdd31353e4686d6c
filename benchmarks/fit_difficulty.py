"""Fits the calibrated difficulty score and says what it is worth.

    epoche kg build retrieval/corpora/keeping_data/book --out runs/keeping_data
    python benchmarks/fit_difficulty.py --run runs/keeping_data [--write]

Predicted is whether BM25's ten best chunks lack a gold chunk of a question, from the nine features
of the question in the concept graph, as ``ln(1 + x)``. The model is a logistic regression with an
L2 penalty on standardised features; how strong it is, folds inside the training data choose by log
loss, up to so strong that nothing but the base rate is left. Every prediction that is judged was
made by a model that had not seen the question: 10 folds, repeated, averaged over the repeats. It is
held against the base rate of the same training folds. With ``--write`` the model fitted on all
questions replaces ``kg/difficulty/calibrated.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from eval.ranking.questions import read_questions
from eval.stats.calibration import (
    brier_score,
    calibration_error,
    equal_mass_bins,
    expected_by_chance,
)
from kg.base.files import sha256_bytes, sha256_file, to_json_bytes, write_text_atomic
from kg.difficulty.analysis import NOTHING, touched
from kg.difficulty.calibrated import MODEL_FILE, DifficultyModel, Term, logged
from kg.difficulty.features import QueryFeatures
from kg.difficulty.score import score_of
from kg.text.run.folder import open_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "retrieval/corpora/keeping_data/questions.jsonl"
FOLDS, INNER_FOLDS, REPEATS, SEED = 10, 5, 20, 12345
PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
RESAMPLES, BINS, DEPTH = 5_000, 5, 10
Floats = NDArray[np.float64]
NAMES = QueryFeatures.__struct_fields__


class Fitted(NamedTuple):
    """A logistic model of standardised features."""

    intercept: float
    weights: Floats
    mean: Floats
    scale: Floats
    penalty: float

    def predict(self, x: Floats) -> Floats:
        """Probabilities, shape (n,)."""
        log_odds = self.intercept + (x - self.mean) / self.scale @ self.weights
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def fitted(x: Floats, y: Floats, penalty: float) -> Fitted:
    """Maximises ``Σ log p - penalty / 2 · Σ w²`` by Newton's method; the intercept is free."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    design = np.column_stack([np.ones(len(y)), (x - mean) / scale])
    ridge = penalty * np.diag([0.0] + [1.0] * x.shape[1])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        slope = design.T @ (y - p) - ridge @ beta
        step = np.linalg.solve((design.T * (p * (1 - p))) @ design + ridge, slope)
        beta += step
        if np.abs(step).max() < 1e-9:
            return Fitted(float(beta[0]), beta[1:], mean, scale, penalty)
    raise ArithmeticError("Newton's method did not settle")


def chosen(x: Floats, y: Floats, seed: int) -> Fitted:
    """The model under the penalty that inner folds like best."""
    parts = folds(y, INNER_FOLDS, np.random.default_rng(seed))

    def loss(penalty: float) -> float:
        total = 0.0
        for part in parts:
            train = np.setdiff1d(np.arange(len(y)), part)
            p = fitted(x[train], y[train], penalty).predict(x[part])
            total -= float(np.log(np.where(y[part] == 1, p, 1 - p)).sum())
        return total

    return fitted(x, y, min(PENALTIES, key=loss))


def folds(y: Floats, count: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Parts of equal size, each with its share of either outcome."""
    order = np.concatenate([rng.permutation(np.flatnonzero(y == value)) for value in (0, 1)])
    return [order[start::count] for start in range(count)]


def out_of_fold(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Predictions of models and of base rates that had not seen the question, shape (n,) each."""
    predicted, base = np.zeros(len(y)), np.zeros(len(y))
    for repeat in range(REPEATS):
        for part in folds(y, FOLDS, np.random.default_rng([SEED, repeat])):
            train = np.setdiff1d(np.arange(len(y)), part)
            predicted[part] += chosen(x[train], y[train], SEED).predict(x[part]) / REPEATS
            base[part] += y[train].mean() / REPEATS
    return predicted, base


def auroc(predicted: Floats, y: Floats) -> float:
    """How often a missed question has the higher prediction; ties count half."""
    apart = predicted[y == 1][:, None] - predicted[y == 0]
    return float((apart > 0).mean() + (apart == 0).mean() / 2)


def judged(predicted: Floats, base: Floats, y: Floats) -> dict[str, Any]:
    """Brier score against the base rate, AUROC and ECE, with percentile bootstrap intervals."""
    bins = equal_mass_bins(predicted, BINS)
    measures = {
        "brier": lambda i: brier_score(predicted[i], y[i]),
        "brier_of_base_rate": lambda i: brier_score(base[i], y[i]),
        "brier_less_base_rate": lambda i: (
            brier_score(predicted[i], y[i]) - brier_score(base[i], y[i])
        ),
        "auroc": lambda i: auroc(predicted[i], y[i]),
        "ece": lambda i: calibration_error(predicted[i], y[i], equal_mass_bins(predicted[i], BINS)),
    }
    rng = np.random.default_rng(SEED)
    draws = rng.integers(0, len(y), (RESAMPLES, len(y)))
    draws = draws[[0 < y[i].sum() < len(y) for i in draws]]
    found: dict[str, Any] = {"questions": len(y), "missed": int(y.sum())}
    everything = np.arange(len(y))
    for name, measure in measures.items():
        low, high = np.quantile([measure(i) for i in draws], (0.025, 0.975))
        found[name] = {
            "value": round(measure(everything), 4),
            "low": round(float(low), 4),
            "high": round(float(high), 4),
        }
    chance = expected_by_chance(predicted, bins, measures["ece"](everything))
    found["ece"] |= {"of_a_calibrated_one": round(chance.mean, 4), "p": round(chance.p, 4)}
    gain, order = found["brier_less_base_rate"], found["auroc"]
    better, ordered = gain["high"] < 0, order["low"] > 0.5
    found["verdict"] = (
        "predicts: its Brier score beats the base rate's and it orders questions"
        if better and ordered
        else "orders questions, but its probabilities are no better than the base rate"
        if ordered
        else "predicts nothing that its intervals could show"
    )
    found["method"] = (
        f"{FOLDS} folds, {REPEATS} repeats averaged, {INNER_FOLDS} folds inside for the penalty; "
        f"{RESAMPLES} bootstrap resamples of questions, percentiles; ECE over {BINS} bins of equal "
        "mass"
    )
    return found


def main() -> None:
    """Fits, judges, prints one JSON object; writes the model file when asked to."""
    warnings.filterwarnings("error")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    arguments = parser.parse_args()
    run = open_run(arguments.run)
    asked = read_questions(arguments.questions, [chunk.id for chunk in run.chunks])
    bm25 = BM25([Passage(chunk.id, chunk.text) for chunk in run.chunks])
    lookup = run.lookup()
    rows, missed, strata, levels = [], [], [], {}
    unmatched = 0
    for question in asked:
        if not question.answerable:
            continue
        features = touched(run.concepts, question.question, lookup).features
        miss = not set(question.gold) <= bm25.get_scores(question.question, DEPTH).keys()
        level = levels.setdefault(
            score_of(features or NOTHING).level, {"questions": 0, "missed": 0}
        )
        level["questions"] += 1
        level["missed"] += miss
        if features is None:
            unmatched += 1
            continue
        rows.append([logged(features, name) for name in NAMES])
        missed.append(float(miss))
        strata.append(question.kind)
    x, y = np.array(rows), np.array(missed)
    report = judged(*out_of_fold(x, y), y)
    report["levels_of_seed"] = levels
    report["missed_by_kind"] = {
        kind: f"{sum(m for m, k in zip(missed, strata, strict=True) if k == kind):.0f} of "
        f"{strata.count(kind)}"
        for kind in dict.fromkeys(strata)
    }
    model = chosen(x, y, SEED)
    fitted_model = DifficultyModel(
        predicts=f"BM25's {DEPTH} best chunks lack at least one gold chunk",
        intercept=round(model.intercept, 6),
        terms=tuple(
            Term(
                feature=name,
                mean=round(float(model.mean[i]), 6),
                scale=round(float(model.scale[i]), 6),
                weight=round(float(model.weights[i]), 6),
            )
            for i, name in enumerate(NAMES)
            if np.ptp(x[:, i]) > 0
        ),
        fitted_on={
            "questions": arguments.questions.name,
            "questions_sha256": sha256_file(arguments.questions),
            "chunks_sha256": sha256_bytes(to_json_bytes([[c.id, c.text] for c in run.chunks])),
            "run_config": run.config,
            "answerable_without_a_match": unmatched,
            "bm25": bm25.params(),
            "penalty": f"L2 on standardised ln(1 + x): {model.penalty:g} of {list(PENALTIES)}",
        },
        out_of_fold=report,
    )
    text = to_json_bytes(fitted_model, indent=2).decode() + "\n"
    if arguments.write:
        write_text_atomic(MODEL_FILE, text)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
