"""Tests that each module of ``eval.skn`` imports only modules listed before it in ``ORDER``."""

from __future__ import annotations

from import_order import find_upward_imports, get_top_level_name, list_package_files

import eval.skn

ORDER = (
    *("grammar", "notation", "commands", "pipelines", "run_settings", "formats", "extractors"),
    *("agent", "abstention", "rules", "judges", "running", "scoring", "published"),
    *("metrics", "summary", "outputs", "measurement", "benchmark"),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {get_top_level_name(eval.skn, path) for path in list_package_files(eval.skn)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(eval.skn, ORDER)
