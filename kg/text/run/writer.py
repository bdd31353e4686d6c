"""Writes a run atomically: a new folder is built next to the old one and then replaces it."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kg.base.console import print_warning
from kg.base.errors import WriteError
from kg.base.files import sha256_file, to_json_bytes, write_jsonl_atomic
from kg.base.provenance import package_version
from kg.embedding.lexical import NAME as LEXICAL
from kg.text.concepts.graph_file import iter_encoded
from kg.text.run import layout
from kg.text.run.layout import FileChecksum, RunConfig, RunMetadata, SourceDocument
from kg.text.run.replacement import check_replaceable, point_link, replace_folder

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable
    from kg.text.chunks import Chunk
    from kg.text.concepts.concept_graph import ConceptGraph
    from kg.text.keywords.protocol import ChunkKeywords
    from kg.text.sections.tree import SectionTree

_LIBRARIES = ("epoche", "networkx", "numpy", "yake")
"""Packages whose versions a run records, because they affect its content or read its files."""


class RunContent(NamedTuple):
    """Everything that is written to a run."""

    config: RunConfig
    documents: tuple[SourceDocument, ...]
    chunks: Sequence[Chunk]
    keywords: Sequence[ChunkKeywords]
    table: CanonicalTable | None
    embedder: Embedder | None
    """The embedder that ``table`` was built with."""
    concepts: ConceptGraph
    sections: SectionTree | None
    counts: Mapping[str, int]
    """Additional counts for the metadata."""


def check_run_folder(out: Path) -> None:
    """Checks, before any work, that a run can be written to ``out``.

    Raises:
        WriteError: ``out`` is something other than a run, or has the reserved name ``latest``.
    """
    if out.name == layout.LATEST:
        raise WriteError(
            "the name latest is reserved for the link to the newest run",
            where=str(out),
            hint="Choose another --out.",
        )
    check_replaceable(out, layout.FILES, layout.METADATA)


def write_run(out: Path, content: RunContent) -> None:
    """Writes a run to ``out`` atomically, then points the link ``latest`` next to it at the run.

    Raises:
        WriteError: the run cannot be written; an existing run is unchanged.
    """
    check_run_folder(out)
    with replace_folder(out, layout.FILES) as folder:
        for name, write_file in _make_file_writers(content).items():
            write_file(folder / name)
        metadata = RunMetadata(
            versions={name: package_version(name) for name in _LIBRARIES},
            documents=content.documents,
            counts=_count_content(content),
            files={
                name: FileChecksum((folder / name).stat().st_size, sha256_file(folder / name))
                for name in layout.FILES
                if (folder / name).exists()
            },
        )
        _make_json_writer(metadata)(folder / layout.METADATA)
    try:
        point_link(out.with_name(layout.LATEST), out.name)
    except WriteError as error:
        # The run itself is complete; only the link is missing.
        print_warning(error.format_line())


def _make_file_writers(content: RunContent) -> dict[str, Callable[[Path], object]]:
    """Returns file name → function that writes the file, for all files but the metadata."""
    from kg.text.chunks_file import write_chunks

    writers: dict[str, Callable[[Path], object]] = {
        layout.CONFIG: _make_json_writer(content.config),
        layout.CHUNKS: lambda path: write_chunks(path, content.chunks),
        layout.KEYWORDS: lambda path: write_jsonl_atomic(path, content.keywords),
        layout.GRAPH: _make_gzip_writer(lambda: iter_encoded(content.concepts)),
    }
    if content.table is not None and content.embedder is not None:
        canonical = content.table.list_canonical_keywords()
        writers[layout.TABLE] = _make_gzip_writer(lambda: [to_json_bytes(content.table)])
        writers[layout.CANONICAL] = _make_json_writer(canonical)
        if content.embedder.name != LEXICAL:
            writers[layout.EMBEDDINGS] = _make_bytes_writer(
                _encode_keywords(canonical, content.embedder)
            )
    if content.sections is not None:
        sections = content.sections
        writers[layout.SECTIONS] = _make_gzip_writer(lambda: [to_json_bytes(sections.to_json())])
    return writers


def _make_json_writer(value: object) -> Callable[[Path], object]:
    return _make_bytes_writer(to_json_bytes(value, indent=2) + b"\n")


def _make_gzip_writer(encode: Callable[[], Iterable[bytes]]) -> Callable[[Path], object]:
    """Returns a function that writes pieces through gzip, so that they are never held together."""

    def write_file(path: Path) -> None:
        # The module gzip would write the time, so that the same run would not have the same bytes.
        compressor = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=31)  # 31: the format of gzip
        with path.open("wb") as file:
            for piece in encode():
                file.write(compressor.compress(piece))
            file.write(compressor.flush())

    return write_file


def _make_bytes_writer(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _encode_keywords(keywords: Sequence[str], embedder: Embedder) -> bytes:
    """Returns the embeddings in NumPy format: shape (keywords, dimensions), 8-bit integers.

    Each row is scaled to a maximum of 127. Its length is 1 again after reading, so that the scale
    need not be stored. Cosines change by less than 0.01.
    """
    import numpy as np

    from kg.embedding.embedder import normalise_rows

    vectors = normalise_rows(embedder.encode(keywords))
    maxima = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.rint(vectors * (127 / np.where(maxima > 0, maxima, 1.0))).astype(np.int8)
    buffer = io.BytesIO()
    np.save(buffer, scaled, allow_pickle=False)
    return buffer.getvalue()


def _count_content(content: RunContent) -> dict[str, int]:
    return {
        "documents": len({str(chunk.metadata.get("document")) for chunk in content.chunks}),
        "chunks": len(content.chunks),
        "keywords": sum(len(row.keywords) for row in content.keywords),
        "concepts": len(content.concepts),
        "links": content.concepts.link_count,
        "sections": len(content.sections.nodes) if content.sections is not None else 0,
        **content.counts,
    }
