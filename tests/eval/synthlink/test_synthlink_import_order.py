"""Import order of ``eval.synthlink``: each module imports only those listed before it."""

from __future__ import annotations

from import_order import find_upward_imports, list_package_files, top_level_name

import eval.synthlink

ORDER = (
    *("question", "catalog_markdown", "catalog", "predictions"),
    *("metrics", "corrected", "literal_scores", "verdicts"),
    *("record", "scores", "comparison", "score_options", "tables", "outputs", "manifest"),
    *("file_scorer", "agents", "running", "judges"),
)


def test_packages_import_only_earlier_ones() -> None:
    names = {top_level_name(eval.synthlink, path) for path in list_package_files(eval.synthlink)}
    assert names == set(ORDER), "every package is listed in ORDER"
    assert not find_upward_imports(eval.synthlink, ORDER)
