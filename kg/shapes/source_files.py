"""Reads shapes files, and the files beside them that they import; nothing is ever fetched."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.errors import GraphSyntaxError, GraphTooLargeError, ShapesError
from kg.base.files import require_file
from kg.base.plain_text import clean_text
from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDFS, from_rdflib, to_rdflib
from kg.triples.canonical_order import LinksByPredicate, build_index
from kg.triples.loader import FORMATS, open_rdf
from kg.triples.rdflib_bridge import fill_rdflib_graph
from kg.triples.syntaxes import choose_format, find_format_error
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Identifier

    Statement = tuple[Identifier, Identifier, Identifier]

MAX_FILE_BYTES = 50_000_000
"""Maximum size of a shapes file once unpacked, in bytes."""
MAX_TRIPLES = 1_000_000
"""Maximum number of triples in all shapes files together."""
MAX_SEARCHED_FILES = 200
"""Maximum number of files per folder that are searched for imported ontologies."""
MAX_SEARCHED_BYTES = 5_000_000
"""A larger file on disk is searched by its name only."""
MAX_NAMED_IMPORTS = 5
"""Maximum number of missing imports that a note names."""

_BUILT_IN = frozenset(iri.rstrip("#/") for iri in (SH, OWL, RDF, RDFS))
"""Imports that bring no shapes."""


class ShapesFiles(NamedTuple):
    """The triples of all shapes files."""

    graph: Graph
    notes: tuple[str, ...]
    """Which imports were read and which are missing."""


def read_shapes_files(files: Sequence[Path]) -> ShapesFiles:
    """Reads the given files, and what they import from the folders that these lie in.

    The order of triples and the names of blank nodes depend on the triples alone, so that the same
    shapes give the same cards and proofs.

    Raises:
        MissingFileError: a given file cannot be read.
        ShapesError: a file has a syntax error (with line and column), or there are too many
            triples.
    """
    import rdflib

    graph = rdflib.Graph(bind_namespaces="none")
    blank_names: dict[tuple[int, str], str] = {}
    names_by_file: dict[Path, set[str]] = {}
    pending = [require_file(path, "shapes file") for path in files]
    folders = dict.fromkeys(path.resolve().parent for path in pending)
    imported: dict[str, Path] = {}
    missing: dict[str, None] = {}
    neighbours: dict[Path, set[str]] | None = None
    while pending:
        for path in pending:
            names_by_file[path.resolve()] = _get_file_names(path)
            file_number = len(names_by_file)
            for s, p, o in _parse_file(path):
                graph.add(
                    (
                        _convert_term(s, file_number, blank_names),
                        _convert_term(p, file_number, blank_names),
                        _convert_term(o, file_number, blank_names),
                    )
                )
                if len(graph) > MAX_TRIPLES:
                    raise ShapesError(f"more than {MAX_TRIPLES} triples", where=str(path))
        pending = []
        known = _find_ontology_names(graph) | _BUILT_IN
        for iri in sorted({str(o) for o in graph.objects(None, rdflib.URIRef(OWL + "imports"))}):
            name = iri.rstrip("#/")
            if name in known or iri in missing or iri in imported:
                continue
            if _choose_file(name, names_by_file) is not None:
                continue
            if neighbours is None:
                neighbours = _describe_neighbours(folders, names_by_file)
            file = _choose_file(name, neighbours)
            if file is None:
                missing[iri] = None
            else:
                imported[iri] = file
                if file not in pending:
                    pending.append(file)
    notes = [
        f"shapes: {clean_text(iri, 200)} imported from {f.name}" for iri, f in imported.items()
    ]
    if missing:
        listed = ", ".join(clean_text(iri, 200) for iri in list(missing)[:MAX_NAMED_IMPORTS])
        notes.append(
            f"shapes: {len(missing)} × owl:imports not followed, because neither a given file nor "
            f"one beside it has the ontology (give it with --shapes): {listed}"
            + (" …" if len(missing) > MAX_NAMED_IMPORTS else "")
        )
    return ShapesFiles(_sort_graph(graph), tuple(notes))


def _sort_graph(graph: Graph) -> Graph:
    """Returns the graph in its canonical order, with blank nodes named by it."""
    import rdflib

    terms = TermTable()
    links_by_predicate: LinksByPredicate = {}
    for triple in graph:
        s, p, o = (terms.intern(from_rdflib(term)) for term in triple)  # type: ignore[arg-type]  # no formulas or variables
        links_by_predicate.setdefault(p, []).extend((s, o))
    index = build_index(terms, links_by_predicate, make_blank_label="_:s{:06d}".format)
    return fill_rdflib_graph(rdflib.Graph(bind_namespaces="none"), index)


def _find_ontology_names(graph: Graph) -> set[str]:
    """Returns the IRIs by which the ontologies of a graph can be imported."""
    from rdflib import URIRef

    ontologies = set(graph.subjects(URIRef(RDF + "type"), URIRef(OWL + "Ontology")))
    versions = graph.objects(None, URIRef(OWL + "versionIRI"))
    return {str(node).rstrip("#/") for node in (*ontologies, *versions)}


def _get_file_names(path: Path) -> set[str]:
    """Returns the IRI of a file, and its name with and without extensions."""
    name = path.name.removesuffix(".gz")
    return {path.resolve().as_uri(), f"{path.resolve().parent.as_uri()}/{name}"}


def _describe_neighbours(
    folders: dict[Path, None], read_files: dict[Path, set[str]]
) -> dict[Path, set[str]]:
    """Returns the other RDF files of the folders, with the names of their ontologies."""
    import rdflib

    neighbours: dict[Path, set[str]] = {}
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue  # the given file can be read, but its folder cannot be listed
        files = [
            path
            for path in entries
            if _get_suffix(path) in FORMATS and path not in read_files and path.is_file()
        ]
        for path in files[:MAX_SEARCHED_FILES]:
            names = neighbours[path] = _get_file_names(path)
            if path.stat().st_size > MAX_SEARCHED_BYTES:
                continue
            graph = rdflib.Graph(bind_namespaces="none")
            try:
                for s, p, o in _parse_file(path):
                    if str(o) == f"<{OWL}Ontology>" or str(p) == f"<{OWL}versionIRI>":
                        graph.add(tuple(_convert_term(t, 0, {}) for t in (s, p, o)))  # type: ignore[arg-type]  # three terms
            except (ShapesError, OSError):
                continue  # not a file that the user gave, so its errors do not matter
            names |= _find_ontology_names(graph)
    return neighbours


def _choose_file(name: str, files: dict[Path, set[str]]) -> Path | None:
    """Returns the file that has the ontology ``name``, else the one with its file name."""
    for path, names in files.items():
        if name in names:
            return path
    file_name = re.split(r"[/#]", name)[-1].casefold()
    for path in files:
        own_name = path.name.removesuffix(".gz").casefold()
        if file_name and file_name in (own_name, own_name.rsplit(".", 1)[0]):
            return path
    return None


def _get_suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _parse_file(path: Path) -> Iterator[tuple[object, object, object]]:
    import pyoxigraph

    format_name = FORMATS.get(_get_suffix(path), "")
    if not format_name:
        _refuse_other_syntax(path, format_name)
        raise ShapesError(
            f"unknown shapes format {path.suffix!r}",
            where=str(path),
            hint="Use .ttl, .nt, .rdf or .jsonld.",
        )
    format_name = choose_format(path, format_name)
    rdf_format = getattr(pyoxigraph.RdfFormat, format_name)
    try:
        with open_rdf(path, rdf_format, MAX_FILE_BYTES) as source:
            for quad in pyoxigraph.parse(source, rdf_format, base_iri=path.resolve().as_uri()):
                yield quad.subject, quad.predicate, quad.object
    except SyntaxError as error:
        _refuse_other_syntax(path, format_name)
        where = f"{path}:{error.lineno}:{error.offset}" if error.lineno else str(path)
        raise ShapesError(
            f"the shapes do not parse: {error.msg}", where=where, hint="Correct the file."
        ) from None
    except (GraphSyntaxError, GraphTooLargeError) as error:
        raise ShapesError(
            f"the shapes do not parse: {error.what}", where=str(path), hint=error.hint
        ) from None
    except MemoryError:
        raise ShapesError(
            "the shapes do not parse: a literal or IRI is too long for the parser",
            where=str(path),
            hint="Shorten it.",
        ) from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ShapesError(f"the shapes do not parse: {error}", where=str(path)) from None


def _refuse_other_syntax(path: Path, format_name: str) -> None:
    error = find_format_error(path, format_name)
    if error is not None:
        raise ShapesError(error.what, where=error.where, hint=error.hint)


def _convert_term(
    term: object, file_number: int, blank_names: dict[tuple[int, str], str]
) -> Identifier:
    """Converts a pyoxigraph term to rdflib."""
    import pyoxigraph
    from rdflib import BNode

    if isinstance(term, pyoxigraph.NamedNode):
        return to_rdflib(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return BNode(blank_names.setdefault((file_number, term.value), f"s{len(blank_names):06d}"))
    if isinstance(term, pyoxigraph.Literal):
        return to_rdflib(str(term))
    raise ShapesError("RDF-star terms are not allowed in shapes")
