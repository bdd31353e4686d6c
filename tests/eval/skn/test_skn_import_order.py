"""Import order of ``eval.skn``: each module imports only those listed before it."""

from __future__ import annotations

from import_order import find_upward_imports, list_package_files, top_level_name

import eval.skn

ORDER = (
    *("grammar", "notation", "commands", "pipelines", "run_settings", "formats", "extractors"),
    *("agent", "abstention", "rules", "judges", "running", "scoring", "published"),
    *("metrics", "summary", "outputs", "benchmark"),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {top_level_name(eval.skn, path) for path in list_package_files(eval.skn)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(eval.skn, ORDER)
