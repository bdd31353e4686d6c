"""Reading RDF files into an index: seven formats, plain or gzipped, never the network.

pyoxigraph's parser does the reading; its lenient mode accepts malformed IRIs, which are kept and
listed by ``epoche kg inspect`` instead of losing the whole file. Nothing is fetched: neither
``owl:imports`` nor a remote JSON-LD ``@context``.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn, cast

from kg.base.errors import (
    EmptyGraphError,
    GraphFormatError,
    GraphSyntaxError,
    MissingFileError,
)
from kg.base.files import require_file
from kg.guarded_streams import EntityGuard, LimitedStream, Readable, json_within_depth, unpacked
from kg.index import Index
from kg.rows import Row, add_to_row
from kg.term_table import TermTable

if TYPE_CHECKING:
    from pyoxigraph import QuadParser, RdfFormat

FORMATS = {
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
    ".jsonld": "JSON_LD",
    ".json": "JSON_LD",
}
"""File name extension → format; each also with ``.gz`` after it."""

DEFAULT_MAX_BYTES = 8 * 1024**3
"""Largest file accepted, counted *after* decompression, so that a gzip bomb ends early."""


class LoadedFile(NamedTuple):
    """What reading one file gave beside its triples."""

    prefixes: dict[str, str]
    notes: list[str]
    """Remarks a reader of the graph should know, e.g. that named graphs were merged."""


def format_of(path: Path) -> str:
    """The format name of a path, by its extension.

    Raises:
        GraphFormatError: an extension that is not in ``FORMATS``.
    """
    name = path.name.lower().removesuffix(".gz")
    found = FORMATS.get(Path(name).suffix)
    if found is None:
        known = " ".join(FORMATS)
        raise GraphFormatError(
            f"unknown graph format {Path(name).suffix or '(no extension)'!r}",
            where=str(path),
            hint=f"Known extensions: {known}, each also with .gz; rename or convert the file.",
        )
    return found


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switches the cycle collector off while millions of acyclic objects are being made.

    It would otherwise scan all of them again and again: a third of the time at 1 M triples.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def count_as_old() -> None:
    """Puts all objects there are with the collector's oldest, without the walk this costs it.

    Does nothing where someone keeps objects out of its reach (``gc.freeze``).
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


