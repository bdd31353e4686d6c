"""Writes folders of SynthLink scores with the code that runs and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from synthlink_attacks import (
    HONEST_ANSWERS,
    SIX_QUESTIONS_FILE,
    attack_predictions,
    honest_predictions,
    read_six_questions,
)

from eval.synthlink.agents.trail import CitedPage, Link, Round, Trail
from eval.synthlink.question import Question, Source, Step
from eval.synthlink.running.run import run
from eval.synthlink.running.run_options import RunOptions
from eval.synthlink.score_options import ScoreOptions
from reporting.synthlink_files import write_scores

RESAMPLES = 100


def score_shipped_predictions(
    folder: Path,
    rows: Sequence[Any],
    others: Mapping[str, Sequence[Any]] | None = None,
    **options: Any,
) -> Path:
    """Scores predictions against the six questions, or another catalogue, into ``folder/run``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"answers": folder / "answers.json"}
    paths |= {name: folder / f"{name}.json" for name in others or {}}
    for path, told in zip(paths.values(), [rows, *(others or {}).values()], strict=True):
        path.write_text(json.dumps(list(told)), encoding="utf-8")
    first, *more = paths.values()
    chosen: dict[str, Any] = {
        "catalog": SIX_QUESTIONS_FILE,
        "domain": "synthlink",
        "resamples": RESAMPLES,
    }
    chosen |= options
    write_scores(
        ScoreOptions(predictions=first, output_dir=folder / "run", compare=tuple(more), **chosen)
    )
    return folder / "run"


def score_honest_answers(folder: Path, **options: Any) -> Path:
    """Scores the honest answers, with the shuffled expected answers for comparison."""
    catalog = read_six_questions()
    others = {"shuffled": attack_predictions("answer shuffled", catalog)}
    return score_shipped_predictions(folder, honest_predictions(catalog), others, **options)


def score_incomplete_answers(folder: Path) -> Path:
    """Six questions: three answered, one blank, one without a row, one refused; one extra row."""
    rows = honest_predictions(read_six_questions())
    rows[3]["predicted_answer"] = "  "
    rows[5]["retrieved_docs"] = "not a list"
    del rows[4]
    return score_shipped_predictions(
        folder, [*rows, {"question_id": "<b>HIA-99</b>", "predicted_answer": "?"}]
    )


class Teller:
    """An agent with a different outcome for each of the six questions; it asks no model."""

    name = "teller"

    def params(self) -> dict[str, Any]:
        return {}

    async def answer(self, question: str) -> Trail:
        catalog = read_six_questions()
        at = [one.question for one in catalog.questions].index(question)
        asked = catalog.questions[at]
        sources = tuple(CitedPage(one.url, one.title) for one in asked.sources)
        other = CitedPage("https://news.example/timeline", "A timeline")
        told = HONEST_ANSWERS[asked.id]
        if at == 2:
            return Trail(abstained=True, why="no page says so", rounds=(Round(query="ozone"),))
        if at == 3:
            return Trail(readable=False, why="a list, no object")
        if at == 4:
            raise RuntimeError("the line is dead")
        return Trail(
            answer=told,
            rounds=(
                Round(
                    query=f"{asked.category} first",
                    found=(*sources[:2], other),
                    read=sources[:1],
                    links=(
                        Link("It was so.", sources[0].url, "licensed"),
                        Link("It was not so.", "", "contradicted"),
                    ),
                ),
                Round(query="second", found=(other,), answer=told, done=True),
            ),
            docs=sources[:1],
        )


def run_and_score(folder: Path, **options: Any) -> Path:
    """Runs that agent and scores it into the same folder."""
    chosen: dict[str, Any] = {"catalog": SIX_QUESTIONS_FILE} | options
    done = run(RunOptions(system="synthlink_section_folders:Teller", out=folder, **chosen))
    write_scores(
        ScoreOptions(
            predictions=done.predictions,
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
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in questions))
    return path


def answer_catalogue(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Answers to that catalogue with each text in every text field."""
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
