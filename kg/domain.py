"""Loads domains: a graph, its shapes, and the templates that word its facts and questions.

A domain is read from ``domain.toml`` in a shipped folder (``kg/domains/<name>/``), or from any
folder or file that the user names. ``docs/reference/domain-toml.md`` describes the format.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import platformdirs

from kg.base.errors import DomainError
from kg.base.plain_text import clean_text
from kg.base.templates import Renderer, compile_template
from kg.claims import Claim, Regime
from kg.predicate_words import PredicateWording, check_templates

SHIPPED_FOLDER = Path(__file__).parent / "domains"
CACHE_VARIABLE = "EPOCHE_CACHE_DIR"
"""Environment variable that names the folder for data that Epoché builds once and keeps."""

CodedNaming = Literal["", "numbers", "all"]
"""Which unlabelled things are named by class and code: also those with a UUID or hash, or none."""
WELL_KNOWN_PREFIXES = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that may be used without a declaration."""

_MAX_RULE_LENGTH = 1_000
"""Maximum characters of a rule's text, because cards show it; the rest is cut off."""
_MAX_TOML_BYTES = 4 * 1024 * 1024
"""Maximum size of ``domain.toml``, so that a wrong file cannot exhaust the memory."""


class Rule(msgspec.Struct, frozen=True):
    """The text of a rule, and exactly the shapes and axioms that the text describes."""

    id: str
    text: str
    predicates: tuple[str, ...]
    """IRIs of the predicates on whose cards the rule is shown."""
    shapes: tuple[str, ...] = ()
    axioms: tuple[Claim, ...] = ()


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """One domain, with all IRIs expanded.

    Paths are absolute, or relative to the current working directory.
    """

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
    """Command that builds the graph of a domain that is not shipped; shown in hints, never run."""
    prefixes: dict[str, str] = {}
    naming: dict[str, str] = {}
    """Class IRI → Jinja2 template (variables ``label``, ``iri``) that names its members."""
    naming_predicates: tuple[str, ...] = ()
    """Predicates whose values are names, besides ``rdfs:label`` and SKOS's."""
    qualifiers: tuple[str, ...] = ()
    """By what namesakes are told apart, best first: see ``Qualifiers``."""
    coded_names: CodedNaming = ""
    predicates: dict[str, PredicateWording] = {}
    rules: tuple[Rule, ...] = ()
    passages_file: Path | None = None
    """The passages that the facts were extracted from; None if the graph is not from documents."""
    quotes_file: Path | None = None
    """The words of the passages that state each fact."""
    file: Path | None = None
    """The ``domain.toml`` it was read from."""

    def expand_iri(self, text: str) -> str:
        """Expands a CURIE, ``<IRI>`` or IRI to an IRI.

        Raises:
            DomainError: it has an undeclared prefix or is not an IRI.
        """
        return expand_iri(text, self.prefixes, str(self.file or self.name))


class _PredicateTable(msgspec.Struct, kw_only=True):
    """A table ``[predicates."…"]`` as it stands in ``domain.toml``."""

    label: str
    fact: str = ""
    denied: str = ""
    questions: list[str] | None = None
    paraphrases: list[str] = []
    synonyms: list[str] = []
    inverse_synonyms: list[str] = []
    unit: str = ""
    default: bool = False


class _RuleTable(msgspec.Struct, kw_only=True):
    """A table ``[[rule]]`` as it stands in ``domain.toml``, with IRIs not yet expanded."""

    id: str
    text: str
    predicates: list[str]
    shapes: list[str] = []
    axioms: list[tuple[str, str, str]] = []


class _DomainTable(msgspec.Struct, kw_only=True):
    """All keys of ``domain.toml`` as they stand there; ``Domain`` is built from it."""

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
    naming_predicates: list[str] = []
    qualifiers: list[str] = []
    coded_names: CodedNaming = ""
    passages: str = ""
    quotes: str = ""
    predicates: dict[str, _PredicateTable] = {}
    rule: list[_RuleTable] = []


def list_shipped_domains() -> list[str]:
    """Returns the names of the shipped domains, sorted."""
    return sorted(file.parent.name for file in SHIPPED_FOLDER.glob("*/domain.toml"))


