"""Scores extractions as the benchmark's specification says, with jsonschema and Levenshtein.

This is the direct implementation: it validates, aligns arrays of objects by scipy's assignment,
flattens both sides, compares field by field, and counts. It leaves out the difficult parts: errors,
types and hallucinations follow the simplest rules, and only whole values are searched for in the
text. So it does at most as much work as the scorer that it is compared with.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import jsonschema
import numpy as np
from Levenshtein import distance
from scipy.optimize import linear_sum_assignment

from eval.extraction.samples.sample import Sample

TYPE_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "array"}


class SpecificationScorer:
    """Scores samples one by one, as the specification describes.

    Args:
        cache_validators: whether a schema's validator is cached for other samples of the same
            schema, instead of calling ``jsonschema.validate``, which checks the schema each time.
    """

    def __init__(self, *, cache_validators: bool) -> None:
        self._validators: dict[int, Any] | None = {} if cache_validators else None

    def score_sample(self, sample: Sample, predicted: Any) -> dict[str, Any]:
        """Computes all counts of one sample."""
        valid = self._is_valid(sample.schema, predicted)
        expected_fields: dict[str, Any] = {}
        predicted_fields: dict[str, Any] = {}
        flatten_value(sample.expected, "", expected_fields)
        flatten_value(align_elements(sample.expected, predicted), "", predicted_fields)
        counts: Counter[str] = Counter()
        groups: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        similarities: dict[str, list[float]] = defaultdict(list)
        confusion: Counter[tuple[str, str]] = Counter()
        errors: Counter[str] = Counter()
        scores: list[float] = []
        text = sample.text.lower()
        for path in {**expected_fields, **predicted_fields}:
            expected, predicted_value = expected_fields.get(path), predicted_fields.get(path)
            category, score = "missed", None
            if expected is None:
                category = "spurious"
                errors["hallucinated" if str(predicted_value).lower() not in text else "extra"] += 1
            elif predicted_value is not None:
                score = score_composite(predicted_value, expected, similarities)
                scores.append(score)
                category = "exact" if score >= 0.95 else "partial" if score >= 0.5 else "incorrect"
                counts["strict"] += normalise_value(predicted_value) == normalise_value(expected)
                counts["lenient"] += score >= 0.3
                confusion[TYPE_NAMES[type(expected)], TYPE_NAMES[type(predicted_value)]] += 1
                if category != "exact":
                    errors[
                        "wrong" if str(predicted_value).lower() not in text else "misplaced"
                    ] += 1
            else:
                errors["missing"] += 1
            counts[category] += 1
            value = predicted_value if expected is None else expected
            groups["type"][TYPE_NAMES[type(value)], category] += 1
            groups["depth"][str(path.count(".")), category] += 1
            groups["name"][path, category] += 1
            required = path in sample.schema.get("required", ())
            groups["required"][str(required), category] += 1
        paired_count = counts["exact"] + counts["partial"] + counts["incorrect"]
        predicted_count, expected_count = (
            paired_count + counts["spurious"],
            paired_count + counts["missed"],
        )
        credits = {
            "strict": counts["strict"],
            "partial": counts["exact"] + 0.5 * counts["partial"],
            "lenient": counts["lenient"],
        }
        rates = {}
        for mode, credit in credits.items():
            precision = credit / predicted_count if predicted_count else 0.0
            recall = credit / expected_count if expected_count else 0.0
            total = precision + recall
            rates[mode] = precision, recall, 2 * precision * recall / total if total else 0.0
        return {
            "valid": valid, "counts": counts, "rates": rates, "groups": groups, "errors": errors,
            "confusion": confusion, "similarities": similarities, "scores": scores,
            "type_accuracy": (
                sum(n for (a, b), n in confusion.items() if a == b) / max(1, predicted_count)
            ),
            "hallucination_rate": counts["spurious"] / max(1, predicted_count),
        }  # fmt: skip

    def _is_valid(self, schema: dict[str, Any], predicted: Any) -> bool:
        if self._validators is not None:
            validator = self._validators.get(id(schema))
            if validator is None:
                validator_class = jsonschema.validators.validator_for(schema)
                validator = validator_class(schema, format_checker=validator_class.FORMAT_CHECKER)
                self._validators[id(schema)] = validator
            return not list(validator.iter_errors(predicted))
        try:
            jsonschema.validate(
                predicted, schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
            )
        except jsonschema.ValidationError:
            return False
        return True


def flatten_value(value: Any, path: str, fields: dict[str, Any]) -> None:
    """Adds the leaves of a value to ``fields``, by path."""
    if isinstance(value, dict):
        for key, child in value.items():
            flatten_value(child, f"{path}.{key}" if path else key, fields)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, child in enumerate(value):
            flatten_value(child, f"{path}[{index}]", fields)
    elif value is not None:
        fields[path] = value


def align_elements(expected: Any, predicted: Any) -> Any:
    """Reorders array elements of ``predicted`` like the expected elements that they match best."""
    if isinstance(expected, dict) and isinstance(predicted, dict):
        return {key: align_elements(expected.get(key), child) for key, child in predicted.items()}
    if not (isinstance(expected, list) and isinstance(predicted, list)):
        return predicted
    if not (expected and isinstance(expected[0], dict)):
        return predicted
    scores = [
        [score_element_pair(expected_element, predicted_element) for predicted_element in predicted]
        for expected_element in expected
    ]
    assignment = linear_sum_assignment(np.array(scores), maximize=True) if predicted else ((), ())
    pairs = dict(zip(*map(list, assignment), strict=True))
    unmatched = [element for index, element in enumerate(predicted) if index not in pairs.values()]
    aligned = [predicted[pairs[index]] if index in pairs else {} for index in range(len(expected))]
    return aligned + unmatched


def score_element_pair(expected: Any, predicted: Any) -> float:
    """Sums the field scores of two elements."""
    if not isinstance(predicted, dict):
        return 0.0
    ignored_similarities: dict[str, list[float]] = defaultdict(list)
    return sum(
        score_composite(predicted[key], value, ignored_similarities)
        for key, value in expected.items()
        if predicted.get(key) is not None
    )


def score_composite(predicted: Any, expected: Any, similarities: dict[str, list[float]]) -> float:
    """Computes the specification's ``composite_partial_score``."""
    if type(predicted) is not type(expected) and str in (type(predicted), type(expected)):
        return 0.0
    if isinstance(expected, str):
        pred_tokens, exp_tokens = set(predicted.lower().split()), set(expected.lower().split())
        shared = pred_tokens & exp_tokens
        precision = len(shared) / len(pred_tokens) if pred_tokens else 0
        recall = len(shared) / len(exp_tokens) if exp_tokens else 0
        token_f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        longest = max(len(predicted), len(expected))
        edit_similarity = (
            1 - distance(predicted.lower(), expected.lower()) / longest if longest else 0
        )
        pred_lower, exp_lower = predicted.lower(), expected.lower()
        if exp_lower in pred_lower:
            containment = 1.0
        elif pred_lower in exp_lower:
            containment = len(pred_lower) / len(exp_lower)
        else:
            containment = 0.0
        similarities["token_f1"].append(token_f1)
        similarities["levenshtein"].append(edit_similarity)
        similarities["containment"].append(containment)
        return 0.5 * token_f1 + 0.3 * edit_similarity + 0.2 * containment
    if isinstance(expected, bool):
        return 1.0 if predicted == expected else 0.0
    if isinstance(expected, int | float):
        if expected == 0:
            return 1.0 if predicted == 0 else 0.0
        return max(0, 1 - abs(predicted - expected) / abs(expected))
    predicted_set, expected_set = set(map(str, predicted)), set(map(str, expected))
    union = predicted_set | expected_set
    return len(predicted_set & expected_set) / len(union) if union else 0.0


def normalise_value(value: Any) -> Any:
    """Returns a value in the form that strict mode compares."""
    return " ".join(value.lower().split()) if isinstance(value, str) else value
