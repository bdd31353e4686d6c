"""The shipped extraction samples: every value is in its text, and absent values are not.

The rules are those of ``eval/extraction/data/README.md``. They hold for every file of the folder.
Those that read words (days, weekdays, numbers) know the four languages the set is in.
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

from eval.extraction.matchers.schema_nodes import check_matchers
from eval.extraction.samples.loader import load_samples
from eval.extraction.schemas.complexity import compute_complexity
from eval.extraction.scorer import score_sample

FOLDER = Path(__file__).parents[3] / "eval" / "extraction" / "data" / "samples"
FILES = sorted(FOLDER.glob("*.jsonl"))
KEYS = ["id", "text", "schema", "expected_output", "domain", "language", "meta"]
UNSPACED = {"ja", "zh", "th"}
DRAFT_OF_NONE = jsonschema.Draft202012Validator

Row = dict[str, Any]


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


ROWS = [row for path in FILES for row in rows_of(path)]
ENGLISH = [row for row in ROWS if row["language"] == "en"]
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def list_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the given scalars, each with its path (``orders[0].item``)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from list_leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from list_leaves(inner, f"{path}[{index}]")
    elif value is not None:
        yield path, value


def generalise_path(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)


def matching_subschemas(node: Row, value: Any, schema: Row) -> Iterator[Row]:
    """Yields the subschemas that apply to a value; of alternatives, those that it satisfies."""
    yield node
    if "$ref" in node:
        _, place, name = node["$ref"].split("/")
        yield from matching_subschemas(schema[place][name], value, schema)
    taken = list(node.get("allOf", []))
    for keyword in ("anyOf", "oneOf"):
        taken += [one for one in node.get(keyword, []) if is_valid(one, value, schema)]
    if "if" in node:
        taken.append(node.get("then" if is_valid(node["if"], value, schema) else "else", {}))
    for one in taken:
        yield from matching_subschemas(one, value, schema)


def is_valid(node: Row, value: Any, schema: Row) -> bool:
    around: Row = {key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema}
    return jsonschema_rs.is_valid({**around, **node}, value)


def absent_paths(schema: Row, expected: Any) -> list[str]:
    """Returns the schema paths at which the expected output has no value.

    One that is absent from every element of its arrays is written with ``[]``, else with the
    element's number. What lies below an absent object or array is not listed.
    """
    places: Counter[str] = Counter()
    gaps: list[str] = []

    def walk_values(starts: list[Row], value: Any, path: str) -> None:
        nodes = [node for start in starts for node in matching_subschemas(start, value, schema)]
        if isinstance(value, dict):
            declared: dict[str, list[Row]] = {}
            for node in nodes:
                for key, inner in node.get("properties", {}).items():
                    declared.setdefault(key, []).append(inner)
                for pattern, inner in node.get("patternProperties", {}).items():
                    for key in value:
                        if re.search(pattern, key):
                            declared.setdefault(key, []).append(inner)
            for key, inners in declared.items():
                below = f"{path}.{key}" if path else key
                places[generalise_path(below)] += 1
                if value.get(key) in (None, [], {}):
                    gaps.append(below)
                else:
                    walk_values(inners, value[key], below)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                items = [node["items"] for node in nodes if "items" in node]
                walk_values(items, inner, f"{path}[{index}]")

    walk_values([schema], expected, "")
    missing = Counter(map(generalise_path, gaps))
    named = [
        generalise_path(p) if missing[generalise_path(p)] == places[generalise_path(p)] else p
        for p in gaps
    ]
    return list(dict.fromkeys(named))


def text_has_value(value: Any, text: str, language: str) -> bool:
    """Whether the text contains the value verbatim; a boolean never counts as contained."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return value in text
    return float(value) in find_numbers(text, language)


