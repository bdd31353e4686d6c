"""Writes a thesaurus as Turtle, SHACL shapes and a domain.toml, ready for card generation."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from kg.base.errors import SettingError, WriteError
from kg.base.files import check_output, write_files_atomic
from kg.base.plain_text import clean_text
from kg.terms import is_malformed_iri, write_literal
from kg.text.thesaurus.thesaurus import Thesaurus

VOCABULARY_NAMESPACE = "https://epoche.example/text#"
SHAPES_FILE = Path(__file__).with_name("thesaurus.shacl.ttl")
"""The shapes of every exported thesaurus."""
DOMAIN_FILE = Path(__file__).with_name("thesaurus.domain.toml")
"""The end of every exported ``domain.toml``: its wording. ``write_thesaurus`` puts the keys that
name the thesaurus and its files before it."""
DEFAULT_BASE_IRI = "https://epoche.example/concepts/"
"""Default prefix of the IRIs of concepts, sections and passages."""

_CHECKSUM_PREFIX = "# Written by `epoche kg export`, sha256 "
"""First line of the shapes and domain files, followed by the hash of the rest of the file. It shows
whether a file may be overwritten."""

_PREFIXES = f"""@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix et: <{VOCABULARY_NAMESPACE}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
_VOCABULARY_TURTLE = """
skos:Concept a owl:Class ; rdfs:label "concept"@en .
et:TopConcept a owl:Class ; rdfs:subClassOf skos:Concept ; rdfs:label "top concept"@en ;
    rdfs:comment "A concept that falls under none: it heads a part, or is at home in many."@en .
et:Section a owl:Class ; rdfs:label "section"@en .
et:Passage a owl:Class ; rdfs:label "passage"@en .
skos:Concept owl:disjointWith et:Section , et:Passage .
et:Section owl:disjointWith et:Passage .

skos:broader a owl:ObjectProperty ; rdfs:subPropertyOf skos:broaderTransitive .
skos:broaderTransitive a owl:ObjectProperty , owl:TransitiveProperty .
skos:related a owl:ObjectProperty , owl:SymmetricProperty .
et:treatedIn a owl:ObjectProperty ; rdfs:label "section"@en ;
    rdfs:comment "A section with a passage that the concept is a keyword of."@en .
"""


