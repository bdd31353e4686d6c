"""A thesaurus as files: Turtle, SHACL shapes and a domain.toml, ready to make cards from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from kg.base.errors import SettingError, WriteError
from kg.base.files import check_output, write_files_atomic
from kg.terms import is_malformed_iri, literal_text
from kg.text.thesaurus.thesaurus import Thesaurus
from kg.words.plain_text import plain

VOCABULARY = "https://epoche.example/text#"
SHAPES = Path(__file__).with_name("thesaurus.shacl.ttl")
"""True of every thesaurus that is written here."""
DOMAIN = Path(__file__).with_name("thesaurus.domain.toml")
"""The words for it; what names the files goes before."""
BASE = "https://epoche.example/concepts/"
"""What the IRIs of concepts, sections and passages begin with, unless another is given."""

_MARK = "# Written by `epoche kg export`, sha256 "
"""Begins the files that are written beside the graph; the hash is of all that follows the line."""

_HEADER = f"""@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix et: <{VOCABULARY}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
_VOCABULARY = """
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
    thesaurus: Thesaurus, out: Path, *, title: str, base: str = BASE, overwrite: bool = False
) -> dict[str, Path]:
    """Writes ``OUT.ttl``, ``OUT.shacl.ttl`` and, in the same folder, ``domain.toml``.

    Args:
        thesaurus: what to write.
        out: the Turtle file.
        title: what the thesaurus is of, in words.
        base: what IRIs begin with.
        overwrite: replaces shapes and words that were written or changed by hand.

    Returns:
        The files, as ``graph``, ``shapes`` and ``domain``.

    Raises:
        SettingError: ``out`` does not end in ``.ttl``: other endings promise other formats.
        WriteError: one cannot be written, or would take the place of a file of yours; all are
            then as they were.
    """
    if out.suffix != ".ttl":
        raise SettingError(
            f"Turtle is written, and {out.name!r} does not end in .ttl",
            where="--ttl",
            hint="Name a file that does: commands read a graph by its ending.",
        )
    files = {
        "graph": out,
        "shapes": out.with_name(f"{out.name.removesuffix('.ttl')}.shacl.ttl"),
        "domain": out.with_name("domain.toml"),
    }
    for name, path in files.items():
        check_output(path, [other for key, other in files.items() if key != name])
        if name != "graph" and not overwrite:
            _check_ours(path)
    head = {
        "name": re.sub(r"[^\w.-]+", "-", plain(out.stem)) or "concepts",
        "title": plain(title),
        "graph": [out.name],
        "shapes": [files["shapes"].name],
    }
    words = "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in head.items())
    write_files_atomic(
        {
            files["graph"]: "".join(turtle(thesaurus, title, base)).encode(),
            files["shapes"]: _marked(SHAPES.read_text("utf-8")),
            files["domain"]: _marked(words + DOMAIN.read_text("utf-8")),
        }
    )
    return files


def turtle(thesaurus: Thesaurus, title: str, base: str = BASE) -> Iterator[str]:
    """The graph in Turtle, in pieces; the same for the same thesaurus, byte for byte."""
    yield f"@base <{base}> .\n{_HEADER}{_VOCABULARY}\n"
    yield _block("<scheme>", "skos:ConceptScheme", [("rdfs:label", [literal_text(plain(title))])])
    related: dict[str, list[str]] = {}
    for one, other in thesaurus.related:
        related.setdefault(one, []).append(other)
    falling = {*thesaurus.broader, *thesaurus.withheld}
    for concept, label in thesaurus.labels.items():
        chunk_ids = thesaurus.chunk_ids[concept]
        above = thesaurus.broader.get(concept)
        sections = dict.fromkeys(
            thesaurus.section_of[c] for c in chunk_ids if c in thesaurus.section_of
        )
        yield _block(
            _concept(concept),
            "skos:Concept" if concept in falling else "et:TopConcept",
            [
                ("skos:inScheme", ["<scheme>"]),
                ("skos:prefLabel", [literal_text(label)]),
                ("skos:altLabel", map(literal_text, thesaurus.aliases[concept])),
                ("skos:broader", [] if above is None else [_concept(above)]),
                ("skos:related", map(_concept, related.get(concept, ()))),
                ("et:treatedIn", map(_section, sections)),
                ("prov:wasDerivedFrom", map(_passage, chunk_ids)),
            ],
        )
    for section, heading in thesaurus.sections.items():
        parent = thesaurus.parents.get(section)
        label = literal_text(f"section “{heading}”")
        within = [] if parent is None else [_section(parent)]
        yield _block(
            _section(section), "et:Section", [("rdfs:label", [label]), ("dcterms:isPartOf", within)]
        )
    passages = dict.fromkeys(c for found in thesaurus.chunk_ids.values() for c in found)
    for chunk_id in passages:
        own = thesaurus.section_of.get(chunk_id)
        yield _block(
            _passage(chunk_id),
            "et:Passage",
            [
                ("rdfs:label", [literal_text(f"passage {plain(chunk_id)}")]),
                ("dcterms:identifier", [literal_text(chunk_id)]),
                ("dcterms:isPartOf", [] if own is None else [_section(own)]),
            ],
        )


def check_base(base: str) -> None:
    """Refuses what no IRI can begin with.

    Raises:
        WriteError: it is none.
    """
    if is_malformed_iri(base) or not base.endswith(("/", "#")):
        raise WriteError(
            f"no IRI can begin with {base!r}", where="--base", hint="Give one that ends in / or #."
        )


def _block(subject: str, kind: str, rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    lines = [f"{subject} a {kind}"]
    lines += [f"{pred} {' , '.join(found)}" for pred, values in rows if (found := list(values))]
    return " ;\n    ".join(lines) + " .\n"


def _concept(node: str) -> str:
    return _iri("concept", node.replace(" ", "_"))  # no word of a node has an underscore


def _section(section: str) -> str:
    return _iri("section", section)


def _passage(chunk_id: str) -> str:
    return _iri("passage", chunk_id)


def _iri(kind: str, name: str) -> str:
    return f"<{kind}/{quote(name, safe='', errors='replace')}>"


def _marked(text: str) -> bytes:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{_MARK}{digest}\n{text}".encode()


def _check_ours(path: Path) -> None:
    """Refuses to replace a file that was not written here, or was changed since."""
    if not path.exists():
        return
    first, _, rest = path.read_bytes().partition(b"\n")
    if first != f"{_MARK}{hashlib.sha256(rest).hexdigest()}".encode():
        raise WriteError(
            "cannot write: the file was not made by `epoche kg export`, or was changed since",
            where=str(path),
            hint="Choose a folder of its own for --ttl, or give --overwrite.",
        )
