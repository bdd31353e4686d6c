"""Tests the import order of ``eval.extraction``: modules import only those listed before them."""

from __future__ import annotations

from import_order import find_upward_imports, get_top_level_name, list_package_files

from eval import extraction

ORDER = (
    *("settings", "view", "record", "schemas", "matchers", "samples", "verdicts", "scorer", "row"),
    *("metrics", "aggregate", "comparison_record", "comparison"),
    *("baseline", "config", "yaml_reader", "config_reader", "run_files", "manifest", "run_options"),
    *("prompt_builder", "model_extractor", "system_set", "row_builder", "summary", "outputs"),
    *("run_set", "measurement", "benchmark", "run_extraction", "toolkit", "commands"),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {get_top_level_name(extraction, path) for path in list_package_files(extraction)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(extraction, ORDER)