def write_thesaurus(
    thesaurus: Thesaurus,
    out: Path,
    *,
    title: str,
    base: str = DEFAULT_BASE_IRI,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Writes ``OUT.ttl``, ``OUT.shacl.ttl`` and, in the same folder, ``domain.toml``.

    Args:
        thesaurus: the thesaurus.
        out: the Turtle file.
        title: title of the thesaurus.
        base: prefix of the IRIs.
        overwrite: also replaces shapes and domain files that were written or edited manually.

    Returns:
        The files, as ``graph``, ``shapes`` and ``domain``.

    Raises:
        SettingError: ``out`` does not end in ``.ttl``.
        WriteError: a file cannot be written, or would replace a file that Epoché did not write. In
            that case no file is changed.
    """
    if out.suffix != ".ttl":
        raise SettingError(
            f"the output format is Turtle, but {out.name!r} does not end in .ttl",
            where="--ttl",
            hint="Use a name that ends in .ttl: commands choose the parser by the extension.",
        )
    files = {
        "graph": out,
        "shapes": out.with_name(f"{out.name.removesuffix('.ttl')}.shacl.ttl"),
        "domain": out.with_name("domain.toml"),
    }
    for name, path in files.items():
        check_output(path, [other for key, other in files.items() if key != name])
        if name != "graph" and not overwrite:
            _check_overwritable(path)
    domain_keys = {
        "name": re.sub(r"[^\w.-]+", "-", clean_text(out.stem)) or "concepts",
        "title": clean_text(title),
        "graph": [out.name],
        "shapes": [files["shapes"].name],
    }
    # JSON strings and lists of strings are also valid TOML.
    header = "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in domain_keys.items())
    write_files_atomic(
        {
            files["graph"]: "".join(render_turtle(thesaurus, title, base)).encode(),
            files["shapes"]: _add_checksum(SHAPES_FILE.read_text("utf-8")),
            files["domain"]: _add_checksum(header + DOMAIN_FILE.read_text("utf-8")),
        }
    )
    return files


def render_turtle(thesaurus: Thesaurus, title: str, base: str = DEFAULT_BASE_IRI) -> Iterator[str]:
    """Yields the graph in Turtle, in pieces; the same thesaurus gives the same bytes."""
    yield f"@base <{base}> .\n{_PREFIXES}{_VOCABULARY_TURTLE}\n"
    yield _render_block(
        "<scheme>", "skos:ConceptScheme", [("rdfs:label", [write_literal(clean_text(title))])]
    )
    related: dict[str, list[str]] = {}
    for first, second in thesaurus.related:
        related.setdefault(first, []).append(second)
    # A concept whose broader concept is withheld is not a top concept.
    concepts_with_broader = {*thesaurus.broader, *thesaurus.withheld}
    for concept, label in thesaurus.labels.items():
        chunk_ids = thesaurus.chunk_ids[concept]
        broader = thesaurus.broader.get(concept)
        sections = dict.fromkeys(
            thesaurus.section_of[c] for c in chunk_ids if c in thesaurus.section_of
        )
        yield _render_block(
            _make_concept_iri(concept),
            "skos:Concept" if concept in concepts_with_broader else "et:TopConcept",
            [
                ("skos:inScheme", ["<scheme>"]),
                ("skos:prefLabel", [write_literal(label)]),
                ("skos:altLabel", map(write_literal, thesaurus.aliases[concept])),
                ("skos:broader", [] if broader is None else [_make_concept_iri(broader)]),
                ("skos:related", map(_make_concept_iri, related.get(concept, ()))),
                ("et:treatedIn", map(_make_section_iri, sections)),
                ("prov:wasDerivedFrom", map(_make_passage_iri, chunk_ids)),
            ],
        )
    for section, heading in thesaurus.sections.items():
        parent = thesaurus.parents.get(section)
        label = write_literal(f"section “{heading}”")
        parents = [] if parent is None else [_make_section_iri(parent)]
        yield _render_block(
            _make_section_iri(section),
            "et:Section",
            [("rdfs:label", [label]), ("dcterms:isPartOf", parents)],
        )
    passages = dict.fromkeys(c for ids in thesaurus.chunk_ids.values() for c in ids)
    for chunk_id in passages:
        section_id = thesaurus.section_of.get(chunk_id)
        yield _render_block(
            _make_passage_iri(chunk_id),
            "et:Passage",
            [
                ("rdfs:label", [write_literal(f"passage {clean_text(chunk_id)}")]),
                ("dcterms:identifier", [write_literal(chunk_id)]),
                (
                    "dcterms:isPartOf",
                    [] if section_id is None else [_make_section_iri(section_id)],
                ),
            ],
        )


def check_base(base: str) -> None:
    """Checks that IRIs can begin with ``base``.

    Raises:
        WriteError: ``base`` is not a valid IRI, or does not end in / or #.
    """
    if is_malformed_iri(base) or not base.endswith(("/", "#")):
        raise WriteError(
            f"not a base IRI: {base!r}", where="--base", hint="Use an IRI that ends in / or #."
        )


def _render_block(subject: str, kind: str, properties: Iterable[tuple[str, Iterable[str]]]) -> str:
    lines = [f"{subject} a {kind}"]
    lines += [
        f"{pred} {' , '.join(objects)}" for pred, values in properties if (objects := list(values))
    ]
    return " ;\n    ".join(lines) + " .\n"


def _make_concept_iri(node: str) -> str:
    # No word of a node contains an underscore, so different nodes get different IRIs.
    return _make_iri("concept", node.replace(" ", "_"))


def _make_section_iri(section: str) -> str:
    return _make_iri("section", section)


def _make_passage_iri(chunk_id: str) -> str:
    return _make_iri("passage", chunk_id)


def _make_iri(kind: str, name: str) -> str:
    return f"<{kind}/{quote(name, safe='', errors='replace')}>"


def _add_checksum(text: str) -> bytes:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{_CHECKSUM_PREFIX}{digest}\n{text}".encode()


def _check_overwritable(path: Path) -> None:
    """Refuses to replace a file that was not written by this module or was edited since."""
    if not path.exists():
        return
    checksum_line, _, content = path.read_bytes().partition(b"\n")
    if checksum_line != f"{_CHECKSUM_PREFIX}{hashlib.sha256(content).hexdigest()}".encode():
        raise WriteError(
            "cannot write: the file was not written by `epoche kg export`, or was edited since",
            where=str(path),
            hint="Choose another folder for --ttl, or use --overwrite.",
        )
