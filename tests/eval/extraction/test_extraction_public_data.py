"""Tests scoring on public gold and predictions, where these are at hand."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.extraction.aggregate import MeasurementPlan, aggregate_rows
from eval.extraction.matchers.currencies import find_currency
from eval.extraction.matchers.identifiers import is_url
from eval.extraction.matchers.schema_nodes import SchemaNode, get_schema_plan
from eval.extraction.metrics.quality_score import LOWER_IS_BETTER
from eval.extraction.record import SystemReport
from eval.extraction.row_builder import build_row
from eval.extraction.samples.loader import load_samples
from eval.extraction.samples.sample import Sample
from eval.extraction.settings import DEFAULT_MATCHING
from eval.harness.reply import Reply

Change = Callable[[SchemaNode, Any], Any]

PERFECT = (
    *("extraction_quality_score", "extraction_quality_score_micro", "schema_validity"),
    *("exact_match", "exact_match_of_valid", "field_accuracy", "right_rate", "left_out_rate"),
    *(f"field_{kind}_{mode}" for kind in ("precision", "recall", "f1")
      for mode in ("strict", "partial", "lenient")),
    "type_accuracy", "wrong_rate", "invented_rate", "omission_rate", "hallucination_rate",
    "fabricated_value_rate",
)  # fmt: skip


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def docubench(public_data: Path) -> Path:
    folder = public_data / "foreign" / "extraction" / "docubench"
    if not folder.is_dir():
        pytest.skip("needs foreign/extraction/docubench in the public data")
    return folder


def load_docubench(folder: Path) -> list[Sample]:
    return [
        Sample(
            id=path.stem,
            text="",
            schema=read_json(folder / "schemas" / path.name),
            expected=read_json(path),
        )
        for path in sorted((folder / "labels").glob("*.json"))
    ]


def load_resumes(public_data: Path) -> list[Sample]:
    folder = public_data / "foreign" / "extraction" / "extract-bench-resume"
    if not folder.is_dir():
        pytest.skip("needs foreign/extraction/extract-bench-resume in the public data")
    schema = read_json(folder / "resume-schema.json")["schema_definition"]
    return [
        Sample(id=path.name, text="", schema=schema, expected=read_json(path))
        for path in sorted(folder.glob("*.gold.json"))
    ]


def change_leaves(change: Change) -> Change:
    """Returns a function that changes each scalar of a value."""

    def change_value(node: SchemaNode, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change_value(node.get_child(key), part) for key, part in value.items()}
        if isinstance(value, list):
            return [change_value(node.get_element(), part) for part in value]
        return change(node, value)

    return change_value


def fill_nulls(node: SchemaNode, value: Any) -> Any:
    if isinstance(value, dict):
        filled = {key: fill_nulls(node.get_child(key), part) for key, part in value.items()}
        return {**dict.fromkeys(node.keys), **filled}
    if isinstance(value, list):
        return [fill_nulls(node.get_element(), part) for part in value]
    return value


def drop_nulls(node: SchemaNode, value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: drop_nulls(node.get_child(key), part)
            for key, part in value.items()
            if part is not None
        }
    if isinstance(value, list):
        return [drop_nulls(node.get_element(), part) for part in value]
    return value


def shuffle_lists(node: SchemaNode, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffle_lists(node.get_child(key), part) for key, part in value.items()}
    if isinstance(value, list):
        shuffled = [shuffle_lists(node.get_element(), part) for part in value]
        if node.get_array_matcher(DEFAULT_MATCHING, value) != "list":
            random.Random(len(shuffled)).shuffle(shuffled)
        return shuffled
    return value


def is_free_text(node: SchemaNode, value: Any) -> bool:
    return isinstance(value, str) and node.allowed is None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def widen(node: SchemaNode, value: Any) -> Any:
    if not is_free_text(node, value):
        return value
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in value)


def set_type(node: SchemaNode, value: Any) -> Any:
    if not is_free_text(node, value):
        return value
    return value.replace("'", "\u2019").replace("-", "\u2013").replace(" ", "\u00a0")


CHANGES: dict[str, Change] = {
    "the same": lambda _, value: value,
    "absent fields as null": fill_nulls,
    "null fields left out": drop_nulls,
    "lists shuffled": shuffle_lists,
    "empty text for null": lambda node, value: change_leaves(
        lambda _, leaf: "" if leaf is None else leaf
    )(node, fill_nulls(node, value)),
    "full-width": change_leaves(widen),
    "curly quotes, dashes, no-break spaces": change_leaves(set_type),
    "upper case": change_leaves(
        # Case matters in the path of a web address, and in a unit of one letter ("800 m").
        lambda _, leaf: (
            leaf
            if not isinstance(leaf, str) or is_url(leaf) or re.fullmatch(r"[\d,]+ [a-z]", leaf)
            else leaf.upper()
        )
    ),
    "numbers as text": change_leaves(lambda _, leaf: str(leaf) if is_number(leaf) else leaf),
}  # fmt: skip
MONEY = "numbers as money"
CURRENCY = re.compile(r'currency(?:_?code)?": "([A-Z]{3})"', re.IGNORECASE)


def write_money(sample: Sample) -> Any:
    """Returns gold with its numbers in the first known currency that it states, or in dollars."""
    stated = [*filter(find_currency, CURRENCY.findall(json.dumps(sample.expected)))]
    before = f"{stated[0]} " if stated else "$"
    change = change_leaves(lambda _, leaf: f"{before}{leaf:,}" if is_number(leaf) else leaf)
    return change(get_schema_plan(sample.schema).root, copy.deepcopy(sample.expected))


def measure(samples: list[Sample], replies: dict[str, Any]) -> SystemReport:
    rows = [
        build_row(
            sample,
            Reply(
                id=sample.id,
                system="m",
                value=replies[sample.id],
                status="ok" if isinstance(replies[sample.id], dict) else "invalid",
            ),
            DEFAULT_MATCHING,
        )
        for sample in samples
    ]
    return aggregate_rows(rows, MeasurementPlan(resamples=10)).systems["m"]


@pytest.mark.parametrize("name", [*CHANGES, MONEY])
@pytest.mark.parametrize("source", ["shipped", "docubench", "resumes"])
def test_gold_against_itself_is_perfect(
    source: str, name: str, request: pytest.FixtureRequest
) -> None:
    if source == "shipped":
        samples = list(load_samples("shipped").samples)
    elif source == "docubench":
        samples = load_docubench(request.getfixturevalue("docubench"))
    else:
        samples = load_resumes(request.getfixturevalue("public_data"))
    replies = {
        sample.id: write_money(sample)
        if name == MONEY
        else CHANGES[name](get_schema_plan(sample.schema).root, copy.deepcopy(sample.expected))
        for sample in samples
    }
    report = measure(samples, replies)
    for metric in PERFECT:
        is_low = metric in LOWER_IS_BETTER or metric == "fabricated_value_rate"
        assert report.metrics[metric].value in (None, 0 if is_low else 1), metric
        assert report.averages.get(metric, {}).keys() <= {"micro", "macro", "weighted"}
    assert report.errors.total == 0


def compute_kendall(first: list[float], second: list[float]) -> float:
    """Returns Kendall's tau-a: concordant minus discordant pairs, over all pairs."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    signs = [
        math.copysign(1, (first[i] - first[j]) * (second[i] - second[j]))
        if first[i] != first[j] and second[i] != second[j]
        else 0
        for i, j in pairs
    ]
    return sum(signs) / len(pairs)


