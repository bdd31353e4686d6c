"""A domain: which graph and shapes belong together, and the words for what they say.

Read from ``domain.toml`` in a shipped folder (``kg/domains/<name>/``) or any folder or file the
user names. The format is described in ``docs/domains/domain-toml.md``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kg.base.errors import DomainError
from kg.claims import Claim, Regime
from kg.words.plain_text import plain
from kg.words.templates import Render, compile_template

SHIPPED = Path(__file__).parent / "domains"

WELL_KNOWN_PREFIXES = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that may be used without being declared."""

_MAX_RULE = 1_000
_MAX_TOML_BYTES = 4 * 1024 * 1024


class PredicateWords(msgspec.Struct, frozen=True, kw_only=True):
    """How claims of one predicate are put in words. Templates know ``subj``, ``obj``, ``unit``."""

    fact: str
    denied: str
    questions: tuple[str, ...]
    label: str
    synonyms: tuple[str, ...] = ()
    """Other ways to say the predicate ("empties into", "mouth"), for reading questions."""
    inverse_synonyms: tuple[str, ...] = ()
    """Ways to say it with the object first ("receives")."""
    unit: str = ""
    default: bool = False
    """Takes part in the default card set."""


class Rule(msgspec.Struct, frozen=True):
    """A rule in words, and exactly the shapes and axioms it puts in words."""

    id: str
    text: str
    predicates: tuple[str, ...]
    """IRIs of the predicates on whose cards the rule is shown."""
    shapes: tuple[str, ...] = ()
    axioms: tuple[Claim, ...] = ()


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """One domain. All IRIs are expanded and all paths absolute or relative to the caller."""

    name: str
    title: str = ""
    graph_files: tuple[Path, ...]
    shapes_files: tuple[Path, ...]
    regime: Regime = "owl-rl"
    unique_names: bool = True
    languages: tuple[str, ...] = ("en",)
    license: str = ""
    source: str = ""
    built_by: str = ""
    """Command that writes the graph, for domains too large to ship; shown, never run."""
    prefixes: dict[str, str] = {}
    naming: dict[str, str] = {}
    """Class IRI → Jinja2 template (``label``, ``iri``) for how its members are named."""
    predicates: dict[str, PredicateWords] = {}
    rules: tuple[Rule, ...] = ()
    file: Path | None = None
    """The ``domain.toml`` it was read from."""

    def expand(self, text: str) -> str:
        """The IRI that ``text`` (CURIE, ``<IRI>`` or IRI) stands for.

        Raises:
            DomainError: it has an undeclared prefix or is no IRI at all.
        """
        return expand(text, self.prefixes, str(self.file or self.name))


class _PredicateTable(msgspec.Struct, kw_only=True):
    fact: str
    denied: str
    questions: list[str]
    label: str
    synonyms: list[str] = []
    inverse_synonyms: list[str] = []
    unit: str = ""
    default: bool = False


class _RuleTable(msgspec.Struct, kw_only=True):
    id: str
    text: str
    predicates: list[str]
    shapes: list[str] = []
    axioms: list[tuple[str, str, str]] = []


class _DomainTable(msgspec.Struct, kw_only=True):
    name: str
    graph: list[str]
    shapes: list[str]
    title: str = ""
    regime: Regime = "owl-rl"
    unique_names: bool = True
    languages: tuple[str, ...] = ("en",)
    license: str = ""
    source: str = ""
    built_by: str = ""
    prefixes: dict[str, str] = {}
    naming: dict[str, str] = {}
    predicates: dict[str, _PredicateTable] = {}
    rule: list[_RuleTable] = []


def shipped_domains() -> list[str]:
    """Names of the domains that come with the package, sorted."""
    return sorted(file.parent.name for file in SHIPPED.glob("*/domain.toml"))


def load_domain(name_or_path: str | Path) -> Domain:
    """Reads a domain by shipped name, folder or file.

    Raises:
        DomainError: nothing there, not TOML, a missing, unknown or mistyped key, an undeclared
            prefix, or a template that does not render; file and key are named.
    """
    file = _find(name_or_path)
    try:
        if file.stat().st_size > _MAX_TOML_BYTES:
            raise DomainError("file is larger than 4 MiB", where=str(file))
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DomainError(
            f"not valid TOML: {error}", where=str(file), hint="Correct the file there."
        ) from error
    except RecursionError as error:
        raise DomainError(
            "not valid TOML: nested too deeply", where=str(file), hint="Correct the file."
        ) from error
    except OSError as error:
        raise DomainError(f"cannot be read: {error.strerror}", where=str(file)) from error
    _check_keys(raw, str(file))
    try:
        table = msgspec.convert(raw, _DomainTable)
    except msgspec.ValidationError as error:
        raise DomainError(str(error), where=str(file)) from error
    return _domain(table, file)


def adhoc_domain(graph: Sequence[Path | str], shapes: Sequence[Path | str]) -> Domain:
    """A domain for a graph that has no ``domain.toml``: every sentence comes from its labels."""
    files = tuple(map(Path, graph))
    return Domain(
        name=files[0].name.split(".", 1)[0] or "graph" if files else "graph",
        title="",
        graph_files=files,
        shapes_files=tuple(map(Path, shapes)),
    )


