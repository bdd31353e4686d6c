"""Tests that the shipped extraction samples expect exactly the values that are in their texts.

The rules are those of ``eval/extraction/data/README.md`` and apply to every file of the folder. The
checks of days, weekdays and numbers read the four languages of the samples.
"""

from __future__ import annotations

import copy
import datetime
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from extraction_words import MONTHS, WEEKDAYS, contains_date, contains_number, find_numbers
from stage_calls import PRODUCT

from eval.extraction.matchers.schema_nodes import check_matchers
from eval.extraction.samples.loader import load_samples
from eval.extraction.schemas.complexity import compute_complexity
from eval.extraction.scorer import score_sample

FOLDER = PRODUCT / "eval" / "extraction" / "data" / "samples"
FILES = sorted(FOLDER.glob("*.jsonl"))
ROW_KEYS = ["id", "text", "schema", "expected_output", "domain", "language", "meta"]
LANGUAGES_WITHOUT_SPACES = {"ja", "zh", "th"}
DEFAULT_VALIDATOR = jsonschema.Draft202012Validator

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


ROWS = [row for path in FILES for row in read_rows(path)]
ENGLISH_ROWS = [row for row in ROWS if row["language"] == "en"]
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def list_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the scalars in a value that are not null, each with its path (``orders[0].item``)."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from list_leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from list_leaves(child, f"{path}[{index}]")
    elif value is not None:
        yield path, value


def generalise_path(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)


def iter_matching_subschemas(node: Row, value: Any, schema: Row) -> Iterator[Row]:
    """Yields the subschemas that apply to a value; of alternatives, those that it satisfies."""
    yield node
    if "$ref" in node:
        _, keyword_section, name = node["$ref"].split("/")
        yield from iter_matching_subschemas(schema[keyword_section][name], value, schema)
    subschemas = list(node.get("allOf", []))
    for keyword in ("anyOf", "oneOf"):
        subschemas += [
            subschema for subschema in node.get(keyword, []) if is_valid(subschema, value, schema)
        ]
    if "if" in node:
        subschemas.append(node.get("then" if is_valid(node["if"], value, schema) else "else", {}))
    for subschema in subschemas:
        yield from iter_matching_subschemas(subschema, value, schema)


def is_valid(node: Row, value: Any, schema: Row) -> bool:
    definitions: Row = {
        key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema
    }
    return jsonschema_rs.is_valid({**definitions, **node}, value)


def list_absent_paths(schema: Row, expected: Any) -> list[str]:
    """Returns the schema paths at which the expected output has no value.

    If every element of an array lacks the value, the path is listed once (``orders[].item``), else
    for each element that lacks it (``orders[1].item``). Paths below an absent object or array are
    not listed.
    """
    path_counts: Counter[str] = Counter()
    absent_paths: list[str] = []

    def walk_values(schemas: list[Row], value: Any, path: str) -> None:
        nodes = [
            node for start in schemas for node in iter_matching_subschemas(start, value, schema)
        ]
        if isinstance(value, dict):
            declared_schemas: dict[str, list[Row]] = {}
            for node in nodes:
                for key, child in node.get("properties", {}).items():
                    declared_schemas.setdefault(key, []).append(child)
                for pattern, child in node.get("patternProperties", {}).items():
                    for key in value:
                        if re.search(pattern, key):
                            declared_schemas.setdefault(key, []).append(child)
            for key, child_schemas in declared_schemas.items():
                child_path = f"{path}.{key}" if path else key
                path_counts[generalise_path(child_path)] += 1
                if value.get(key) in (None, [], {}):
                    absent_paths.append(child_path)
                else:
                    walk_values(child_schemas, value[key], child_path)
        elif isinstance(value, list):
            for index, child in enumerate(value):
                items = [node["items"] for node in nodes if "items" in node]
                walk_values(items, child, f"{path}[{index}]")

    walk_values([schema], expected, "")
    absent_counts = Counter(map(generalise_path, absent_paths))
    paths = [
        generalise_path(p)
        if absent_counts[generalise_path(p)] == path_counts[generalise_path(p)]
        else p
        for p in absent_paths
    ]
    return list(dict.fromkeys(paths))


