"""The layout of a run's folder: file names, and the records of its settings and inputs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = "epoche.run/2"

CONFIG = "config.json"
CHUNKS = "chunks.jsonl"
KEYWORDS = "keywords.jsonl"
TABLE = "synonym_table.json.gz"
CANONICAL = "canonical_keywords.json"
EMBEDDINGS = "canonical_embeddings.npy"
GRAPH = "graph.json.gz"
SECTIONS = "section_tree.json.gz"
METADATA = "run_metadata.json"
FILES = (CONFIG, CHUNKS, KEYWORDS, TABLE, CANONICAL, EMBEDDINGS, GRAPH, SECTIONS, METADATA)
"""All file names of a run; ``METADATA`` lists the other files and is written last."""
LATEST = "latest"
"""The link next to the runs that points to the run written last."""
KEYWORD_CACHE = "keyword_cache.jsonl"
"""The file next to the runs that caches keywords between builds."""

MAX_FILE_BYTES = 4 * 1024**3
"""Maximum size of a file of a run, also after unpacking; larger ones are refused, even if the
metadata list them."""
MAX_RECORD_BYTES = 64 * 1024**2
"""Maximum size of the config and metadata files."""


class ModelIdentity(msgspec.Struct, frozen=True):
    """Identifies an embedding model."""

    name: str
    sha256: str = ""
    """Hash of its weights (or parameters); empty if it has none."""


class CanonicalConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with which synonymous keywords were merged."""

    embedder: ModelIdentity
    verifier: dict[str, Any]
    """Its name and every parameter that affects its verdicts."""
    threshold: float
    max_group_size: int
    fallback_threshold: float
    index_candidates: bool


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run: everything that affects its content except the documents."""

    schema: Literal["epoche.run/2"] = "epoche.run/2"
    chunk_size: int
    """In characters. Documents are cut into chunks of this size; chunks given as input are not."""
    overlap: int
    keywords: dict[str, Any]
    """The extractor's name and parameters."""
    canonical: CanonicalConfig | None
    """None: only keywords with the same normal form were merged."""
    min_cooccurrence: int
    drop_isolates: bool
    sections: bool


class SourceDocument(msgspec.Struct, frozen=True):
    """A file that chunks were read from."""

    filename: str
    """The path below the folder that was built, so that runs can be moved."""
    sha256: str
    name: str = ""
    """The document's name, with which the ids of its chunks begin; of chunk files not used."""


class FileChecksum(msgspec.Struct, frozen=True):
    """Size and hash of a file of the run."""

    bytes: int
    sha256: str


class RunMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs and files of a run.

    It contains no times, so that the same documents and settings give the same bytes.
    """

    schema: Literal["epoche.run/2"] = "epoche.run/2"
    versions: dict[str, str]
    documents: tuple[SourceDocument, ...]
    counts: dict[str, int]
    files: dict[str, FileChecksum]
    """File name → checksum, for every other file of the run."""
