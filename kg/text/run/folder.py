"""Opens a run and checks every file against the run's metadata before it is used."""

from __future__ import annotations

import io
import zlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kg.base.errors import EmbedderMismatchError, MissingFileError, RunFolderError
from kg.base.files import iter_decoded_lines, sha256_bytes
from kg.embedding.factory import open_embedder
from kg.embedding.lexical import NAME as LEXICAL
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.graph_file import decode_graph
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run import layout
from kg.text.run.layout import ModelIdentity, RunConfig, RunMetadata
from kg.text.run.replacement import get_previous_path

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.canonical.table import CanonicalTable
    from kg.text.chunks import Chunk
    from kg.text.sections.tree import SectionTree

Decoded = TypeVar("Decoded")

_REBUILD_HINT = "Build it again with `epoche kg build`."


class Run:
    """An opened run. Its files are read and checked when they are first needed.

    Attributes:
        folder: the run's folder.
        config: the settings it was built with.
        metadata: its inputs, counts, and the sizes and hashes of its files.
    """

    def __init__(self, folder: Path, config: RunConfig, metadata: RunMetadata) -> None:
        self.folder = folder
        self.config = config
        self.metadata = metadata

    @property
    def sha256(self) -> str:
        """Hash of the whole run: that of its metadata, which contain the hashes of all files."""
        return sha256_bytes(msgspec.json.encode(self.metadata))

    @property
    def files(self) -> list[Path]:
        """Paths of all files a run may have; outputs must not overwrite any of them."""
        return [self.folder / name for name in layout.FILES]

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The chunks, in the order of the text."""
        from kg.text.chunks_file import read_chunks

        self._read_verified(layout.CHUNKS)
        return read_chunks(self.folder / layout.CHUNKS)

    @cached_property
    def keywords(self) -> list[ChunkKeywords]:
        """Each chunk's keywords as extracted, in the order of the chunks."""
        self._read_verified(layout.KEYWORDS)
        decode = msgspec.json.Decoder(ChunkKeywords).decode
        path = self.folder / layout.KEYWORDS
        return [row for _, row in iter_decoded_lines(path, "keyword file", decode)]

    @cached_property
    def table(self) -> CanonicalTable | None:
        """Maps keywords to concepts; None if keywords were not merged."""
        if self.config.canonical is None:
            return None
        from kg.text.canonical.table import CanonicalTable

        return self._decode_file(layout.TABLE, CanonicalTable)

    @cached_property
    def canonical_keywords(self) -> list[str]:
        """The canonical keywords, in the row order of ``canonical_embeddings``."""
        if self.table is None:
            return []
        keywords = self._decode_file(layout.CANONICAL, list[str])
        if keywords != self.table.list_canonical_keywords():
            raise self._make_damage_error(
                layout.CANONICAL, "not the canonical keywords of the table"
            )
        return keywords

    @cached_property
    def canonical_embeddings(self) -> npt.NDArray[np.float32]:
        """Embeddings of ``canonical_keywords``: shape (keywords, dimensions), rows of length 1.

        Those of a model are read; those of the lexical embedder are quicker to compute again.
        """
        import numpy as np

        from kg.embedding.embedder import normalise_rows

        row_count = len(self.canonical_keywords)
        if not row_count:
            return np.zeros((0, 1), dtype=np.float32)
        if not self._has_embeddings:
            return normalise_rows(open_embedder(LEXICAL).encode(self.canonical_keywords))
        try:
            embeddings = np.load(
                io.BytesIO(self._read_verified(layout.EMBEDDINGS)), allow_pickle=False
            )
        except (ValueError, OSError, EOFError, MemoryError) as error:
            raise self._make_damage_error(layout.EMBEDDINGS, f"not an array: {error}") from error
        if embeddings.dtype != np.int8 or embeddings.ndim != 2 or len(embeddings) != row_count:
            raise self._make_damage_error(
                layout.EMBEDDINGS, f"not {row_count} rows of 8-bit integers"
            )
        return normalise_rows(embeddings.astype(np.float32))

    @property
    def _has_embeddings(self) -> bool:
        return layout.EMBEDDINGS in self.metadata.files or self.embedder_name != LEXICAL

    @cached_property
    def concepts(self) -> ConceptGraph:
        """The concept graph."""
        return decode_graph(self._read_verified(layout.GRAPH), str(self.folder / layout.GRAPH))

    @cached_property
    def sections(self) -> SectionTree | None:
        """The section tree; None if the run was built without one."""
        if not self.config.sections:
            return None
        from kg.text.sections.tree import SectionTree

        try:
            return SectionTree.from_json(msgspec.json.decode(self._read_verified(layout.SECTIONS)))
        except (ValueError, RecursionError) as error:
            raise self._make_damage_error(
                layout.SECTIONS, f"not a section tree: {error}"
            ) from error

    @property
    def embedder_name(self) -> str:
        """Name of the embedding model that the run was built with; empty if none was used."""
        return self.config.canonical.embedder.name if self.config.canonical else ""

    def require_embedder(self, embedder: Embedder) -> None:
        """Checks that a model is the one that the run was built with.

        Raises:
            EmbedderMismatchError: it is another model; embeddings of two models are not comparable.
        """
        canonical = self.config.canonical
        if canonical is None:
            return
        built, current = canonical.embedder, ModelIdentity(embedder.name, embedder.sha256)
        if built == current:
            return
        if built.name != current.name:
            problem = f"built with the embedding model {built.name}, not {current.name}"
        else:
            problem = (
                f"built with other weights of {built.name}: {built.sha256}, not {current.sha256}"
            )
        raise EmbedderMismatchError(
            problem,
            where=str(self.folder),
            hint=f"Use --embedder {built.name}, or build the run again.",
        )

    def open_lookup(self, embedder: Embedder | None = None) -> CanonicalLookup | None:
        """Opens the lookup that maps new keywords to concepts of the graph.

        Args:
            embedder: a loaded model; by default the run's model is opened by its name.

        Returns:
            The lookup, or None if keywords were not merged.

        Raises:
            EmbedderMismatchError: the model is not the one that the run was built with.
            EpocheError: the model cannot be loaded.
        """
        canonical, table = self.config.canonical, self.table
        if canonical is None or table is None:
            return None
        from kg.text.canonical.lookup import CanonicalLookup

        if embedder is None:
            embedder = open_embedder(canonical.embedder.name)
        self.require_embedder(embedder)
        return CanonicalLookup(
            table,
            embedder,
            self.concepts.nodes,
            fallback_threshold=canonical.fallback_threshold,
            # Without stored embeddings, the lookup computes them when it first needs them.
            vectors=self.canonical_embeddings if self._has_embeddings else None,
        )

    def _decode_file(self, name: str, kind: type[Decoded]) -> Decoded:
        try:
            return msgspec.json.decode(self._read_verified(name), type=kind)
        except (ValueError, RecursionError) as error:
            raise self._make_damage_error(name, f"invalid content: {error}") from error

    def _read_verified(self, name: str) -> bytes:
        """Reads a file and checks its hash against the metadata.

        Raises:
            RunFolderError: the file cannot be read, or its hash is missing or different.
        """
        checksum = self.metadata.files.get(name)
        if checksum is None:
            raise self._make_damage_error(name, "the metadata do not list this file")
        data = _read_file(self.folder / name, layout.MAX_FILE_BYTES)
        if sha256_bytes(data) != checksum.sha256:
            raise self._make_damage_error(name, "the file's hash differs from the metadata")
        return self._decompress(name, data) if name.endswith(".gz") else data

    def _decompress(self, name: str, data: bytes) -> bytes:
        decompressor = zlib.decompressobj(wbits=31)  # 31: the format of gzip
        try:
            content = decompressor.decompress(data, layout.MAX_FILE_BYTES)
        except zlib.error as error:
            raise self._make_damage_error(name, f"it cannot be unpacked: {error}") from error
        if not decompressor.eof:
            raise self._make_damage_error(name, "it is cut off, or too large when unpacked")
        return content

    def _make_damage_error(self, name: str, problem: str) -> RunFolderError:
        return RunFolderError(
            f"the run is damaged: {problem}", where=str(self.folder / name), hint=_REBUILD_HINT
        )


