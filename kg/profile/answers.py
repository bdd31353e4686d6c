"""Reads and writes ``confirm.toml``: what the user says about rules that may be false."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from kg.base.errors import DomainError
from kg.base.files import require_file
from kg.base.plain_text import clean_text
from kg.profile.readiness import Readiness
from kg.profile.rules import Answers, RuleKind

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum size of the file, so that a wrong one cannot exhaust the memory."""

_TABLES: tuple[tuple[str, RuleKind, str], ...] = (
    (
        "one_value",
        "one value",
        "# Each subject has one value in this graph. And in the world, so that any other is false?",
    ),
    (
        "one_way",
        "one way",
        "# It never holds in both directions in this graph. In the world neither?",
    ),
)


def read_answers(path: Path) -> Answers:
    """Reads the user's answers; none if the file does not exist.

    Raises:
        DomainError: the file is not valid.
    """
    if not path.exists():
        return Answers({}, {})
    require_file(path, "confirm.toml")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DomainError("file is larger than 4 MiB", where=str(path))
        tables = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DomainError(
            f"not valid TOML: {error}",
            where=str(path),
            hint="Correct the file, or delete it to start without answers.",
        ) from None
    names = [name for name, _, _ in _TABLES]
    for name, table in tables.items():
        is_valid = isinstance(table, dict) and all(isinstance(v, bool) for v in table.values())
        if name not in names or not is_valid:
            raise DomainError(
                f"{clean_text(name)} must be one of the tables {' and '.join(names)}, of true and "
                "false",
                where=str(path),
                hint="Correct the file, or delete it to start without answers.",
            )
    return Answers(*(tables.get(name, {}) for name in names))


def render_answers(rows: Iterable[Readiness], answers: Answers) -> str:
    """Renders doubtful rules, unanswered ones as false, and all answers already given.

    A ``false`` for a rule that is not in doubt is kept too: it takes the rule back.
    """
    rows = list(rows)
    notes = {row.iri: f"{row.label or row.iri}: {row.support}" for row in rows}
    lines = [
        "# Rules that the graph confirms but that may be false in the world. Write true where one",
        "# is true, then run `epoche kg init` again: it keeps your answers. A predicate that",
        "# is not listed can be added, with false to take back a rule of shapes.ttl.",
    ]
    for (name, kind, question), given in zip(_TABLES, answers, strict=True):
        doubtful = {row.iri: False for row in rows if row.is_doubtful and row.rule == kind}
        lines += ["", question, f"[{name}]"]
        for iri, is_true in sorted({**doubtful, **given}.items()):
            note = f"  # {clean_text(notes[iri])}" if notes.get(iri) else ""
            lines.append(f"{quote_toml(iri)} = {'true' if is_true else 'false'}{note}")
    return "\n".join(lines) + "\n"


def quote_toml(text: str) -> str:
    """Returns a TOML string; its syntax is that of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
