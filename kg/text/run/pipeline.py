"""Builds a run: documents → chunks → keywords → canonical forms → concept graph → section tree.

Keyword extraction is the slow stage, so each chunk's keywords are cached as soon as they are known
and an interrupted build resumes from there. All other stages are repeated. The run is written
atomically at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kg.base.console import StageCallback, print_warning
from kg.base.errors import DuplicateIdError, ModelCallError, SettingError, StrictModelError
from kg.text.documents.names import SourceFile
from kg.text.keywords.protocol import ChunkKeywords, KeywordExtractor
from kg.text.run.folder import Run, open_run
from kg.text.run.layout import CanonicalConfig, ModelIdentity, RunConfig
from kg.text.run.sources import read_sources
from kg.text.run.writer import RunContent, check_run_folder, write_run

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable
    from kg.text.canonical.verifier import SynonymVerifier
    from kg.text.chunks import Chunk

MAX_NAMED_FILES = 20
"""Maximum number of skipped files that warnings name; the others are counted."""


class BuildPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The documents and settings of a build."""

    documents: tuple[SourceFile | Path, ...]
    """Documents and chunk files, in the order of their chunks; see ``find_source_files``."""
    files_not_read: int = 0
    """Number of files in the folders of the documents that no reader knows."""
    out: Path
    """The folder to write the run to."""
    chunk_size: int = 2000
    overlap: int = 300
    canonical: bool = True
    """Whether synonymous keywords are merged, with the next four settings."""
    threshold: float = 0.78
    max_group_size: int = 30
    fallback_threshold: float = 0.85
    index_candidates: bool = True
    """Whether other spellings and spacings of keywords are compared too."""
    min_cooccurrence: int = 1
    drop_isolates: bool = False
    sections: bool = True
    cache: Path | None = None
    """The file that caches keywords between builds; None: no cache."""
    strict: bool = False
    """Whether an unusable reply of a model is an error."""
    extend: bool = False
    """Whether the documents are added to those of the existing run at ``out``."""


def build_run(
    plan: BuildPlan,
    extractor: KeywordExtractor,
    verifier: SynonymVerifier | None,
    embedder: Embedder | None,
    on_stage: StageCallback = lambda _stage, _done, _total: None,
) -> Run:
    """Builds a run and opens it.

    Args:
        plan: the documents and settings.
        extractor: extracts keywords.
        verifier: decides which keywords of a group are synonyms; may be None, like ``embedder``,
            if ``plan.canonical`` is False.
        embedder: groups similar keywords.
        on_stage: called with the progress of each stage.

    Raises:
        EpocheError: reading, a model or writing failed; an existing run at ``plan.out`` and the
            keyword cache are kept.
    """
    from kg.text.concepts.linker import link_concepts
    from kg.text.keywords.fragments import drop_fragments
    from kg.text.sections.builder import build_section_tree

    check_run_folder(plan.out)
    config = _make_config(plan, extractor, verifier, embedder)
    existing_run = open_run(plan.out, embedder) if plan.extend else None
    if existing_run is not None:
        _require_same_settings(existing_run, config)
    chunks, documents, skipped = read_sources(
        plan.documents,
        plan.chunk_size,
        plan.overlap,
        lambda done: on_stage("documents", done, len(plan.documents)),
    )
    for line in skipped[:MAX_NAMED_FILES]:
        print_warning(f"skipped: {line}")
    if len(skipped) > MAX_NAMED_FILES:
        print_warning(f"skipped: {len(skipped) - MAX_NAMED_FILES:,} more files")
    if existing_run is not None:
        chunks, documents = (
            _append_chunks(existing_run, chunks),
            [*existing_run.metadata.documents, *documents],
        )
    keywords = drop_fragments(chunks, _extract_keywords(plan, chunks, extractor, on_stage))
    if plan.strict and extractor.failed:
        raise _make_strict_error(
            extractor.failed, "chunks got no usable reply from the keyword model"
        )
    if extractor.failed and extractor.failed == len(chunks):
        # Otherwise a server that is down would replace a good run by an empty one.
        raise ModelCallError(
            f"none of {len(chunks)} chunks got a usable reply from the keyword model",
            where=extractor.name,
            hint="Nothing was written. Check the server with `epoche test-connection`.",
        )
    table = None
    if plan.canonical:
        if verifier is None or embedder is None:
            raise ValueError("canonical forms need a verifier and an embedder")
        table = _build_table(plan, chunks, keywords, verifier, embedder, on_stage)
        if plan.strict and verifier.failed:
            raise _make_strict_error(verifier.failed, "groups got no usable verdict from the model")
    on_stage("concept graph", 0, 0)
    concepts = link_concepts(
        keywords, table, plan.min_cooccurrence, drop_isolates=plan.drop_isolates
    )
    sections = build_section_tree(chunks, concepts) if plan.sections else None
    on_stage("run", 0, 0)
    content = RunContent(
        config=config,
        documents=tuple(documents),
        chunks=chunks,
        keywords=keywords,
        table=table,
        embedder=embedder if plan.canonical else None,
        concepts=concepts,
        sections=sections,
        counts={
            "documents_skipped": len(skipped),
            "files_not_read": plan.files_not_read,
            "keywords_invented": sum(row.invented for row in keywords),
            "chunks_without_reply": extractor.failed,
            "groups_without_verdict": verifier.failed if verifier is not None else 0,
        },
    )
    write_run(plan.out, content)
    return open_run(plan.out)


