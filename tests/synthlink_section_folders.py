"""Writes folders of SynthLink scores with the product's code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from synthlink_six_answers import (
    HONEST_ANSWERS,
    SIX_QUESTIONS_FILE,
    honest_predictions,
    read_six_questions,
    shuffled_predictions,
)

from eval.synthlink.agents.trail import CitedPage, Link, Round, Trail
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.options import RunOptions
from eval.synthlink.run import run
from eval.synthlink.score_files import write_scores
from eval.synthlink.scoring.options import ScoreOptions

RESAMPLES = 100


def score_shipped_predictions(
    folder: Path,
    rows: Sequence[Any],
    other_answers: Mapping[str, Sequence[Any]] | None = None,
    **options: Any,
) -> Path:
    """Scores predictions against the six questions, or another catalogue, into ``folder/run``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"answers": folder / "answers.json"}
    paths |= {name: folder / f"{name}.json" for name in other_answers or {}}
    for path, predictions in zip(
        paths.values(), [rows, *(other_answers or {}).values()], strict=True
    ):
        path.write_text(json.dumps(list(predictions)), encoding="utf-8")
    main_file, *other_files = paths.values()
    settings: dict[str, Any] = {
        "catalog": SIX_QUESTIONS_FILE,
        "domain": "synthlink",
        "resamples": RESAMPLES,
    }
    settings |= options
    write_scores(
        ScoreOptions(
            predictions=main_file, output_dir=folder / "run", compare=tuple(other_files), **settings
        )
    )
    return folder / "run"


def score_honest_answers(folder: Path, **options: Any) -> Path:
    """Scores the honest answers, with the shuffled expected answers for comparison."""
    catalog = read_six_questions()
    other_answers = {"shuffled": shuffled_predictions(catalog)}
    return score_shipped_predictions(folder, honest_predictions(catalog), other_answers, **options)


def score_incomplete_answers(folder: Path) -> Path:
    """Scores three answers, one blank answer and one invalid row for six questions.

    The sixth question has no row, and one row has an unknown question id.
    """
    rows = honest_predictions(read_six_questions())
    rows[3]["predicted_answer"] = "  "
    rows[5]["retrieved_docs"] = "not a list"
    del rows[4]
    return score_shipped_predictions(
        folder, [*rows, {"question_id": "<b>HIA-99</b>", "predicted_answer": "?"}]
    )


class ScriptedAgent:
    """An agent that answers, abstains or fails depending on the question; it asks no model.

    Of the six questions the third is abstained from, the fourth has an INVALID reply, and the fifth
    fails; the others are answered.
    """

    name = "teller"

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, question: str) -> Trail:
        catalog = read_six_questions()
        index = [entry.question for entry in catalog.questions].index(question)
        asked_question = catalog.questions[index]
        sources = tuple(CitedPage(entry.url, entry.title) for entry in asked_question.sources)
        unrelated_page = CitedPage("https://news.example/timeline", "A timeline")
        honest_answer = HONEST_ANSWERS[asked_question.id]
        if index == 2:
            return Trail(abstained=True, why="no page says so", rounds=(Round(query="ozone"),))
        if index == 3:
            return Trail(readable=False, why="a list, no object")
        if index == 4:
            raise RuntimeError("the line is dead")
        return Trail(
            answer=honest_answer,
            rounds=(
                Round(
                    query=f"{asked_question.category} first",
                    found=(*sources[:2], unrelated_page),
                    read=sources[:1],
                    links=(
                        Link("It was so.", sources[0].url, "licensed"),
                        Link("It was not so.", "", "contradicted"),
                    ),
                ),
                Round(query="second", found=(unrelated_page,), answer=honest_answer, done=True),
            ),
            docs=sources[:1],
        )


def run_and_score(folder: Path, **options: Any) -> Path:
    """Runs ``ScriptedAgent`` and scores its predictions into the same folder."""
    settings: dict[str, Any] = {"catalog": SIX_QUESTIONS_FILE} | options
    finished_run = run(
        RunOptions(system="synthlink_section_folders:ScriptedAgent", out=folder, **settings)
    )
    write_scores(
        ScoreOptions(
            predictions=finished_run.folder / "predictions.json",
            output_dir=folder,
            catalog=SIX_QUESTIONS_FILE,
            domain="synthlink",
            resamples=RESAMPLES,
        )
    )
    return folder


def write_catalogue(path: Path, texts: Sequence[str]) -> Path:
    """Writes a catalogue that has each text in every text field."""
    questions = [
        Question(
            id=f"HIA-{number:02}",
            category="HIA",
            question=f"{number} {text}",
            answer=text,
            sources=(Source(text, text), Source("Plain", "https://en.wikipedia.org/wiki/Plain")),
            steps=(Step(text, text, (text[:200],)), Step("Look it up.", f"It says {text}")),
        )
        for number, text in enumerate(texts)
    ]
    path.write_bytes(b"".join(msgspec.json.encode(question) + b"\n" for question in questions))
    return path


def answer_catalogue(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Makes answers to the catalogue of ``write_catalogue``, with each text in every text field."""
    return [
        {
            "question_id": f"HIA-{number:02}",
            "predicted_answer": f"It says that {text} was in the sea.",
            "retrieved_docs": [text, "https://en.wikipedia.org/wiki/Plain"],
            "iterations": [{"answers": [text], "docs": [text]}],
            "sources_verified": [text],
        }
        for number, text in enumerate(texts)
    ]
