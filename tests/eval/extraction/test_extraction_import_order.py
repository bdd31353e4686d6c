"""Import order of ``eval.extraction``: each module imports only those listed before it."""

from __future__ import annotations

from import_order import find_upward_imports, list_package_files, top_level_name

import eval.extraction

ORDER = (
    *("settings", "record", "schemas", "matchers", "samples", "verdicts", "scorer", "row"),
    *("metrics", "aggregate", "comparison_record", "comparison"),
    *("baseline", "running", "summary", "outputs", "run_extraction", "toolkit", "commands"),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {top_level_name(eval.extraction, path) for path in list_package_files(eval.extraction)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(eval.extraction, ORDER)
