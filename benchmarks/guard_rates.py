"""Measures error rates and speed of the stream guard: false claims passed, true claims withheld.

    python -m benchmarks.guard_rates [--claims 600]

The claims are about the shipped rivers: those of cards (entailed, contradictory, unknown) and
near-misses, each with the oracle's verdict on the whole graph, which the guard uses, too. They are
worded in five ways, embedded in running text and streamed in chunks of random length. Further
tables use the manually written paraphrases (converted to statements) and statements of
``tests/data``, and what recorded models wrote about 40 rivers, labelled by hand
(``model_statements.jsonl``). A claim counts as passed if every clause that contains a word of it
passed. The rates measure only how well the guard reads text, because it uses the same oracle that
determined the labels.

    python -m benchmarks.guard_rates --write-sheet FILE

writes the replies of the recorded models, to be labelled by hand.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.generation.card_plan import CardPlan
from cards.generator import make_cards
from cards.knowledge_base import choose_default_predicates
from eval.guard.licenser import Event, Policy
from eval.guard.stream import Guard
from eval.model.client import ModelClient
from eval.model.options import ClientOptions
from eval.model.providers import RECORDED
from eval.model.recorded_replies import SHIPPED, find_recordings, load_recording
from eval.questions.declarative import convert_to_statement
from kg.base.plain_text import capitalise_sentence
from kg.base.proportions import wilson_interval
from kg.claims import Claim, Label
from kg.knowledge import KnowledgeBase
from kg.words.label_grammar import parse_label

PARAPHRASES = Path(__file__).parents[1] / "tests" / "data" / "rivers_paraphrases.jsonl"
MODEL_STATEMENTS = Path(__file__).with_name("model_statements.jsonl")
STATEMENTS = PARAPHRASES.with_name("rivers_statements.jsonl")
SEED = 2025
POLICIES = {
    "default": Policy(),
    "--pass-unread": Policy(pass_unread=True),
    "--strict": Policy(strict=True),
}
LEAD_IN_TEMPLATES = (
    "However, {}.", "It is well known that {}.", "In fact, {}.", "Moreover, {}.", "Of course {}.",
    "1. **{}**.\n", "- {}\n", "Note that {}!", "Therefore {}.", "Yes, {}.",
)  # fmt: skip
CONJUNCTIONS = (" and ", ", and ", ", but ", ", while ", "; ")
# Text without claims about the graph, with abbreviations, numbers and quotes whose punctuation must
# not end a clause.
FILLERS = (
    "Good question, and thanks for asking!",
    "Let me go through this step by step.",
    "Dr. J. R. Smith measured 3.14 and 1,000.5 units, e.g. in the U.S. and elsewhere.",
    "See https://example.org/a.b?c=d for more…",
    "He paused. \"Is that so?\" she asked. \"Yes. It is.\"",
    "Water is wet, as everybody knows.",
    "There are many ways to look at this, cf. Fig. 2 on p. 17.",
    "Maps show this well.",
    "At 9 a.m. we set out, at 5 p.m. we were back.",
    "I hope this helps. Ask me anything else!",
    "What a day... and what a night.",
    "First things first: names can be confusing.",
    "Here is what I found:",
    "People often mix these up, St. Nicholas knows why.",
    "In short, it is a matter of definition.",
    "Prof. Meyer et al. agree, vol. 3, no. 7.",
)  # fmt: skip


class ClaimSpan(NamedTuple):
    """Position, truth and wording of a claim in running text."""

    start: int
    end: int
    is_true: bool
    form: str


def make_labelled_claims(kb: KnowledgeBase, count: int) -> list[tuple[Claim, Label, str]]:
    """Makes claims, each with its label and its origin: the label of its card, or "near-miss"."""
    predicates = choose_default_predicates(kb)
    cards = make_cards(kb, CardPlan(predicates=predicates, per_label=count // 3, seed=SEED)).cards
    near_misses = make_near_misses(
        kb, NearMissPlan(predicates=predicates, num=count // 3, seed=SEED)
    ).cards
    origins = [(card.claim, str(card.label)) for card in cards]
    origins += [(card.claim, "near-miss") for card in near_misses]
    # What was set aside for the cards is true in the whole graph.
    verdicts = kb.oracle.license_many([claim for claim, _ in origins])
    labelled_claims = [
        (claim, verdict.label, origin)
        for (claim, origin), verdict in zip(origins, verdicts, strict=True)
    ]
    random.Random(SEED).shuffle(labelled_claims)
    return labelled_claims


def _list_verbs(kb: KnowledgeBase, pred: str) -> list[str]:
    """Lists the synonyms of a predicate that can be placed between subject and object."""
    phrases = [phrase for phrase in kb.verbaliser.get_wording(pred).synonyms if " " in phrase]
    return [p for p in phrases if p.split()[0].endswith("s") and parse_label(p).kind != "noun"]


def write_running_text(
    kb: KnowledgeBase, claims: list[tuple[Claim, Label, str]]
) -> tuple[str, list[ClaimSpan]]:
    """Writes all claims as sentences in running text, and returns it with their positions."""
    rng = random.Random(SEED)
    verbaliser = kb.verbaliser
    text, spans = "", []

    def append_clause(before: str, clause: str, after: str, *, is_true: bool, form: str) -> None:
        nonlocal text
        start = len(text) + len(before)
        text += before + clause + after
        spans.append(ClaimSpan(start, start + len(clause), is_true, form))

    remaining = list(claims)
    while remaining:
        claim, label, origin = remaining.pop()
        if rng.random() < 0.4:
            text += rng.choice(FILLERS) + rng.choice((" ", " ", "\n", "\n\n"))
        clause, roll = verbaliser.render_clause(claim), rng.random()
        form_prefix = f"{origin}: "
        if roll < 0.25:
            append_clause(
                "",
                verbaliser.render_fact(claim),
                " ",
                is_true=label == "E",
                form=form_prefix + "fact",
            )
        elif roll < 0.45:
            before, after = rng.choice(LEAD_IN_TEMPLATES).split("{}")
            append_clause(
                before, clause, after + " ", is_true=label == "E", form=form_prefix + "led in"
            )
        elif roll < 0.65 and remaining:
            second_claim, second_label, second_origin = remaining.pop()
            append_clause(
                "",
                verbaliser.render_fact(claim).rstrip("."),
                "",
                is_true=label == "E",
                form=form_prefix + "joined",
            )
            append_clause(rng.choice(CONJUNCTIONS), verbaliser.render_clause(second_claim), ". ",
                is_true=second_label == "E", form=f"{second_origin}: joined")  # fmt: skip
        elif roll < 0.85 and (verbs := _list_verbs(kb, claim.pred)):
            obj = verbaliser.render_term(claim.obj, claim.pred)
            sentence = capitalise_sentence(
                f"{verbaliser.render_term(claim.subj)} {rng.choice(verbs)} {obj}"
            )
            append_clause("", sentence, ". ", is_true=label == "E", form=form_prefix + "synonym")
        else:
            append_clause(
                "",
                verbaliser.render_denial(claim),
                " ",
                is_true=label == "C",
                form=form_prefix + "denied",
            )
    return text, spans


def split_chunks(text: str) -> Iterator[str]:
    """Yields the text in chunks of random length."""
    rng, offset = random.Random(SEED), 0
    while offset < len(text):
        size = rng.randint(1, 40)
        yield text[offset : offset + size]
        offset += size


def find_passed_claims(events: list[Event], spans: list[ClaimSpan]) -> list[bool]:
    """Returns for each claim whether all clauses that contain a word of it passed."""
    passed_claims, first_event = [], 0
    for claim in spans:
        while events[first_event].start + len(events[first_event].source) <= claim.start:
            first_event += 1
        event_index, is_passed = first_event, True
        while event_index < len(events) and events[event_index].start < claim.end:
            is_passed &= events[event_index].passed
            event_index += 1
        passed_claims.append(is_passed)
    return passed_claims


def format_rate(hits: int, total: int) -> str:
    """Formats a share with Wilson's 95 % interval."""
    if not total:
        return "–"
    low, high = wilson_interval(hits, total)
    return f"{hits}/{total} = {hits / total:.4f} [{low:.4f}, {high:.4f}]"


