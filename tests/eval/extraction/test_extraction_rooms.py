"""The rooms of structured extraction: each imports only those before it, as the package says."""

from __future__ import annotations

import ast
from pathlib import Path

import eval.extraction

HOME = Path(eval.extraction.__file__).parent
ORDER = (
    *("settings", "record", "schemas", "matchers", "samples", "verdicts", "scoring", "row"),
    *("measuring", "aggregate", "comparison_record", "comparing"),
    *("baseline", "running", "summary", "outputs", "run_extraction", "own", "commands"),
)


def room_of(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def imported_by(path: Path) -> set[str]:
    """The rooms of ``eval.extraction`` that a file imports from, functions included."""
    return {
        node.module.split(".")[2]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.startswith("eval.extraction.")
    }


def test_rooms_import_only_those_before_them() -> None:
    files = [
        path for path in sorted(HOME.rglob("*.py")) if path.parent != HOME or path.stem[0] != "_"
    ]
    assert {room_of(path) for path in files} == set(ORDER), "every room has its place"
    wrong = {
        f"{path.relative_to(HOME)} imports {room}"
        for path in files
        for room in imported_by(path)
        if ORDER.index(room) > ORDER.index(room_of(path))
    }
    assert not wrong
