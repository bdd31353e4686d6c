"""Opening a run: everything is checked against the run's own metadata before it is used."""

from __future__ import annotations

import io
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kg.base.errors import EmbedderMismatchError, MissingFileError, RunFolderError
from kg.base.files import iter_decoded_lines, sha256_bytes
from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.concepts.graph_file import decode_graph
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run import form
from kg.text.run.form import ModelMark, RunConfig, RunMetadata
from kg.text.run.replacing import previous_beside

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kg.embedding.embedder import Embedder
    from kg.text.canonical.lookup import CanonicalLookup
    from kg.text.canonical.table import CanonicalTable
    from kg.text.chunks import Chunk
    from kg.text.sections.tree import SectionTree

Decoded = TypeVar("Decoded")

_AGAIN = "Build it again with `epoche kg build`."


class Run:
    """A run that was opened. Parts are read when first asked for, and checked then.

    Attributes:
        folder: where it is.
        config: how it was made.
        metadata: of what, and what its files must be.
    """

    def __init__(self, folder: Path, config: RunConfig, metadata: RunMetadata) -> None:
        self.folder = folder
        self.config = config
        self.metadata = metadata

    @property
    def sha256(self) -> str:
        """Of the whole run: its metadata name the hash of every other file."""
        return sha256_bytes(msgspec.json.encode(self.metadata))

    @property
    def files(self) -> list[Path]:
        """Where its files are or could be: no output may take the place of one."""
        return [self.folder / name for name in form.FILES]

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The chunks, in the order of the text."""
        from kg.text.chunks_file import read_chunks

        self._checked(form.CHUNKS)
        return read_chunks(self.folder / form.CHUNKS)

    @cached_property
    def keywords(self) -> list[ChunkKeywords]:
        """Each chunk's keywords as they were found, in the order of the chunks."""
        self._checked(form.KEYWORDS)
        decode = msgspec.json.Decoder(ChunkKeywords).decode
        path = self.folder / form.KEYWORDS
        return [row for _, row in iter_decoded_lines(path, "keyword file", decode)]

    @cached_property
    def table(self) -> CanonicalTable | None:
        """Which keywords are one concept; None where they were not merged."""
        if self.config.canonical is None:
            return None
        from kg.text.canonical.table import CanonicalTable

        return self._decoded(form.TABLE, CanonicalTable)

    @cached_property
    def canonical_keywords(self) -> list[str]:
        """The canonical forms that ``canonical_embeddings`` embeds, row by row."""
        if self.table is None:
            return []
        found = self._decoded(form.CANONICAL, list[str])
        if found != self.table.canonical_keywords():
            raise self._damaged(form.CANONICAL, "not the canonical forms of the table")
        return found

    @cached_property
    def canonical_embeddings(self) -> npt.NDArray[np.float32]:
        """Embeddings of ``canonical_keywords``: shape (keywords, dimensions), rows of length 1."""
        import numpy as np

        rows = len(self.canonical_keywords)
        if not rows:
            return np.zeros((0, 1), dtype=np.float32)
        try:
            found = np.load(io.BytesIO(self._checked(form.EMBEDDINGS)), allow_pickle=False)
        except (ValueError, OSError, EOFError, MemoryError) as error:
            raise self._damaged(form.EMBEDDINGS, f"not an array: {error}") from error
        if found.dtype != np.float32 or found.ndim != 2 or len(found) != rows:
            raise self._damaged(form.EMBEDDINGS, f"not {rows} rows of 32-bit numbers")
        if not np.isfinite(found).all():
            raise self._damaged(form.EMBEDDINGS, "not all of it are finite numbers")
        return np.asarray(found)

    @cached_property
    def concepts(self) -> ConceptGraph:
        """The concept graph."""
        return decode_graph(self._checked(form.GRAPH), str(self.folder / form.GRAPH))

    @cached_property
    def sections(self) -> SectionTree | None:
        """The section tree; None where it was left out."""
        if not self.config.sections:
            return None
        from kg.text.sections.tree import SectionTree

        try:
            return SectionTree.from_json(msgspec.json.decode(self._checked(form.SECTIONS)))
        except (ValueError, RecursionError) as error:
            raise self._damaged(form.SECTIONS, f"not a section tree: {error}") from error

    @property
    def embedder_name(self) -> str:
        """Name of the embedding model it was built with; empty where none was used."""
        return self.config.canonical.embedder.name if self.config.canonical else ""

    def require_embedder(self, embedder: Embedder) -> None:
        """Makes sure that a model is the one the run was built with.

        Raises:
            EmbedderMismatchError: it is another: similarities of two models mean nothing together.
        """
        canonical = self.config.canonical
        if canonical is None:
            return
        built, given = canonical.embedder, ModelMark(embedder.name, embedder.sha256)
        if built == given:
            return
        if built.name != given.name:
            what = f"built with the embedding model {built.name}, not {given.name}"
        else:
            what = f"built with other weights of {built.name}: {built.sha256}, not {given.sha256}"
        raise EmbedderMismatchError(
            what,
            where=str(self.folder),
            hint=f"Name {built.name} with --embedder, or build the run again.",
        )

    def lookup(self, embedder: Embedder | None = None) -> CanonicalLookup | None:
        """Finds the concepts of the graph that words mean which it does not hold itself.

        Args:
            embedder: a loaded model; by default the run's is opened by its name.

        Returns:
            The lookup, or None where keywords were not merged.

        Raises:
            EmbedderMismatchError: the model is not the one the run was built with.
            EpocheError: it cannot be loaded.
        """
        canonical, table = self.config.canonical, self.table
        if canonical is None or table is None:
            return None
        from kg.embedding.choosing import open_embedder
        from kg.text.canonical.lookup import CanonicalLookup

        if embedder is None:
            embedder = open_embedder(canonical.embedder.name)
        self.require_embedder(embedder)
        return CanonicalLookup(
            table,
            embedder,
            self.concepts.nodes,
            fallback_threshold=canonical.fallback_threshold,
            vectors=self.canonical_embeddings,
        )

    def _decoded(self, name: str, kind: type[Decoded]) -> Decoded:
        try:
            return msgspec.json.decode(self._checked(name), type=kind)
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"not what it should be: {error}") from error

    def _checked(self, name: str) -> bytes:
        """A file's bytes, which are those the metadata were written for."""
        mark = self.metadata.files.get(name)
        if mark is None:
            raise self._damaged(name, "the metadata do not list it")
        data = _read(self.folder / name, form.MAX_FILE_BYTES)
        if sha256_bytes(data) != mark.sha256:
            raise self._damaged(name, "its content is not what was written")
        return data

    def _damaged(self, name: str, what: str) -> RunFolderError:
        return RunFolderError(
            f"the run is damaged: {what}", where=str(self.folder / name), hint=_AGAIN
        )