def print_rates(kb: KnowledgeBase, title: str, text: str, spans: list[ClaimSpan]) -> None:
    """Prints the tables of one text: rates by policy, and by form of the claims."""
    print(f"\n{title}: {len(spans)} claims, {len(text):,} characters\n")
    print("| policy | false claims let through | true claims withheld | clauses/s |")
    print("|---|---|---|---|")
    default_results: list[tuple[ClaimSpan, bool]] = []
    for name, policy in POLICIES.items():
        guard = Guard(kb, policy)
        start = time.process_time()
        events = list(guard.iter_events(split_chunks(text)))
        speed = len(events) / (time.process_time() - start)
        claim_results = list(zip(spans, find_passed_claims(events, spans), strict=True))
        false_claims_passed = [is_passed for claim, is_passed in claim_results if not claim.is_true]
        true_claims_passed = [is_passed for claim, is_passed in claim_results if claim.is_true]
        withheld = len(true_claims_passed) - sum(true_claims_passed)
        print(
            f"| {name} | {format_rate(sum(false_claims_passed), len(false_claims_passed))} | "
            f"{format_rate(withheld, len(true_claims_passed))} | {speed:,.0f} |"
        )
        default_results = default_results or claim_results
    print("\n| form (default policy) | false let through | true withheld |")
    print("|---|---|---|")
    for form in sorted({claim.form for claim in spans}):
        false_claims_passed = [
            is_passed
            for claim, is_passed in default_results
            if not claim.is_true and claim.form == form
        ]
        true_claims_passed = [
            is_passed
            for claim, is_passed in default_results
            if claim.is_true and claim.form == form
        ]
        withheld = len(true_claims_passed) - sum(true_claims_passed)
        print(
            f"| {form} | {sum(false_claims_passed)}/{len(false_claims_passed)} | "
            f"{withheld}/{len(true_claims_passed)} |"
        )


