"""Scores files of predictions: reads catalogue, graph and corpus, and builds all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from eval.synthlink.answer_source import list_repeat_files
from eval.synthlink.asked_questions import require_asked_questions
from eval.synthlink.catalog import SHIPPED_CATALOG, Catalog, read_catalog
from eval.synthlink.corrected.answer_scores import keep_readers
from eval.synthlink.items import Question
from eval.synthlink.predictions import Predictions, read_predictions
from eval.synthlink.scoring.comparison import compare_reports
from eval.synthlink.scoring.manifest import ComparedFile, SynthLinkManifest
from eval.synthlink.scoring.options import NO_RESOURCE, ScoreOptions
from eval.synthlink.scoring.outputs import AnswerView, ComparedScores, ScoredPredictions
from eval.synthlink.scoring.record import SynthLinkReport
from eval.synthlink.scoring.repeats import average_report, list_repeat_notes, score_repeats
from eval.synthlink.scoring.scores import score_predictions
from kg.base.console import StageCallback
from kg.base.errors import RecordError, SettingError
from kg.base.files import require_file, sha256_bytes, sha256_file, to_json_bytes
from kg.base.plain_text import format_count
from kg.base.provenance import escape_file_name, library_versions, make_relative_name
from retrieval.corpus import Corpus, read_corpus

if TYPE_CHECKING:
    from eval.synthlink.verdicts.record import Judgement
    from kg.knowledge import KnowledgeBase

SHIPPED_DOMAIN: Final = "synthlink"
"""Domain of the shipped catalogue."""
SHIPPED_NAME: Final = "shipped"
"""Name of the shipped catalogue and corpus in the manifest."""


class ScoringResult(msgspec.Struct, frozen=True):
    """The outputs of one scoring, before they are written."""

    scored: ScoredPredictions
    answers: tuple[AnswerView, ...]
    manifest: SynthLinkManifest


class References(NamedTuple):
    """The resources that predictions are scored against."""

    catalog: Catalog
    knowledge: KnowledgeBase | None
    """The graph that claims are checked against, or None if no graph is used."""
    pages: Corpus | None
    """The corpus whose source pages are evidence, or None if no corpus is used."""
    all_questions: tuple[Question, ...]
    """All questions of the catalogue, scored or not."""

    def read_answers(self, path: Path) -> Predictions:
        """Reads a file of predictions; those for questions that are not scored are left out.

        Raises:
            MissingFileError, RecordError: as ``read_predictions``; also if the file has rows and
                none is on a question of the catalogue.
        """
        ids = frozenset(Catalog(self.all_questions).ids)
        predictions = read_predictions(path, ids)
        refused = predictions.refused
        if refused and not predictions.rows and ids.isdisjoint(row.question_id for row in refused):
            raise RecordError(
                f"none of {format_count(len(refused), 'row')} is on a question of the catalogue; "
                f"{refused[0]}",
                where=str(path),
                hint="question_id is the id of a question, such as "
                f"{self.all_questions[0].id}; --catalog names another catalogue.",
            )
        scored_ids = set(self.catalog.ids)
        return Predictions(
            tuple(row for row in predictions.rows if row.question_id in scored_ids),
            predictions.refused,
        )


def read_references(options: ScoreOptions) -> References:
    """Reads catalogue, graph and corpus.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: catalogue or corpus cannot be read.
        DomainError, EpocheError: the domain cannot be opened.
    """
    catalog = read_catalog(options.catalog)
    return References(
        catalog.limit_questions(options.limit),
        _open_knowledge(options),
        _read_pages(options),
        catalog.questions,
    )


@keep_readers()
def score_files(
    options: ScoreOptions, watch: StageCallback | None = None, judged: Judgement | None = None
) -> ScoringResult:
    """Scores a file of predictions, and the files it is compared with, with the same settings.

    If a run with repeats wrote the predictions, all repeats are scored.

    Args:
        options: the files to score, and the settings.
        watch: called with the progress of each stage.
        judged: a judge's verdicts on the claims of the predictions; None without a judge.

    Raises:
        MissingFileError: a file does not exist.
        SettingError: a file of predictions is given twice, or the run that wrote a compared file
            was not asked all questions.
        RecordError, DuplicateIdError: the catalogue is invalid, or a file is not a list of
            predictions.
        DomainError, EpocheError: the domain cannot be opened.
    """
    repeat_files = list_repeat_files(options.predictions)
    files = [options.predictions, *options.compare]
    names = _name_files(files)
    for file in (*files, *repeat_files):
        require_file(file, "predictions file")
    references = read_references(options)
    catalog = references.catalog
    require_asked_questions(options.compare, len(catalog.questions), len(references.all_questions))
    score_with_options = partial(
        score_predictions,
        catalog=catalog,
        mode=options.mode,
        knowledge=references.knowledge,
        pages=references.pages,
        thresholds=options.thresholds,
        readings=options.readings,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
        judged=judged,
        watch=watch,
    )
    predictions = references.read_answers(options.predictions)
    report = score_with_options(predictions)
    repeats = None
    if repeat_files:
        others = [score_with_options(references.read_answers(path)) for path in repeat_files]
        repeats = score_repeats([report, *others])
        notes = (*list_repeat_notes(repeats), *report.notes)
        report = msgspec.structs.replace(report, notes=notes)
    other_reports = {
        name: score_with_options(references.read_answers(file))
        for name, file in zip(names[1:], options.compare, strict=True)
    }
    hashes = dict(zip(names, map(sha256_file, files), strict=True))
    differences = (
        compare_reports({names[0]: average_report(report, repeats), **other_reports})
        if other_reports
        else ()
    )
    scored = ScoredPredictions(
        name=names[0],
        report=report,
        repeats=repeats,
        comparisons=tuple(
            ComparedScores(
                name=name,
                sha256=hashes[name],
                modes={mode: scores.overall for mode, scores in other_report.modes.items()},
                differences=tuple(
                    difference for difference in differences if difference.baseline == name
                ),
            )
            for name, other_report in other_reports.items()
        ),
    )
    manifest = _build_manifest(options, references, report, hashes, repeat_files, judged)
    return ScoringResult(scored, tuple(_build_views(catalog, predictions, report)), manifest)


def _name_files(files: Sequence[Path]) -> list[str]:
    """Names each file by the shortest end of its path that distinguishes it from the others."""
    paths = [file.resolve() for file in files]
    if len(set(paths)) < len(paths):
        raise SettingError(
            "a file of predictions is given twice",
            where=", ".join(map(str, files)),
            hint="Give each file once.",
        )
    max_parts = max(len(path.parts) for path in paths)
    name_lists = [
        [escape_file_name("/".join(path.parts[-n:])) for path in paths]
        for n in range(1, max_parts + 1)
    ]
    return next(names for names in name_lists if len(set(names)) == len(names))


def _open_knowledge(options: ScoreOptions) -> KnowledgeBase | None:
    """Opens the graph that claims are checked against; returns None if no graph is used."""
    name = options.domain or (SHIPPED_DOMAIN if _is_shipped(options.catalog) else NO_RESOURCE)
    if name == NO_RESOURCE:
        return None
    from kg.knowledge import KnowledgeBase

    return KnowledgeBase.open_cached(name)


def _read_pages(options: ScoreOptions) -> Corpus | None:
    """Reads the corpus whose source pages are evidence; returns None if no corpus is used."""
    if options.pages is None:
        return read_corpus() if _is_shipped(options.catalog) else None
    return None if options.pages == NO_RESOURCE else read_corpus(options.pages)


def _is_shipped(catalog: Path | None) -> bool:
    return catalog is None or catalog.resolve() == SHIPPED_CATALOG.resolve()


def _build_views(
    catalog: Catalog, predictions: Predictions, report: SynthLinkReport
) -> list[AnswerView]:
    by_id = {row.question_id: row for row in predictions.rows}
    scores = next(iter(report.modes.values())).questions
    views = []
    for question, row in zip(catalog.questions, scores, strict=True):
        prediction = by_id.get(question.id)
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
        if prediction is not None:
            view = msgspec.structs.replace(
                view,
                answer=prediction.predicted_answer,
                docs=prediction.retrieved_docs,
                iterations=prediction.iterations,
            )
        views.append(view)
    return views


def _build_manifest(
    options: ScoreOptions,
    references: References,
    report: SynthLinkReport,
    hashes: dict[str, str],
    repeat_files: Sequence[Path],
    judged: Judgement | None,
) -> SynthLinkManifest:
    catalog, knowledge, pages, all_questions = references
    catalog_sha256 = sha256_bytes(to_json_bytes(all_questions))
    is_limited = len(catalog.questions) < len(all_questions)
    graph = None if knowledge is None else knowledge.graph.sha256
    catalog_name = corpus_name = SHIPPED_NAME
    if options.catalog is not None and not _is_shipped(options.catalog):
        catalog_name = make_relative_name(options.catalog, options.output_dir)
    if options.pages is not None:
        corpus_name = make_relative_name(options.pages, options.output_dir)
    main_name, *compared_names = hashes
    mode_settings = (options.thresholds, options.readings)
    signature_parts = {
        "mode": "+".join(report.modes),
        "cat": catalog_sha256[:12],
        "pred": hashes[main_name][:12],
        "graph": (graph or NO_RESOURCE)[:12],
        "pages": NO_RESOURCE if pages is None else pages.sha256[:12],
        "correct": "/".join(dict.fromkeys(f"{settings.correct:g}" for settings in mode_settings)),
        "boot": options.resamples,
        "seed": options.seed,
        "v": report.version,
    }
    repeats = [
        ComparedFile(
            name=file.name,
            file=make_relative_name(file, options.output_dir),
            sha256=sha256_file(file),
        )
        for file in repeat_files
    ]
    if is_limited:
        signature_parts["limit"] = len(catalog.questions)
    if repeats:
        signature_parts["repeats"] = len(repeats) + 1
    judge = None if judged is None else judged.to_manifest()
    if judge is not None:
        # A model need not repeat its verdicts, so the signature includes a hash of them too.
        signature_parts |= {
            "judge": judge["sha256"][:12],
            "verdicts": judge["verdicts_sha256"][:12],
        }
    return SynthLinkManifest(
        predictions=make_relative_name(options.predictions, options.output_dir),
        predictions_sha256=hashes[main_name],
        repeats=tuple(repeats),
        compared=tuple(
            ComparedFile(
                name=name, file=make_relative_name(file, options.output_dir), sha256=hashes[name]
            )
            for name, file in zip(compared_names, options.compare, strict=True)
        ),
        catalog=catalog_name,
        catalog_sha256=catalog_sha256,
        questions=len(all_questions),
        limit=len(catalog.questions) if is_limited else None,
        domain=report.graph,
        graph_sha256=graph,
        shapes_sha256=None if knowledge is None else knowledge.shapes.sha256,
        pages="" if pages is None else corpus_name,
        pages_sha256=None if pages is None else pages.sha256,
        modes=tuple(report.modes),
        thresholds=report.thresholds,
        judge=judge,
        readings=options.readings,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
        signature="|".join(
            ["SynthLink", *(f"{key}:{value}" for key, value in signature_parts.items())]
        ),
        versions=library_versions(),
    )
