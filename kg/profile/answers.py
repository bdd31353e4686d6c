"""Reads and writes ``confirm.toml``: what the user says about rules that may be false."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kg.base.errors import DomainError
from kg.base.files import require_file
from kg.base.plain_text import clean_text, format_count
from kg.profile.readiness import Readiness
from kg.profile.rules import ANSWER_TABLES, Answers, DraftRule
from kg.terms import iri_tail

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum size of the file, so that a wrong one cannot exhaust the memory."""
MAX_NEAREST = 3
"""Maximum number of known entries that an error names."""

_QUESTIONS = {
    "one_value": (
        "# Each subject has one value in this graph. And in the world, so that any other is false?"
    ),
    "one_way": "# It never holds in both directions in this graph. In the world neither?",
    "rules": (
        "# All other rules of shapes.ttl, by their names there. A list of all values in the graph\n"
        "# is no rule until it is true here: are there no other values in the world?"
    ),
}
_RULE_KINDS = {"one_value": "one value", "one_way": "one way"}


class UnknownAnswer(NamedTuple):
    """An answer about something that the graph does not have."""

    table: str
    key: str
    is_true: bool
    hint: str
    """The known entries that are nearest to it."""

    def __str__(self) -> str:
        return f"{quote_toml(self.key)} in [{self.table}]"


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
    for name, table in tables.items():
        is_valid = isinstance(table, dict) and all(isinstance(v, bool) for v in table.values())
        if name not in _QUESTIONS or not is_valid:
            raise DomainError(
                f"{clean_text(name)} must be one of the tables {', '.join(_QUESTIONS)}, with true "
                "or false for each entry",
                where=str(path),
                hint="Correct the file, or delete it to start without answers.",
            )
    return Answers(*(tables.get(name, {}) for name in _QUESTIONS))


def find_unknown_answers(
    answers: Answers, predicates: Collection[str], rules: Mapping[str, DraftRule]
) -> list[UnknownAnswer]:
    """Finds the answers about predicates and rules that the graph does not have.

    Args:
        answers: the answers.
        predicates: the predicates of the graph that could be asked about.
        rules: name of the shape → drafted rule, also of those that the user rejects.
    """
    names = [name for name, rule in rules.items() if rule.kind not in ANSWER_TABLES]
    unknown = []
    for table, given in answers._asdict().items():
        known = names if table == "rules" else predicates
        for key in sorted(set(given).difference(known)):
            rule = rules.get(key)
            if rule is not None:
                hint = f"Answer it as {quote_toml(rule.about)} in [{ANSWER_TABLES[rule.kind]}]."
            else:
                hint = _suggest(key, known)
            unknown.append(UnknownAnswer(table, key, given[key], hint))
    return unknown


def _suggest(key: str, known: Collection[str]) -> str:
    """Names the known entries that are most like an unknown one, whole or at their ends."""
    from rapidfuzz import fuzz

    def rate(entry: str) -> tuple[float, str]:
        tails = fuzz.ratio(iri_tail(key).casefold(), iri_tail(entry).casefold())
        return -max(fuzz.ratio(key, entry), tails), entry

    nearest = [quote_toml(entry) for entry in sorted(known, key=rate)[:MAX_NEAREST]]
    return f"Nearest known: {', '.join(nearest)}." if nearest else "There are none in the graph."


def refuse_unknown_answers(unknown: Sequence[UnknownAnswer], path: Path) -> None:
    """Refuses answers that would have no effect, because what they are about is misspelt.

    Raises:
        DomainError: there are some.
    """
    if not unknown:
        return
    first = unknown[0]
    others = f", nor {format_count(len(unknown) - 1, 'other entry')}"
    what = "drafted rule" if first.table == "rules" else "predicate that cards could ask about"
    raise DomainError(
        f"{first} is no {what}{others if len(unknown) > 1 else ''}",
        where=str(path),
        hint=f"{first.hint} Correct or remove it.",
    )


