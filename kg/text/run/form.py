"""What a run's folder holds: the files' names, and the records of how and from what it was made."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = "epoche.run/1"

CONFIG = "config.json"
CHUNKS = "chunks.jsonl"
KEYWORDS = "keywords.jsonl"
TABLE = "synonym_table.json"
CANONICAL = "canonical_keywords.json"
EMBEDDINGS = "canonical_embeddings.npy"
GRAPH = "graph.json"
SECTIONS = "section_tree.json"
METADATA = "run_metadata.json"
FILES = (CONFIG, CHUNKS, KEYWORDS, TABLE, CANONICAL, EMBEDDINGS, GRAPH, SECTIONS, METADATA)
"""Every name a file of a run can have; ``METADATA`` lists the others and is written last."""
LATEST = "latest"
"""The link beside runs that names the one written last."""
KEYWORD_CACHE = "keyword_cache.jsonl"
"""The file beside runs that keeps keywords from one build to the next."""

MAX_FILE_BYTES = 4 * 1024**3
"""A larger file of a run is refused, whatever its metadata say."""
MAX_RECORD_BYTES = 64 * 1024**2
"""Bytes that config and metadata may have."""


class ModelMark(msgspec.Struct, frozen=True):
    """Which embedding model."""

    name: str
    sha256: str = ""
    """Of its weights (or parameters); empty where it has none."""


class Canonicalisation(msgspec.Struct, frozen=True, kw_only=True):
    """How keywords were merged."""

    embedder: ModelMark
    verifier: dict[str, Any]
    """Its name and what decides its verdicts."""
    threshold: float
    max_group_size: int
    fallback_threshold: float
    index_candidates: bool


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was made: all that decides its content, besides the documents."""

    schema: Literal["epoche.run/1"] = "epoche.run/1"
    chunk_size: int
    """In characters; ready-made chunks are taken as they are."""
    overlap: int
    keywords: dict[str, Any]
    """The extractor's name and parameters."""
    canonical: Canonicalisation | None
    """None: keywords were not merged beyond their normal form."""
    min_cooccurrence: int
    drop_isolates: bool
    sections: bool


class SourceDocument(msgspec.Struct, frozen=True):
    """A file that chunks were read from. Its folder is not kept: runs can move."""

    filename: str
    sha256: str


class FileMark(msgspec.Struct, frozen=True):
    """What a file of the run must be."""

    bytes: int
    sha256: str


class RunMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is made of. No times: the same documents and settings give the same bytes."""

    schema: Literal["epoche.run/1"] = "epoche.run/1"
    versions: dict[str, str]
    documents: tuple[SourceDocument, ...]
    counts: dict[str, int]
    files: dict[str, FileMark]
    """Every other file of the run, by name."""
