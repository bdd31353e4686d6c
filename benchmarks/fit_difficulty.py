"""Fits the calibrated difficulty score and evaluates it.

    epoche kg build retrieval/corpora/keeping_data/book --out runs/keeping_data
    python benchmarks/fit_difficulty.py --run runs/keeping_data [--write]

The model predicts whether BM25's ten best chunks lack a gold chunk of a question, from the nine
features of the question in the concept graph, as ``ln(1 + x)``. It is a logistic regression with an
L2 penalty on standardised features. Several penalties are compared in folds inside the training
data, and the strongest that is not clearly worse than the best is chosen. The strongest one that is
tried shrinks the weights to almost 0, so that only the base rate remains.

Every evaluated prediction is out of fold, from a model that was not fitted on the question. There
are 10 folds; predictions are averaged over repeats, and compared with the base rate of the same
training folds. AUROC compares questions of the same fold only: between folds, different base rates
alone put predictions in the wrong order (B. Parker, S. Gunter and J. Bedo, Stratification bias in
low signal microarray studies, BMC Bioinformatics 2007). With ``--write`` the model fitted on all
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

from eval.retrieval_eval.questions import read_questions
from eval.stats.calibration import (
    brier_score,
    calibration_error,
    equal_width_bins,
    simulate_chance_error,
)
from kg.base.files import sha256_bytes, sha256_file, to_json_bytes, write_text_atomic
from kg.difficulty.calibration import MODEL_FILE, DifficultyModel, ModelTerm, log_feature
from kg.difficulty.features import QueryFeatures, compute_features
from kg.difficulty.score import score_features
from kg.text.run.folder import open_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "retrieval/corpora/keeping_data/questions.jsonl"
FOLDS, INNER_FOLDS, REPEATS, SEED = 10, 5, 20, 12345
PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
RESAMPLES, BINS, CHUNK_COUNT = 5_000, 10, 10
Floats = NDArray[np.float64]
FEATURE_NAMES = QueryFeatures.__struct_fields__


class LogisticModel(NamedTuple):
    """A logistic model of standardised features."""

    intercept: float
    weights: Floats
    mean: Floats
    scale: Floats
    penalty: float

    def predict(self, x: Floats) -> Floats:
        """Returns probabilities, shape (n,)."""
        log_odds = self.intercept + (x - self.mean) / self.scale @ self.weights
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def fit_model(x: Floats, y: Floats, penalty: float) -> LogisticModel:
    """Maximises ``Σ log p - penalty / 2 · Σ w²`` by Newton's method; ``w`` omits the intercept."""
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
            return LogisticModel(float(beta[0]), beta[1:], mean, scale, penalty)
    raise ArithmeticError("Newton's method did not settle")


def select_model(x: Floats, y: Floats, seed: int) -> LogisticModel:
    """Fits the model with the strongest penalty that is not clearly worse than the best.

    "Clearly" means by more than one standard error of the paired difference in log loss over inner
    folds (the rule of Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). So
    predictions differ from the base rate only if the data support a difference.
    """
    parts = split_folds(y, INNER_FOLDS, np.random.default_rng(seed))

    def fold_losses(penalty: float) -> Floats:
        losses = np.zeros(len(y))
        for part in parts:
            train = np.setdiff1d(np.arange(len(y)), part)
            p = fit_model(x[train], y[train], penalty).predict(x[part])
            losses[part] = -np.log(np.where(y[part] == 1, p, 1 - p))
        return losses

    losses_by_penalty = {penalty: fold_losses(penalty) for penalty in PENALTIES}
    best = min(losses_by_penalty.values(), key=lambda losses: float(losses.mean()))
    acceptable_penalties = [
        penalty
        for penalty, losses in losses_by_penalty.items()
        if (losses - best).mean() <= (losses - best).std() / np.sqrt(len(y))
    ]
    return fit_model(x, y, max(acceptable_penalties))


