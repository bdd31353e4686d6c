r"""Fits the probability that BM25 misses a passage, and measures it on unseen corpora.

    epoche kg build retrieval/corpora/keeping_data/book --out runs/book
    epoche kg build borgbackup-1.4.5/docs --out runs/borgbackup
    python benchmarks/label_quotes.py runs/borgbackup benchmarks/questions/borgbackup-1.4.5.jsonl \
        borgbackup.jsonl
    python benchmarks/fit_difficulty.py runs/book=retrieval/corpora/keeping_data/questions.jsonl \
        runs/borgbackup=borgbackup.jsonl … [--write]

Each corpus is left out once: the model is fitted on the others and predicts its questions. Brier
scores are compared with those of the others' base rate, on the same questions. Intervals are
percentiles of a bootstrap over questions. With ``--write`` the model fitted on all corpora replaces
the shipped one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eval.retrieval_eval.questions import read_questions
from eval.text.miss_probability import (
    FEATURES,
    MODEL_FILE,
    N_BEST,
    MissModel,
    compute_score_features,
)
from kg.base.files import sha256_bytes, sha256_file, to_json_bytes, write_text_atomic
from kg.text.run.folder import open_run
from retrieval.bm25 import BM25
from retrieval.protocol import Passage

RESAMPLES, SEED = 5_000, 12345
Floats = NDArray[np.float64]


class Corpus(NamedTuple):
    """The questions of one corpus: features, and whether BM25 missed gold."""

    features: Floats
    missed: Floats
    source: dict[str, Any]


def read_corpus(run_folder: Path, questions_file: Path) -> Corpus:
    """Asks BM25 the questions about a run that have an answer."""
    run = open_run(run_folder)
    bm25 = BM25([Passage(chunk.id, chunk.text) for chunk in run.chunks])
    rows, missed = [], []
    for question in read_questions(questions_file, [chunk.id for chunk in run.chunks]):
        found = bm25.get_scores(question.question, N_BEST)
        if question.answerable and found:
            rows.append(compute_score_features(sorted(found.values(), reverse=True)))
            missed.append(float(not set(question.gold) <= found.keys()))
    chunks = to_json_bytes([[chunk.id, chunk.text] for chunk in run.chunks])
    return Corpus(
        np.array(rows),
        np.array(missed),
        {
            "questions": len(rows),
            "missed": int(sum(missed)),
            "questions_sha256": sha256_file(questions_file),
            "chunks_sha256": sha256_bytes(chunks),
        },
    )


def fit_model(corpora: list[Corpus]) -> LogisticRegression:
    """Fits the model on some corpora; two weights on hundreds of questions need no penalty."""
    features = np.concatenate([corpus.features for corpus in corpora])
    missed = np.concatenate([corpus.missed for corpus in corpora])
    return LogisticRegression(C=1e6, max_iter=1000).fit(features, missed)


def measure_predictions(others: list[Corpus], corpus: Corpus) -> dict[str, Any]:
    """Measures predictions on a corpus by a model that was fitted on others."""
    predicted = fit_model(others).predict_proba(corpus.features)[:, 1]
    base_rate = float(np.concatenate([other.missed for other in others]).mean())
    missed = corpus.missed
    loss, base_loss = (predicted - missed) ** 2, (base_rate - missed) ** 2
    measures: dict[str, Callable[[NDArray[np.int64]], float]] = {
        "brier": lambda rows: float(loss[rows].mean()),
        "brier_less_base_rate": lambda rows: float((loss - base_loss)[rows].mean()),
        "auroc": lambda rows: float(roc_auc_score(missed[rows], predicted[rows])),
    }
    resamples = np.random.default_rng(SEED).integers(0, len(missed), (RESAMPLES, len(missed)))
    usable = [rows for rows in resamples if 0 < missed[rows].sum() < len(missed)]
    found: dict[str, Any] = {"mean_predicted": round(float(predicted.mean()), 4)}
    for name, measure in measures.items():
        low, high = np.quantile([measure(rows) for rows in usable], (0.025, 0.975))
        value = measure(np.arange(len(missed)))
        found[name] = {"value": round(value, 4), "low": round(float(low), 4)}
        found[name]["high"] = round(float(high), 4)
    return found


def describe_worth(validation: dict[str, dict[str, Any]]) -> str:
    """Says whether the model predicts on corpora that it was not fitted on."""
    orders = [found["auroc"]["low"] > 0.5 for found in validation.values()]
    beats = [found["brier_less_base_rate"]["high"] < 0 for found in validation.values()]
    values = ", ".join(f"{found['auroc']['value']:.2f}" for found in validation.values())
    return (
        f"orders questions by AUROC {values} on {len(orders)} corpora that it was not fitted on "
        f"(above chance on {sum(orders)}), and has a better Brier score than the base rate on "
        f"{sum(beats)}"
    )


def main() -> None:
    """Fits, measures, and prints one JSON object; writes the model with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+", help="RUN=QUESTIONS; two or more")
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    arguments = parser.parse_args()
    pairs = [tuple(map(Path, text.split("=", 1))) for text in arguments.corpus]
    corpora = {run.name: read_corpus(run, questions) for run, questions in pairs}
    validation = {
        name: measure_predictions([c for other, c in corpora.items() if other != name], corpus)
        for name, corpus in corpora.items()
    }
    fitted = fit_model(list(corpora.values()))
    model = MissModel(
        predicts=f"BM25's {N_BEST} best chunks lack at least one gold chunk",
        intercept=round(float(fitted.intercept_[0]), 4),
        weights={
            name: round(float(weight), 4)
            for name, weight in zip(FEATURES, fitted.coef_[0], strict=True)
        },
        fitted_on={name: corpus.source for name, corpus in corpora.items()},
        validation=validation,
        worth=describe_worth(validation),
    )
    text = to_json_bytes(model, indent=2).decode() + "\n"
    if arguments.write:
        write_text_atomic(MODEL_FILE, text)
    print(json.dumps(json.loads(text), indent=2))


if __name__ == "__main__":
    main()
