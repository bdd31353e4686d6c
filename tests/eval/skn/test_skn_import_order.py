"""Tests that each module of ``eval.skn`` imports only modules listed before it in ``ORDER``."""

from __future__ import annotations

from import_order import find_upward_imports, get_top_level_name, list_package_files

from eval import skn

ORDER = (
    *("grammar", "notation", "commands", "pipelines", "run_settings", "formats", "extractors"),
    *("agent", "abstention", "rules", "judges", "sample", "search_source", "view", "row"),
    *("run_files", "manifest", "row_builder", "pipeline_system", "judge_set", "judge"),
    *(
        "run_options",
        "foreign_pipeline",
        "system_set",
        "scoring",
        "published",
        "metrics",
        "summary",
        "outputs",
    ),
    *("measurement", "description", "run_skn", "second_judgement", "benchmark"),
    "prediction_scorer",
)


def test_packages_import_only_earlier_ones() -> None:
    names = {get_top_level_name(skn, path) for path in list_package_files(skn)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(skn, ORDER)