def open_run(path: Path | str, embedder: Embedder | None = None) -> Run:
    """Opens a run.

    Args:
        path: a run's folder, a folder of runs with a link ``latest``, or that link.
        embedder: if given, checked to be the model that the run was built with.

    Raises:
        MissingFileError: ``path`` does not exist.
        RunFolderError: it is not a run, or the run is incomplete, damaged or of another version.
        EmbedderMismatchError: ``embedder`` is not the model that the run was built with.
    """
    folder = _find_run_folder(Path(path))
    metadata = _read_record(folder / layout.METADATA, RunMetadata)
    for name, checksum in metadata.files.items():
        if name not in layout.FILES or name == layout.METADATA:
            raise RunFolderError(
                f"the metadata list a file that no run has: {name!r}",
                where=str(folder),
                hint=_REBUILD_HINT,
            )
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            raise RunFolderError(
                f"the run is incomplete: {name} cannot be read",
                where=str(folder),
                hint=_REBUILD_HINT,
            ) from error
        if size != checksum.bytes or not (folder / name).is_file():
            raise RunFolderError(
                f"the run is incomplete: {name} has {size} bytes, not {checksum.bytes}",
                where=str(folder),
                hint=_REBUILD_HINT,
            )
    run = Run(folder, _read_record(folder / layout.CONFIG, RunConfig), metadata)
    run._read_verified(layout.CONFIG)
    if embedder is not None:
        run.require_embedder(embedder)
    return run


