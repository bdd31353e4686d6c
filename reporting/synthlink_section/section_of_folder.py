"""The section of a folder of SynthLink scores: its parts, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator

from kg.base.files import to_json_bytes
from kg.words.plain_text import join_list
from reporting.benchmark_sections.blocks import (
    Block,
    Figures,
    Fold,
    Part,
    Prose,
    Terms,
    Verbatim,
)
from reporting.benchmark_sections.section import Section
from reporting.synthlink_section import figures, grids, losing_grids, pair_grids
from reporting.synthlink_section.csv_tables import SAMPLES, csv_tables
from reporting.synthlink_section.judging import judging
from reporting.synthlink_section.measure_words import MODES, TERMS
from reporting.synthlink_section.reading import ScoredFolder
from reporting.synthlink_section.run_parts import run_blocks
from reporting.synthlink_section.samples_of_folder import samples_of_folder
from reporting.synthlink_section.verdict_words import LITERAL, caveats, extremes, verdict

TITLE = "Can it link what no single page tells?"
_NOTES_SHOWN = 6
_WEAKEST = 8


def section_of_folder(folder: ScoredFolder, id_: str) -> Section:
    """Everything a folder of scores has to show.

    Args:
        folder: the scores.
        id_: begins the ids of everything in the section.
    """
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
        notices=() if folder.corrected else (LITERAL,),
        stats=tuple(_stats(folder)),
        parts=tuple(_parts(folder, id_)),
        overview=figures.strips_figure(folder, id_),
        tables=csv_tables(folder),
        made_from=folder.files,
        data={"scores": folder.scored, "manifest": folder.manifest},
        version=report.version,
    )


def _stats(folder: ScoredFolder) -> Iterator[tuple[str, str]]:
    report = folder.report
    statuses = [row.status for row in folder.headline.questions]
    yield f"{report.n_questions:,}", "question" if report.n_questions == 1 else "questions"
    yield f"{report.n_answered:,}", "answered"
    yield f"{statuses.count('abstained'):,}", "abstained"
    yield f"{statuses.count('missing'):,}", "missing"
    yield f"{statuses.count('refused'):,}", "refused"


def _parts(folder: ScoredFolder, id_: str) -> Iterator[Part]:
    yield Part("headline", "Scores", "What the answers are worth", tuple(_headline(folder)))
    panels = figures.measure_figures(folder, id_)
    said = (
        f"Dots are means, lines {folder.report.confidence * 100:g} % intervals. The same numbers "
        "stand in the table above."
    )
    yield Part("charts", "Charts", "One measure each", (Prose((said,)), Figures(panels)))
    yield Part("losing", "Losses", "Where it fails", tuple(_losing(folder, id_)))
    if folder.corrected is not None:
        yield Part("claims", "Claims", "Is what it says borne out?", tuple(_claims(folder, id_)))
        yield Part("rounds", "Rounds", "How soon it is right", tuple(_rounds(folder, id_)))
    if folder.run is not None:
        blocks = tuple(run_blocks(folder, folder.run, id_))
        yield Part("run", "Run", "How it went about it", blocks)
    yield Part("categories", "Categories", "By category", tuple(_categories(folder)))
    yield Part("pairs", "Comparison", "Against other files", tuple(_pairs(folder, id_)))
    yield Part("limits", "Limits", "What these numbers cannot say", tuple(_limits(folder)))
    samples = samples_of_folder(folder, _ELSEWHERE)
    shown = len(samples.rows)
    told = "What was asked and expected, what was answered, and what each part of it is worth."
    if shown < len(folder.answers):
        told += f" The first {shown:,} of {len(folder.answers):,}; the CSV file has all."
    yield Part("samples", "Questions", "Every question", (Prose((told,)), samples))
    yield Part("reading", "How to read this", "How to read this", (Terms(TERMS),))
    yield Part("provenance", "Provenance", "Where the numbers come from", _provenance(folder))


_ELSEWHERE = f"the CSV file of {SAMPLES} and synthlink_answers.jsonl"


def _headline(folder: ScoredFolder) -> Iterator[Block]:
    yield grids.headline(folder)
    if len(folder.modes) == 2:
        yield Prose(
            (
                f"Both rows score the same answers. Literal takes {MODES['literal']}, by which "
                "keywords thrown together beat an honest answer; so read the first row.",
            )
        )
    overall = folder.headline.overall
    if overall.answered < overall.n:
        yield grids.coverage(folder)
        yield Fold("Over answered questions alone", (grids.answered_only(folder),))


def _losing(folder: ScoredFolder, id_: str) -> Iterator[Block]:
    scores = folder.corrected
    drawn = None if scores is None else figures.steps_figure(folder, scores, id_)
    marks = figures.marks_figure(folder, id_)
    yield Figures((marks, drawn) if drawn is not None else (marks,))
    yield losing_grids.made_of(folder, folder.modes[0])
    for mode in folder.modes[1:]:
        yield Fold(f"The {mode} score", (losing_grids.made_of(folder, mode),))
    if scores is None:
        return
    lengths = losing_grids.chain_lengths(folder, scores)
    by_place = losing_grids.steps(folder, scores)
    if lengths is None or by_place is None:
        yield Prose(("The catalogue states no facts, so nobody can say where chains break.",))
    else:
        yield lengths
        yield Fold("Steps by their place, in numbers", (by_place,))
    lowest = losing_grids.weakest(folder, scores, _WEAKEST)
    if lowest.lines:
        yield lowest


def _claims(folder: ScoredFolder, id_: str) -> Iterator[Block]:
    scores = folder.corrected
    if scores is None or not any(row.parts.claims for row in scores.questions):
        yield Prose(("No answer claims anything that could be checked.",))
        return
    yield Prose(
        (
            f"Each sentence of an answer is held against {_evidence(folder)}, never against what "
            "the answer brings along. What cannot be told may well be true.",
        )
    )
    yield Figures((figures.claims_figure(scores, id_),))
    yield losing_grids.claims(scores)
    yield Fold("What decided, in numbers", (losing_grids.deciders(scores),))
    yield from judging(folder.report.judge)


def _evidence(folder: ScoredFolder) -> str:
    """What claims are held against."""
    report = folder.report
    held = [f"the graph {report.graph}"] if report.graph else []
    if any(fact for view in folder.answers for fact in view.facts):
        held.append("the facts of the steps")
    held.append("the expected answers")
    if report.pages:
        held.append(f"the texts of the sources in {report.pages}")
    return join_list(held)


def _rounds(folder: ScoredFolder, id_: str) -> Iterator[Block]:
    scores = folder.corrected
    if scores is None:
        return
    yield Prose(
        (
            "Rounds are what a system says of itself; nobody saw them take place. Nor is it "
            "published from which F1 on an answer is correct, so other values are shown too.",
        )
    )
    drawn = figures.sweep_figure(folder, scores, id_)
    first = figures.first_correct_figure(folder, "corrected", id_)
    yield Figures((first, drawn) if drawn is not None else (first,))
    if drawn is not None:
        yield grids.sweep(folder, scores)
    yield Fold("First correct, in numbers", (grids.rounds(folder, "corrected"),))


def _categories(folder: ScoredFolder) -> Iterator[Block]:
    said = extremes(folder)
    if said:
        yield Prose((said,))
    yield grids.categories(folder, folder.modes[0])
    for mode in folder.modes[1:]:
        yield Fold(f"The {mode} scores by category", (grids.categories(folder, mode),))


def _pairs(folder: ScoredFolder, id_: str) -> Iterator[Block]:
    files = folder.scored.comparisons
    if not files:
        yield Prose(("No other file was compared. `--compare FILE` sets one beside these scores.",))
        return
    yield Prose(
        (
            "Both files on the same questions. Dots are differences, full where the data tell, "
            "hollow where they cannot; a true difference within the grey band may well be missed.",
        )
    )
    yield pair_grids.side_by_side(folder)
    for at, compared in enumerate(files):
        first: list[Block] = []
        more: list[Block] = []
        for mode in folder.modes:
            blocks = first if mode == folder.modes[0] else more
            drawn = figures.forest_figure(folder, at, mode, id_)
            if drawn is not None:
                blocks.append(Figures((drawn,), "wide"))
            blocks.append(pair_grids.differences(folder, compared, mode))
        parts = [pair_grids.by_category(folder, compared, mode) for mode in folder.modes]
        more += [one for one in parts if one is not None]
        yield from first
        if more:
            yield Fold(f"Further numbers against {compared.name}", tuple(more))


def _limits(folder: ScoredFolder) -> Iterator[Block]:
    """The notes, the first of which matter most; long lists are folded."""
    notes = folder.report.notes
    yield Prose((*_CANNOT_TELL, *notes[:_NOTES_SHOWN]), "list")
    if notes[_NOTES_SHOWN:]:
        rest = notes[_NOTES_SHOWN:]
        yield Fold(f"{len(rest):,} more", (Prose(rest, "list"),))
    refused = folder.report.refused
    if refused:
        shown = tuple(map(str, refused[:_REFUSED_SHOWN]))
        more = len(refused) - len(shown)
        rows = (*shown, f"and {more:,} more") if more else shown
        yield Fold("Rows that are refused, and why", (Prose(rows, "list"),))


_REFUSED_SHOWN = 50

_CANNOT_TELL = (
    "All measures compare words. An answer in words of its own that shares none with facts and "
    "expected answers gets little, however right it is.",
    "Pages and rounds are what a system says of itself. Nobody knows whether a page was read.",
    "A claim counts as borne out where half of its words stand in one piece of evidence; only what "
    "the graph can read is held to who did what.",
)


def _provenance(folder: ScoredFolder) -> tuple[Block, ...]:
    report = folder.report
    said = (
        f"Intervals by {report.resamples:,} resamples of whole questions, seed {report.seed}, at "
        f"{report.confidence * 100:g} %."
    )
    manifest = to_json_bytes(folder.manifest, indent=2).decode("utf-8")
    blocks: list[Block] = [
        Prose((said,), "note"),
        Verbatim(folder.manifest.signature),
        Fold("Manifest of the scores", (Verbatim(manifest),)),
    ]
    if folder.run is not None:
        text = to_json_bytes(folder.run.manifest, indent=2).decode("utf-8")
        blocks.append(Fold("Manifest of the run", (Verbatim(text),)))
    return tuple(blocks)