def iter_kendall(values: list[float]) -> Iterator[float]:
    """Yields Kendall's tau of the values with each of their permutations."""
    for permuted in itertools.permutations(values):
        yield compute_kendall(values, list(permuted))


def test_six_systems_rank_as_published(docubench: Path) -> None:
    samples = load_docubench(docubench)
    published_rows = {
        row["doc_id"]: row for row in read_json(docubench / "summary.json")["per_doc"]
    }
    systems = sorted(path.name for path in (docubench / "results").iterdir())
    assert (len(samples), len(systems)) == (25, 6)
    published = [
        sum(published_rows[sample.id][system] for sample in samples) / 25 for system in systems
    ]
    reports = []
    for system in systems:
        folder = docubench / "results" / system
        replies = {
            sample.id: read_json(folder / f"{sample.id}.json").get("data") for sample in samples
        }
        reports.append(measure(samples, replies))
    # The headline of predictions made elsewhere.
    ours = [report.metrics["field_accuracy_macro"].value or 0 for report in reports]
    tau = compute_kendall(ours, published)
    permuted = list(iter_kendall(ours))
    p_value = sum(one >= tau - 1e-12 for one in permuted) / len(permuted)
    assert tau >= 0.6
    assert p_value < 0.05
    # Not only the order: the values are those of the benchmark's own scorer, nearly.
    for value, published_value in zip(ours, published, strict=True):
        assert value == pytest.approx(published_value, abs=0.02)
