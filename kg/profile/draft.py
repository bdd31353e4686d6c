"""Writes a draft domain: ``domain.toml``, mined shapes, rules to confirm, and a readiness page."""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from kg.base.errors import DomainError
from kg.base.files import to_json_bytes
from kg.base.plain_text import clean_text
from kg.graph import Graph
from kg.profile.readiness import Readiness
from kg.terms import parse_literal, to_ntriples
from kg.words.label_grammar import parse_label
from kg.words.labels import LABEL_PREDICATES

MINED_PREFIX = "urn:epoche:mined:"
"""Prefix of the names of mined shapes, by which proofs show where a rule comes from."""
MAX_LANGUAGES = 4
"""Maximum number of languages of labels, the most frequent ones."""

_HEAD = (
    "# Rules that the data confirm, each with its support. Delete what is not true of the world.\n"
)
_PREFIXES = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"


def find_languages(graph: Graph) -> tuple[str, ...]:
    """Returns the languages of the graph's labels: English first if it has it, then by number."""
    index, terms = graph.index, graph.index.terms
    counts: Counter[str] = Counter()
    for iri in LABEL_PREDICATES:
        p = terms.get(iri)
        if p is not None:
            counts.update(
                parse_literal(terms.get_text(o)).language
                for _, o in index.iter_pairs(p)
                if terms.is_literal(o)
            )
    del counts[""]
    languages = sorted(counts, key=lambda tag: (not tag.startswith("en"), -counts[tag], tag))
    return tuple(languages[:MAX_LANGUAGES]) or ("en",)


