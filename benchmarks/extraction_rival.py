"""The same scoring written straight from the specification: jsonschema and python-Levenshtein.

As one would write it first: validate, align arrays of objects by scipy's assignment, flatten both
sides, compare field by field, count. It leaves out what is hard to come by: errors, types and
hallucinations are told by the simplest rules, and only whole texts are looked for in the text. So
it does less than the scorer it is compared with, never more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import jsonschema
import numpy as np
from Levenshtein import distance
from scipy.optimize import linear_sum_assignment

from eval.extraction.samples.sample import Sample

NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "array"}


class StraightScorer:
    """Scores samples one by one.

    Args:
        validators: whether a schema's validator is kept for the next sample of the same schema,
            instead of calling ``jsonschema.validate``, which checks the schema each time.
    """

    def __init__(self, *, validators: bool) -> None:
        self._validators: dict[int, Any] | None = {} if validators else None

    def score(self, sample: Sample, predicted: Any) -> dict[str, Any]:
        """All counts of one sample."""
        valid = self._valid(sample.schema, predicted)
        expected_fields: dict[str, Any] = {}
        predicted_fields: dict[str, Any] = {}
        flatten(sample.expected, "", expected_fields)
        flatten(aligned(sample.expected, predicted), "", predicted_fields)
        counts: Counter[str] = Counter()
        groups: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        similarities: dict[str, list[float]] = defaultdict(list)
        confusion: Counter[tuple[str, str]] = Counter()
        errors: Counter[str] = Counter()
        scores: list[float] = []
        text = sample.text.lower()
        for path in {**expected_fields, **predicted_fields}:
            expected, came = expected_fields.get(path), predicted_fields.get(path)
            category, score = "missed", None
            if expected is None:
                category = "spurious"
                errors["hallucinated" if str(came).lower() not in text else "extra"] += 1
            elif came is not None:
                score = composite(came, expected, similarities)
                scores.append(score)
                category = "exact" if score >= 0.95 else "partial" if score >= 0.5 else "incorrect"
                counts["strict"] += normal(came) == normal(expected)
                counts["lenient"] += score >= 0.3
                confusion[NAMES[type(expected)], NAMES[type(came)]] += 1
                if category != "exact":
                    errors["wrong" if str(came).lower() not in text else "misplaced"] += 1
            else:
                errors["missing"] += 1
            counts[category] += 1
            value = came if expected is None else expected
            groups["type"][NAMES[type(value)], category] += 1
            groups["depth"][str(path.count(".")), category] += 1
            groups["name"][path, category] += 1
            required = path in sample.schema.get("required", ())
            groups["required"][str(required), category] += 1
        paired = counts["exact"] + counts["partial"] + counts["incorrect"]
        made, wanted = paired + counts["spurious"], paired + counts["missed"]
        credits = {
            "strict": counts["strict"],
            "partial": counts["exact"] + 0.5 * counts["partial"],
            "lenient": counts["lenient"],
        }
        rates = {}
        for mode, credit in credits.items():
            precision = credit / made if made else 0.0
            recall = credit / wanted if wanted else 0.0
            both = precision + recall
            rates[mode] = precision, recall, 2 * precision * recall / both if both else 0.0
        return {
            "valid": valid, "counts": counts, "rates": rates, "groups": groups, "errors": errors,
            "confusion": confusion, "similarities": similarities, "scores": scores,
            "type_accuracy": sum(n for (a, b), n in confusion.items() if a == b) / max(1, made),
            "hallucination_rate": counts["spurious"] / max(1, made),
        }  # fmt: skip

    def _valid(self, schema: dict[str, Any], predicted: Any) -> bool:
        if self._validators is not None:
            validator = self._validators.get(id(schema))
            if validator is None:
                made = jsonschema.validators.validator_for(schema)
                validator = made(schema, format_checker=made.FORMAT_CHECKER)
                self._validators[id(schema)] = validator
            return not list(validator.iter_errors(predicted))
        try:
            jsonschema.validate(
                predicted, schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
            )
        except jsonschema.ValidationError:
            return False
        return True


def flatten(value: Any, path: str, fields: dict[str, Any]) -> None:
    """Enters the leaves of a value by path."""
    if isinstance(value, dict):
        for key, child in value.items():
            flatten(child, f"{path}.{key}" if path else key, fields)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, child in enumerate(value):
            flatten(child, f"{path}[{index}]", fields)
    elif value is not None:
        fields[path] = value


def aligned(expected: Any, predicted: Any) -> Any:
    """``predicted`` with array elements in the order of those expected that they are most like."""
    if isinstance(expected, dict) and isinstance(predicted, dict):
        return {key: aligned(expected.get(key), child) for key, child in predicted.items()}
    if not (isinstance(expected, list) and isinstance(predicted, list)):
        return predicted
    if not (expected and isinstance(expected[0], dict)):
        return predicted
    scores = [[likeness(one, other) for other in predicted] for one in expected]
    chosen = linear_sum_assignment(np.array(scores), maximize=True) if predicted else ((), ())
    pairs = dict(zip(*map(list, chosen), strict=True))
    over = [one for index, one in enumerate(predicted) if index not in pairs.values()]
    found = [predicted[pairs[index]] if index in pairs else {} for index in range(len(expected))]
    return found + over


def likeness(one: Any, other: Any) -> float:
    """Sum of the scores of the fields of two elements."""
    if not isinstance(other, dict):
        return 0.0
    waste: dict[str, list[float]] = defaultdict(list)
    return sum(
        composite(other[key], value, waste)
        for key, value in one.items()
        if other.get(key) is not None
    )


def composite(predicted: Any, expected: Any, similarities: dict[str, list[float]]) -> float:
    """The specification's ``composite_partial_score``."""
    if type(predicted) is not type(expected) and str in (type(predicted), type(expected)):
        return 0.0
    if isinstance(expected, str):
        pred_tokens, exp_tokens = set(predicted.lower().split()), set(expected.lower().split())
        shared = pred_tokens & exp_tokens
        precision = len(shared) / len(pred_tokens) if pred_tokens else 0
        recall = len(shared) / len(exp_tokens) if exp_tokens else 0
        token_f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        longest = max(len(predicted), len(expected))
        edits = 1 - distance(predicted.lower(), expected.lower()) / longest if longest else 0
        pred_lower, exp_lower = predicted.lower(), expected.lower()
        if exp_lower in pred_lower:
            containment = 1.0
        elif pred_lower in exp_lower:
            containment = len(pred_lower) / len(exp_lower)
        else:
            containment = 0.0
        similarities["token_f1"].append(token_f1)
        similarities["levenshtein"].append(edits)
        similarities["containment"].append(containment)
        return 0.5 * token_f1 + 0.3 * edits + 0.2 * containment
    if isinstance(expected, bool):
        return 1.0 if predicted == expected else 0.0
    if isinstance(expected, int | float):
        if expected == 0:
            return 1.0 if predicted == 0 else 0.0
        return max(0, 1 - abs(predicted - expected) / abs(expected))
    first, second = set(map(str, predicted)), set(map(str, expected))
    return len(first & second) / len(first | second) if first | second else 0.0


def normal(value: Any) -> Any:
    """A value as strict mode compares it."""
    return " ".join(value.lower().split()) if isinstance(value, str) else value
