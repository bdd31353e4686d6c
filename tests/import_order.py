"""Finds imports between the top-level modules of a package that go against their order."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def list_package_files(package: ModuleType) -> list[Path]:
    """Modules of a package, without its own ``__init__``."""
    home = _package_folder(package)
    return [
        path for path in sorted(home.rglob("*.py")) if path.parent != home or path.stem[0] != "_"
    ]


def top_level_name(package: ModuleType, path: Path) -> str:
    """The folder or module directly below the package that a file belongs to."""
    return path.relative_to(_package_folder(package)).parts[0].removesuffix(".py")


def find_upward_imports(package: ModuleType, order: Sequence[str]) -> set[str]:
    """Describes the imports of a top-level module from one that comes after it in ``order``."""
    return {
        f"{path.relative_to(_package_folder(package))} imports {name}"
        for path in list_package_files(package)
        for name in _imported_top_levels(package, path)
        if order.index(name) > order.index(top_level_name(package, path))
    }


def _package_folder(package: ModuleType) -> Path:
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _imported_top_levels(package: ModuleType, path: Path) -> set[str]:
    """Top-level modules of the package that a file imports, also inside functions."""
    start = f"{package.__name__}."
    return {
        node.module.removeprefix(start).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(start)
        if node.module is not None
    }
