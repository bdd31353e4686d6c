"""Builds the section of a folder of scores: its parts, in the order of reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eval.blocks.blocks import Block, Definitions, Figures, Fold, Paragraphs, Part, Verbatim
from eval.blocks.section import Section
from eval.blocks.text_format import describe_recordings
from eval.synthlink.blocks import charts, comparison_tables, loss_tables, tables
from eval.synthlink.blocks.exports import SAMPLES, csv_tables
from eval.synthlink.blocks.judge_tables import judging
from eval.synthlink.blocks.metric_texts import MODES, TERMS
from eval.synthlink.blocks.run_parts import build_run_blocks
from eval.synthlink.blocks.samples import samples_of_folder
from eval.synthlink.blocks.score_data import ScoredFolder, read_folder
from eval.synthlink.blocks.texts import LITERAL, caveats, extremes, verdict
from kg.base.files import to_json_bytes
from kg.base.plain_text import join_list

TITLE = "Can it answer questions that need several pages?"
_NOTES_SHOWN = 6
_WEAKEST = 8


def build_section(path: Path, id_: str) -> Section:
    """Builds the section of a folder of scores.

    Args:
        path: the folder.
        id_: begins the ids of everything in the section.
    """
    folder = read_folder(path)
    report = folder.report
    graph = f" · graph {report.graph}" if report.graph else ""
    model = f" · {folder.run.manifest.model}" if folder.run and folder.run.manifest.model else ""
    return Section(
        id=id_,
        name="SynthLink",
        title=TITLE,
        about=f"SynthLink · {folder.name}{model} · {folder.modes[0]} scores{graph}",
        verdict=verdict(folder),
        caveats=caveats(folder),
        notices=(
            *describe_recordings([folder.run.manifest.model or ""] if folder.run else []),
            *(() if folder.corrected else (LITERAL,)),
        ),
        stats=tuple(_build_stats(folder)),
        parts=tuple(_build_parts(folder)),
        overview=charts.build_strip_figure(folder),
        tables=csv_tables(folder),
        sources=folder.files,
        data={"scores": folder.scored, "manifest": folder.manifest},
        version=report.version,
    )


def _build_stats(folder: ScoredFolder) -> Iterator[tuple[str, str]]:
    report = folder.report
    statuses = [row.status for row in folder.headline.questions]
    yield f"{report.n_questions:,}", "question" if report.n_questions == 1 else "questions"
    yield f"{report.n_answered:,}", "answered"
    yield f"{statuses.count('abstained'):,}", "abstained"
    yield f"{statuses.count('missing'):,}", "missing"
    yield f"{statuses.count('refused'):,}", "refused"


def _build_parts(folder: ScoredFolder) -> Iterator[Part]:
    yield Part("headline", "Scores", "Scores of the answers", tuple(_build_headline(folder)))
    panels = charts.build_metric_figures(folder)
    said = (
        f"Dots are means, lines {folder.report.confidence * 100:g} % intervals. The same numbers "
        "stand in the table above."
    )
    yield Part("charts", "Charts", "One measure each", (Paragraphs((said,)), Figures(panels)))
    yield Part("losing", "Losses", "Where it fails", tuple(_build_losses(folder)))
    if folder.corrected is not None:
        yield Part("claims", "Claims", "Are the claims supported?", tuple(_build_claims(folder)))
        yield Part("rounds", "Rounds", "How soon it is right", tuple(_build_rounds(folder)))
    if folder.run is not None:
        blocks = tuple(build_run_blocks(folder, folder.run))
        yield Part("run", "Run", "How it went about it", blocks)
    yield Part("categories", "Categories", "By category", tuple(_build_categories(folder)))
    yield Part("pairs", "Comparison", "Against other files", tuple(_build_comparisons(folder)))
    yield Part("limits", "Limits", "What these numbers do not show", tuple(_build_limits(folder)))
    samples = samples_of_folder(folder, _ELSEWHERE)
    shown = len(samples.rows)
    told = "What was asked and expected, what was answered, and what each part of it is worth."
    if shown < len(folder.answers):
        told += f" The first {shown:,} of {len(folder.answers):,}; the CSV file has all."
    yield Part("samples", "Questions", "Every question", (Paragraphs((told,)), samples))
    yield Part("reading", "How to read this", "How to read this", (Definitions(TERMS),))
    yield Part("provenance", "Provenance", "How the numbers were made", _build_provenance(folder))


_ELSEWHERE = f"the CSV file of {SAMPLES} and synthlink_answers.jsonl"


def _build_headline(folder: ScoredFolder) -> Iterator[Block]:
    yield tables.headline(folder)
    if len(folder.modes) == 2:
        yield Paragraphs(
            (
                f"Both rows score the same answers. Literal takes {MODES['literal']}, by which "
                "a list of keywords scores higher than an honest answer.",
            )
        )
    overall = folder.headline.overall
    if overall.answered < overall.n:
        yield tables.coverage(folder)
        yield Fold("Over answered questions alone", (tables.answered_only(folder),))


def _build_losses(folder: ScoredFolder) -> Iterator[Block]:
    scores = folder.corrected
    yield Figures((charts.build_mark_figure(folder),))
    for mode in folder.modes:
        made_of = loss_tables.made_of(folder, mode)
        if made_of.rows and mode == folder.modes[0]:
            yield made_of
        elif made_of.rows:
            yield Fold(f"The {mode} score", (made_of,))
    if scores is None:
        return
    lowest = loss_tables.weakest(folder, scores, _WEAKEST)
    if lowest.rows:
        yield lowest


def _build_claims(folder: ScoredFolder) -> Iterator[Block]:
    scores = folder.corrected
    if scores is None or not any(row.parts.claims for row in scores.questions):
        yield Paragraphs(("No answer claims anything that could be checked.",))
        return
    yield Paragraphs(
        (
            f"Each claim of an answer is checked against {_evidence(folder)}, never against the "
            "evidence that the answer names. A claim is unjudged where none of them decides it for "
            "certain and no judge did; it may be true.",
        )
    )
    yield Figures((charts.build_claim_figure(scores),))
    yield loss_tables.claims(scores)
    yield Fold("What decided, in numbers", (loss_tables.deciders(scores),))
    yield from judging(folder.report.judge)


def _evidence(folder: ScoredFolder) -> str:
    """What claims are checked against."""
    report = folder.report
    held = [f"the graph {report.graph}"] if report.graph else []
    if any(fact for view in folder.answers for fact in view.facts):
        held.append("the facts of the steps")
    held.append("the expected answers")
    if report.pages:
        held.append(f"the texts of the sources in {report.pages}")
    return join_list(held)


def _build_rounds(folder: ScoredFolder) -> Iterator[Block]:
    scores = folder.corrected
    if scores is None:
        return
    yield Paragraphs(
        (
            "Rounds are the system's own statements. Nor is it "
            "published from which F1 on an answer is correct, so other values are shown too.",
        )
    )
    drawn = charts.build_sweep_figure(folder, scores)
    first = charts.build_first_correct_figure(folder, "corrected")
    yield Figures((first, drawn) if drawn is not None else (first,))
    yield tables.sweep(folder, scores)
    yield Fold("First correct, in numbers", (tables.rounds(folder, "corrected"),))


def _build_categories(folder: ScoredFolder) -> Iterator[Block]:
    said = extremes(folder)
    if said:
        yield Paragraphs((said,))
    yield tables.categories(folder, folder.modes[0])
    for mode in folder.modes[1:]:
        yield Fold(f"The {mode} scores by category", (tables.categories(folder, mode),))


def _build_comparisons(folder: ScoredFolder) -> Iterator[Block]:
    files = folder.scored.comparisons
    if not files:
        yield Paragraphs(
            ("No other file was compared. `--compare FILE` sets one beside these scores.",)
        )
        return
    yield Paragraphs(
        (
            "Both files on the same questions. Dots are differences, full where the data tell, "
            "hollow where they cannot; a true difference within the grey band may be missed.",
        )
    )
    yield comparison_tables.side_by_side(folder)
    for at, compared in enumerate(files):
        first: list[Block] = []
        more: list[Block] = []
        for mode in folder.modes:
            blocks = first if mode == folder.modes[0] else more
            drawn = charts.build_forest_figure(folder, at, mode)
            if drawn is not None:
                blocks.append(Figures((drawn,), "wide"))
            blocks.append(comparison_tables.differences(folder, compared, mode))
        parts = [comparison_tables.by_category(folder, compared, mode) for mode in folder.modes]
        more += [one for one in parts if one is not None]
        yield from first
        if more:
            yield Fold(f"Further numbers against {compared.name}", tuple(more))


def _build_limits(folder: ScoredFolder) -> Iterator[Block]:
    """The notes, the first of which matter most; long lists are folded."""
    notes = folder.report.notes
    yield Paragraphs((*_CANNOT_TELL, *notes[:_NOTES_SHOWN]), "list")
    if notes[_NOTES_SHOWN:]:
        rest = notes[_NOTES_SHOWN:]
        yield Fold(f"{len(rest):,} more", (Paragraphs(rest, "list"),))
    refused = folder.report.refused
    if refused:
        shown = tuple(map(str, refused[:_REFUSED_SHOWN]))
        more = len(refused) - len(shown)
        rows = (*shown, f"and {more:,} more") if more else shown
        yield Fold("Rows that are refused, and why", (Paragraphs(rows, "list"),))


_REFUSED_SHOWN = 50

_CANNOT_TELL = (
    "F1, RQS and FCS are over what rules or a judge decide. Rules decide words of the evidence "
    "more often than words of one's own, so read them together with their bounds. In literal, the "
    "right words in any order get as much as a right answer.",
    "Rounds, and the pages opened in them, are the system's own statements.",
    "A claim or step is unjudged where no rule is sure of it and no judge decided it. It is part "
    "of no share; the bounds say how far it could move a score.",
)


def _build_provenance(folder: ScoredFolder) -> tuple[Block, ...]:
    report = folder.report
    said = (
        f"Intervals by {report.resamples:,} resamples of whole questions, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    manifest = to_json_bytes(folder.manifest, indent=2).decode("utf-8")
    blocks: list[Block] = [
        Paragraphs((said,), "note"),
        Verbatim(folder.manifest.signature),
        Fold("Manifest of the scores", (Verbatim(manifest),)),
    ]
    if folder.run is not None:
        text = to_json_bytes(folder.run.manifest, indent=2).decode("utf-8")
        blocks.append(Fold("Manifest of the run", (Verbatim(text),)))
    return tuple(blocks)
