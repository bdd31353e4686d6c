"""Loads a knowledge graph from files or claims into an index; converts to rdflib on request."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.errors import EmptyGraphError
from kg.base.plain_text import format_count, join_first
from kg.claims import Claim
from kg.terms import is_blank, is_literal, to_ntriples
from kg.triples.base_iris import choose_base_iris
from kg.triples.canonical_order import LinksByPredicate, build_index
from kg.triples.index import Index, Triple
from kg.triples.loader import DEFAULT_MAX_BYTES, FileReader
from kg.triples.rdflib_bridge import fill_rdflib_graph
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    import rdflib

MAX_NAMED_FILES = 3
"""Maximum number of files that a remark names."""


class Graph:
    """Triples with their identity and provenance, in an order that depends on the triples alone.

    Attributes:
        index: the triples by integer ids; must not be changed while the graph is in use.
        prefixes: prefixes declared in the files; later files override earlier ones.
        sources: the files read, in order.
        notes: remarks from loading, e.g. that named graphs were merged.
        omissions: what was left out of the files, in sentences.
    """

    def __init__(
        self,
        index: Index,
        *,
        sha256: str = "",
        prefixes: dict[str, str] | None = None,
        sources: tuple[Path, ...] = (),
        notes: tuple[str, ...] = (),
        omissions: tuple[str, ...] = (),
    ) -> None:
        self.index = index
        self._sha256 = sha256
        self.prefixes = prefixes or {}
        self.sources = sources
        self.notes = notes
        self.omissions = omissions
        self._rdflib: rdflib.Graph | None = None

    @classmethod
    def load(
        cls,
        paths: Path | str | Sequence[Path | str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> Graph:
        """Reads one or several files as one graph; blank nodes of different files stay distinct.

        The format is given by the extension (``triples.loader.FORMATS``), optionally with ``.gz``,
        or else by how the file begins.
        Named graphs are merged, which ``notes`` reports. Statements about triples (RDF 1.2 triple
        terms) are left out, which ``omissions`` reports. Malformed IRIs are kept;
        ``kg.inspection`` lists them.

        Args:
            paths: one path or several.
            max_bytes: maximum size of each file, after decompression.

        Raises:
            MissingFileError: a file does not exist or cannot be read.
            GraphFormatError: a file's extension is unknown.
            GraphSyntaxError: a file cannot be parsed (the message has path, line and column), or
                refers to a JSON-LD context that does not lie beside it.
            GraphTooLargeError: a file is larger than ``max_bytes``.
            EmptyGraphError: a file contains no triples, or no file was given.
        """
        files = [paths] if isinstance(paths, str | Path) else list(paths)
        if not files:
            raise EmptyGraphError("no graph file given", hint="Name at least one with --kg.")
        reader = FileReader(max_bytes)
        prefixes: dict[str, str] = {}
        n_graphs: dict[Path, int] = {}
        n_triple_terms: dict[Path, int] = {}
        n_undefined: dict[Path, int] = {}
        sources = tuple(Path(file) for file in files)
        for path, base_iri in zip(sources, choose_base_iris(sources), strict=True):
            loaded_file = reader.read_file(path, base_iri)
            prefixes.update(loaded_file.prefixes)
            n_graphs[path] = loaded_file.n_graphs
            n_triple_terms[path] = loaded_file.n_triple_terms
            n_undefined[path] = loaded_file.n_undefined
        index, notes = reader.build_index()
        merged = _describe_counts(n_graphs, "{} merged into one", "named graph")
        omissions = _describe_counts(
            n_triple_terms, "{} about triples (RDF 1.2 triple terms) left out", "statement"
        )
        return cls(
            index,
            sha256=reader.sha256,
            prefixes=prefixes,
            sources=sources,
            notes=(*merged, *notes),
            omissions=(
                *omissions,
                *_describe_counts(
                    n_undefined, "{} of keys that no @context defines left out", "value"
                ),
            ),
        )

    @classmethod
    def from_claims(cls, claims: Iterable[Claim]) -> Graph:
        """Builds a graph of the given claims; duplicates count once. It may be empty."""
        terms = TermTable()
        links_by_predicate: LinksByPredicate = {}
        for claim in claims:
            s, p, o = map(terms.intern, (claim.subj, claim.pred, claim.obj))
            links_by_predicate.setdefault(p, []).extend((s, o))
        return cls(build_index(terms, links_by_predicate, make_blank_label=None))

    @property
    def sha256(self) -> str:
        """Hex SHA-256: of the files' bytes in the given order, else of sorted N-Triples lines."""
        if not self._sha256:
            self._sha256 = hashlib.sha256(write_ntriples(self.index)).hexdigest()
        return self._sha256

    @cached_property
    def unwritable_triples(self) -> frozenset[Triple]:
        """The triples with a malformed IRI or language tag, which no valid N-Triples can state.

        Lenient parsers such as this package's read them, others refuse the whole file.
        """
        from pyoxigraph import NamedNode

        are_valid: dict[str, bool] = {}
        malformed = set()
        for term, text in enumerate(self.index.terms.texts):
            if not is_literal(text):
                is_valid = is_blank(text) or _accepts(NamedNode, text)
            else:
                # Only what follows the text of a literal can be malformed.
                end = text[text.rindex('"') :]
                if end not in are_valid:
                    are_valid[end] = _accepts(_parse_literal, f'"{end}')
                is_valid = are_valid[end]
            if not is_valid:
                malformed.add(term)
        if not malformed:
            return frozenset()
        return frozenset(t for t in self.index.iter_triples() if not malformed.isdisjoint(t))

    def without(self, triples: Iterable[Triple]) -> Graph:
        """Returns the graph without some triples; this graph must not be changed afterwards.

        Its ``sha256`` is that of the file with the text of ``to_ntriples``.
        """
        index = self.index.fork()
        for triple in triples:
            index.discard_triple(*triple)
        return Graph(index, prefixes=self.prefixes, notes=self.notes, omissions=self.omissions)

    def with_claims(self, claims: Iterable[Claim]) -> Graph:
        """Returns the graph with more triples; this graph must not be changed afterwards."""
        index = self.index.fork()
        intern = index.terms.intern
        index.add_triples((intern(c.subj), intern(c.pred), intern(c.obj)) for c in claims)
        return Graph(
            index,
            prefixes=self.prefixes,
            sources=self.sources,
            notes=self.notes,
            omissions=self.omissions,
        )

    def with_names(self, names: Mapping[int, str]) -> Graph:
        """Returns the graph with other texts for some terms, such as IRIs for blank nodes.

        Args:
            names: id of a term → its new text; terms of one text become one.
        """
        terms = TermTable()
        texts = self.index.terms.texts
        ids = [terms.intern(names.get(term, text)) for term, text in enumerate(texts)]
        links_by_predicate: LinksByPredicate = {}
        for p in self.index.list_predicates():
            links = links_by_predicate.setdefault(ids[p], [])
            for link in self.index.iter_pairs(p):
                links.extend(map(ids.__getitem__, link))
        return Graph(
            build_index(terms, links_by_predicate),
            prefixes=self.prefixes,
            sources=self.sources,
            notes=self.notes,
            omissions=self.omissions,
        )

    def to_ntriples(self) -> bytes:
        """Returns the triples as sorted N-Triples lines."""
        return write_ntriples(self.index)

    def has_claim(self, claim: Claim) -> bool:
        """Returns whether exactly this triple is asserted in the graph."""
        get_id = self.index.terms.get
        s, p, o = get_id(claim.subj), get_id(claim.pred), get_id(claim.obj)
        return s is not None and p is not None and o is not None and self.index.has_triple(s, p, o)

    def iter_claims(self, pred: str | None = None) -> Iterator[Claim]:
        """Yields all triples, or those of one predicate, as claims in a deterministic order."""
        get_text = self.index.terms.get_text
        if pred is None:
            for s, p, o in self.index.iter_triples():
                yield Claim(get_text(s), get_text(p), get_text(o))
            return
        pred_id = self.index.terms.get(pred)
        if pred_id is not None:
            for s, o in self.index.iter_pairs(pred_id):
                yield Claim(get_text(s), pred, get_text(o))

    def to_rdflib(self) -> rdflib.Graph:
        """Returns the triples as an rdflib graph, built on first use.

        Terms are converted as ``triples.rdflib_bridge`` describes. This takes about 12 s and 1 GB
        per million triples.

        Raises:
            ValueError: a claim given to ``from_claims`` contained an ill-formed literal.
        """
        if self._rdflib is None:
            import rdflib

            graph = rdflib.Graph()
            for prefix, namespace in self.prefixes.items():
                graph.bind(prefix, namespace)
            self._rdflib = fill_rdflib_graph(graph, self.index)
        return self._rdflib

    def __len__(self) -> int:
        return len(self.index)


