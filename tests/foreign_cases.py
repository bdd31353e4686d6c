"""One case per benchmark for tests of other people's systems and predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmark_runs import make_text_run
from stage_calls import CommandResult, run_epoche

from cards.card import Card, read_cards, write_cards
from eval.extraction.samples.sample import Sample as ExtractionSample
from eval.retrieval_eval.questions import Question as RetrievalQuestion
from eval.skn.items import Sample as SknSample
from eval.skn.items import read_samples
from eval.skn.search_source import SHIPPED
from eval.synthlink.catalog import read_catalog
from eval.synthlink.items import Question as SynthLinkQuestion
from kg.claims import GOLD_OF_LABEL, Claim, Label

N_ITEMS: Final = 4
NAME: Final = "mine"
_LABELS: Final[tuple[Label, ...]] = ("E", "C", "U")
_SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A benchmark as its commands see it.

    Attributes:
        run: arguments of a run of ``N_ITEMS`` items; ``--system`` and ``--out`` are added.
        score: arguments of a scoring; ``--predictions`` and ``--out`` are added.
        prepare: writes the input files to the current folder.
        list_ids: returns the ids of all items.
        answer: a usable answer, as Python source and as JSON.
        value_field: name of the field of the answer in files of predictions.
        id_field: name of the field of the id.
        item_type: type of the items, which contain the gold.
    """

    run: tuple[object, ...]
    score: tuple[object, ...]
    list_ids: Callable[[], list[str]]
    answer: Any
    item_type: type
    prepare: Callable[[], None] = lambda: None
    value_field: str = "value"
    id_field: str = "id"

    def run_system(self, *flags: object) -> CommandResult:
        """Runs a system into ``out``."""
        return run_epoche(*self.run, "--out", self.out, *flags)

    def score_file(self, *flags: object) -> CommandResult:
        """Scores predictions into ``out``."""
        return run_epoche(*self.score, "--out", self.out, *flags)

    @property
    def out(self) -> Path:
        """Result file or folder, relative to the current folder."""
        return Path("out.jsonl" if self.run[0] == "eval" else "out")

    def read_statuses(self, system: str) -> list[str]:
        """Returns ok, invalid or error of each reply of a system."""
        if self.out.suffix:
            preds = [row["pred"] for row in read_lines(self.out) if row["system"] == system]
            return [pred.lower() if pred in ("INVALID", "ERROR") else "ok" for pred in preds]
        replies = read_lines(self.out / "replies.jsonl")
        return [row.get("status", "ok") for row in replies if row["system"] == system]

    def read_problems(self, system: str) -> str:
        """Returns everything that is recorded of a system's replies, as text."""
        path = self.out if self.out.suffix else self.out / "replies.jsonl"
        return json.dumps([row for row in read_lines(path) if row["system"] == system])


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write_cards() -> None:
    cards = [
        Card(
            id=f"card{number}",
            facts=(f"Brook {number} flows into Lake {number}.",),
            rules=("A river flows into at most one body of water.",),
            question=f"Does Brook {number} flow into Lake {number}?",
            gold=GOLD_OF_LABEL[_LABELS[number % 3]],
            label=_LABELS[number % 3],
            claim=Claim(f"urn:hidden:s{number}", "urn:hidden:p", f"urn:hidden:o{number}"),
            kind="hidden",
            cluster=f"urn:hidden:s{number}",
            difficulty="easy",
        )
        for number in range(N_ITEMS)
    ]
    write_cards(Path("cards.jsonl"), cards)


def _write_samples() -> None:
    rows = [
        {
            "id": f"sample{number}",
            "text": f"It is about town {number}.",
            "schema": _SCHEMA,
            "expected_output": {"city": f"hidden city {number}"},
        }
        for number in range(N_ITEMS)
    ]
    Path("samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _list_retrieval_ids() -> list[str]:
    return [row["id"] for row in read_lines(make_text_run() / "questions.jsonl")]


class _TextRun:
    """A path in the shared text run, which is built when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return str(make_text_run() / self._name)


_RETRIEVAL = (
    *("--run", _TextRun("run"), "--questions", _TextRun("questions.jsonl")),
    *("--split", "all", "--resamples", 100),
)
CASES: Final[dict[str, Case]] = {
    "cards": Case(
        run=("eval", "--cards", "cards.jsonl"),
        score=("score", "--cards", "cards.jsonl", "--resamples", 100),
        prepare=_write_cards,
        list_ids=lambda: [card.id for card in read_cards(Path("cards.jsonl"))],
        answer="YES",
        value_field="pred",
        item_type=Card,
    ),
    "extraction": Case(
        run=(
            *("extract", "run", "--dataset", "samples.jsonl"),
            *("--resamples", 100, "--no-report"),
        ),
        score=(
            *("extract", "score", "--dataset", "samples.jsonl"),
            *("--resamples", 100, "--no-report"),
        ),
        prepare=_write_samples,
        list_ids=lambda: [row["id"] for row in read_lines(Path("samples.jsonl"))],
        answer={"city": "Ulm"},
        item_type=ExtractionSample,
    ),
    "retrieval": Case(
        run=("retrieval", "eval", *_RETRIEVAL, "--baseline", "bm25", "--limit", N_ITEMS),
        score=("retrieval", "score", *_RETRIEVAL),
        list_ids=_list_retrieval_ids,
        answer=[],
        value_field="ranking",
        item_type=RetrievalQuestion,
    ),
    "skn": Case(
        run=(
            *("skn", "run", "--no-judge", "--no-report"),
            *("--resamples", 100, "--limit", N_ITEMS),
        ),
        score=("skn", "score", "--no-judge", "--no-report", "--resamples", 100),
        list_ids=lambda: [sample.id for sample in read_samples(SHIPPED / "samples.json")],
        answer="It is the cache.",
        value_field="answer",
        item_type=SknSample,
    ),
    "synthlink": Case(
        run=("synthlink", "run", "--no-score", "--limit", N_ITEMS),
        score=("synthlink", "score", "--resamples", 100),
        list_ids=lambda: [question.id for question in read_catalog(None).questions],
        answer="The steam engine.",
        value_field="predicted_answer",
        id_field="question_id",
        item_type=SynthLinkQuestion,
    ),
}