def _append_chunks(existing_run: Run, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Returns the chunks of a run, followed by the new ones.

    Raises:
        DuplicateIdError: the run already contains one of the new chunks.
    """
    existing_ids = {chunk.id for chunk in existing_run.chunks}
    for chunk in chunks:
        if chunk.id in existing_ids:
            raise DuplicateIdError(
                f"the run already contains a chunk {chunk.id!r}",
                where=str(existing_run.folder),
                hint="Add each document once, or build the run again from all of them.",
            )
    return [*existing_run.chunks, *chunks]


def _extract_keywords(
    plan: BuildPlan, chunks: Sequence[Chunk], extractor: KeywordExtractor, on_stage: StageCallback
) -> list[ChunkKeywords]:
    """Returns each chunk's keywords, from the cache or else extracted and cached."""
    from kg.text.keywords.cache import KeywordCache

    done_count = 0

    def report_progress(_row: ChunkKeywords) -> None:
        nonlocal done_count
        done_count += 1
        on_stage("keywords", done_count, len(chunks))

    on_stage("keywords", 0, len(chunks))
    if plan.cache is None:
        return extractor.extract_keywords(chunks, report_progress)
    with KeywordCache(plan.cache) as cache:
        return cache.extract_keywords(extractor, chunks, report_progress)


def _build_table(
    plan: BuildPlan,
    chunks: Sequence[Chunk],
    keywords: Sequence[ChunkKeywords],
    verifier: SynonymVerifier,
    embedder: Embedder,
    on_stage: StageCallback,
) -> CanonicalTable:
    from kg.text.canonical.canonicalisation import canonicalise_keywords
    from kg.text.canonical.definitions import find_definitions
    from kg.text.canonical.program_names import find_program_names

    on_stage("canonical forms", 0, 0)
    frequencies = Counter(keyword for row in keywords for keyword in row.keywords)
    return canonicalise_keywords(
        frequencies,
        embedder,
        verifier,
        threshold=plan.threshold,
        max_group_size=plan.max_group_size,
        index_candidates=plan.index_candidates,
        definitions=find_definitions(chunk.prose for chunk in chunks),
        program_names=find_program_names(chunk.prose for chunk in chunks),
        on_progress=lambda done, total: on_stage("canonical forms", done, total),
    )


def _make_config(
    plan: BuildPlan,
    extractor: KeywordExtractor,
    verifier: SynonymVerifier | None,
    embedder: Embedder | None,
) -> RunConfig:
    """Returns the settings recorded in the run; see ``RunConfig``."""
    canonical = None
    if plan.canonical and verifier is not None and embedder is not None:
        canonical = CanonicalConfig(
            embedder=ModelIdentity(embedder.name, embedder.sha256),
            verifier={"name": verifier.name, **verifier.params()},
            threshold=plan.threshold,
            max_group_size=plan.max_group_size,
            fallback_threshold=plan.fallback_threshold,
            index_candidates=plan.index_candidates,
        )
    return RunConfig(
        chunk_size=plan.chunk_size,
        overlap=plan.overlap,
        keywords={"name": extractor.name, **extractor.params()},
        canonical=canonical,
        min_cooccurrence=plan.min_cooccurrence,
        drop_isolates=plan.drop_isolates,
        sections=plan.sections,
    )


def _require_same_settings(existing_run: Run, config: RunConfig) -> None:
    """Checks that a run is extended with the settings it was built with.

    Raises:
        SettingError: the settings differ, so that the existing part would change.
    """
    # Compares the JSON forms, since a tuple that was written is read as a list.
    built, requested = (
        msgspec.json.decode(msgspec.json.encode(settings))
        for settings in (existing_run.config, config)
    )
    changed_settings = [name for name in requested if requested[name] != built[name]]
    if changed_settings:
        raise SettingError(
            f"the run was built with different settings: {', '.join(changed_settings)}",
            where=str(existing_run.folder / "config.json"),
            hint="Use the same flags, or build the run again from all documents.",
        )


def _make_strict_error(count: int, problem: str) -> StrictModelError:
    return StrictModelError(
        f"{count} {problem}",
        where="--strict",
        hint="Run it again (usable replies are cached), or omit --strict.",
    )
