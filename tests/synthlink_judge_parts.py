"""Parts of judging tests: six questions with answers and pages, and a model that judges claims."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from servers.behaviours import Behaviour, ChatRequest, normal_reply

from eval.model.options import ClientOptions
from eval.synthlink.catalog import Catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.corrected.thresholds import Thresholds
from eval.synthlink.judges.judge_items import AnswerClaims, JudgeItem, items_to_judge
from eval.synthlink.judges.judge_run import JudgeOptions
from eval.synthlink.metrics import JudgedClaim
from eval.synthlink.verdicts.record import JUDGED_FILE, VerdictLine
from kg.base.files import to_json_bytes


class Topic(NamedTuple):
    """The material of one question. Capitalised names with a number identify the topic."""

    question: str
    facts: tuple[str, str]
    answer: str
    page: str
    said: str
    """An answer to it, in words that the facts do not have."""


TOPICS = (
    Topic(
        "Which town did the builder of the Alcor1 observatory come from?",
        (
            "The Alcor1 observatory owes its founding to Voss1.",
            "The astronomer Voss1 spent a childhood in Tarn1.",
        ),
        "The founder, Voss1, came from Tarn1.",
        "Alcor1 was set up by Voss1, who grew up in Tarn1 beside a lake.",
        "A lens grinder of Tarn1 is the one who paid for Alcor1.",
    ),
    Topic(
        "Which bird did the keeper of the Brell2 lighthouse draw?",
        (
            "Keeper Quill2 tended the lamp of Brell2.",
            "A heron named Osk2 is on every sheet that Quill2 left.",
        ),
        "Quill2, who kept Brell2, drew the heron Osk2.",
        "Quill2 looked after Brell2 for decades and sketched Osk2, a heron.",
        "Night after night Osk2 sat there for its portrait.",
    ),
    Topic(
        "Which metal came from the mine below Crag3?",
        (
            "Below Crag3 lies the shaft Dorn3.",
            "Miners at Dorn3 broke cobalt out of the rock.",
        ),
        "Cobalt, out of the shaft Dorn3 below Crag3.",
        "The pit Dorn3, under Crag3, gave cobalt until it flooded.",
        "Blue glass was made with what Dorn3 gave.",
    ),
    Topic(
        "Which opera did the tailor of Pell4 pay for?",
        (
            "Tailor Fenn4 had a workshop in Pell4.",
            "Money from Fenn4 put the opera Lyra4 on stage.",
        ),
        "Fenn4, tailor in Pell4, paid for Lyra4.",
        "Fenn4 sewed coats in Pell4 and financed Lyra4, an opera in three acts.",
        "Coats and collars carried the whole of Lyra4.",
    ),
    Topic(
        "Which bridge was lost in the flood of the river Gant5?",
        (
            "Rain for nine days swelled Gant5.",
            "Ice and timber tore the bridge Hale5 away.",
        ),
        "Hale5, torn away by Gant5.",
        "After long rain Gant5 rose, and the crossing Hale5 was gone by morning.",
        "Nobody crossed there again before a ferry replaced Hale5.",
    ),
    Topic(
        "Which law followed the strike at Irons6?",
        (
            "Weavers at Irons6 laid their shuttles down.",
            "Parliament passed the Jute6 act on working hours.",
        ),
        "The Jute6 act, after weavers struck at Irons6.",
        "The walkout at Irons6 led lawmakers to Jute6, which limited the day to ten hours.",
        "Shorter days came with Jute6.",
    ),
)
QUESTION_IDS = ("HIA-01", "EIS-01", "EEC-01", "STE-01", "PSM-01", "SFT-01")


def write_inputs(
    folder: Path, answer_to: Callable[[int], str] = lambda place: TOPICS[place].said
) -> Path:
    """Writes ``catalog.jsonl``, ``pages.jsonl`` and ``predictions.json``; returns the folder.

    Args:
        folder: where.
        answer_to: the answer to the n-th question.
    """
    folder.mkdir(parents=True, exist_ok=True)
    questions, pages = [], []
    for place, topic in enumerate(TOPICS):
        address = f"https://example.org/{place}"
        questions.append(
            {
                "id": QUESTION_IDS[place],
                "category": QUESTION_IDS[place][:3],
                "question": topic.question,
                "answer": topic.answer,
                "sources": [{"title": f"Page {place}", "url": address}],
                "hops": 2,
                "steps": [
                    {"instruction": "Look it up.", "fact": fact, "keywords": [fact.split()[-1]]}
                    for fact in topic.facts
                ],
            }
        )
        pages.append({"url": address, "title": f"Page {place}", "text": topic.page})
    predictions = [
        {"question_id": QUESTION_IDS[place], "predicted_answer": answer_to(place)}
        for place in range(len(TOPICS))
    ]
    for name, rows in (("catalog.jsonl", questions), ("pages.jsonl", pages)):
        (folder / name).write_bytes(b"".join(to_json_bytes(row) + b"\n" for row in rows))
    (folder / "predictions.json").write_bytes(to_json_bytes(predictions))
    return folder


def score_command(workspace: Path, *more: object, out: str = "out") -> list[object]:
    """The command that scores the predictions in a folder."""
    files = (
        "--predictions",
        workspace / "predictions.json",
        "--catalog",
        workspace / "catalog.jsonl",
    )
    evidence = ("--pages", workspace / "pages.jsonl", "--domain", "none")
    rest = ("--resamples", 100, "--output-dir", workspace / out)
    return ["synthlink", "score", *files, *evidence, *rest, *more]


def judge_command(workspace: Path, model: str, *more: object, out: str = "out") -> list[object]:
    """The same command with a judge."""
    how = ("--judge-model", model, "--retries", 0, "--no-cache")
    return score_command(workspace, *how, *more, out=out)


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """The lines of the journal in a folder of scores."""
    return [json.loads(line) for line in (folder / JUDGED_FILE).read_bytes().splitlines()]


def read_block(request: ChatRequest, name: str) -> str:
    """The content of one block of a request, with entities decoded."""
    found = re.search(
        rf"<{name}>\n(.*?)\n</{name}>", str(request.body["messages"][1]["content"]), re.S
    )
    assert found is not None, name
    return html.unescape(found[1])


def decide_verdict(request: ChatRequest) -> str:
    """The verdict of a careful judge: names decide, and "never" negates."""
    claim, evidence = read_block(request, "claim"), read_block(request, "evidence")
    if "never" in claim:
        return "contradicted"
    names = re.findall(r"[A-Z][a-z]+\d", claim)
    return "supported" if names and all(name in evidence for name in names) else "not_told"


def judge_reply(request: ChatRequest) -> str:
    """A judge's reply."""
    return json.dumps({"verdict": decide_verdict(request)})


def judge_model(delay: float = 0.0) -> Callable[[ChatRequest], Behaviour]:
    """A model that judges correctly."""
    return lambda _: normal_reply(judge_reply, delay=delay)


def list_items_to_judge(
    catalog: Catalog, pages: SourcePages, places: Sequence[int]
) -> list[JudgeItem]:
    """The items to judge about the answers at these positions."""
    rows = [
        AnswerClaims(
            catalog.questions[place],
            TOPICS[place].said,
            (JudgedClaim(TOPICS[place].said, "unknown", "nothing"),),
        )
        for place in places
    ]
    return items_to_judge(rows, catalog.questions, pages, Thresholds())


def judge_options(model: str, *models: str, **changed: Any) -> JudgeOptions:
    """Options of a judge on a local server."""
    client = ClientOptions(max_retries=0, backoff_s=0.005, timeout_s=5.0)
    return JudgeOptions(models=(model, *models), client=client, **changed)


def read_journal_lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of the journal in a folder of scores."""
    return [json.loads(line) for line in (folder / JUDGED_FILE).read_bytes().splitlines()]


def without_latency(line: VerdictLine) -> VerdictLine:
    """A line without its latency."""
    return msgspec.structs.replace(line, latency_s=None)