def read_paraphrases(kb: KnowledgeBase) -> tuple[str, list[ClaimSpan]]:
    """Reads the manual paraphrases as statements.

    Those without a claim count as false: they ask more than any claim states.
    """
    text, spans = "", []
    for line in PARAPHRASES.read_text("utf-8").splitlines():
        row = json.loads(line)
        statement = convert_to_statement(row["question"])
        if not statement.is_converted:
            continue
        is_true, form = False, "asks more than a claim"
        if row["claim"]:
            claim = _parse_claim(kb, row["claim"])
            if claim is None:
                continue
            label = next(iter(kb.oracle.license_many([claim]))).label
            is_true, form = label == "E", f"batch {row['batch']}"
        spans.append(ClaimSpan(len(text), len(text) + len(statement.text), is_true, form))
        text += statement.text + " "
    return text, spans


def read_statements(kb: KnowledgeBase) -> tuple[str, list[ClaimSpan]]:
    """Reads the manual statements; those without a claim about the graph count as false."""
    text, spans = "", []
    for line in STATEMENTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        is_true, form = False, "more than a claim"
        if row["claim"]:
            claim = _parse_claim(kb, row["claim"])
            if claim is None:
                raise ValueError(f"the graph has no such claim: {line}")
            label = next(iter(kb.oracle.license_many([claim]))).label
            is_true, form = label == ("C" if row["denied"] else "E"), "a claim"
        spans.append(ClaimSpan(len(text), len(text) + len(row["text"]), is_true, form))
        text += row["text"] + " "
    return text, spans


