"""Writing a run: a new folder is put together beside the old one and takes its place whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.console import warn
from kg.base.errors import WriteError
from kg.base.files import sha256_file, to_json_bytes, write_jsonl_atomic
from kg.base.provenance import package_version
from kg.text.concepts.graph_file import encode_graph
from kg.text.run import form
from kg.text.run.form import FileMark, RunConfig, RunMetadata, SourceDocument
from kg.text.run.replacing import check_replaceable, point_link, replacing_folder

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable
    from kg.text.chunks import Chunk
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.keywords.protocol import ChunkKeywords
    from kg.text.sections.tree import SectionTree

_LIBRARIES = ("epoche", "networkx", "numpy", "yake")
"""Whose versions a run records: they decide its content, or can read it."""


class RunContent(NamedTuple):
    """Everything a run holds."""

    config: RunConfig
    documents: tuple[SourceDocument, ...]
    chunks: Sequence[Chunk]
    keywords: Sequence[ChunkKeywords]
    table: CanonicalTable | None
    embedder: Embedder | None
    """The one that ``table`` was made with."""
    concepts: ConceptGraph
    sections: SectionTree | None
    counts: Mapping[str, int]
    """What else was counted on the way."""


def check_run_folder(out: Path) -> None:
    """Finds out before the work whether a run can be written there.

    Raises:
        WriteError: the name is taken by something that is no run, or kept for the link.
    """
    if out.name == form.LATEST:
        raise WriteError(
            "no run can be called latest: that is the link beside runs",
            where=str(out),
            hint="Choose another --out.",
        )
    check_replaceable(out, form.FILES, form.METADATA)


def write_run(out: Path, content: RunContent) -> None:
    """Writes a run at ``out``, all or nothing, then lets ``latest`` beside it point there.

    Raises:
        WriteError: it cannot be written; a run that was there is as it was.
    """
    check_run_folder(out)
    with replacing_folder(out, form.FILES) as folder:
        for name, write in _writers(content).items():
            write(folder / name)
        metadata = RunMetadata(
            versions={name: package_version(name) for name in _LIBRARIES},
            documents=content.documents,
            counts=_counts(content),
            files={
                name: FileMark((folder / name).stat().st_size, sha256_file(folder / name))
                for name in form.FILES
                if (folder / name).exists()
            },
        )
        _record(metadata)(folder / form.METADATA)
    try:
        point_link(out.with_name(form.LATEST), out.name)
    except WriteError as error:
        # The run is there and whole; only its second name is not.
        warn(error.one_line())


def _writers(content: RunContent) -> dict[str, Callable[[Path], object]]:
    """What writes each file of the run but the metadata, by its name."""
    from kg.text.chunks_file import write_chunks

    writers: dict[str, Callable[[Path], object]] = {
        form.CONFIG: _record(content.config),
        form.CHUNKS: lambda path: write_chunks(path, content.chunks),
        form.KEYWORDS: lambda path: write_jsonl_atomic(path, content.keywords),
        form.GRAPH: _bytes(encode_graph(content.concepts)),
    }
    if content.table is not None and content.embedder is not None:
        canonical = content.table.canonical_keywords()
        writers[form.TABLE] = _record(content.table)
        writers[form.CANONICAL] = _record(canonical)
        writers[form.EMBEDDINGS] = _bytes(_embedded(canonical, content.embedder))
    if content.sections is not None:
        writers[form.SECTIONS] = _record(content.sections.to_json())
    return writers


def _record(value: object) -> Callable[[Path], object]:
    return _bytes(to_json_bytes(value, indent=2) + b"\n")


def _bytes(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _embedded(keywords: Sequence[str], embedder: Embedder) -> bytes:
    """The embeddings in NumPy's own format: shape (keywords, dimensions), rows of length 1."""
    import numpy as np

    from kg.embedding.embedder import unit_rows

    buffer = io.BytesIO()
    np.save(buffer, unit_rows(embedder.encode(keywords)), allow_pickle=False)
    return buffer.getvalue()


def _counts(content: RunContent) -> dict[str, int]:
    graph = content.concepts.graph
    return {
        "documents": len({str(chunk.metadata.get("document")) for chunk in content.chunks}),
        "chunks": len(content.chunks),
        "keywords": sum(len(row.keywords) for row in content.keywords),
        "concepts": graph.number_of_nodes(),
        "links": graph.number_of_edges(),
        "sections": len(content.sections.nodes) if content.sections is not None else 0,
        **content.counts,
    }
