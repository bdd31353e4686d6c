"""Every command that calls a model or a judge, in a form that tests of faults share."""

from __future__ import annotations

import atexit
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import extraction_run_parts
import skn_run_parts
import synthlink_judge_parts
import synthlink_run_parts
from servers.behaviours import ChatRequest, ReplyWriter
from stage_calls import run_epoche

from cards.card import Card, read_cards
from eval.harness.reply import REPLIES, VOTES
from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.judge_items import list_anchors
from eval.synthlink.verdicts.record import JUDGED_FILE
from retrieval.corpus import read_corpus

Outcomes = list[tuple[int, str]]
"""Number of an item, and the outcome of a row, or of a vote, on it."""


@dataclass(frozen=True)
class FaultCase:
    """A command of a few items whose calls can meet faults.

    Attributes:
        write_inputs: writes the inputs of so many items to a folder.
        build_command: returns the command, given the folder, the model and the output.
        out: the output, relative to the folder of a run.
        journal: the file of replies or votes, relative to the folder of a run.
        find_item: returns the number of the item of a request; None for a request that meets no
            fault, such as the warm-up.
        write_reply: writes a good reply to any request.
        read_outcomes: reads the outcomes from the folder of a run: ``ERROR`` for a failed call,
            ``INVALID`` for an unreadable reply, else anything.
        max_items: maximum number of items.
        retry: flags that ask the failed calls again.
        retried: the outcomes that are asked again.
        report: the warning about failures; it may contain the number of failed and of all rows.
        all_failed_code: exit code of a run in which all calls failed.
    """

    write_inputs: Callable[[Path, int], object]
    build_command: Callable[[Path, str, Path], Sequence[object]]
    find_item: Callable[[ChatRequest], int | None]
    write_reply: ReplyWriter
    read_outcomes: Callable[[Path], Outcomes]
    out: str = "."
    journal: str = REPLIES
    max_items: int = 1_000
    retry: tuple[str, ...] = ("--retry-errors",)
    retried: tuple[str, ...] = ("ERROR",)
    report: str = "{} of {} rows are ERROR"
    all_failed_code: int = 27


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads a file of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def read_numbered_outcomes(folder: Path, names: Sequence[str]) -> Outcomes:
    """Reads the outcomes of ``rows.jsonl``, given the ids of the items by number."""
    rows = read_lines(folder / "rows.jsonl")
    return [
        (names.index(row["id"]), row["outcome"].replace("UNPARSABLE", "INVALID")) for row in rows
    ]


# --- cards ------------------------------------------------------------------------------------


