"""Reads RDF files: six formats, plain or gzipped, without network access.

Files are parsed by pyoxigraph. Its lenient mode accepts malformed IRIs, which are kept and listed
by ``epoche kg inspect``, instead of rejecting the whole file. Nothing is downloaded: neither
``owl:imports`` nor a JSON-LD ``@context``, which is read only from beside the file.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from kg.base.errors import (
    EmptyGraphError,
    GraphFormatError,
    GraphSyntaxError,
    GraphTooLargeError,
    MissingFileError,
)
from kg.base.files import require_file
from kg.base.plain_text import format_count
from kg.triples.canonical_order import LinksByPredicate, build_index
from kg.triples.index import Index
from kg.triples.jsonld_context import Addresses, insert_local_contexts
from kg.triples.stream_guards import (
    MAX_TERM_BYTES,
    EntityGuard,
    LimitedStream,
    ProgressGuard,
    Readable,
    XmlTranscoder,
    open_gzip,
    read_json_with_depth_limit,
)
from kg.triples.syntaxes import choose_format, find_format, find_format_error
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    from pyoxigraph import QuadParser, RdfFormat

FORMATS = {
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".n3": "TURTLE",
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
    ".jsonld": "JSON_LD",
    ".json": "JSON_LD",
}
"""File name extension → format; each may be followed by ``.gz``."""
_ARCHIVES = frozenset({".bz2", ".xz", ".zst", ".zip", ".7z", ".tar", ".tgz"})

DEFAULT_MAX_BYTES = 8 * 1024**3
"""Maximum file size *after* decompression, so that a gzip bomb is stopped early."""


class LoadedFile(NamedTuple):
    """The declarations of a file, without its triples."""

    prefixes: dict[str, str]
    n_graphs: int
    """Number of named graphs, which were merged."""
    n_triple_terms: int
    """Number of statements about triples, which were left out."""
    n_undefined: int
    """Number of values of JSON-LD keys that no @context defines, which were left out."""


def detect_format(path: Path) -> str:
    """Returns the format name of a path, given by its extension or else by how the file begins.

    Raises:
        GraphFormatError: neither is known; it says what the file seems to be.
    """
    name = path.name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix in FORMATS:
        return choose_format(path, FORMATS[suffix])
    format_name = find_format(path)
    if format_name is None:
        extensions = " ".join(FORMATS)
        advice = "unpack the file first" if suffix in _ARCHIVES else "rename or convert the file"
        raise find_format_error(path) or GraphFormatError(
            f"unknown graph format {suffix or '(no extension)'!r}",
            where=str(path),
            hint=f"Known extensions: {extensions}, each also with .gz; {advice}.",
        )
    return format_name


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Switches garbage collection off while millions of acyclic objects are created.

    The collector would scan all of them repeatedly, which takes a third of the loading time of a
    million triples.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def promote_gc_objects() -> None:
    """Moves all objects to the collector's oldest generation, without traversing them.

    Does nothing if the application has frozen objects itself (``gc.freeze``), because these would
    be unfrozen.
    """
    if not gc.get_freeze_count():
        # ``unfreeze`` puts all frozen objects into the oldest generation.
        gc.freeze()
        gc.unfreeze()


@contextlib.contextmanager
def open_rdf(path: Path, rdf_format: RdfFormat, max_bytes: int) -> Iterator[bytes | IO[bytes]]:
    """Opens a file for the parser, unpacked, with the guards against malicious content.

    Raises:
        GraphSyntaxError: the content could crash the parser.
        GraphTooLargeError: it is larger than ``max_bytes`` once unpacked.
    """
    with path.open("rb") as stream:
        limited_stream = LimitedStream(stream, path, max_bytes)
        source: Readable = limited_stream
        if path.name.lower().endswith(".gz"):
            source = open_gzip(limited_stream, path, max_bytes)
        source = ProgressGuard(source, path)
        if rdf_format.media_type == "application/rdf+xml":
            source = EntityGuard(source, path)
        yield _guard_stream(source, rdf_format, path)


class FileReader:
    """Reads files, hashes their bytes and builds one index; blank nodes of files stay distinct."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._digest = hashlib.sha256()
        self._terms = TermTable()
        self._links_by_predicate: LinksByPredicate = {}
        self._statement_count = 0
        self._blank_count = 0
        self._context_addresses: Addresses = {}

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the bytes on disk (not decompressed) of all files read so far."""
        return self._digest.hexdigest()

    def build_index(self) -> tuple[Index, list[str]]:
        """Builds the index of all files read; returns it with remarks.

        Its order and its blank node labels do not depend on the files, but on their triples.
        """
        with pause_garbage_collection():
            index = build_index(self._terms, self._links_by_predicate)
        duplicates = self._statement_count - len(index)
        remark = f"{format_count(duplicates, 'duplicate triple')} ignored"
        return index, [remark] if duplicates else []

    def read_file(self, path: Path | str, base_iri: str) -> LoadedFile:
        """Reads one file's triples.

        Args:
            path: the file.
            base_iri: what its relative IRIs resolve against, see ``choose_base_iris``.

        Raises:
            MissingFileError, GraphFormatError, GraphSyntaxError, GraphTooLargeError,
            EmptyGraphError: the message names the path.
        """
        import pyoxigraph

        path = require_file(path, "graph file")
        format_name = detect_format(path)
        rdf_format: RdfFormat = getattr(pyoxigraph.RdfFormat, format_name)
        with contextlib.ExitStack() as stack:
            stack.enter_context(pause_garbage_collection())
            stream = stack.enter_context(self._open_file(path))
            limited_stream = LimitedStream(stream, path, self._max_bytes, self._digest)
            source: Readable = limited_stream
            if path.name.lower().endswith(".gz"):
                source = open_gzip(limited_stream, path, self._max_bytes)
            source = progress = ProgressGuard(source, path)
            stack.enter_context(_convert_parser_errors(path, format_name, progress))
            entity_guard = EntityGuard(XmlTranscoder(source, path), path)
            if rdf_format == pyoxigraph.RdfFormat.RDF_XML:
                source = entity_guard
            # Without a base, lenient mode would accept an "IRI" that can be mistaken for the term
            # text of a blank node or a literal.
            parser = pyoxigraph.parse(
                _guard_stream(source, rdf_format, path, self._context_addresses),
                rdf_format,
                base_iri=base_iri,
                lenient=True,
            )
            try:
                counts = _collect_links(
                    self._terms,
                    self._links_by_predicate,
                    parser,
                    self,
                    has_graph_names=rdf_format.supports_datasets,
                    is_json_ld=rdf_format == pyoxigraph.RdfFormat.JSON_LD,
                )
            except MemoryError as error:
                is_json = rdf_format == pyoxigraph.RdfFormat.JSON_LD
                raise _make_size_error(path, None if is_json else progress) from error
            # The parser has no prefixes of RDF/XML.
            prefixes = entity_guard.find_prefixes() | dict(parser.prefixes)
        if not counts.statements:
            raise find_format_error(path, format_name) or _make_empty_error(path, counts)
        self._statement_count += counts.statements
        return LoadedFile(prefixes, counts.graphs, counts.triple_terms, counts.undefined)

    def make_blank_label(self) -> str:
        """Makes a new blank node label: ``_:b0``, ``_:b1`` … in order of first occurrence."""
        label = f"_:b{self._blank_count}"
        self._blank_count += 1
        return label

    def _open_file(self, path: Path) -> IO[bytes]:
        try:
            return path.open("rb")
        except OSError as error:
            raise MissingFileError(
                f"graph file cannot be read: {error.strerror}", where=str(path)
            ) from error


def _make_empty_error(path: Path, counts: _FileCounts) -> EmptyGraphError:
    what, hint = "the file contains no triples", "Check that it is the right file."
    if counts.triple_terms:
        what = "the file contains only statements about triples, which are not supported"
    elif counts.undefined:
        what = f"no @context defines a key of its {format_count(counts.undefined, 'value')}"
        hint = 'Add an @context, such as {"@vocab": "https://example.org/"}.'
    return EmptyGraphError(what, where=str(path), hint=hint)


def _make_size_error(path: Path, progress: ProgressGuard | None) -> GraphTooLargeError:
    """Makes the error for a literal that is larger than the parser's buffer."""
    where = str(path) if progress is None else f"{path}, after line {progress.get_buffer_line()}"
    return GraphTooLargeError(
        f"a literal or IRI is too long for the parser, whose limit is {MAX_TERM_BYTES} bytes"
        + (", in JSON-LD about half of that" if progress is None else ""),
        where=where,
        hint="Shorten it, or remove it from the graph.",
    )