def text_has_value(value: Any, text: str, language: str) -> bool:
    """Returns whether the text contains the value verbatim; a boolean is never contained."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return value in text
    return float(value) in find_numbers(text, language)


def find_value_problems(row: Row) -> Iterator[str]:
    text, language, normalised_paths = row["text"], row["language"], row["meta"]["normalised"]
    justified_paths: set[str] = set()
    for path, value in list_leaves(row["expected_output"]):
        general_path = generalise_path(path)
        is_in_text = text_has_value(value, text, language)
        if general_path in normalised_paths and (not is_in_text or not isinstance(value, str)):
            justified_paths.add(general_path)
        elif not is_in_text:
            yield f"{path}: {value!r} is not in the text"
        if is_in_text:
            continue
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            if not contains_date(value, text, language):
                yield f"{path}: no such day in the text: {value}"
        elif type(value) in (int, float) and not contains_number(value, text, language):
            yield f"{path}: the text states the number {value} in no known form"
    yield from (
        f"{path}: listed as normalised for nothing"
        for path in normalised_paths
        if path not in justified_paths
    )


def find_gap_problems(row: Row) -> Iterator[str]:
    listed_paths = row["meta"]["missing"]
    absent_paths = list_absent_paths(row["schema"], row["expected_output"])
    yield from (
        f"{path}: listed as missing, yet expected"
        for path in listed_paths
        if path not in absent_paths
    )
    yield from (
        f"{path}: absent, yet not listed as missing"
        for path in absent_paths
        if path not in listed_paths
    )


def find_distractor_problems(row: Row) -> Iterator[str]:
    values = row["meta"].get("distractor_values", [])
    if values and len(values) != row["meta"]["distractors"]:
        yield "the distractors are counted wrongly"
    expected_values = {str(value) for _, value in list_leaves(row["expected_output"])}
    for value in values:
        if value not in row["text"]:
            yield f"the distractor {value!r} is not in the text"
        if value in expected_values:
            yield f"the distractor {value!r} is an answer"


def find_schema_problems(row: Row) -> Iterator[str]:
    schema, expected = row["schema"], row["expected_output"]
    jsonschema_rs.meta.validate(schema)
    rust_validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    yield from (error.message for error in rust_validator.iter_errors(expected))
    validator_class = jsonschema.validators.validator_for(schema, default=DEFAULT_VALIDATOR)
    python_validator = validator_class(schema, format_checker=validator_class.FORMAT_CHECKER)
    yield from (error.message for error in python_validator.iter_errors(expected))
    check_matchers(schema)
    for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
        if not re.fullmatch(r"#/(\$defs|definitions)/\w+", reference):
            yield f"{reference} is no local definition"


def list_sample_problems(row: Row) -> list[str]:
    """Returns descriptions of all problems of a sample's expected output."""
    checks = (
        find_schema_problems,
        find_value_problems,
        find_gap_problems,
        find_distractor_problems,
    )
    return [problem for check in checks for problem in check(row)]


@by_file
def test_expected_output_is_valid_complete_and_in_the_text(path: Path) -> None:
    assert {
        row["id"]: list_sample_problems(row) for row in read_rows(path) if list_sample_problems(row)
    } == {}


@by_file
def test_files_have_the_same_layout(path: Path) -> None:
    rows = read_rows(path)
    serialised_rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert path.read_bytes() == serialised_rows.encode()
    assert path.stat().st_size < 100_000
    domain, _, language = path.stem.partition(".")
    for number, row in enumerate(rows, 1):
        assert list(row) == ROW_KEYS
        assert row["id"] == f"{path.stem}-{number:02}"
        assert (row["domain"], row["language"]) == (domain, language or "en")
        assert {"distractors", "missing", "normalised"} <= set(row["meta"])
        assert unicodedata.is_normalized("NFC", row["text"])
        word_count = len(row["text"].split())
        if row["language"] in LANGUAGES_WITHOUT_SPACES:
            assert 100 <= len(row["text"]) <= 1200, row["id"]
        else:
            assert 60 <= word_count <= 400, (row["id"], word_count)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_weekdays_match_their_dates(row: Row) -> None:
    weekdays, months = (names[row["language"]].split() for names in (WEEKDAYS, MONTHS))
    dates = re.findall(
        rf"\b({'|'.join(weekdays)}),?(?: den| dem)? (\d+)(?:\.|er)?(?: de)? ({'|'.join(months)})"
        r"(?: de)? (\d{4})",
        row["text"],
        re.IGNORECASE,
    )
    for weekday, day, month, year in dates:
        number = [name.lower() for name in months].index(month.lower()) + 1
        date = datetime.date(int(year), number, int(day))
        assert weekdays[date.weekday()].lower() == weekday.lower()


def test_samples_are_all_different() -> None:
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    word_sequences = []
    for row in ROWS:
        words = re.findall(r"\w+", row["text"].lower())
        word_sequences.append({tuple(words[i : i + 4]) for i in range(len(words) - 3)})
    similar_pairs = [
        (ROWS[a]["id"], ROWS[b]["id"])
        for a in range(len(ROWS))
        for b in range(a)
        if word_sequences[a]
        and len(word_sequences[a] & word_sequences[b]) / len(word_sequences[a] | word_sequences[b])
        > 0.1
    ]
    assert similar_pairs == []