def expand(text: str, prefixes: Mapping[str, str], where: str) -> str:
    """The IRI that ``text`` (CURIE, ``<IRI>``, IRI or ``a``) stands for.

    Raises:
        DomainError: an undeclared prefix, or no IRI.
    """
    if text == "a":
        return WELL_KNOWN_PREFIXES["rdf"] + "type"
    if text.startswith("<") and text.endswith(">"):
        return text[1:-1]
    prefix, colon, rest = text.partition(":")
    if colon and not rest.startswith("//"):
        for known in (prefixes, WELL_KNOWN_PREFIXES):
            if prefix in known:
                return known[prefix] + rest
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:|tag:|mailto:", text):
        return text
    if not colon:
        raise DomainError(f"{text!r} is not an IRI", where=where, hint="Write prefix:name.")
    raise DomainError(
        f"prefix {prefix!r} of {text!r} is not declared",
        where=where,
        hint=nearest(prefix, [*prefixes, *WELL_KNOWN_PREFIXES]) or "Declare it under [prefixes].",
    )


def nearest(text: str, choices: Iterable[str]) -> str:
    """``Did you mean "…"?`` with the closest of ``choices``, or nothing when none is close."""
    from rapidfuzz import fuzz, process

    hit = process.extractOne(text, list(choices), scorer=fuzz.ratio, score_cutoff=60)
    return f'Did you mean "{hit[0]}"?' if hit else ""


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    shipped = SHIPPED / text / "domain.toml"
    if re.fullmatch(r"[\w.-]+", text) and text not in (".", "..") and shipped.is_file():
        return shipped
    path = Path(text)
    if path.is_dir():
        path = path / "domain.toml"
    if path.is_file():
        return path
    names = shipped_domains()
    raise DomainError(
        "no such domain",
        where=text,
        hint=nearest(text, names)
        or f"Shipped: {', '.join(names) or 'none'}; else give a folder with a domain.toml.",
    )


def _check_keys(raw: dict[str, Any], where: str) -> None:
    """Refuses keys that mean nothing: a misspelt one would otherwise be ignored in silence."""

    def check(table: Any, struct: type[msgspec.Struct], at: str) -> None:
        if not isinstance(table, dict):
            return  # The typed conversion names the wrong type.
        names = struct.__struct_fields__
        for key in table:
            if key not in names:
                raise DomainError(
                    f"unknown key {f'{at}.{key}' if at else key}",
                    where=where,
                    hint=nearest(key, names) or f"Known: {', '.join(names)}.",
                )

    check(raw, _DomainTable, "")
    predicates, rules = raw.get("predicates"), raw.get("rule")
    if isinstance(predicates, dict):
        for name, table in predicates.items():
            check(table, _PredicateTable, f'predicates."{name}"')
    if isinstance(rules, list):
        for number, table in enumerate(rules, 1):
            check(table, _RuleTable, f"rule {number}")


def _domain(table: _DomainTable, file: Path) -> Domain:
    where = str(file)

    def iri(text: str, key: str) -> str:
        return expand(text, table.prefixes, f"{where}: {key}")

    naming: dict[str, str] = {}
    for cls, source in table.naming.items():
        key = f'naming."{cls}"'
        compile_naming(source, f"{where}: {key}")
        naming[iri(cls, key)] = source
    predicates: dict[str, PredicateWords] = {}
    for name, words in table.predicates.items():
        key = f'predicates."{name}"'
        if not words.questions:
            raise DomainError("no question template", where=f"{where}: {key}.questions")
        entry = msgspec.convert(msgspec.to_builtins(words), PredicateWords)
        compile_words(entry, f"{where}: {key}")
        predicates[iri(name, key)] = entry
    rules = tuple(_rule(rule, iri, where) for rule in table.rule)
    duplicate = next((r.id for i, r in enumerate(rules) if r.id in [q.id for q in rules[:i]]), None)
    if duplicate is not None:
        raise DomainError(f"two rules have the id {duplicate!r}", where=where)
    return Domain(
        name=table.name,
        title=table.title,
        graph_files=tuple(file.parent / name for name in table.graph),
        shapes_files=tuple(file.parent / name for name in table.shapes),
        regime=table.regime,
        unique_names=table.unique_names,
        languages=tuple(table.languages),
        license=table.license,
        source=table.source,
        built_by=plain(table.built_by, _MAX_RULE),
        prefixes=dict(table.prefixes),
        naming=naming,
        predicates=predicates,
        rules=rules,
        file=file,
    )


def _rule(rule: _RuleTable, iri: Callable[[str, str], str], where: str) -> Rule:
    key = f"rule {rule.id!r}"
    text = plain(rule.text, _MAX_RULE)
    if not text or not rule.predicates:
        missing = "predicates" if text else "text"
        raise DomainError(f"a rule without {missing} is never shown", where=f"{where}: {key}")
    return Rule(
        id=rule.id,
        text=text,
        predicates=tuple(iri(p, key) for p in rule.predicates),
        shapes=tuple(iri(s, key) for s in rule.shapes),
        axioms=tuple(Claim(*(iri(term, key) for term in axiom)) for axiom in rule.axioms),
    )


def compile_naming(source: str, where: str) -> Render:
    """Compiles a naming template; see ``kg.words.templates.compile_template``."""
    return compile_template(source, {"label": "Sample", "iri": "https://example.org/Sample"}, where)


class CompiledWords(msgspec.Struct, frozen=True):
    """A predicate's templates, ready to render with ``subj``, ``obj`` and ``unit``."""

    fact: Render
    denied: Render
    questions: tuple[Render, ...]


def compile_words(words: PredicateWords, where: str) -> CompiledWords:
    """Compiles a predicate's templates.

    Raises:
        DomainError: naming predicate and field of the template that fails.
    """
    sample = {"subj": "Sample A", "obj": "Sample B", "unit": words.unit}
    return CompiledWords(
        compile_template(words.fact, sample, f"{where}.fact"),
        compile_template(words.denied, sample, f"{where}.denied"),
        tuple(
            compile_template(question, sample, f"{where}.questions[{number}]")
            for number, question in enumerate(words.questions)
        ),
    )