def _find_run_folder(path: Path) -> Path:
    """Returns the folder with the run's files; follows the link ``latest``."""
    try:
        if (path / layout.METADATA).is_file():
            return path
        latest = path / layout.LATEST
        if (latest / layout.METADATA).is_file():
            return latest.resolve()
        exists = path.exists()
        is_empty = not exists or not path.is_dir() or not any(path.iterdir())
        is_link = latest.is_symlink() or path.is_symlink()
    except OSError as error:
        raise MissingFileError(
            f"the run cannot be read: {error.strerror}", where=str(path), hint="Check the path."
        ) from error
    if is_link:
        raise RunFolderError(
            "the link latest does not point to a run",
            where=str(path),
            hint="Give the run's folder, or build the run.",
        )
    if not exists and get_previous_path(path).is_dir():
        raise RunFolderError(
            "a build was killed while it replaced the run; the old run is kept in a hidden folder",
            where=str(path),
            hint="Run the same `epoche kg build` again.",
        )
    if not exists:
        raise MissingFileError(
            "the run does not exist", where=str(path), hint="Build it with `epoche kg build`."
        )
    raise RunFolderError(
        "not a run: "
        + ("the folder is empty" if is_empty else f"it contains no {layout.METADATA}"),
        where=str(path),
        hint="Give a folder that `epoche kg build` wrote. If it is a copy, it may be incomplete.",
    )


def _read_record(path: Path, kind: type[Decoded]) -> Decoded:
    data = _read_file(path, layout.MAX_RECORD_BYTES)
    try:
        schema = msgspec.json.decode(data)["schema"]
    except (ValueError, RecursionError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise RunFolderError(
            f"the run is incomplete: {path.name} has no schema", where=str(path), hint=_REBUILD_HINT
        ) from error
    if schema != layout.SCHEMA:
        raise RunFolderError(
            f"the run has version {schema!r}, not {layout.SCHEMA!r}",
            where=str(path),
            hint="Use the version of Epoché that wrote it, or build it again.",
        )
    try:
        return msgspec.json.decode(data, type=kind)
    except ValueError as error:
        raise RunFolderError(
            f"the run is damaged: {error}", where=str(path), hint=_REBUILD_HINT
        ) from error


def _read_file(path: Path, limit: int) -> bytes:
    try:
        if path.stat().st_size > limit:
            raise RunFolderError(
                f"the file is larger than {limit:,} bytes",
                where=str(path),
                hint="Split the documents.",
            )
        return path.read_bytes()
    except OSError as error:
        raise RunFolderError(
            f"the run is incomplete: {error.strerror}", where=str(path), hint=_REBUILD_HINT
        ) from error