def read_confirmations(path: Path) -> frozenset[str]:
    """Reads the predicates that the user confirmed in ``confirm.toml``; none if it does not exist.

    Raises:
        DomainError: the file is not valid.
    """
    if not path.exists():
        return frozenset()
    try:
        table = tomllib.loads(path.read_text("utf-8")).get("one_value", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DomainError(
            f"not valid TOML: {error}", where=str(path), hint="Correct or delete the file."
        ) from None
    if not isinstance(table, dict) or not all(isinstance(v, bool) for v in table.values()):
        raise DomainError(
            "one_value must be a table of true and false", where=str(path), hint="Correct the file."
        )
    return frozenset(iri for iri, is_confirmed in table.items() if is_confirmed)


def write_draft(
    folder: Path,
    rows: Sequence[Readiness],
    *,
    name: str,
    graph_files: Sequence[Path],
    shapes_files: Sequence[Path],
    languages: Sequence[str],
    naming_predicates: Sequence[str],
    confirmed: frozenset[str],
) -> dict[Path, bytes]:
    """Returns the files of a draft domain.

    Args:
        folder: the folder that they will be in.
        rows: the predicates.
        name: name of the domain.
        graph_files: the user's graph.
        shapes_files: the user's own shapes, which are used beside the mined ones.
        languages: languages of the labels, preferred ones first.
        naming_predicates: predicates whose values are names.
        confirmed: predicates of which the user confirmed that a subject has one value.
    """
    shapes = _render_shapes(rows)
    files = {
        "shapes.ttl": shapes,
        "confirm.toml": _render_confirmations(rows, confirmed),
        "domain.toml": _render_domain(
            folder,
            rows,
            name,
            graph_files,
            shapes_files=[*([folder / "shapes.ttl"] if shapes else []), *shapes_files],
            languages=languages,
            naming_predicates=naming_predicates,
        ),
        "readiness.md": render_readiness(rows, name),
        "readiness.json": to_json_bytes(rows, indent=2).decode() + "\n",
    }
    return {folder / file: text.encode("utf-8") for file, text in files.items() if text}


def _render_shapes(rows: Sequence[Readiness]) -> str:
    parts = [_render_shape(row) for row in rows if row.is_asked]
    if not parts:
        return ""
    return _HEAD + _PREFIXES + "".join(f"\n{part}" for part in parts)


def _render_shape(row: Readiness) -> str:
    iri = row.profile.iri
    path = to_ntriples(iri)
    kind = row.rule.replace(" ", "-")
    shape = f"<{MINED_PREFIX}{kind}:{quote(iri, safe='')}>"
    comment = f"# {clean_text(row.profile.label)}: {row.support}\n"
    if row.rule == "single value":
        return (
            f"{comment}{shape} a sh:PropertyShape ;\n  sh:targetSubjectsOf {path} ;\n"
            f"  sh:path {path} ;\n  sh:maxCount 1 ;\n  sh:message {_word_rule(row)} .\n"
        )
    return (
        f"{comment}{shape} a sh:NodeShape ;\n  sh:targetSubjectsOf {path} ;\n"
        f"  sh:property [ sh:path [ sh:oneOrMorePath [ sh:inversePath {path} ] ] ; "
        f"sh:disjoint {path} ;\n    sh:message {_word_rule(row)} ] .\n"
    )


def _word_rule(row: Readiness) -> str:
    """Words a rule, as a Turtle string."""
    label, noun = clean_text(row.profile.label), clean_text(row.profile.subject_class)
    kind, words = parse_label(label)
    what = words if kind == "noun" else f"value of “{label}”"
    text = f"In this data, {f'each {noun}' if noun else 'each thing'} has only one {what}."
    if row.rule == "no reverse":
        text = (
            f"In this data, “{label}” goes one way: if it leads from X to Y, directly or by way of "
            "others, it never leads from Y to X."
        )
    return json.dumps(text, ensure_ascii=False)


def _render_confirmations(rows: Sequence[Readiness], confirmed: frozenset[str]) -> str:
    doubtful = [row for row in rows if row.needs_confirmation or row.profile.iri in confirmed]
    if not doubtful:
        return ""
    lines = [
        "# In this graph each subject has one value of these predicates, but in the world it may",
        "# have several. Write true where one value excludes all others, and run `epoche kg init`",
        "# again.",
        "",
        "[one_value]",
    ]
    for row in sorted(doubtful, key=lambda row: row.profile.iri):
        is_confirmed = "true" if row.profile.iri in confirmed else "false"
        note = clean_text(f"{row.profile.label}: {row.support}")
        lines.append(f"{_quote(row.profile.iri)} = {is_confirmed}  # {note}")
    return "\n".join(lines) + "\n"


def _render_domain(
    folder: Path,
    rows: Sequence[Readiness],
    name: str,
    graph_files: Sequence[Path],
    *,
    shapes_files: Sequence[Path],
    languages: Sequence[str],
    naming_predicates: Sequence[str],
) -> str:
    shapes = [_relate(path, folder) for path in shapes_files]
    lines = [
        "# Written by `epoche kg init`. A predicate needs only a label; fact, denied and questions",
        "# may word it better. default = true: it is asked about.",
        f"name = {_quote(name)}",
        f"graph = [{', '.join(_quote(_relate(path, folder)) for path in graph_files)}]",
        f"shapes = [{', '.join(map(_quote, shapes))}]",
        f"languages = [{', '.join(map(_quote, languages))}]",
    ]
    if naming_predicates:
        names = ", ".join(_quote(f"<{iri}>") for iri in naming_predicates)
        lines.append(f"naming_predicates = [{names}]")
    for row in rows:
        label = clean_text(row.profile.label)
        # What is not asked about can be stated as a fact.
        if label and "malformed" not in row.reason and row.reason != "its values are texts":
            lines += [
                "",
                f"[predicates.{_quote(f'<{row.profile.iri}>')}]",
                f"label = {_quote(label)}",
            ]
            if row.is_asked:
                lines.append("default = true")
    return "\n".join(lines) + "\n"


def render_readiness(rows: Sequence[Readiness], name: str) -> str:
    """Renders the readiness page in Markdown."""
    asked = [row for row in rows if row.is_asked]
    total = sum(row.ceiling for row in asked)
    lines = [
        f"# What can be asked about {clean_text(name)}",
        "",
        f"{len(asked)} of {len(rows)} predicates can be asked about, with at most {total} cards of "
        "each label (YES, NO, UNKNOWN).",
        "",
        "The ceiling of a predicate is a third of the subjects that have a unique, readable name "
        "and a value that a question can state, because a triplet of cards asks about three of "
        "them and one value is set aside; of a predicate with over 1,000 facts, a tenth at most is "
        "set aside; a contradiction of direction needs a chain of two links.",
        "",
        "| predicate | facts | subjects | nameable | ceiling | rule, or why nothing is asked |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        profile = row.profile
        label = clean_text(profile.label or profile.iri).replace("|", "\\|")
        why = f"{row.rule}: {row.support}" if row.is_asked else row.reason
        lines.append(
            f"| {label} | {profile.facts:,} | {profile.subjects:,} | "
            f"{profile.nameable_subjects:,} | {row.ceiling} | {why} |"
        )
    return "\n".join(lines) + "\n"


def _relate(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on Windows, there is no relative path to another drive
        return path.resolve().as_posix()


def _quote(text: str) -> str:
    """Returns a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