def _describe_counts(counts: Mapping[Path, int], remark: str, noun: str) -> list[str]:
    """Returns one remark on all files that have something, with the number of it."""
    names = [path.name for path, n in counts.items() if n]
    if not names:
        return []
    total = remark.format(format_count(sum(counts.values()), noun))
    if len(names) == 1:
        return [f"{names[0]}: {total}"]
    return [f"{total}, of {len(names):,} files: {join_first(names, MAX_NAMED_FILES)}"]


def write_ntriples(index: Index) -> bytes:
    """Writes triples as sorted N-Triples lines in UTF-8."""
    texts: dict[int, str] = {}

    def render(term: int) -> str:
        text = texts.get(term)
        if text is None:
            text = texts[term] = to_ntriples(index.terms.get_text(term))
        return text

    lines = [f"{render(s)} {render(p)} {render(o)} .\n" for s, p, o in index.iter_triples()]
    lines.sort()
    return "".join(lines).encode("utf-8", "surrogatepass")


def _accepts(read: Callable[[str], object], text: str) -> bool:
    """Returns whether a parser accepts the text of a term."""
    try:
        read(text)
    except (ValueError, SyntaxError):  # UnicodeEncodeError is a ValueError
        return False
    return True


def _parse_literal(text: str) -> None:
    import pyoxigraph

    line = f"<x:s> <x:p> {text} .".encode()
    list(pyoxigraph.parse(line, pyoxigraph.RdfFormat.N_TRIPLES))
