"""Measures how the code names functions and modules: ``python tests/name_shares.py [FOLDER …]``.

Prints the share of functions with a one-word name (properties and dunder methods aside), of
functions whose name is one past participle, of modules named with an -ing form that is not a noun
of the field, and of lines with a comment. ``test_house.py`` holds the packages to the limits.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("kg", "cards", "adversarial", "retrieval", "eval", "reporting", "epoche")
LEGACY_FOLDERS = ("eval/synthlink/blocks",)
"""Folders and files that are not measured, because they keep their old names until replaced."""

MAX_ONE_WORD_SHARE = 0.25
MAX_PARTICIPLE_SHARE = 0.01

FIELD_NOUNS = frozenset({"embedding", "ranking", "string"})
"""Words with -ing that are nouns of the field, so modules may be named with them."""
IRREGULAR_PARTICIPLES = frozenset(
    {
        "told",
        "said",
        "held",
        "shown",
        "found",
        "kept",
        "made",
        "taken",
        "drawn",
        "spoken",
        "meant",
        "put",
        "seen",
        "known",
        "given",
        "gone",
        "understood",
        "begun",
        "built",
        "sought",
        "bound",
        "written",
        "cut",
        "set",
        "left",
        "lost",
        "read",
    }
)


@dataclass
class NameCounts:
    """Counts over a set of Python files, and the names that break a rule."""

    functions: int = 0
    one_word: int = 0
    lines: int = 0
    comments: int = 0
    participles: list[str] = field(default_factory=list)
    ing_modules: list[str] = field(default_factory=list)

    def describe(self) -> str:
        """Returns all shares in one line."""
        functions, lines = max(self.functions, 1), max(self.lines, 1)
        return (
            f"{self.functions} functions: one word {self.one_word / functions:.1%}, participle "
            f"{len(self.participles) / functions:.1%}; {len(self.ing_modules)} -ing modules; "
            f"comments on {self.comments / lines:.1%} of {self.lines} lines"
        )


def count_names(files: Sequence[Path]) -> NameCounts:
    """Counts the names defined in some Python files."""
    counts = NameCounts()
    for path in files:
        text = path.read_text("utf-8")
        counts.lines += text.count("\n")
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        counts.comments += sum(token.type == tokenize.COMMENT for token in tokens)
        last_word = path.stem.split("_")[-1]
        if last_word.endswith("ing") and last_word not in FIELD_NOUNS:
            counts.ing_modules.append(str(path))
        for name, line in iter_function_names(ast.parse(text)):
            counts.functions += 1
            if "_" not in name:
                counts.one_word += 1
                if name.endswith("ed") or name in IRREGULAR_PARTICIPLES:
                    counts.participles.append(f"{path}:{line}: {name}")
    return counts


def iter_function_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yields the name and line of each function, leaving out properties and dunder methods."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
        if decorators & {"property", "cached_property", "setter"} or node.name.startswith("__"):
            continue
        yield node.name.strip("_"), node.lineno


def list_files(folders: Sequence[str]) -> list[Path]:
    """Lists the Python files below some folders of the repository, without the legacy ones."""
    legacy = [ROOT / folder for folder in LEGACY_FOLDERS]
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not any(path.is_relative_to(legacy_path) for legacy_path in legacy)
    )


if __name__ == "__main__":
    name_counts = count_names(list_files(sys.argv[1:] or PACKAGES))
    print(name_counts.describe())
    for name in [*name_counts.ing_modules, *name_counts.participles]:
        print(f"  {name}")