def value_problems(row: Row) -> Iterator[str]:
    text, language, listed = row["text"], row["language"], row["meta"]["normalised"]
    needed: set[str] = set()
    for path, value in list_leaves(row["expected_output"]):
        place = generalise_path(path)
        stands = text_has_value(value, text, language)
        if place in listed and (not stands or not isinstance(value, str)):
            needed.add(place)
        elif not stands:
            yield f"{path}: {value!r} is not in the text"
        if stands:
            continue
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            if not contains_date(value, text, language):
                yield f"{path}: no such day in the text: {value}"
        elif type(value) in (int, float) and not contains_number(value, text, language):
            yield f"{path}: {value} is said in no way that is known"
    yield from (
        f"{path}: listed as normalised for nothing" for path in listed if path not in needed
    )


def gap_problems(row: Row) -> Iterator[str]:
    listed = row["meta"]["missing"]
    gaps = absent_paths(row["schema"], row["expected_output"])
    yield from (f"{path}: listed as missing, yet expected" for path in listed if path not in gaps)
    yield from (f"{path}: absent, yet not listed as missing" for path in gaps if path not in listed)


def distractor_problems(row: Row) -> Iterator[str]:
    values = row["meta"].get("distractor_values", [])
    if values and len(values) != row["meta"]["distractors"]:
        yield "the distractors are counted wrongly"
    said = {str(value) for _, value in list_leaves(row["expected_output"])}
    for value in values:
        if value not in row["text"]:
            yield f"the distractor {value!r} is not in the text"
        if value in said:
            yield f"the distractor {value!r} is an answer"


def schema_problems(row: Row) -> Iterator[str]:
    schema, expected = row["schema"], row["expected_output"]
    jsonschema_rs.meta.validate(schema)
    rust = jsonschema_rs.validator_for(schema, validate_formats=True)
    yield from (error.message for error in rust.iter_errors(expected))
    kind = jsonschema.validators.validator_for(schema, default=DRAFT_OF_NONE)
    python = kind(schema, format_checker=kind.FORMAT_CHECKER)
    yield from (error.message for error in python.iter_errors(expected))
    check_matchers(schema)
    for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
        if not re.fullmatch(r"#/(\$defs|definitions)/\w+", reference):
            yield f"{reference} is no local definition"


def sample_problems(row: Row) -> list[str]:
    """Returns descriptions of all problems of a sample's expected output."""
    checks = (schema_problems, value_problems, gap_problems, distractor_problems)
    return [problem for check in checks for problem in check(row)]


@by_file
def test_expected_output_is_valid_given_in_text_and_complete(path: Path) -> None:
    assert {row["id"]: sample_problems(row) for row in rows_of(path) if sample_problems(row)} == {}


@by_file
def test_files_have_the_same_layout(path: Path) -> None:
    rows = rows_of(path)
    again = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert path.read_bytes() == again.encode()
    assert path.stat().st_size < 100_000
    domain, _, language = path.stem.partition(".")
    for number, row in enumerate(rows, 1):
        assert list(row) == KEYS
        assert row["id"] == f"{path.stem}-{number:02}"
        assert (row["domain"], row["language"]) == (domain, language or "en")
        assert {"distractors", "missing", "normalised"} <= set(row["meta"])
        assert unicodedata.is_normalized("NFC", row["text"])
        length = len(row["text"].split())
        if row["language"] in UNSPACED:
            assert 100 <= len(row["text"]) <= 1200, row["id"]
        else:
            assert 60 <= length <= 400, (row["id"], length)


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
    runs = []
    for row in ROWS:
        words = re.findall(r"\w+", row["text"].lower())
        runs.append({tuple(words[i : i + 4]) for i in range(len(words) - 3)})
    alike = [
        (ROWS[a]["id"], ROWS[b]["id"])
        for a in range(len(ROWS))
        for b in range(a)
        if runs[a] and len(runs[a] & runs[b]) / len(runs[a] | runs[b]) > 0.1
    ]
    assert alike == []


