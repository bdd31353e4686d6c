"""Scores a file of predictions: what it is scored against is read, and all is put on record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from eval.manifest import library_versions
from eval.synthlink.catalog import SHIPPED, Catalog, read_catalog
from eval.synthlink.comparing import compare
from eval.synthlink.manifest import ComparedFile, SynthLinkManifest
from eval.synthlink.outputs import AnswerView, Compared, Scored
from eval.synthlink.predictions import Predictions, read_predictions
from eval.synthlink.record import SynthLinkReport
from eval.synthlink.score_options import NONE, ScoreOptions
from eval.synthlink.scores import score
from kg.base.console import Watch
from kg.base.errors import SettingError
from kg.base.files import require_file, sha256_bytes, sha256_file, to_json_bytes
from kg.base.provenance import encodable, relative_name
from retrieval.corpus import Corpus, read_corpus

if TYPE_CHECKING:
    from eval.synthlink.verdicts.record import Judgement
    from kg.knowledge import KnowledgeBase

OURS: Final = "synthlink"
"""Domain of the shipped catalogue."""
SHIPPED_NAME: Final = "shipped"


class Made(msgspec.Struct, frozen=True):
    """What one scoring makes, before any of it is written."""

    scored: Scored
    answers: tuple[AnswerView, ...]
    manifest: SynthLinkManifest


class Held(NamedTuple):
    """What an evaluator holds."""

    catalog: Catalog
    knowledge: KnowledgeBase | None
    """The graph that claims are held against; None for none."""
    pages: Corpus | None
    """The corpus whose texts of the sources are evidence; None for none."""


def held_of(options: ScoreOptions) -> Held:
    """Reads what predictions are scored against.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: of catalogue or corpus.
        DomainError, EpocheError: the domain cannot be opened.
    """
    return Held(read_catalog(options.catalog), _knowledge(options), _pages(options))


def score_files(
    options: ScoreOptions, watch: Watch | None = None, judged: Judgement | None = None
) -> Made:
    """Scores a file of predictions, and those it is compared with in the same way.

    Args:
        options: what to score and how.
        watch: is told how far it is.
        judged: what a judge said of their claims; none for nobody.

    Raises:
        MissingFileError: a file is not there.
        SettingError: one file of predictions is given twice.
        RecordError, DuplicateIdError: the catalogue is none, or a file is no list of predictions.
        DomainError, EpocheError: the domain cannot be opened.
    """
    files = [options.predictions, *options.compare]
    names = _names(files)
    for file in files:
        require_file(file, "predictions file")
    held = held_of(options)
    catalog = held.catalog
    how = partial(
        score,
        catalog=catalog,
        mode=options.mode,
        knowledge=held.knowledge,
        pages=held.pages,
        thresholds=options.thresholds,
        readings=options.readings,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
        judged=judged,
        watch=watch,
    )
    read = read_predictions(options.predictions, catalog.ids)
    report = how(read)
    others = {
        name: how(read_predictions(file, catalog.ids))
        for name, file in zip(names[1:], options.compare, strict=True)
    }
    hashes = dict(zip(names, map(sha256_file, files), strict=True))
    differences = compare({names[0]: report, **others}) if others else ()
    scored = Scored(
        name=names[0],
        report=report,
        comparisons=tuple(
            Compared(
                name=name,
                sha256=hashes[name],
                modes={mode: found.overall for mode, found in other.modes.items()},
                differences=tuple(one for one in differences if one.second == name),
            )
            for name, other in others.items()
        ),
    )
    manifest = _manifest(options, held, report, hashes, judged)
    return Made(scored, tuple(_views(catalog, read, report)), manifest)


def _names(files: Sequence[Path]) -> list[str]:
    """What to call each file: as much of the end of its path as tells it from the others."""
    paths = [file.resolve() for file in files]
    if len(set(paths)) < len(paths):
        raise SettingError(
            "a file of predictions is given twice",
            where=", ".join(map(str, files)),
            hint="Give each file once.",
        )
    longest = max(len(path.parts) for path in paths)
    tails = [
        [encodable("/".join(path.parts[-n:])) for path in paths] for n in range(1, longest + 1)
    ]
    return next(found for found in tails if len(set(found)) == len(found))


def _knowledge(options: ScoreOptions) -> KnowledgeBase | None:
    """The graph that claims are held against; None for none."""
    name = options.domain or (OURS if _ours(options.catalog) else NONE)
    if name == NONE:
        return None
    from kg.knowledge import KnowledgeBase

    return KnowledgeBase.open(name)


def _pages(options: ScoreOptions) -> Corpus | None:
    """The corpus whose texts of the sources are evidence; None for none."""
    if options.pages is None:
        return read_corpus() if _ours(options.catalog) else None
    return None if options.pages == NONE else read_corpus(options.pages)


def _ours(catalog: Path | None) -> bool:
    return catalog is None or catalog.resolve() == SHIPPED.resolve()


def _views(catalog: Catalog, read: Predictions, report: SynthLinkReport) -> list[AnswerView]:
    given = {row.question_id: row for row in read.rows}
    scores = next(iter(report.modes.values())).questions
    views = []
    for question, row in zip(catalog.questions, scores, strict=True):
        answered = given.get(question.id)
        view = AnswerView(
            question_id=question.id,
            category=question.category,
            question=question.question,
            expected=question.answer,
            instructions=tuple(step.instruction for step in question.steps),
            facts=tuple(step.fact for step in question.steps),
            sources=question.sources,
            status=row.status,
        )
        if answered is not None:
            view = msgspec.structs.replace(
                view,
                answer=answered.predicted_answer,
                docs=answered.retrieved_docs,
                iterations=answered.iterations,
            )
        views.append(view)
    return views


def _manifest(
    options: ScoreOptions,
    held: Held,
    report: SynthLinkReport,
    hashes: dict[str, str],
    judged: Judgement | None,
) -> SynthLinkManifest:
    catalog, knowledge, pages = held
    catalog_sha256 = sha256_bytes(to_json_bytes(catalog.questions))
    graph = None if knowledge is None else knowledge.graph.sha256
    named = corpus = SHIPPED_NAME
    if options.catalog is not None and not _ours(options.catalog):
        named = relative_name(options.catalog, options.output_dir)
    if options.pages is not None:
        corpus = relative_name(options.pages, options.output_dir)
    first, *rest = hashes
    how = (options.thresholds, options.readings)
    signed = {
        "mode": "+".join(report.modes),
        "cat": catalog_sha256[:12],
        "pred": hashes[first][:12],
        "graph": (graph or NONE)[:12],
        "pages": NONE if pages is None else pages.sha256[:12],
        "correct": "/".join(dict.fromkeys(f"{one.correct:g}" for one in how)),
        "boot": options.resamples,
        "seed": options.seed,
        "v": report.version,
    }
    judge = None if judged is None else judged.told()
    if judge is not None:
        # Verdicts are no function of what else is signed: a model may say something else tomorrow.
        signed |= {"judge": judge["sha256"][:12], "verdicts": judge["verdicts_sha256"][:12]}
    return SynthLinkManifest(
        predictions=relative_name(options.predictions, options.output_dir),
        predictions_sha256=hashes[first],
        compared=tuple(
            ComparedFile(
                name=name, file=relative_name(file, options.output_dir), sha256=hashes[name]
            )
            for name, file in zip(rest, options.compare, strict=True)
        ),
        catalog=named,
        catalog_sha256=catalog_sha256,
        questions=len(catalog.questions),
        domain=report.graph,
        graph_sha256=graph,
        shapes_sha256=None if knowledge is None else knowledge.shapes.sha256,
        pages="" if pages is None else corpus,
        pages_sha256=None if pages is None else pages.sha256,
        modes=tuple(report.modes),
        thresholds=report.thresholds,
        judge=judge,
        readings=options.readings,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
        signature="|".join(["SynthLink", *(f"{key}:{value}" for key, value in signed.items())]),
        versions=library_versions(),
    )