@contextlib.contextmanager
def _convert_parser_errors(path: Path, format_name: str, progress: ProgressGuard) -> Iterator[None]:
    """Converts errors of the parser into errors that name path, line and column."""
    try:
        yield
    except SyntaxError as error:
        format_error = find_format_error(path, format_name)
        if format_error is not None:
            raise format_error from error
        text = str(error.msg or error)
        if "LoadDocumentCallback" in text:
            raise GraphSyntaxError(
                "the JSON-LD refers to an @context outside of the file, and nothing is downloaded",
                where=str(path),
                hint="Copy the @context into the file itself.",
            ) from error
        where = str(path)
        if error.lineno is not None:
            where += f", line {error.lineno}"
            if error.offset is not None:
                where += f", column {error.offset}"
        hint = "Correct the file at this place."
        if error.lineno is None and format_name == "RDF_XML":
            where += f", not after line {progress.get_last_line()}"
            hint = "Search the lines before for what the message quotes, and correct it there."
        if "UTF-8" in text:
            hint = "Convert the file: iconv -f latin1 -t utf-8, if it is in Latin-1."
        elif path.name.lower().removesuffix(".gz").endswith(".n3"):
            hint = (
                "Correct the file at this place, or take out what N3 has beyond Turtle, such as "
                "rules (=>), formulas ({ }) and paths (!)."
            )
        raise GraphSyntaxError(
            f"the graph does not parse: {text}", where=where, hint=hint
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GraphSyntaxError(
            f"damaged gzip file: {error}",
            where=str(path),
            hint="Download or compress the file again.",
        ) from error
    except (OSError, ValueError) as error:
        raise GraphSyntaxError(f"the graph does not parse: {error}", where=str(path)) from error


def _guard_stream(
    source: Readable, rdf_format: RdfFormat, path: Path, addresses: Addresses | None = None
) -> bytes | IO[bytes]:
    from pyoxigraph import RdfFormat as Formats

    if rdf_format == Formats.JSON_LD:
        return insert_local_contexts(read_json_with_depth_limit(source, path), path, addresses)
    # The parser only ever calls read().
    return cast("IO[bytes]", source)


class _FileCounts(NamedTuple):
    """How many named graphs, statements and statements about triples a file has."""

    graphs: int
    statements: int
    """Without those about triples and undefined terms."""
    triple_terms: int
    undefined: int


def _collect_links(
    terms: TermTable,
    links_by_predicate: LinksByPredicate,
    parser: QuadParser,
    reader: FileReader,
    *,
    has_graph_names: bool,
    is_json_ld: bool,
) -> _FileCounts:
    """Adds all quads of a parser, except statements about triples.

    The loop runs once per triple of files with millions of them. It therefore checks graph names
    only if the format has them.
    """
    from pyoxigraph import DefaultGraph, Literal, NamedNode, Triple

    ids, texts = terms.ids, terms.texts
    get_id, append_text = ids.get, texts.append
    links_by_node: dict[NamedNode, list[int]] = {}
    old_count = sum(map(len, links_by_predicate.values()))
    blank_ids: dict[str, int] = {}
    graph_names: dict[str, None] = {}
    # The parser keeps keys that no @context defines.
    undefined_links: list[int] = []
    s = triple_term_count = n_undefined = 0
    last_subject = None
    for quad in parser:
        subject, target = quad.subject, quad.object
        if target.__class__ is Triple:
            triple_term_count += 1
            continue
        if subject.__class__ is NamedNode:
            text = subject.value
            # Files usually group triples by subject, so the last subject is the most likely one.
            if text != last_subject:
                last_subject = text
                term_id = get_id(text)
                s = _intern_iri(terms, text) if term_id is None else term_id
        else:
            last_subject = None
            term_id = blank_ids.get(subject.value)
            if term_id is None:
                term_id = blank_ids[subject.value] = terms.intern(reader.make_blank_label())
            s = term_id
        predicate = quad.predicate
        try:
            links = links_by_node[predicate]
        except KeyError:
            if is_json_ld and ":" not in predicate.value:
                links = undefined_links
            else:
                p = _intern_iri(terms, predicate.value)
                links = links_by_predicate.setdefault(p, [])
            links_by_node[predicate] = links
        if links is undefined_links:
            n_undefined += 1
            continue
        if target.__class__ is NamedNode:
            text = target.value
            o = get_id(text)
            if o is None:
                o = _intern_iri(terms, text)
        elif target.__class__ is Literal:
            text = str(target)
            o = get_id(text)
            if o is None:
                o = ids[text] = len(texts)
                append_text(text)
        else:
            o = blank_ids.get(target.value)
            if o is None:
                o = blank_ids[target.value] = terms.intern(reader.make_blank_label())
        links.append(s)
        links.append(o)
        if has_graph_names:
            graph = quad.graph_name
            if graph.__class__ is not DefaultGraph:
                graph_names[str(graph)] = None
    count = sum(map(len, links_by_predicate.values())) - old_count
    return _FileCounts(len(graph_names), count // 2, triple_term_count, n_undefined)


def _intern_iri(terms: TermTable, text: str) -> int:
    # N-Triples has no base IRI, so in lenient mode an "IRI" may be empty or start like the term
    # text of a literal or blank node. The prefix keeps the kinds of terms distinguishable.
    if text[:1] in {"", '"', "_"}:
        text = f"file:///{text}"
    return terms.intern(text)
