"""The pipeline: documents → chunks → keywords → canonical forms → concept graph → section tree.

Reading a long text, or calling a model for it, takes long; so each chunk's keywords are kept in a
cache as soon as they are found, and a build that was cut off goes on from there. Everything else is
made again. The run itself appears whole, at the end, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kg.base.console import Watch
from kg.base.errors import DuplicateIdError, ModelCallError, SettingError, StrictModelError
from kg.text.keywords.protocol import ChunkKeywords, KeywordExtractor
from kg.text.run.folder import Run, open_run
from kg.text.run.form import Canonicalisation, ModelMark, RunConfig
from kg.text.run.sources import read_sources
from kg.text.run.writing import RunContent, check_run_folder, write_run

if TYPE_CHECKING:
    from kg.embedding.embedder import Embedder
    from kg.text.canonical.table import CanonicalTable
    from kg.text.canonical.verifier import SynonymVerifier
    from kg.text.chunks import Chunk


class BuildPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to build, and which stages to leave out."""

    documents: tuple[Path, ...]
    """Documents and chunk files, in the order their chunks shall have; see ``source_files``."""
    out: Path
    chunk_size: int = 2000
    overlap: int = 300
    canonical: bool = True
    threshold: float = 0.78
    max_group_size: int = 30
    fallback_threshold: float = 0.85
    index_candidates: bool = True
    """Whether acronyms with what they may stand for, and other spellings, are compared too."""
    min_cooccurrence: int = 1
    drop_isolates: bool = False
    sections: bool = True
    cache: Path | None = None
    """Where keywords are kept from one build to the next; None: nowhere."""
    strict: bool = False
    """Whether a model's reply that cannot be used is an error."""
    extend: bool = False
    """Whether the documents are added to those of the run at ``out``."""


def build(
    plan: BuildPlan,
    extractor: KeywordExtractor,
    verifier: SynonymVerifier | None,
    embedder: Embedder | None,
    watch: Watch = lambda _stage, _done, _total: None,
) -> Run:
    """Builds a run and opens it.

    Args:
        plan: what to build.
        extractor: finds keywords.
        verifier: decides which keywords of a group are synonyms; may be None, as ``embedder``,
            where ``plan.canonical`` is off.
        embedder: groups keywords.
        watch: is told how far each stage is.

    Raises:
        EpocheError: whatever reading, a model or writing found wrong; an older run at
            ``plan.out`` is then as it was, and what the keyword cache holds is kept.
    """
    from kg.text.concepts.linking import link
    from kg.text.sections.building import build_section_tree

    check_run_folder(plan.out)
    config = _config(plan, extractor, verifier, embedder)
    base = open_run(plan.out, embedder) if plan.extend else None
    if base is not None:
        _require_same(base, config)
    chunks, documents = read_sources(
        plan.documents,
        plan.chunk_size,
        plan.overlap,
        lambda done: watch("documents", done, len(plan.documents)),
    )
    if base is not None:
        chunks, documents = _after(base, chunks), [*base.metadata.documents, *documents]
    keywords = _keywords(plan, chunks, extractor, watch)
    if plan.strict and extractor.failed:
        raise _refused(extractor.failed, "chunks got no usable reply from the keyword model")
    if extractor.failed and extractor.failed == len(chunks):
        # A server that is down would else put a run of nothing in the place of a good one.
        raise ModelCallError(
            f"none of {len(chunks)} chunks got a usable reply from the keyword model",
            where=extractor.name,
            hint="Nothing was written. See what it says with `epoche test-connection`.",
        )
    table = None
    if plan.canonical:
        if verifier is None or embedder is None:
            raise ValueError("canonical forms need a verifier and an embedder")
        table = _table(plan, keywords, verifier, embedder, watch)
        if plan.strict and verifier.failed:
            raise _refused(verifier.failed, "groups got no usable verdict from the model")
    watch("concept graph", 0, 0)
    concepts = link(keywords, table, plan.min_cooccurrence, drop_isolates=plan.drop_isolates)
    sections = build_section_tree(chunks, concepts) if plan.sections else None
    watch("run", 0, 0)
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
            "keywords_invented": sum(row.invented for row in keywords),
            "chunks_without_reply": extractor.failed,
            "groups_without_verdict": verifier.failed if verifier is not None else 0,
        },
    )
    write_run(plan.out, content)
    return open_run(plan.out)


def _after(base: Run, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks of a run, then others.

    Raises:
        DuplicateIdError: one of them is in the run already.
    """
    held = {chunk.id for chunk in base.chunks}
    for chunk in chunks:
        if chunk.id in held:
            raise DuplicateIdError(
                f"the run holds a chunk {chunk.id!r} already",
                where=str(base.folder),
                hint="Add each document once, or build the run again from all of them.",
            )
    return [*base.chunks, *chunks]


def _keywords(
    plan: BuildPlan, chunks: Sequence[Chunk], extractor: KeywordExtractor, watch: Watch
) -> list[ChunkKeywords]:
    """Each chunk's keywords, from the cache or found now and put there at once."""
    from kg.text.keywords.cache import KeywordCache

    done = 0

    def count(_row: ChunkKeywords) -> None:
        nonlocal done
        done += 1
        watch("keywords", done, len(chunks))

    watch("keywords", 0, len(chunks))
    if plan.cache is None:
        return extractor.extract(chunks, count)
    with KeywordCache(plan.cache) as cache:
        return cache.extract(extractor, chunks, count)


def _table(
    plan: BuildPlan,
    keywords: Sequence[ChunkKeywords],
    verifier: SynonymVerifier,
    embedder: Embedder,
    watch: Watch,
) -> CanonicalTable:
    from kg.text.canonical.canonicalise import canonicalise

    watch("canonical forms", 0, 0)
    frequencies = Counter(keyword for row in keywords for keyword in row.keywords)
    return canonicalise(
        frequencies,
        embedder,
        verifier,
        threshold=plan.threshold,
        max_group_size=plan.max_group_size,
        by_index=plan.index_candidates,
        watch=lambda done, total: watch("canonical forms", done, total),
    )


def _config(
    plan: BuildPlan,
    extractor: KeywordExtractor,
    verifier: SynonymVerifier | None,
    embedder: Embedder | None,
) -> RunConfig:
    """All that decides the run's content, besides the documents."""
    canonical = None
    if plan.canonical and verifier is not None and embedder is not None:
        canonical = Canonicalisation(
            embedder=ModelMark(embedder.name, embedder.sha256),
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


def _require_same(base: Run, config: RunConfig) -> None:
    """Makes sure that a run is extended as it was built.

    Raises:
        SettingError: it was built otherwise; what is added would change what is there.
    """
    # As they stand in the file: a tuple that was written is read as a list.
    built, asked = (msgspec.json.decode(msgspec.json.encode(one)) for one in (base.config, config))
    other = [name for name in asked if asked[name] != built[name]]
    if other:
        raise SettingError(
            f"the run was built with other settings of {', '.join(other)}",
            where=str(base.folder / "config.json"),
            hint="Give the same flags, or build the run again from all documents.",
        )


def _refused(failed: int, what: str) -> StrictModelError:
    return StrictModelError(
        f"{failed} {what}",
        where="--strict",
        hint="Run it again: usable replies are kept; or leave --strict out.",
    )