def load_domain(name_or_path: str | Path) -> Domain:
    """Reads a domain by shipped name, folder or file.

    Raises:
        DomainError: the file does not exist or is not TOML; a key is missing, unknown or of the
            wrong type; a prefix is not declared; or a template cannot be rendered. The message
            names file and key.
    """
    file = _find_domain_file(name_or_path)
    try:
        if file.stat().st_size > _MAX_TOML_BYTES:
            raise DomainError(
                "file is larger than 4 MiB",
                where=str(file),
                hint="Check that it is a domain.toml.",
            )
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
    return _build_domain(table, file)


def make_adhoc_domain(graph: Sequence[Path | str], shapes: Sequence[Path | str]) -> Domain:
    """Makes a domain for a graph without ``domain.toml``; its sentences are built from labels."""
    files = tuple(map(Path, graph))
    return Domain(
        name=files[0].name.split(".", 1)[0] or "graph" if files else "graph",
        title="",
        graph_files=files,
        shapes_files=tuple(map(Path, shapes)),
    )


def expand_iri(text: str, prefixes: Mapping[str, str], where: str) -> str:
    """Expands a CURIE, ``<IRI>``, IRI or ``a`` (``rdf:type``, as in Turtle) to an IRI.

    Raises:
        DomainError: an undeclared prefix, or not an IRI.
    """
    if text == "a":
        return WELL_KNOWN_PREFIXES["rdf"] + "type"
    if text.startswith("<") and text.endswith(">"):
        return text[1:-1]
    prefix, colon, local_name = text.partition(":")
    if colon and not local_name.startswith("//"):
        for prefix_table in (prefixes, WELL_KNOWN_PREFIXES):
            if prefix in prefix_table:
                return prefix_table[prefix] + local_name
    # A scheme with "//", or one of the schemes without it that occur in graphs.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:|tag:|mailto:", text):
        return text
    if not colon:
        raise DomainError(f"{text!r} is not an IRI", where=where, hint="Write prefix:name.")
    raise DomainError(
        f"prefix {prefix!r} of {text!r} is not declared",
        where=where,
        hint=suggest_nearest(prefix, [*prefixes, *WELL_KNOWN_PREFIXES])
        or "Declare it under [prefixes].",
    )


def suggest_nearest(text: str, choices: Iterable[str]) -> str:
    """Returns ``Did you mean "…"?`` with the closest of ``choices``; empty if none is close."""
    from rapidfuzz import fuzz, process

    # Similarity is 0 to 100; below 60, suggestions rarely help.
    match = process.extractOne(text, list(choices), scorer=fuzz.ratio, score_cutoff=60)
    return f'Did you mean "{match[0]}"?' if match else ""


