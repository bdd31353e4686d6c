"""A knowledge graph: files or claims in, an integer index out, with rdflib at hand when wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kg.base.errors import EmptyGraphError
from kg.bridge import fill_rdflib
from kg.claims import Claim
from kg.index import Index
from kg.loading import DEFAULT_MAX_BYTES, FileReader
from kg.terms import ntriples_term

if TYPE_CHECKING:
    import rdflib


class Graph:
    """Triples with their identity and provenance.

    Attributes:
        index: the triples by integer ids; not to be changed once others hold the graph.
        sha256: hex hash that identifies the content: of the files' bytes in the order given, or,
            for ``from_claims``, of the sorted N-Triples lines.
        prefixes: prefixes declared in the files, later files winning.
        sources: the files read, in order.
        notes: remarks from loading, e.g. that named graphs were merged.
    """

    def __init__(
        self,
        index: Index,
        *,
        sha256: str,
        prefixes: dict[str, str] | None = None,
        sources: tuple[Path, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        self.index = index
        self.sha256 = sha256
        self.prefixes = prefixes or {}
        self.sources = sources
        self.notes = notes
        self._rdflib: rdflib.Graph | None = None

    @classmethod
    def load(
        cls,
        paths: Path | str | Sequence[Path | str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> Graph:
        """Reads one or several files as one graph, blank nodes of different files kept apart.

        Formats go by extension (see ``kg.loading.FORMATS``), each also ``.gz``. Named graphs are
        merged, which ``notes`` says. Malformed IRIs are kept; ``kg.inspection`` lists them.

        Args:
            paths: one path or several.
            max_bytes: largest accepted size of each file, counted after decompression.

        Raises:
            MissingFileError: no such file, or it cannot be read.
            GraphFormatError: an unknown extension.
            GraphSyntaxError: with path, line and column; also a remote JSON-LD context.
            GraphTooLargeError: a file over ``max_bytes``.
            EmptyGraphError: a file without triples, or no file at all.
        """
        files = [paths] if isinstance(paths, str | Path) else list(paths)
        if not files:
            raise EmptyGraphError("no graph file given", hint="Name at least one with --kg.")
        index = Index()
        reader = FileReader(index, max_bytes)
        prefixes: dict[str, str] = {}
        notes: list[str] = []
        for path in files:
            loaded = reader.read(path)
            prefixes.update(loaded.prefixes)
            notes += loaded.notes
        return cls(
            index,
            sha256=reader.sha256,
            prefixes=prefixes,
            sources=tuple(Path(path) for path in files),
            notes=tuple(notes),
        )

    @classmethod
    def from_claims(cls, claims: Iterable[Claim]) -> Graph:
        """A graph of the claims given; duplicates count once. May be empty."""
        index = Index()
        intern = index.terms.intern
        for claim in claims:
            index.add(intern(claim.subj), intern(claim.pred), intern(claim.obj))
        text = index.terms.text
        lines = sorted(
            f"{ntriples_term(text(s))} {ntriples_term(text(p))} {ntriples_term(text(o))} .\n"
            for s, p, o in index.triples()
        )
        digest = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass"))
        return cls(index, sha256=digest.hexdigest())

    def has(self, claim: Claim) -> bool:
        """Whether the claim is stated, word for word, in the graph."""
        get = self.index.terms.get
        s, p, o = get(claim.subj), get(claim.pred), get(claim.obj)
        return s is not None and p is not None and o is not None and self.index.has(s, p, o)

    def claims(self, pred: str | None = None) -> Iterator[Claim]:
        """All triples as claims, or those of one predicate; in a deterministic order."""
        text = self.index.terms.text
        if pred is None:
            for s, p, o in self.index.triples():
                yield Claim(text(s), text(p), text(o))
            return
        term = self.index.terms.get(pred)
        if term is not None:
            for s, o in self.index.pairs(term):
                yield Claim(text(s), pred, text(o))

    def rdflib(self) -> rdflib.Graph:
        """The same triples as an rdflib graph, made once on first use.

        ``kg.bridge`` says how terms are carried over. Costs some 12 s and 1 GB per million triples.

        Raises:
            ValueError: a claim given to ``from_claims`` held a literal that is not one.
        """
        if self._rdflib is None:
            import rdflib

            graph = rdflib.Graph()
            for prefix, namespace in self.prefixes.items():
                graph.bind(prefix, namespace)
            self._rdflib = fill_rdflib(graph, self.index)
        return self._rdflib

    def __len__(self) -> int:
        return len(self.index)
