"""Builds the wheel, in which every package of the repository lies inside ``epoche``.

In the repository the packages are folders at the root: ``kg/``, ``eval/`` and so on. In the wheel
they are ``epoche.kg``, ``epoche.eval`` and so on, because a user's own folder ``kg/``, or a package
of that name, would otherwise be imported in their place. The hook copies the packages and rewrites
what names one of their modules: imports, strings that are a module's name, and ``python -m``.

An editable installation is not rewritten: it imports the folders of the repository.

``python hatch_build.py FROM TO`` copies other code in the same way; ``make test-wheel`` runs the
tests so.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
PACKAGES = ("kg", "cards", "adversarial", "retrieval", "eval", "reporting")
"""The packages that the wheel moves into ``epoche``."""

_NAMES = "|".join(PACKAGES)
_FROM_IMPORT = re.compile(rf"\bfrom (?=(?:{_NAMES})(?:\.\w+)* import\b)")
_PACKAGE_IMPORT = re.compile(rf"^( *)import (?=(?:{_NAMES})$)", re.MULTILINE)
_MODULE_IMPORT = re.compile(rf"^( *import )(?=(?:{_NAMES})\.[\w.]+ as )", re.MULTILINE)
_OTHER_IMPORT = re.compile(rf"^ *import (?:{_NAMES})\b.*", re.MULTILINE)
_COMMAND = re.compile(rf"(python -m )(?=(?:{_NAMES})\.)")
_MODULE_STRING = re.compile(rf"([\"'])((?:{_NAMES})(?:\.\w+)+(?::\w+)?)\1")


def rewrite_source(source: str, where: str = "<source>") -> str:
    """Returns Python source with the repository's packages inside ``epoche``.

    Imports are also rewritten in strings, because tests run them as programs.

    Raises:
        ValueError: an import binds the package itself (``import kg.graph``), so that the names used
            after it would have to change too.
    """
    source = _FROM_IMPORT.sub("from epoche.", source)
    source = _PACKAGE_IMPORT.sub(r"\1from epoche import ", source)
    source = _MODULE_IMPORT.sub(r"\1epoche.", source)
    if other := _OTHER_IMPORT.search(source):
        raise ValueError(f"{where}: write `from … import …`, not `{other[0].strip()}`")
    source = _COMMAND.sub(r"\1epoche.", source)
    return _MODULE_STRING.sub(_rewrite_string, source)


def copy_rewritten(source: Path, target: Path) -> None:
    """Copies the files of a folder, with Python source and TOML files rewritten."""
    for path in sorted(source.rglob("*")):
        is_temporary = path.suffix == ".pyc" or ".sqlite" in path.suffix
        if path.is_dir() or "__pycache__" in path.parts or is_temporary:
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            copy.write_text(rewrite_source(path.read_text("utf-8"), str(path)), encoding="utf-8")
        elif path.suffix == ".toml":
            copy.write_text(_COMMAND.sub(r"\1epoche.", path.read_text("utf-8")), encoding="utf-8")
        else:
            copy.write_bytes(path.read_bytes())


def _rewrite_string(match: re.Match[str]) -> str:
    """Puts a string into ``epoche`` if it names a module or what is in one; others look alike."""
    quote, name = match.groups()
    path = ROOT.joinpath(*name.partition(":")[0].split("."))
    # "kg.graph.Graph.read" names a method, as `monkeypatch.setattr` wants it.
    parents = [path, *path.parents][: len(path.relative_to(ROOT).parts) - 1][:3]
    if any(p.with_suffix(".py").is_file() or (p / "__init__.py").is_file() for p in parents):
        return f"{quote}epoche.{name}{quote}"
    return match[0]


if __name__ == "__main__":
    copy_rewritten(Path(sys.argv[1]), Path(sys.argv[2]))
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class WheelHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
        """Adds the rewritten packages to the wheel."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Copies the packages to a temporary folder and includes the copies."""
            if version == "editable":
                return
            self._folder = tempfile.TemporaryDirectory()
            folder = Path(self._folder.name)
            copy_rewritten(ROOT / "epoche", folder)
            for package in PACKAGES:
                copy_rewritten(ROOT / package, folder / package)
            build_data["force_include"][str(folder)] = "epoche"

        def finalize(self, version: str, *_arguments: object) -> None:
            """Deletes the temporary folder."""
            if version != "editable":
                self._folder.cleanup()