def open_run(path: Path | str, embedder: Embedder | None = None) -> Run:
    """Opens a run.

    Args:
        path: a run's folder, a folder of runs with a link ``latest``, or that link.
        embedder: a model that the run is going to be used with, to be checked now.

    Raises:
        MissingFileError: nothing is there.
        RunFolderError: no run, a half-written or damaged one, or one of another version.
        EmbedderMismatchError: ``embedder`` is not the model it was built with.
    """
    folder = _run_folder(Path(path))
    metadata = _record(folder / form.METADATA, RunMetadata)
    for name, mark in metadata.files.items():
        if name not in form.FILES or name == form.METADATA:
            raise RunFolderError(
                f"the metadata name a file that is none of a run: {name!r}",
                where=str(folder),
                hint=_AGAIN,
            )
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            raise RunFolderError(
                f"half written: {name} cannot be read", where=str(folder), hint=_AGAIN
            ) from error
        if size != mark.bytes or not (folder / name).is_file():
            raise RunFolderError(
                f"half written: {name} has {size} bytes, not {mark.bytes}",
                where=str(folder),
                hint=_AGAIN,
            )
    run = Run(folder, _record(folder / form.CONFIG, RunConfig), metadata)
    run._checked(form.CONFIG)
    if embedder is not None:
        run.require_embedder(embedder)
    return run


def _run_folder(path: Path) -> Path:
    """The folder that holds the run's files."""
    try:
        if (path / form.METADATA).is_file():
            return path
        latest = path / form.LATEST
        if (latest / form.METADATA).is_file():
            return latest.resolve()
        there = path.exists()
        empty = not there or not path.is_dir() or not any(path.iterdir())
        points = latest.is_symlink() or path.is_symlink()
    except OSError as error:
        raise MissingFileError(
            f"the run cannot be reached: {error.strerror}", where=str(path), hint="Check the path."
        ) from error
    if points:
        raise RunFolderError(
            "latest points at no run", where=str(path), hint="Name the run's folder, or build it."
        )
    if not there and previous_beside(path).is_dir():
        raise RunFolderError(
            "a build was killed while it replaced the run; the old one is kept beside it",
            where=str(path),
            hint="Give the same `epoche kg build` again.",
        )
    if not there:
        raise MissingFileError(
            "the run does not exist", where=str(path), hint="Make it with `epoche kg build`."
        )
    raise RunFolderError(
        f"no run: there is no {form.METADATA}" + (", nor anything else" if empty else ""),
        where=str(path),
        hint="Name a folder that `epoche kg build` wrote; a copy may have been cut off.",
    )


def _record(path: Path, kind: type[Decoded]) -> Decoded:
    data = _read(path, form.MAX_RECORD_BYTES)
    try:
        schema = msgspec.json.decode(data)["schema"]
    except (ValueError, RecursionError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise RunFolderError(
            f"half written: {path.name} is no record of a run", where=str(path), hint=_AGAIN
        ) from error
    if schema != form.SCHEMA:
        raise RunFolderError(
            f"a run of version {schema!r}, not {form.SCHEMA!r}",
            where=str(path),
            hint="Read it with the Epoché that wrote it, or build it again.",
        )
    try:
        return msgspec.json.decode(data, type=kind)
    except ValueError as error:
        raise RunFolderError(
            f"the run is damaged: {error}", where=str(path), hint=_AGAIN
        ) from error


def _read(path: Path, limit: int) -> bytes:
    try:
        if path.stat().st_size > limit:
            raise RunFolderError(
                f"larger than {limit:,} bytes", where=str(path), hint="Split the documents."
            )
        return path.read_bytes()
    except OSError as error:
        raise RunFolderError(
            f"half written: {error.strerror}", where=str(path), hint=_AGAIN
        ) from error
