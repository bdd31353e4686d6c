"""The run behind the scores, where its rows stand beside them: what a system did in each round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from eval.synthlink.agents.trail import CitedPage, Trail
from eval.synthlink.corrected.pages import parse_citation
from eval.synthlink.files import PREDICTIONS, ROWS, RUN_MANIFEST
from eval.synthlink.row import SynthLinkRow, read_rows
from eval.synthlink.run_manifest import RunManifest, read_run_manifest_file
from eval.synthlink.scoring.manifest import SynthLinkManifest
from eval.synthlink.scoring.outputs import AnswerView
from kg.base.errors import CardSetMismatchError
from kg.words.normaliser import normalise_phrase

_HINT = "Give the command that ran it again: it goes on where it stopped, and scores anew."


@dataclass(frozen=True)
class Run:
    """A run of a system.

    Attributes:
        manifest: how it was made.
        rows: question id → what became of it; only of questions that were asked.
        files: what all this was read from.
    """

    manifest: RunManifest
    rows: dict[str, SynthLinkRow]
    files: tuple[Path, ...]


def read_run(folder: Path, scores: SynthLinkManifest, answers: Sequence[AnswerView]) -> Run | None:
    """Returns the run that wrote the scored predictions; None if no run of ours did.

    Raises:
        MissingFileError: there is a manifest of a run and no row.
        RecordError: manifest or rows are damaged.
        CardSetMismatchError: the rows say something else than what was scored.
    """
    if scores.predictions != PREDICTIONS or not (folder / RUN_MANIFEST).is_file():
        return None
    manifest = read_run_manifest_file(folder / RUN_MANIFEST)
    views = {view.question_id: view for view in answers}
    rows: dict[str, SynthLinkRow] = {}
    for row in read_rows(folder / ROWS):
        if row.repeat:
            continue  # The page shows the answers of the first repeat, which are those scored.
        view = views.get(row.id)
        if view is None or _answer(row) != view.answer:
            raise CardSetMismatchError(
                f"what the run says to question {row.id!r} is not what was scored",
                where=str(folder / ROWS),
                hint=_HINT,
            )
        rows[row.id] = row
    return Run(manifest, rows, (folder / RUN_MANIFEST, folder / ROWS))


def _answer(row: SynthLinkRow) -> str:
    """What a row predicts."""
    return row.trail.answer if row.outcome == "ANSWERED" and row.trail is not None else ""


class Reached(NamedTuple):
    """How far a system got to the sources of the catalogue, over all questions that were asked."""

    sources: int
    found: int
    """Sources that a search brought up in any round."""
    read: int
    named: int
    """Sources among the pages that the answer is said to rest on."""


def reached(run: Run, answers: Iterable[AnswerView]) -> Reached:
    """Counts the sources that were found, read and named."""
    counts = [0, 0, 0, 0]
    for view in answers:
        row = run.rows.get(view.question_id)
        if row is None:
            continue
        trail = row.trail or Trail()
        stages = (
            _keys(one for turn in trail.rounds for one in turn.found),
            _keys(one for turn in trail.rounds for one in turn.read),
            _keys(trail.docs),
        )
        for source in view.sources:
            counts[0] += 1
            wanted = _keys([CitedPage(source.url, source.title)])
            for at, keys in enumerate(stages, start=1):
                counts[at] += not wanted.isdisjoint(keys)
    return Reached(*counts)


def _keys(cited: Iterable[CitedPage]) -> set[str]:
    """What tells pages apart: their addresses in normal form, their titles where they have none."""
    return {
        parse_citation(one.url).address or normalise_phrase(one.url)
        if one.url
        else normalise_phrase(one.title)
        for one in cited
    }


class Done(NamedTuple):
    """What a system did for one question."""

    rounds: int
    searches: int
    found: int
    read: int
    linked: int


def done(row: SynthLinkRow) -> Done:
    """Counts rounds, searches, pages and sentences; pages anew in every round."""
    rounds = (row.trail or Trail()).rounds
    return Done(
        len(rounds),
        sum(bool(one.query) for one in rounds),
        sum(len(one.found) for one in rounds),
        sum(len(one.read) for one in rounds),
        sum(len(one.links) for one in rounds),
    )