class FileReader:
    """Feeds files into an index, hashing their bytes and keeping their blank nodes apart."""

    def __init__(self, index: Index, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._index = index
        self._max_bytes = max_bytes
        self._digest = hashlib.sha256()
        self._blanks = 0

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the bytes of all files read so far, as they lie on disk."""
        return self._digest.hexdigest()

    def read(self, path: Path | str) -> LoadedFile:
        """Adds one file's triples to the index.

        Raises:
            MissingFileError, GraphFormatError, GraphSyntaxError, GraphTooLargeError,
            EmptyGraphError: each naming the path.
        """
        import pyoxigraph

        path = require_file(path, "graph file")
        rdf_format: RdfFormat = getattr(pyoxigraph.RdfFormat, format_of(path))
        before = len(self._index)
        with contextlib.ExitStack() as stack:
            stack.enter_context(no_garbage_collection())
            stream = stack.enter_context(self._open(path))
            stack.enter_context(_named_errors(path))
            packed = LimitedStream(stream, path, self._max_bytes, self._digest)
            source: Readable = packed
            if path.name.lower().endswith(".gz"):
                source = unpacked(packed, path, self._max_bytes)
            # A base IRI made of the bare file name: relative IRIs resolve to the same text
            # wherever the file lies, and lenient mode cannot let through an "IRI" that would
            # be taken for a blank node or a literal.
            parser = pyoxigraph.parse(
                _guarded(source, rdf_format, path),
                rdf_format,
                base_iri=f"file:///{_safe_name(path)}",
                lenient=True,
            )
            merged, seen = _fill(
                self._index, parser, self, path, graphs_named=rdf_format.supports_datasets
            )
            prefixes = dict(parser.prefixes)
        if not seen:
            raise EmptyGraphError(
                "the file holds no triples",
                where=str(path),
                hint="Check that it is the file you meant.",
            )
        notes = []
        if merged:
            notes.append(f"{path.name}: {merged} named graphs merged into one")
        if len(self._index) - before < seen:
            repeated = seen - (len(self._index) - before)
            notes.append(f"{path.name}: {repeated} triples stated more than once")
        return LoadedFile(prefixes, notes)

    def next_blank(self) -> str:
        """A fresh blank node label: ``_:b0``, ``_:b1`` … in order of first occurrence."""
        label = f"_:b{self._blanks}"
        self._blanks += 1
        return label

    def _open(self, path: Path) -> IO[bytes]:
        try:
            return path.open("rb")
        except OSError as error:
            raise MissingFileError(
                f"graph file cannot be read: {error.strerror}", where=str(path)
            ) from error


@contextlib.contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """Turns whatever the parser raises into an error that names path, line and column."""
    try:
        yield
    except SyntaxError as error:
        text = str(error.msg or error)
        if "LoadDocumentCallback" in text:
            raise GraphSyntaxError(
                "the JSON-LD names a remote @context, which is never fetched",
                where=str(path),
                hint="Put the context into the file itself.",
            ) from error
        where = str(path)
        if error.lineno is not None:
            where += f", line {error.lineno}"
            if error.offset is not None:
                where += f", column {error.offset}"
        raise GraphSyntaxError(
            f"the graph does not parse: {text}", where=where, hint="Correct the file there."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GraphSyntaxError(
            f"damaged gzip file: {error}", where=str(path), hint="Fetch or pack it again."
        ) from error
    except (OSError, ValueError) as error:
        raise GraphSyntaxError(f"the graph does not parse: {error}", where=str(path)) from error


def _guarded(source: Readable, rdf_format: RdfFormat, path: Path) -> bytes | IO[bytes]:
    from pyoxigraph import RdfFormat as Formats

    if rdf_format == Formats.JSON_LD:
        return json_within_depth(source, path)
    if rdf_format == Formats.RDF_XML:
        source = EntityGuard(source, path)
    # The parser only ever calls read().
    return cast("IO[bytes]", source)


def _safe_name(path: Path) -> str:
    from urllib.parse import quote

    return quote(path.name, safe="")


def _fill(
    index: Index, parser: QuadParser, reader: FileReader, path: Path, *, graphs_named: bool
) -> tuple[int, int]:
    """Adds all quads of a parser; returns (named graphs merged, statements seen).

    The loop body is written out rather than calling ``Index.add``, and asks only what the format
    can hold: it runs once per triple of files with millions of them. What each predicate links is
    listed first and made a row at the end, where most rows take a single step.
    """
    from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode

    terms = index.terms
    ids, texts = terms.ids, terms.texts
    known, put = ids.get, texts.append
    forward = index.rows_for_loading()
    linked: dict[NamedNode, list[int]] = {}
    blanks: dict[str, int] = {}
    graphs: dict[str, None] = {}
    s = 0
    last = None
    for quad in parser:
        subject = quad.subject
        if subject.__class__ is NamedNode:
            text = subject.value
            # Files mostly tell all about one subject before the next.
            if text != last:
                last = text
                found = known(text)
                s = _intern_iri(terms, text) if found is None else found
        elif subject.__class__ is BlankNode:
            last = None
            found = blanks.get(subject.value)
            if found is None:
                found = blanks[subject.value] = terms.intern(reader.next_blank())
            s = found
        else:
            _refuse(subject, path)
        predicate = quad.predicate
        try:
            links = linked[predicate]
        except KeyError:
            links = linked[predicate] = []
            forward.setdefault(_intern_iri(terms, predicate.value), {})
        target = quad.object
        if target.__class__ is NamedNode:
            text = target.value
            o = known(text)
            if o is None:
                o = _intern_iri(terms, text)
        elif target.__class__ is Literal:
            text = str(target)
            o = known(text)
            if o is None:
                o = ids[text] = len(texts)
                put(text)
        elif target.__class__ is BlankNode:
            o = blanks.get(target.value)
            if o is None:
                o = blanks[target.value] = terms.intern(reader.next_blank())
        else:
            _refuse(target, path)
        links.append(s)
        links.append(o)
        if graphs_named:
            graph = quad.graph_name
            if graph.__class__ is not DefaultGraph:
                graphs[str(graph)] = None
    seen = added = 0
    while linked:
        predicate, links = linked.popitem()
        p = _intern_iri(terms, predicate.value)
        seen += len(links) // 2
        forward[p], new = _with_links(forward[p], links)
        added += new
    index.finish_loading(added)
    return len(graphs), seen


def _with_links(row: Row, links: list[int]) -> tuple[Row, int]:
    """A row with links added, given as subject, object, subject …, and how many were new."""
    subjects = links[::2]
    if not row:
        made: Row = dict(zip(subjects, links[1::2], strict=True))
        if len(made) == len(subjects):  # No subject has two objects.
            return made, len(made)
    added = 0
    for s, o in zip(subjects, links[1::2], strict=True):
        if s not in row:
            row[s] = o
            added += 1
        else:
            added += add_to_row(row, s, o)
    return row, added


def _intern_iri(terms: TermTable, text: str) -> int:
    # N-Triples has no base to resolve against: an IRI that looks like another kind of term
    # is given one, so that kinds stay apart.
    if text[:1] in {"", '"', "_"}:
        text = f"file:///{text}"
    return terms.intern(text)


def _refuse(term: object, path: Path) -> NoReturn:
    raise GraphSyntaxError(
        f"the graph quotes a triple as a term, which is not supported: {str(term)[:200]}",
        where=str(path),
        hint="Use a named graph or rdf:Statement instead of RDF 1.2 triple terms.",
    )
