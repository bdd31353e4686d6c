"""Grades predictions for SQuAD 2.0, whose file maps ids of questions to answers.

Normalisation, exact match and F1 are those of the official script (Rajpurkar et al., "Know What You
Don't Know: Unanswerable Questions for SQuAD", 2018; ``evaluate-v2.0.py``): lower case, without
punctuation and articles, white space joined. An empty answer is an abstention.
"""

from __future__ import annotations

import gzip
import re
import string
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.harness.predictions.reader import parse_prediction_files, show_text
from eval.harness.predictions.rows import MAX_ARRAY_BYTES
from eval.model.foreign_values import make_storable
from eval.outcomes.reader import Answer, GradedAnswers
from kg.base.errors import DuplicateIdError, RecordError, SettingError
from kg.base.files import require_file
from kg.base.plain_text import format_count
from kg.base.strict_json import NotJsonError, parse_json

_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_GOLD_HINT: Final = "Give dev-v2.0.json of SQuAD 2.0, or a file of the same form."


class GoldQuestion(NamedTuple):
    """A question of the data set.

    Attributes:
        answers: the answers that count as right; none if nothing is left of them.
        has_answer: whether answers are given, which tells HasAns from NoAns.
        paragraph: number of the paragraph, whose questions are resampled together.
    """

    answers: tuple[str, ...]
    has_answer: bool
    paragraph: str


def normalise_answer(text: str) -> str:
    """Normalises an answer as the official script does."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def compute_f1(gold: str, predicted: str) -> float:
    """Computes the F1 of the words; where one text is empty, 1 if both are."""
    gold_words, words = normalise_answer(gold).split(), normalise_answer(predicted).split()
    if not gold_words or not words:
        return float(gold_words == words)
    n_common = (Counter(gold_words) & Counter(words)).total()
    return 2 * n_common / (len(gold_words) + len(words))


def read_squad_answers(
    gold_file: Path, files: Sequence[str], probability_files: Sequence[str] = ()
) -> GradedAnswers:
    """Reads predictions for SQuAD 2.0 and grades them.

    Args:
        gold_file: the data set, as ``dev-v2.0.json``.
        files: ``[NAME=]FILE`` each: a JSON object, id → answer, possibly with ``.gz``.
        probability_files: ``NAME=FILE`` each: a JSON object, id → probability that the question has
            no answer. The confidence of an answer is 1 minus it.

    Raises:
        MissingFileError: a file does not exist.
        RecordError: a file has another form, or a prediction file has no question of the data set.
        DuplicateIdError: the data set has an id twice.
        SettingError: probabilities are given for a system that has no predictions.
    """
    gold = read_gold(gold_file)
    systems = parse_prediction_files(files)
    no_answer: dict[str, dict[str, float]] = {}
    for file in parse_prediction_files(probability_files):
        if file.name not in {system.name for system in systems}:
            raise SettingError(
                f"there are no predictions of {file.name!r}",
                where=f"--na-prob {file.name}={file.path}",
                hint="Give the file as NAME=FILE, with the name of the predictions.",
            )
        no_answer[file.name] = _read_probabilities(file.path)
    graded = GradedAnswers()
    for file in systems:
        predictions = _read_predictions(file.path)
        n_unknown = len(predictions.keys() - gold.keys())
        if n_unknown == len(predictions):
            raise RecordError(
                f"none of {format_count(len(predictions), 'prediction')} is on a question of "
                f"{gold_file}",
                where=str(file.path),
                hint=_GOLD_HINT,
            )
        if n_unknown:
            graded.notes.append(
                f"{file.path}: {format_count(n_unknown, 'prediction')} on other questions left out"
            )
        if n_missing := len(gold.keys() - predictions.keys()):
            graded.notes.append(
                f"{file.path}: {format_count(n_missing, 'question')} without a prediction count "
                "as unusable"
            )
        graded.answers += _grade(file.name, predictions, gold, no_answer.get(file.name, {}))
    return graded


def _grade(
    system: str,
    predictions: Mapping[str, str],
    gold: Mapping[str, GoldQuestion],
    no_answer: Mapping[str, float],
) -> Iterator[Answer]:
    for id_, question in gold.items():
        predicted = predictions.get(id_)
        confidence = None if id_ not in no_answer else 1 - no_answer[id_]
        right_answers = question.answers or ("",)
        outcome, exact, f1 = "unusable", 0.0, 0.0
        if predicted is not None:
            text = normalise_answer(predicted)
            exact = float(text in map(normalise_answer, right_answers))
            f1 = max(compute_f1(answer, predicted) for answer in right_answers)
            outcome = "abstained" if not text else "right" if exact else "wrong"
        yield Answer(
            system=system,
            id=id_,
            outcome=outcome,
            answerable=question.has_answer,
            cluster=question.paragraph,
            confidence=confidence,
            scores=(exact, f1),
        )


def read_gold(path: Path) -> dict[str, GoldQuestion]:
    """Reads the questions of a SQuAD 2.0 data set.

    Raises:
        RecordError, DuplicateIdError: as ``read_squad_answers``.
    """
    data = _read_object(path)
    questions: dict[str, GoldQuestion] = {}
    try:
        paragraphs = [p for article in data["data"] for p in article["paragraphs"]]
        for number, paragraph in enumerate(paragraphs):
            for item in paragraph["qas"]:
                texts = [answer["text"] for answer in item["answers"]]
                id_ = make_storable(str(item["id"]))
                if id_ in questions:
                    raise DuplicateIdError(
                        f"the question {show_text(id_)} occurs twice", where=str(path)
                    )
                questions[id_] = GoldQuestion(
                    tuple(text for text in texts if normalise_answer(text)),
                    bool(texts),
                    f"paragraph {number}",
                )
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError(
            f"not a SQuAD 2.0 data set: {type(error).__name__}: {error}",
            where=str(path),
            hint=_GOLD_HINT,
        ) from error
    if not questions:
        raise RecordError("the data set has no questions", where=str(path), hint=_GOLD_HINT)
    return questions


def _read_predictions(path: Path) -> dict[str, str]:
    predictions = _read_object(path)
    for id_, answer in predictions.items():
        if not isinstance(answer, str):
            raise RecordError(
                f"the prediction of {show_text(id_)} is {show_text(str(answer))}, no text",
                where=str(path),
                hint="A prediction file maps ids to answers; an empty answer is an abstention.",
            )
    return predictions


def _read_probabilities(path: Path) -> dict[str, float]:
    probabilities = _read_object(path)
    for id_, value in probabilities.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:
            raise RecordError(
                f"the probability of {show_text(id_)} is {show_text(str(value))}, no number in "
                "[0, 1]",
                where=str(path),
                hint="A score s that is a log-odds becomes a probability by 1 / (1 + exp(−s)).",
            )
    return probabilities


def _read_object(path: Path) -> dict[str, Any]:
    """Reads a JSON object from a file, which may be compressed."""
    path = require_file(path, "SQuAD file")
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as handle:
                content = handle.read(MAX_ARRAY_BYTES + 1)
        else:
            with path.open("rb") as plain:
                content = plain.read(MAX_ARRAY_BYTES + 1)
        if len(content) > MAX_ARRAY_BYTES:
            raise RecordError(f"larger than {MAX_ARRAY_BYTES:,} bytes", where=str(path))
        value = parse_json(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RecordError(f"not a gzip file: {error}", where=str(path)) from error
    except NotJsonError as error:
        raise RecordError(f"not JSON: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise RecordError("not a JSON object", where=str(path))
    return value
