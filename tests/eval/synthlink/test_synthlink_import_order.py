"""Tests that each module of ``eval.synthlink`` imports only modules listed before it."""

from __future__ import annotations

from import_order import find_upward_imports, get_top_level_name, list_package_files

from eval import synthlink

IMPORT_ORDER = (
    *("question", "catalog_markdown", "catalog", "predictions"),
    *("metrics", "corrected", "literal_scores", "verdicts"),
    *("mean_scores", "record", "scores", "comparison", "score_options", "tables", "outputs"),
    *("manifest",),
    *("agents", "row", "run_files", "run_manifest", "answer_source", "asked_questions"),
    *("repeats", "file_scorer"),
    "run_options",
    *(
        "library_factory",
        "trail_reader",
        "prediction_writer",
        "measurement",
        "benchmark",
        "run_synthlink",
        "prediction_scorer",
        "judges",
    ),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {get_top_level_name(synthlink, path) for path in list_package_files(synthlink)}
    assert names == set(IMPORT_ORDER), "every package is listed in IMPORT_ORDER"
    assert not find_upward_imports(synthlink, IMPORT_ORDER)
