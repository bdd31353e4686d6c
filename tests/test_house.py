"""Tests the repository's rules on imports, file names, file lengths, and forbidden content."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from name_shares import (
    MAX_ONE_WORD_SHARE,
    MAX_PARTICIPLE_SHARE,
    PACKAGES,
    count_names,
    list_files,
)

from kg.base import errors

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
ALLOWED_IMPORTS = {
    "kg": {"kg"},
    "cards": {"kg", "cards"},
    "adversarial": {"kg", "cards", "adversarial"},
    "retrieval": {"kg", "retrieval"},
    "eval": {"kg", "cards", "adversarial", "retrieval", "eval"},
    "reporting": {"kg", "cards", "eval", "reporting"},
    "epoche": set(PACKAGES),
}
MAX_LINES = 420
"""Maximum number of lines of a module."""


def list_tracked_files() -> list[Path]:
    """Lists the files of the checkout that git tracks or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def list_modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def list_imported_names(path: Path) -> set[str]:
    """Lists the dotted names that a file imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_follow_the_package_order(package: str) -> None:
    violations = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in list_modules(package)
        for name in list_imported_names(path)
        if (package_name := name.split(".")[0]) in PACKAGES
        and package_name not in ALLOWED_IMPORTS[package]
    }
    assert not violations


def test_documentation_imports_from_epoche_alone() -> None:
    """The packages have other names in the wheel; ``epoche`` has the same in both."""
    imports = [
        f"{page.relative_to(ROOT)}: {line.strip()}"
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        for line in page.read_text("utf-8").splitlines()
        if re.match(rf"(>>> |\.\.\. )?\s*(from|import) ({'|'.join(PACKAGES)})\b", line)
        and not re.match(r"(>>> |\.\.\. )?\s*(from epoche import|import epoche$)", line)
    ]
    assert not imports


def iter_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements of a module, also those under ``if`` but not those of functions."""
    for node in body:
        if isinstance(node, ast.If):
            yield from iter_statements([*node.body, *node.orelse])
        else:
            yield node


def test_no_import_cycles_between_modules() -> None:
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in list_modules(package)
    }

    def list_module_imports(path: Path) -> set[str]:
        # Imports under ``if TYPE_CHECKING`` count too: two modules that need each other's types
        # should be one module, or one of them should not know the other.
        imported_names: set[str] = set()
        for node in iter_statements(ast.parse(path.read_text("utf-8")).body):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported_names.add(node.module)
                imported_names |= {f"{node.module}.{alias.name}" for alias in node.names}
        return {name for name in imported_names if name in paths}

    edges = {name: list_module_imports(path) - {name} for name, path in paths.items()}
    visited: set[str] = set()

    def visit_module(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"cycle: {' -> '.join((*trail, name))}"
        if name not in visited:
            for imported_name in sorted(edges[name]):
                visit_module(imported_name, (*trail, name))
            visited.add(name)

    for name in sorted(edges):
        visit_module(name, ())


def test_no_module_has_a_standard_library_name() -> None:
    # `python eval/x.py` puts eval/ first on sys.path, where such a file would shadow the library.
    shadows = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in list_modules(package)
        if path.stem != "__init__" and path.stem in sys.stdlib_module_names
    ]
    assert not shadows


def test_every_package_is_documented_and_typed() -> None:
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text("utf-8")))


def test_files_are_not_too_long() -> None:
    long_files = {
        str(path.relative_to(ROOT)): n_lines
        for package in PACKAGES
        for path in list_modules(package)
        if (n_lines := path.read_text("utf-8").count("\n")) > MAX_LINES
    }
    assert not long_files


def test_no_file_mentions_a_registry_or_a_machine() -> None:
    forbidden = re.compile(
        r"(pypi\.org|pythonhosted|registry\.npmjs|deb\.debian|--index-url|--extra-index-url)"
        rf"|{re.escape(str(ROOT))}/|/home/[a-z]+/|/root/"
    )
    matches = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in list_tracked_files()
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".html", ""}
        and path != Path(__file__)
        and (match := forbidden.search(path.read_text("utf-8", errors="replace")))
    ]
    assert not matches


def list_error_classes() -> list[type[errors.EpocheError]]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.EpocheError)
    ]


def test_exit_codes_are_distinct_and_documented() -> None:
    codes = [cls.exit_code for cls in list_error_classes()]
    assert len(codes) == len(set(codes))
    table = (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
    for cls in list_error_classes():
        assert re.search(rf"^\| {cls.exit_code} \|.*`{cls.__name__}`", table, re.MULTILINE), cls


def test_readme_make_commands_exist() -> None:
    goals = set(re.findall(r"^([a-z%][a-z-]*%?):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert used >= {"all", "test"}
    # The Makefile makes the goals `eval-SYSTEM` from a list; the search above does not find them.
    assert {name for name in used if name not in goals and not name.startswith("eval-")} == set()


def test_dependencies_have_a_reason_in_the_readme() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    readme = (ROOT / "README.md").read_text("utf-8")
    for requirement in project["dependencies"]:
        name = re.split(r"[\[<>=!~ ]", requirement)[0]
        assert f"| {name} |" in readme, f"{name} has no row in the README's dependency table"


def test_links_between_documents_resolve() -> None:
    pages = [path for path in list_tracked_files() if path.suffix == ".md"]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert pages
    assert not broken


def test_names_are_verb_phrases_and_nouns() -> None:
    counts = count_names(list_files(PACKAGES))
    assert not counts.ing_modules
    assert counts.one_word <= MAX_ONE_WORD_SHARE * counts.functions
    assert len(counts.participles) <= MAX_PARTICIPLE_SHARE * counts.functions, counts.participles
