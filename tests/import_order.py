"""Finds imports between the top-level modules of a package that violate the order of layers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def list_package_files(package: ModuleType) -> list[Path]:
    """Returns the module files of a package, without private ones directly in its folder."""
    package_folder = _get_package_folder(package)
    return [
        path
        for path in sorted(package_folder.rglob("*.py"))
        if path.parent != package_folder or path.stem[0] != "_"
    ]


def get_top_level_name(package: ModuleType, path: Path) -> str:
    """Returns the name of the folder or module directly in the package that has the file."""
    return path.relative_to(_get_package_folder(package)).parts[0].removesuffix(".py")


def find_upward_imports(package: ModuleType, order: Sequence[str]) -> set[str]:
    """Describes imports of a top-level module from another that is later in ``order``."""
    return {
        f"{path.relative_to(_get_package_folder(package))} imports {name}"
        for path in list_package_files(package)
        for name in _find_imported_modules(package, path)
        if order.index(name) > order.index(get_top_level_name(package, path))
    }


def _get_package_folder(package: ModuleType) -> Path:
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _find_imported_modules(package: ModuleType, path: Path) -> set[str]:
    """Returns the top-level modules of the package that a file imports, also in functions."""
    prefix = f"{package.__name__}."
    return {
        node.module.removeprefix(prefix).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(prefix)
        if node.module is not None
    }
