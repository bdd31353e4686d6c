"""Rooms of a package, and which of them import what comes after them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def files_of(package: ModuleType) -> list[Path]:
    """Its modules, without its own ``__init__``."""
    home = _home(package)
    return [
        path for path in sorted(home.rglob("*.py")) if path.parent != home or path.stem[0] != "_"
    ]


def room_of(package: ModuleType, path: Path) -> str:
    """The folder or module at the top of the package that a file is or lies in."""
    return path.relative_to(_home(package)).parts[0].removesuffix(".py")


def imports_upwards(package: ModuleType, order: Sequence[str]) -> set[str]:
    """Which files import from a room after their own, in words."""
    return {
        f"{path.relative_to(_home(package))} imports {room}"
        for path in files_of(package)
        for room in _imported(package, path)
        if order.index(room) > order.index(room_of(package, path))
    }


def _home(package: ModuleType) -> Path:
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _imported(package: ModuleType, path: Path) -> set[str]:
    """The rooms of the package that a file imports from, functions included."""
    start = f"{package.__name__}."
    return {
        node.module.removeprefix(start).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(start)
        if node.module is not None
    }