def _find_domain_file(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    shipped_file = SHIPPED_FOLDER / text / "domain.toml"
    if re.fullmatch(r"[\w.-]+", text) and text not in (".", "..") and shipped_file.is_file():
        return shipped_file
    path = Path(text)
    if path.is_dir():
        path = path / "domain.toml"
    if path.is_file():
        return path
    names = list_shipped_domains()
    if Path(text).is_dir():
        raise DomainError(
            "the folder has no domain.toml",
            where=text,
            hint=f"Give a folder that has one, or a shipped domain: {', '.join(names) or 'none'}.",
        )
    raise DomainError(
        "no such domain",
        where=text,
        hint=suggest_nearest(text, names)
        or f"Shipped domains: {', '.join(names) or 'none'}; or give a folder with a domain.toml.",
    )


def _check_keys(raw: dict[str, Any], where: str) -> None:
    """Rejects unknown keys: a misspelt key would otherwise be ignored silently."""

    def check_table(table: Any, struct: type[msgspec.Struct], key_prefix: str) -> None:
        if not isinstance(table, dict):
            return  # The typed conversion that follows reports the wrong type.
        known_keys = struct.__struct_fields__
        for key in table:
            if key not in known_keys:
                raise DomainError(
                    f"unknown key {f'{key_prefix}.{key}' if key_prefix else key}",
                    where=where,
                    hint=suggest_nearest(key, known_keys) or f"Known: {', '.join(known_keys)}.",
                )

    check_table(raw, _DomainTable, "")
    predicates, rules = raw.get("predicates"), raw.get("rule")
    if isinstance(predicates, dict):
        for name, table in predicates.items():
            check_table(table, _PredicateTable, f'predicates."{name}"')
    if isinstance(rules, list):
        for number, table in enumerate(rules, 1):
            check_table(table, _RuleTable, f"rule {number}")


def get_built_folder(name: str) -> Path:
    """Returns the folder in the user's cache of a shipped domain's graph that is built there."""
    cache = os.environ.get(CACHE_VARIABLE)
    root = Path(cache) if cache else platformdirs.user_cache_path("epoche", appauthor=False)
    return root / "domains" / name


def _locate_graph(file: Path, name: str, table: _DomainTable) -> Path:
    is_shipped = file.parent.parent == SHIPPED_FOLDER
    return (get_built_folder(table.name) if table.built_by and is_shipped else file.parent) / name


def _build_domain(table: _DomainTable, file: Path) -> Domain:
    where = str(file)

    def expand_term(text: str, key: str) -> str:
        return expand_iri(text, table.prefixes, f"{where}: {key}")

    naming: dict[str, str] = {}
    for cls, source in table.naming.items():
        key = f'naming."{cls}"'
        compile_naming(source, f"{where}: {key}")
        naming[expand_term(cls, key)] = source
    predicates: dict[str, PredicateWording] = {}
    for name, predicate_table in table.predicates.items():
        key = f'predicates."{name}"'
        if predicate_table.questions == []:
            raise DomainError(
                "no question template",
                where=f"{where}: {key}.questions",
                hint="Give one, or omit the key: then questions are made from the label.",
            )
        fields = msgspec.to_builtins(predicate_table)
        wording = msgspec.convert(
            {name: value for name, value in fields.items() if value is not None}, PredicateWording
        )
        check_templates(wording, f"{where}: {key}")
        predicates[expand_term(name, key)] = wording
    rules = tuple(_build_rule(rule, expand_term, where) for rule in table.rule)
    if bool(table.passages) != bool(table.quotes):
        raise DomainError(
            "passages and quotes must be given together",
            where=where,
            hint="`epoche kg init FACTS.jsonl --passages FILE` writes both.",
        )
    ids = [rule.id for rule in rules]
    duplicate = next((rule_id for i, rule_id in enumerate(ids) if rule_id in ids[:i]), None)
    if duplicate is not None:
        raise DomainError(f"two rules have the id {duplicate!r}", where=where)
    return Domain(
        name=table.name,
        title=table.title,
        graph_files=tuple(_locate_graph(file, name, table) for name in table.graph),
        shapes_files=tuple(file.parent / name for name in table.shapes),
        regime=table.regime,
        unique_names=table.unique_names,
        languages=tuple(table.languages),
        license=table.license,
        source=table.source,
        built_by=clean_text(table.built_by, _MAX_RULE_LENGTH),
        prefixes=dict(table.prefixes),
        naming=naming,
        naming_predicates=tuple(
            expand_term(n, "naming_predicates") for n in table.naming_predicates
        ),
        qualifiers=tuple(
            "^" * name.startswith("^") + expand_term(name.removeprefix("^"), "qualifiers")
            for name in table.qualifiers
        ),
        coded_names=table.coded_names,
        predicates=predicates,
        rules=rules,
        passages_file=file.parent / table.passages if table.passages else None,
        quotes_file=file.parent / table.quotes if table.quotes else None,
        file=file,
    )


def _build_rule(rule: _RuleTable, expand_term: Callable[[str, str], str], where: str) -> Rule:
    key = f"rule {rule.id!r}"
    text = clean_text(rule.text, _MAX_RULE_LENGTH)
    if not text or not rule.predicates:
        missing_key = "predicates" if text else "text"
        raise DomainError(
            f"the rule has no {missing_key}",
            where=f"{where}: {key}",
            hint=f"Add the key {missing_key}.",
        )
    return Rule(
        id=rule.id,
        text=text,
        predicates=tuple(expand_term(p, key) for p in rule.predicates),
        shapes=tuple(expand_term(s, key) for s in rule.shapes),
        axioms=tuple(Claim(*(expand_term(term, key) for term in axiom)) for axiom in rule.axioms),
    )


def compile_naming(source: str, where: str) -> Renderer:
    """Compiles a template that names the members of a class (see ``compile_template``)."""
    return compile_template(source, {"label": "Sample", "iri": "https://example.org/Sample"}, where)