def has_nested_arrays(value: Any, in_array: bool = False) -> bool:
    """Returns whether an array of objects is nested in the objects of another array."""
    if isinstance(value, list):
        holds_objects = any(isinstance(child, dict) for child in value)
        return (in_array and holds_objects) or any(
            has_nested_arrays(child, holds_objects) for child in value
        )
    return isinstance(value, dict) and any(
        has_nested_arrays(child, in_array) for child in value.values()
    )


def test_every_feature_occurs_often_enough() -> None:
    assert len(ROWS) >= 150
    assert len(ENGLISH_ROWS) >= 100
    assert len({row["domain"] for row in ROWS}) >= 18
    assert len({row["domain"] for row in ENGLISH_ROWS}) >= 18
    languages = Counter(row["language"] for row in ROWS)
    assert min(languages[language] for language in ("de", "fr", "es")) >= 15
    for rows in (ROWS, ENGLISH_ROWS):
        bins = Counter(compute_complexity(row["schema"]).bin for row in rows)
        assert min(bins["simple"], bins["medium"], bins["complex"]) >= len(rows) / 5, bins
    depths = {compute_complexity(row["schema"]).max_nesting_depth for row in ENGLISH_ROWS}
    assert depths >= set(range(6))
    translated_rows = [row for row in ROWS if row["language"] != "en"]
    assert {compute_complexity(row["schema"]).max_nesting_depth for row in translated_rows} >= set(
        range(6)
    )
    assert sum(has_nested_arrays(row["expected_output"]) for row in translated_rows) >= 8
    for min_count, feature in (
        (3, '"oneOf": '),
        (2, '"anyOf": '),
        (2, '"allOf": '),
        (4, '"if": '),
        (2, '"patternProperties": '),
        (8, '"const": '),
    ):
        assert sum(feature in json.dumps(row["schema"]) for row in ROWS) >= min_count, feature
    for min_count, feature in (
        (8, '"x-match": "(?:set|numeric|date|url|phone|ignore)"'),
        (20, '"x-match": "exact"'),
        (10, '"uniqueItems": true'),
        (30, '"enum": '),
        (5, '"format": "uri"'),
        (2, '"format": "uuid"'),
        (5, '"format": "email"'),
        (4, '"format": "date-time"'),
        (60, '"format": "date"'),
        (9, '"additionalProperties": false'),
        (3, r'"\$ref": '),
        (8, "draft-07"),
        (5, "2019-09"),
        (20, "2020-12"),
    ):
        assert (
            sum(bool(re.search(feature, json.dumps(row["schema"]))) for row in ENGLISH_ROWS)
            >= min_count
        )
    assert sum(len(row["text"].split()) >= 300 for row in ENGLISH_ROWS) >= 6
    assert sum(bool(row["meta"]["missing"]) for row in ENGLISH_ROWS) >= 44
    assert sum(row["meta"]["distractors"] > 0 for row in ENGLISH_ROWS) >= 80


def test_loader_reads_every_sample_in_order() -> None:
    load_result = load_samples(FOLDER)
    assert load_result.rejected == []
    assert [sample.id for sample in load_result.samples] == [row["id"] for row in ROWS]


def test_expected_output_scores_perfectly() -> None:
    for sample in load_samples(FOLDER).samples:
        result = score_sample(sample, sample.expected).score
        tally = result.tally
        assert (result.valid, result.exact_match) == (True, True), sample.id
        assert tally.strict == tally.expected == tally.predicted > 0, sample.id
        assert (tally.missed, tally.spurious) == (0, 0), sample.id


def alter_value(value: Any) -> Any:
    """Returns another value of the same type that is in no text; a boolean is not altered."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return "1871-12-31" if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else value + " Ypsilon"
    return value + 7_654_321


@pytest.mark.parametrize("row", ROWS[::6], ids=lambda row: row["id"])
def test_sample_checks_find_planted_problems(row: Row) -> None:
    """The checks above must fail if the expected output is wrong."""
    for path, value in list_leaves(row["expected_output"]):
        if isinstance(value, bool) or (
            isinstance(value, str)
            and generalise_path(path) in row["meta"]["normalised"]
            and not re.fullmatch(r"\d{4}-\d\d-\d\d", value)
        ):
            continue  # the text writes the value differently, so no check can compare them
        altered_row = copy.deepcopy(row)
        path_parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
        keys = [int(index) if index else name for index, name in path_parts]
        parent = altered_row["expected_output"]
        for key in keys[:-1]:
            parent = parent[key]
        parent[keys[-1]] = alter_value(value)
        assert list_sample_problems(altered_row), path
        if isinstance(keys[-1], str):
            del parent[keys[-1]]
            assert list_sample_problems(altered_row), path
    for note in ("missing", "normalised"):
        altered_row = copy.deepcopy(row)
        altered_row["meta"][note].append("no.such.place")
        assert list_sample_problems(altered_row)
