"""Tests that each item of the specification has a checklist row and each row names its tests.

The specification of the extraction benchmark is not in this repository; the names of its figures,
commands, classes, configuration keys and report sections are listed below.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHECKLIST = ROOT / "docs" / "reference" / "extraction-checklist.md"
TEST_FOLDER = "tests/eval/extraction/"

FIGURES = (
    *("1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "3c", "4a", "4b", "4c"),
    *("5a", "5b", "5c", "6a", "6b", "6c", "6d"),
)
"""The figures of section 4.5.7 of the specification, numbered by group."""
COMMANDS = ("run", "report", "compare", "validate-config", "test-connection")
CLASSES = (
    *("DatasetLoader", "VLLMInterface", "PromptBuilder", "MetricsCalculator", "SchemaValidator"),
    *("FieldMatcher", "PerformanceTracker", "ResultStore", "ResultFormatter", "ReportGenerator"),
    *("Visualizer", "ConfigManager"),
)
CONFIG_KEYS = {
    "model": "base_url api_key model_name temperature max_tokens timeout max_retries",
    "dataset": "name split cache_dir sample_size random_seed",
    "prompts": "system user",
    "metrics": "enabled",
    "metrics.field_matching": (
        "string_fuzzy_threshold numeric_tolerance case_sensitive normalize_whitespace"
    ),
    "metrics.aggregation": "f1_type",
    "output": "results_dir save_predictions save_per_sample generate_report report_format",
    "performance": "batch_size num_workers enable_caching cache_dir",
}
SECTIONS = (
    *("Executive summary", "Methodology", "Primary metrics", "Accuracy deep dive"),
    *("Performance analysis", "Error pattern analysis", "Schema complexity analysis"),
    *("Sample-level results", "Recommendations and next steps", "Metric correlations"),
)


@cache
def read_table_rows() -> dict[str, list[list[str]]]:
    """Returns the table rows by heading, without header and separator lines."""
    tables: dict[str, list[list[str]]] = {}
    heading = ""
    for line in CHECKLIST.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|") and not line.startswith("|---"):
            tables.setdefault(heading, []).append(
                [cell.strip() for cell in line.strip("|").split("|")]
            )
    return {heading: table[1:] for heading, table in tables.items()}


def find_table(start: str) -> list[list[str]]:
    return next(rows for heading, rows in read_table_rows().items() if heading.startswith(start))


def list_named_tests() -> list[str]:
    """Returns all tests named in the tables."""
    cells = [row[-1] for rows in read_table_rows().values() for row in rows]
    return sorted(
        {name for cell in cells for name in re.findall(r"`([^`]*)`", cell)} - {"make coverage"}
    )


@cache
def list_test_functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


@pytest.mark.parametrize("name", list_named_tests())
def test_every_named_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    path = ROOT / (file if file.startswith(("tests/", "benchmarks/")) else TEST_FOLDER + file)
    assert path.is_file(), f"{name}: no such file"
    if test:
        assert test in list_test_functions(path), f"{name}: no such test"


def test_every_specified_metric_has_a_row() -> None:
    metrics = find_table("Metrics")
    assert [int(row[0]) for row in metrics] == list(range(1, 31))


def test_every_figure_section_command_class_and_key_has_a_row() -> None:
    assert tuple(row[0] for row in find_table("Figures")) == FIGURES
    sections = " ".join(row[0] for row in find_table("Report"))
    assert all(section in sections for section in SECTIONS)
    commands = [row[0].strip("`").split()[0] for row in find_table("Commands")]
    assert sorted(set(commands)) == sorted(COMMANDS)
    assert tuple(row[0].strip("`") for row in find_table("Classes")) == CLASSES
    keys = {key for row in find_table("Configuration") for key in re.findall(r"`([\w.]+)`", row[0])}
    assert keys == {f"{part}.{key}" for part, names in CONFIG_KEYS.items() for key in names.split()}


def test_checklist_metrics_are_documented() -> None:
    text = (ROOT / "docs" / "reference" / "extraction.md").read_text("utf-8")
    section = text[text.index("## The thirty metrics") :]
    for number in range(1, 31):
        assert re.search(rf"^\| {number} \|", section, re.MULTILINE), f"metric {number}"


def test_every_row_names_a_test() -> None:
    rows_without_test = [
        f"{heading}: {row[0]}"
        for heading, rows in read_table_rows().items()
        for row in rows
        if "`" not in row[-1]
    ]
    assert not rows_without_test, f"no test named for {'; '.join(rows_without_test)}"
