"""Tests that each public name is the object of its package, is typed, and is imported lazily."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from stage_calls import ROOT

import epoche

SOURCE = Path(str(epoche.__file__))


def read_type_checking_imports() -> dict[str, tuple[str, str]]:
    """Returns public name → module and name there, read from the imports for type checkers."""
    tree = ast.parse(SOURCE.read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_and_python_see_the_same_names() -> None:
    assert sorted(read_type_checking_imports()) == sorted(epoche.__all__)


@pytest.mark.parametrize("name", epoche.__all__)
def test_every_public_name_is_the_object_of_its_package(name: str) -> None:
    module, name_there = read_type_checking_imports()[name]
    package_object = getattr(import_module(module), name_there)
    assert getattr(epoche, name) is package_object
    assert name in dir(epoche)
    assert package_object.__doc__


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Cardd'"):
        _ = epoche.Cardd  # type: ignore[attr-defined]  # a misspelt name
    assert not hasattr(epoche, "numpy")


def test_version() -> None:
    assert epoche.__version__ == version("epoche")


def list_loaded_modules(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(process.stdout.split())


def test_importing_epoche_imports_no_package_and_no_library() -> None:
    slow_imports = {"cards", "eval", "kg", "msgspec", "numpy", "pyoxigraph", "rdflib", "typer"}
    assert not slow_imports & list_loaded_modules("import epoche")


def test_the_command_line_loads_no_numerical_or_graph_library() -> None:
    # Each takes a tenth of a second and ten megabytes, which most commands never need.
    slow_imports = {"numpy", "pyoxigraph", "rdflib"}
    # A command is imported when it is looked up.
    every_command = (
        "from typer.main import get_group\n"
        "from epoche.cli import app\n"
        "for command in get_group(app).commands.values():\n"
        "    assert list(getattr(command, 'commands', {'': 0}).values())\n"
    )
    assert not slow_imports & list_loaded_modules(every_command)


def test_metrics_need_no_graph_library() -> None:
    loaded_modules = list_loaded_modules(
        "from epoche import measure, read_metrics, read_observations"
    )
    assert "numpy" in loaded_modules
    assert not {"pyoxigraph", "pyshacl", "rdflib"} & loaded_modules


def test_readme_example_prints_the_stated_output(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    stated_output = [
        line.removesuffix(" […]") for line in re.findall(r"^print\(.*\)  # (.*)", example, re.M)
    ]
    printed = capsys.readouterr().out.splitlines()
    assert stated_output
    assert all(line.startswith(start) for line, start in zip(printed, stated_output, strict=True))
