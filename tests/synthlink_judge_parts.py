"""Helpers of the judging tests: six questions with answers and pages, and a scripted judge."""

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
from eval.synthlink.judges.anchor_claims import reverse_fact
from eval.synthlink.judges.judge_items import AnswerClaims, JudgeItem, select_items_to_judge
from eval.synthlink.judges.judge_run import JudgeOptions
from eval.synthlink.metrics import JudgedClaim
from eval.synthlink.verdicts.record import (
    JUDGED_FILE,
    MIN_ANCHORS,
    Finding,
    ItemKind,
    VerdictLine,
)
from kg.base.files import to_json_bytes


class Topic(NamedTuple):
    """The texts of one question; names with a number, such as Voss1, occur in one topic only."""

    question: str
    facts: tuple[str, str]
    answer: str
    page: str
    paraphrase: str
    """An answer in words that the facts do not have."""


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
    folder: Path, write_answer: Callable[[int], str] = lambda index: TOPICS[index].paraphrase
) -> Path:
    """Writes ``catalog.jsonl``, ``pages.jsonl`` and ``predictions.json``; returns the folder.

    Args:
        folder: where the files are written.
        write_answer: returns the answer to the n-th question.
    """
    folder.mkdir(parents=True, exist_ok=True)
    questions, pages = [], []
    for index, topic in enumerate(TOPICS):
        address = f"https://example.org/{index}"
        questions.append(
            {
                "id": QUESTION_IDS[index],
                "category": QUESTION_IDS[index][:3],
                "question": topic.question,
                "answer": topic.answer,
                "sources": [{"title": f"Page {index}", "url": address}],
                "hops": 2,
                "steps": [
                    {"instruction": "Look it up.", "fact": fact, "keywords": [fact.split()[-1]]}
                    for fact in topic.facts
                ],
            }
        )
        pages.append({"url": address, "title": f"Page {index}", "text": topic.page})
    predictions = [
        {"question_id": QUESTION_IDS[index], "predicted_answer": write_answer(index)}
        for index in range(len(TOPICS))
    ]
    for name, rows in (("catalog.jsonl", questions), ("pages.jsonl", pages)):
        (folder / name).write_bytes(b"".join(to_json_bytes(row) + b"\n" for row in rows))
    (folder / "predictions.json").write_bytes(to_json_bytes(predictions))
    return folder


def make_score_command(workspace: Path, *options: object, out: str = "out") -> list[object]:
    """Makes the command that scores the predictions in a folder."""
    files = (
        "--predictions",
        workspace / "predictions.json",
        "--catalog",
        workspace / "catalog.jsonl",
    )
    evidence = ("--pages", workspace / "pages.jsonl", "--domain", "none")
    settings = ("--resamples", 100, "--output-dir", workspace / out)
    return ["synthlink", "score", *files, *evidence, *settings, *options]


def make_judge_command(
    workspace: Path, model: str, *options: object, out: str = "out"
) -> list[object]:
    """Makes the command that scores the predictions with a judge."""
    model_options = ("--judge-model", model, "--retries", 0, "--no-cache")
    return make_score_command(workspace, *model_options, *options, out=out)


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """Reads the lines of the journal in a folder of scores."""
    return [json.loads(line) for line in (folder / JUDGED_FILE).read_bytes().splitlines()]


def read_block(request: ChatRequest, name: str) -> str:
    """Reads the content of one block of a request, with entities decoded."""
    match = re.search(
        rf"<{name}>\n(.*?)\n</{name}>", str(request.body["messages"][1]["content"]), re.S
    )
    assert match is not None, name
    return html.unescape(match[1])


def decide_verdict(request: ChatRequest) -> str:
    """Returns the verdict of the scripted judge.

    A claim that denies something, or exchanges both sides of a fact, is contradicted. Another claim
    is supported if the evidence has all its names.
    """
    claim, evidence = read_block(request, "claim"), read_block(request, "evidence")
    facts = [fact for topic in TOPICS for fact in topic.facts]
    reversed_facts = list(filter(None, map(reverse_fact, facts)))
    if "never" in claim or any(
        "not true" in text or any(fact in text for fact in reversed_facts)
        for text in (claim, evidence)
    ):
        return "contradicted"
    names = re.findall(r"[A-Z][a-z]+\d", claim)
    return "supported" if names and all(name in evidence for name in names) else "not_told"


def write_judge_reply(request: ChatRequest) -> str:
    """Writes the judge's reply to a request."""
    return json.dumps({"verdict": decide_verdict(request)})


def make_judge_model(delay: float = 0.0) -> Callable[[ChatRequest], Behaviour]:
    """Makes a scripted model that judges correctly."""
    return lambda _: normal_reply(write_judge_reply, delay=delay)


def list_items_to_judge(
    catalog: Catalog, pages: SourcePages, positions: Sequence[int]
) -> list[JudgeItem]:
    """Lists the items to judge for the paraphrased answers to the questions at these positions."""
    rows = [
        AnswerClaims(
            catalog.questions[index],
            (JudgedClaim(TOPICS[index].paraphrase, "unjudged", "nothing"),),
        )
        for index in positions
    ]
    return select_items_to_judge(rows, catalog.questions, pages)


def make_judge_options(model: str, *models: str, **changes: Any) -> JudgeOptions:
    """Makes the options of a judge on a local server."""
    client = ClientOptions(max_retries=0, backoff_s=0.005, timeout_s=5.0)
    return JudgeOptions(models=(model, *models), client=client, **changes)


def make_anchor_lines(passed: bool = True) -> tuple[VerdictLine, ...]:
    """Makes the lines of a judge on anchors of claims and steps, which it passes or fails."""
    wrong: Finding = "contradicted" if passed else "supported"
    verdicts: dict[ItemKind, Finding] = {
        "own fact": "supported",
        "negated": wrong,
        "stated step": "supported",
        "denied step": wrong,
    }
    return tuple(
        VerdictLine(
            key=f"{kind} {number}", kind=kind, question_id=QUESTION_IDS[0], claim=kind,
            verdict=verdict, planned=2, votes=(verdict, verdict),
        )
        for kind, verdict in verdicts.items()
        for number in range(MIN_ANCHORS)
    )  # fmt: skip


def remove_latency(line: VerdictLine) -> VerdictLine:
    """Returns a line without its latency."""
    return msgspec.structs.replace(line, latency_s=None)