@cache
def make_cards() -> tuple[Path, list[Card]]:
    """Makes a card file; every system with a model can be asked its cards."""
    folder = Path(tempfile.mkdtemp(prefix="epoche-fault-cards-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "cards.jsonl"
    made = run_epoche("cards", "--domain", "mayors", "--num-per-type", 10, "--out", file)
    assert made.code == 0, made.err
    return file, read_cards(file)


def find_card(request: ChatRequest) -> int | None:
    """Returns the number of the card in a request."""
    _, cards = make_cards()
    numbers = [number for number, card in enumerate(cards) if card.question in request.prompt]
    return numbers[0] if numbers else None


def write_card_reply(request: ChatRequest) -> str:
    """Writes a confident answer that every system can parse, or an extraction if one is asked."""
    number = find_card(request)
    system, *user_messages = (str(message["content"]) for message in request.body["messages"])
    if number is None:
        return "ready"
    if any("<text>" in message for message in user_messages):
        if "[SKN]" in system:
            return skn_run_parts.SKN_REPLY
        return '{"entities": [], "relationships": [], "claims": []}'
    card = make_cards()[1][number]
    subject, object_ = (
        term.rpartition("/")[2].replace("-", " ").title()
        for term in (card.claim.subj, card.claim.obj)
    )
    is_city_claim = card.claim.pred.endswith("country")
    predicate = "X is a city in Y" if is_city_claim else "X had Y as its mayor on 1 January 2020"
    claim = {"subject": subject, "predicate": predicate, "object": object_, "negated": False}
    answer = ("YES", "NO")[hashlib.sha256(card.question.encode()).digest()[0] % 2]
    return json.dumps({"answer": answer, "confidence": 0.75, "claims": [claim], "reason": "so"})


def read_card_outcomes(folder: Path) -> Outcomes:
    """Reads the outcomes of a result file."""
    ids = [card.id for card in make_cards()[1]]
    rows = read_lines(folder / "results.jsonl")
    return [(ids.index(row["id"]), row["pred"]) for row in rows]


def make_card_case(system: str, *settings: str) -> FaultCase:
    """Makes the case of one system that is asked cards."""
    counts: dict[Path, int] = {}

    def build_command(folder: Path, model: str, out: Path) -> Sequence[object]:
        files = ("--cards", make_cards()[0], "--domain", "mayors", "--out", out)
        return [
            "eval",
            "--system",
            system,
            *files,
            "--limit",
            counts[folder],
            "--model",
            model,
            *settings,
        ]

    return FaultCase(
        write_inputs=lambda folder, count: counts.update({folder: count}),
        build_command=build_command,
        find_item=find_card,
        write_reply=write_card_reply,
        read_outcomes=read_card_outcomes,
        out="results.jsonl",
        journal="results.jsonl",
    )


# --- extraction -------------------------------------------------------------------------------


def find_extraction_sample(request: ChatRequest) -> int | None:
    """Returns the number of the sample in a request."""
    person = re.search(r"Number(\d+) is", request.prompt)
    order = re.search(r"Order (\d+) is", request.prompt)
    return int(person[1]) if person else int(order[1]) - 700 if order else None


EXTRACTION = FaultCase(
    write_inputs=extraction_run_parts.write_samples,
    build_command=lambda folder, model, out: [
        *("extract", "run", "--dataset", folder / "data.jsonl", "--models", model),
        *("--resamples", 100, "--no-report", "--out", out),
    ],
    find_item=find_extraction_sample,
    write_reply=extraction_run_parts.reply_correctly,
    read_outcomes=lambda folder: read_numbered_outcomes(
        folder, [extraction_run_parts.make_sample(number)["id"] for number in range(99)]
    ),
)


# --- SKN --------------------------------------------------------------------------------------

SKN_JUDGES = ("accuracy", "hallucination", "groundedness")


def find_skn_sample(request: ChatRequest) -> int | None:
    """Returns the number of the sample in a request."""
    match = re.search(r"service (\d+) stall", request.prompt)
    return int(match[1]) if match else None


def is_skn_judge(request: ChatRequest) -> bool:
    """Returns whether a request asks a judge."""
    return skn_run_parts.find_request_role(request) in SKN_JUDGES


def write_skn_reply(request: ChatRequest) -> str:
    """Writes a good reply in any role."""
    return skn_run_parts.REPLIES[skn_run_parts.find_request_role(request)](request)


def read_skn_votes(folder: Path) -> Outcomes:
    """Reads the outcomes of the votes, and checks that failed ones decide nothing."""
    outcomes = []
    for vote in read_lines(folder / VOTES):
        failed = vote.get("failed", False)
        problems = vote["verdict"]["problems"]
        outcomes.append(
            (int(vote["id"][1:]), "ERROR" if failed else "INVALID" if problems else "ok")
        )
    for row in skn_run_parts.read_rows(folder):
        verdicts = row["verdicts"] or {}
        for judge in verdicts.get("failed", ()):
            values = {**verdicts, **verdicts["hallucination"]}
            key = {"accuracy": "correct", "hallucination": "detected"}.get(judge, judge)
            assert values[key] is None, "a failed judge must leave an answer unjudged"
    return outcomes


def make_skn_case(*, judges: bool) -> FaultCase:
    """Makes the case of the pipelines, or that of their judges."""
    return FaultCase(
        write_inputs=skn_run_parts.write_inputs,
        build_command=lambda folder, model, out: [
            *("skn", "run", "--dataset", folder / "samples.json"),
            *("--search", folder / "search.jsonl", "--model", model),
            *("--judge-model", "custom/judge-1", "--judge-repeats", 1),
            *("--resamples", 100, "--no-report", "--out", out),
        ],
        find_item=lambda request: (
            find_skn_sample(request) if is_skn_judge(request) == judges else None
        ),
        write_reply=write_skn_reply,
        read_outcomes=read_skn_votes
        if judges
        else lambda folder: read_numbered_outcomes(folder, [f"q{n:02}" for n in range(99)]),
        journal=VOTES if judges else REPLIES,
        max_items=18,  # each has six calls and more
        report="rows lack a judge's vote; --retry-errors" if judges else FaultCase.report,
        all_failed_code=0 if judges else 27,
    )


# --- SynthLink --------------------------------------------------------------------------------


def make_synthlink_case(system: str) -> FaultCase:
    """Makes the case of one system."""
    return FaultCase(
        write_inputs=synthlink_run_parts.write_inputs,
        build_command=lambda folder, model, out: [
            *("synthlink", "run", "--system", system, "--catalog", folder / "catalog.jsonl"),
            *(() if system == "raw" else ("--pages", folder / "pages.jsonl")),
            *("--model", model, "--no-score", "--out", out),
        ],
        find_item=synthlink_run_parts.question_number,
        write_reply=lambda request: synthlink_run_parts.REPLIES[
            synthlink_run_parts.find_request_role(request)
        ](request),
        read_outcomes=lambda folder: read_numbered_outcomes(
            folder, [synthlink_run_parts.question_id(number) for number in range(99)]
        ),
    )


FACTS = [fact for topic in synthlink_judge_parts.TOPICS for fact in topic.facts]


@cache
def number_claims() -> dict[str, int]:
    """Numbers the claims that a judge of SynthLink predictions is asked.

    First the six answers, then the wrong anchors of the first two questions, one by one. The last
    three numbers meet no fault: the facts, and the wrong anchors of two questions each. They are
    enough right and wrong anchors for a judge to pass.
    """
    numbers = {
        topic.paraphrase: number for number, topic in enumerate(synthlink_judge_parts.TOPICS)
    }
    with tempfile.TemporaryDirectory() as name:
        folder = synthlink_judge_parts.write_inputs(Path(name))
        questions = read_catalog(folder / "catalog.jsonl").questions
        pages = SourcePages(read_corpus(folder / "pages.jsonl"))
    first, middle, last = ([question.id for question in questions[i : i + 2]] for i in (0, 2, 4))
    anchors = list_anchors(questions, questions, pages)
    wrong = [anchor for anchor in anchors if anchor.view.claim not in FACTS]
    for anchor in wrong:
        if anchor.question_id in first:
            numbers.setdefault(anchor.view.claim, len(numbers))
    n_faulty = len(numbers)
    numbers |= dict.fromkeys(FACTS, n_faulty)
    for number, group in enumerate((middle, last), n_faulty + 1):
        for anchor in wrong:
            if anchor.question_id in group:
                numbers.setdefault(anchor.view.claim, number)
    return numbers


def read_judged_claims(folder: Path) -> Outcomes:
    """Reads the outcomes of the judge's lines, and checks that claims without verdict stay so."""
    outcomes = []
    for line in read_lines(folder / JUDGED_FILE):
        outcome = str(line["verdict"])
        if line["verdict"] is None:
            outcome = "ERROR" if {vote["kind"] for vote in line["lost"]} == {"call"} else "INVALID"
        outcomes.append((number_claims()[line["claim"]], outcome))
    scores = json.loads((folder / "synthlink_scores.json").read_bytes())["report"]
    questions = scores["modes"]["corrected"]["questions"]
    unjudged = {number for number, outcome in outcomes if outcome in {"ERROR", "INVALID"}}
    for number, question in enumerate(questions):
        by_judge = question["parts"]["claims"][0]["by"] == "judge"
        assert by_judge == (number not in unjudged), "a failed judge must decide nothing"
    return outcomes


SYNTHLINK_JUDGE = FaultCase(
    write_inputs=lambda folder, _count: synthlink_judge_parts.write_inputs(folder),
    build_command=lambda folder, model, out: [
        *synthlink_judge_parts.make_score_command(folder, "--judge-model", model),
        *("--output-dir", out),
    ],
    find_item=lambda request: number_claims()[synthlink_judge_parts.read_block(request, "claim")],
    write_reply=synthlink_judge_parts.write_judge_reply,
    read_outcomes=read_judged_claims,
    journal=JUDGED_FILE,
    max_items=max(number_claims().values()) + 1,
    retry=(),
    # A claim without a verdict is judged again, whatever the reason.
    retried=("ERROR", "INVALID"),
    report="claims got no verdict from the judge",
)

CASES: dict[str, FaultCase] = {
    "cards raw": make_card_case("raw"),
    "cards rag_llm": make_card_case("rag_llm"),
    "cards graph_rag_llm": make_card_case("graph_rag_llm"),
    "cards consistency": make_card_case("consistency", "--set", "samples=2"),
    "cards json": make_card_case("json"),
    "cards skn": make_card_case("skn"),
    "extraction": EXTRACTION,
    "skn": make_skn_case(judges=False),
    "skn judges": make_skn_case(judges=True),
    "synthlink agent": make_synthlink_case("agent"),
    "synthlink raw": make_synthlink_case("raw"),
    "synthlink judge": SYNTHLINK_JUDGE,
}
"""Every command that calls a model. The formats of SKN share one class, so ``json`` and ``skn``
stand for those that are asked cards."""