def split_folds(y: Floats, count: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Splits into parts of equal size, each with the same share of both outcomes."""
    order = np.concatenate([rng.permutation(np.flatnonzero(y == value)) for value in (0, 1)])
    return [order[start::count] for start in range(count)]


class OutOfFoldPredictions(NamedTuple):
    """Predictions and base rates of models that were not fitted on the question."""

    predicted: Floats
    """Shape (n,)."""
    base_rates: Floats
    """Shape (n,)."""
    win_counts: Floats
    """How often question i had a higher prediction than question j of the same fold; ties count
    half; shape (n, n)."""
    meeting_counts: Floats
    """How often questions i and j were in the same fold; shape (n, n)."""


def predict_out_of_fold(x: Floats, y: Floats) -> OutOfFoldPredictions:
    """Predicts every question ``REPEATS`` times with models that were not fitted on it."""
    n = len(y)
    result = OutOfFoldPredictions(np.zeros(n), np.zeros(n), np.zeros((n, n)), np.zeros((n, n)))
    for repeat in range(REPEATS):
        for part in split_folds(y, FOLDS, np.random.default_rng([SEED, repeat])):
            train = np.setdiff1d(np.arange(n), part)
            predictions = select_model(x[train], y[train], SEED).predict(x[part])
            result.predicted[part] += predictions / REPEATS
            result.base_rates[part] += y[train].mean() / REPEATS
            pairs = np.ix_(part, part)
            differences = predictions[:, None] - predictions
            result.win_counts[pairs] += (differences > 0) + (differences == 0) / 2
            result.meeting_counts[pairs] += 1
    return result


def compute_auroc(predictions: OutOfFoldPredictions, y: Floats, counts: Floats) -> float:
    """Computes AUROC within folds: how often missed questions are ranked above the others.

    Args:
        predictions: the predictions.
        y: 1 where gold was missed, shape (n,).
        counts: how often each question counts, shape (n,).
    """
    missed, not_missed = counts * y, counts * (1 - y)
    wins = missed @ predictions.win_counts @ not_missed
    return float(wins / (missed @ predictions.meeting_counts @ not_missed))


def evaluate_predictions(predictions: OutOfFoldPredictions, y: Floats) -> dict[str, Any]:
    """Computes Brier score, AUROC and ECE, with percentile bootstrap intervals."""
    predicted, base_rates = predictions.predicted, predictions.base_rates
    bins = equal_width_bins(predicted, BINS)
    measures = {
        "brier": lambda indices: brier_score(predicted[indices], y[indices]),
        "brier_of_base_rate": lambda indices: brier_score(base_rates[indices], y[indices]),
        "brier_less_base_rate": lambda indices: (
            brier_score(predicted[indices], y[indices])
            - brier_score(base_rates[indices], y[indices])
        ),
        "auroc": lambda indices: compute_auroc(
            predictions, y, np.bincount(indices, minlength=len(y)).astype(float)
        ),
        "ece": lambda indices: calibration_error(predicted[indices], y[indices], bins[indices]),
    }
    rng = np.random.default_rng(SEED)
    resamples = rng.integers(0, len(y), (RESAMPLES, len(y)))
    resamples = resamples[[0 < y[indices].sum() < len(y) for indices in resamples]]
    results: dict[str, Any] = {"questions": len(y), "missed": int(y.sum())}
    all_questions = np.arange(len(y))
    for name, measure in measures.items():
        low, high = np.quantile([measure(indices) for indices in resamples], (0.025, 0.975))
        results[name] = {
            "value": round(measure(all_questions), 4),
            "low": round(float(low), 4),
            "high": round(float(high), 4),
        }
    chance = simulate_chance_error(predicted, bins, measures["ece"](all_questions))
    # The error that perfectly calibrated probabilities would have by chance.
    results["ece"] |= {"of_a_calibrated_one": round(chance.mean, 4), "p": round(chance.p_value, 4)}
    brier_gain, auroc = results["brier_less_base_rate"], results["auroc"]
    beats_base_rate, orders_questions = brier_gain["high"] < 0, auroc["low"] > 0.5
    results["verdict"] = (
        "predicts: its Brier score beats the base rate's and it orders questions"
        if beats_base_rate and orders_questions
        else "orders questions, but its probabilities are no better than the base rate"
        if orders_questions
        else "predicts nothing that its intervals could show"
    )
    results["method"] = (
        f"{FOLDS} folds, {REPEATS} repeats averaged, {INNER_FOLDS} folds inside for the penalty; "
        f"{RESAMPLES} bootstrap resamples of questions, percentiles; ECE over {BINS} bins of equal "
        "width; AUROC within folds"
    )
    return results


def main() -> None:
    """Fits, evaluates, and prints one JSON object; writes the model file with ``--write``."""
    warnings.filterwarnings("error")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    arguments = parser.parse_args()
    run = open_run(arguments.run)
    questions = read_questions(arguments.questions, [chunk.id for chunk in run.chunks])
    bm25 = BM25([Passage(chunk.id, chunk.text) for chunk in run.chunks])
    lookup = run.open_lookup()
    rows, missed_flags, kinds, levels = [], [], [], {}
    unmatched_count = 0
    for question in questions:
        if not question.answerable:
            continue
        concepts = run.concepts
        nodes = concepts.match_concepts(question.question, lookup)
        features = compute_features(concepts.graph, nodes, concepts.get_chunk_ids)
        is_missed = not set(question.gold) <= bm25.get_scores(question.question, CHUNK_COUNT).keys()
        level = levels.setdefault(score_features(features).level, {"questions": 0, "missed": 0})
        level["questions"] += 1
        level["missed"] += is_missed
        if not features.query_node_count:
            unmatched_count += 1
            continue
        rows.append([log_feature(features, name) for name in FEATURE_NAMES])
        missed_flags.append(float(is_missed))
        kinds.append(question.kind)
    x, y = np.array(rows), np.array(missed_flags)
    report = evaluate_predictions(predict_out_of_fold(x, y), y)
    report["levels_of_seed"] = levels  # levels by the preset named "seed", not by a random seed
    report["missed_by_kind"] = {
        kind: f"{sum(m for m, k in zip(missed_flags, kinds, strict=True) if k == kind):.0f} of "
        f"{kinds.count(kind)}"
        for kind in dict.fromkeys(kinds)
    }
    model = select_model(x, y, SEED)
    fitted_model = DifficultyModel(
        predicts=f"BM25's {CHUNK_COUNT} best chunks lack at least one gold chunk",
        intercept=round(model.intercept, 6),
        terms=tuple(
            ModelTerm(
                feature=name,
                mean=round(float(model.mean[i]), 6),
                scale=round(float(model.scale[i]), 6),
                weight=round(float(model.weights[i]), 6),
            )
            for i, name in enumerate(FEATURE_NAMES)
            if np.ptp(x[:, i]) > 0
        ),
        fitted_on={
            "questions": arguments.questions.name,
            "questions_sha256": sha256_file(arguments.questions),
            "chunks_sha256": sha256_bytes(to_json_bytes([[c.id, c.text] for c in run.chunks])),
            "run_config": run.config,
            "answerable_without_a_match": unmatched_count,
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