def read_model_replies() -> list[dict[str, str]]:
    """Returns what each recorded model wrote when it was asked by the plan ``guard``."""
    replies = []
    for path in find_recordings(SHIPPED):
        recording = load_recording(path)
        if not path.name.endswith(".guard.jsonl.xz"):
            continue
        for command in recording.header.plan:
            prompt = shlex.split(command)[-1]
            text = asyncio.run(_ask(f"{RECORDED}/{recording.header.model}", prompt))
            replies.append({"model": recording.header.model, "prompt": prompt, "text": text})
    return replies


async def _ask(model: str, prompt: str) -> str:
    async with ModelClient.open(ClientOptions(model=model), logprobs=False) as client:
        pieces = client.stream([{"role": "user", "content": prompt}])
        return "".join([piece async for piece in pieces])


def read_model_statements() -> tuple[str, list[ClaimSpan]]:
    """Reads the claims in the replies of recorded models, labelled by hand.

    A claim is true if the graph says so; what the graph contradicts or does not say is false.
    """
    labels = [json.loads(line) for line in MODEL_STATEMENTS.read_text("utf-8").splitlines()]
    text, spans = "", []
    for reply in read_model_replies():
        for row in labels:
            asked = f"Describe the river {row['river']} in "
            if row["model"] != reply["model"] or not reply["prompt"].startswith(asked):
                continue
            if not reply["text"].startswith(row["claim"], row["start"]):
                raise ValueError(f"the reply has changed since it was labelled: {row}")
            start = row["start"] + len(text)
            form = f"{row['model']}: {row['predicate']}"
            spans.append(ClaimSpan(start, start + len(row["claim"]), row["is_true"], form))
        text += reply["text"].rstrip() + "\n\n"
    return text, sorted(spans)


def _parse_claim(kb: KnowledgeBase, names: list[str | int]) -> Claim | None:
    """Returns the claim given by labels; None if a name is ambiguous or the object is a number."""
    subj, pred, obj = names
    if not isinstance(obj, str):
        return None
    entity_matches = [
        [i for i in kb.labels.find_entities(name) if kb.labels.get_label(i) == name]
        for name in (subj, obj)
    ]
    if any(len(matches) != 1 for matches in entity_matches):
        return None
    return Claim(entity_matches[0][0], kb.resolve_predicate(pred), entity_matches[1][0])


def rate_withheld_fillers(kb: KnowledgeBase) -> str:
    """Computes the share of clauses withheld in text without claims about the graph."""
    events = [e for e in Guard(kb).iter_events([" ".join(FILLERS)]) if e.source.strip()]
    return format_rate(sum(not event.passed for event in events), len(events))


def main() -> None:
    """Prints the tables of docs/how-to/guard.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--claims", type=int, default=1_500, help="approximate number of claims to make"
    )
    parser.add_argument("--write-sheet", type=Path, help="write the replies to be labelled, only")
    arguments = parser.parse_args()
    if arguments.write_sheet:
        rows = [json.dumps(reply, ensure_ascii=False) for reply in read_model_replies()]
        arguments.write_sheet.write_text("".join(f"{row}\n" for row in rows), "utf-8")
        return
    kb = KnowledgeBase.open("rivers")
    claims = make_labelled_claims(kb, arguments.claims)
    print_rates(kb, "From templates", *write_running_text(kb, claims))
    print_rates(kb, "Hand-written paraphrases, as statements", *read_paraphrases(kb))
    print_rates(kb, "Hand-written statements, never used for fixes", *read_statements(kb))
    print_rates(kb, "Replies of recorded models, labelled by hand", *read_model_statements())
    print(f"\nclauses withheld in text without claims: {rate_withheld_fillers(kb)}")


if __name__ == "__main__":
    main()