def remove_answers(answers: Answers, unknown: Iterable[UnknownAnswer]) -> Answers:
    """Returns the answers without those about what the graph does not have."""
    left_out = {(one.table, one.key) for one in unknown}
    return Answers(
        *(
            {key: value for key, value in given.items() if (table, key) not in left_out}
            for table, given in answers._asdict().items()
        )
    )


def explain_ineffective_answers(
    answers: Answers, rows: Iterable[Readiness], rules: Iterable[DraftRule]
) -> list[str]:
    """Says which answers have no effect, and why: a sentence each.

    Args:
        answers: the answers, about predicates of the graph.
        rows: what can be asked about each predicate.
        rules: the rules of shapes.ttl.
    """
    in_effect = {(ANSWER_TABLES.get(rule.kind), rule.about) for rule in rules}
    sentences = []
    for row in sorted(rows, key=lambda row: row.iri):
        for table, kind in _RULE_KINDS.items():
            answer = getattr(answers, table).get(row.iri)
            entry = f"{quote_toml(row.iri)} in [{table}] of confirm.toml"
            if answer and (table, row.iri) not in in_effect:
                sentences.append(f"{entry} is true but gives no rule: {row.reason or row.support}")
            if answer is False and row.rule == kind and row.is_asked:
                sentences.append(f"{entry} is false but a rule stays: {row.support}")
    return sentences


def render_answers(
    rows: Iterable[Readiness],
    answers: Answers,
    drafted: Mapping[str, DraftRule],
    kept: Collection[str],
    labels: Mapping[str, str],
) -> str:
    """Renders doubtful rules, unanswered ones as false, and all answers already given.

    The other rules of ``shapes.ttl`` follow as comments: removing the ``#`` takes one back.

    Args:
        rows: what can be asked about each predicate.
        answers: the answers, without those about what the graph does not have.
        drafted: name of the shape → rule, also of those that the user rejects.
        kept: the names of those in ``shapes.ttl``.
        labels: IRI of a predicate or class → what it is called.
    """
    rows = list(rows)
    notes = {row.iri: f"{row.label or row.iri}: {row.support}" for row in rows}
    notes |= {
        name: f"{labels.get(rule.about) or iri_tail(rule.about)}: {rule.support}"
        for name, rule in drafted.items()
    }
    lines = [
        "# Rules that the graph confirms but that may be false in the world. Write true where one",
        "# is true, then run `epoche kg init` again: it keeps your answers. Rules that were taken",
        '# to be true stand behind a "#": remove it from a line to take that rule back.',
    ]
    for table, given in answers._asdict().items():
        doubtful = {
            row.iri: False for row in rows if row.is_doubtful and row.rule == _RULE_KINDS.get(table)
        }
        if table == "rules":
            doubtful = {name: False for name, rule in drafted.items() if rule.is_doubtful}
        entries = {**doubtful, **given}
        lines += ["", _QUESTIONS[table], f"[{table}]"]
        lines += _render_entries(entries, notes)
        assumed = {
            rule.about if table in _RULE_KINDS else name: False
            for name, rule in drafted.items()
            if name in kept
            and rule.origin != "confirmed"
            and ANSWER_TABLES.get(rule.kind, "rules") == table
        }
        unanswered = {key: False for key in assumed if key not in entries}
        lines += [f"# {line}" for line in _render_entries(unanswered, notes)]
    return "\n".join(lines) + "\n"


def _render_entries(entries: Mapping[str, bool], notes: Mapping[str, str]) -> Iterator[str]:
    for key, is_true in sorted(entries.items()):
        note = f"  # {clean_text(notes[key])}" if notes.get(key) else ""
        yield f"{quote_toml(key)} = {'true' if is_true else 'false'}{note}"


def quote_toml(text: str) -> str:
    """Returns a TOML string; its syntax is that of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