def nested_arrays(value: Any, above: bool = False) -> bool:
    """Whether an array of objects is nested in the objects of another array."""
    if isinstance(value, list):
        objects = any(isinstance(one, dict) for one in value)
        return (above and objects) or any(nested_arrays(one, objects) for one in value)
    return isinstance(value, dict) and any(nested_arrays(one, above) for one in value.values())


def test_every_feature_occurs_often_enough() -> None:
    assert len(ROWS) >= 150
    assert len(ENGLISH) >= 100
    assert len({row["domain"] for row in ROWS}) >= 18
    assert len({row["domain"] for row in ENGLISH}) >= 18
    languages = Counter(row["language"] for row in ROWS)
    assert min(languages[language] for language in ("de", "fr", "es")) >= 15
    for rows in (ROWS, ENGLISH):
        bins = Counter(compute_complexity(row["schema"]).bin for row in rows)
        assert min(bins["simple"], bins["medium"], bins["complex"]) >= len(rows) / 5, bins
    depths = {compute_complexity(row["schema"]).max_nesting_depth for row in ENGLISH}
    assert depths >= set(range(6))
    new = [row for row in ROWS if row["language"] != "en"]
    assert {compute_complexity(row["schema"]).max_nesting_depth for row in new} >= set(range(6))
    assert sum(nested_arrays(row["expected_output"]) for row in new) >= 8
    for least, feature in (
        (3, '"oneOf": '),
        (2, '"anyOf": '),
        (2, '"allOf": '),
        (4, '"if": '),
        (2, '"patternProperties": '),
        (8, '"const": '),
    ):
        assert sum(feature in json.dumps(row["schema"]) for row in ROWS) >= least, feature
    for least, feature in (
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
        assert sum(bool(re.search(feature, json.dumps(row["schema"]))) for row in ENGLISH) >= least
    assert sum(len(row["text"].split()) >= 300 for row in ENGLISH) >= 6
    assert sum(bool(row["meta"]["missing"]) for row in ENGLISH) >= 44
    assert sum(row["meta"]["distractors"] > 0 for row in ENGLISH) >= 80


def test_loader_reads_every_sample_in_order() -> None:
    loaded = load_samples(FOLDER)
    assert loaded.rejected == []
    assert [sample.id for sample in loaded.samples] == [row["id"] for row in ROWS]


def test_expected_output_scores_perfectly() -> None:
    for sample in load_samples(FOLDER).samples:
        result = score_sample(sample, sample.expected).score
        tally = result.tally
        assert (result.valid, result.exact_match) == (True, True), sample.id
        assert tally.strict == tally.expected == tally.predicted > 0, sample.id
        assert (tally.missed, tally.spurious) == (0, 0), sample.id


def alter_value(value: Any) -> Any:
    """Returns another value of the same type that is in no text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return "1871-12-31" if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else value + " Ypsilon"
    return value + 7_654_321


@pytest.mark.parametrize("row", ROWS[::6], ids=lambda row: row["id"])
def test_sample_checks_find_planted_problems(row: Row) -> None:
    """Checks the checks above: they must fail on wrong expected output."""
    for path, value in list_leaves(row["expected_output"]):
        if isinstance(value, bool) or (
            isinstance(value, str)
            and generalise_path(path) in row["meta"]["normalised"]
            and not re.fullmatch(r"\d{4}-\d\d-\d\d", value)
        ):
            continue  # what is written otherwise in the text is for a reader to judge
        wrong = copy.deepcopy(row)
        steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
        keys = [int(index) if index else name for index, name in steps]
        holder = wrong["expected_output"]
        for key in keys[:-1]:
            holder = holder[key]
        holder[keys[-1]] = alter_value(value)
        assert sample_problems(wrong), path
        if isinstance(keys[-1], str):
            del holder[keys[-1]]
            assert sample_problems(wrong), path
    for note in ("missing", "normalised"):
        wrong = copy.deepcopy(row)
        wrong["meta"][note].append("no.such.place")
        assert sample_problems(wrong)
