"""How well the stream guard holds: false claims let through, true ones withheld, clauses a second.

    python -m benchmarks.guard_rates [--claims 600]

Claims about the shipped rivers, each with a verdict proved by the oracle: cards (entailed,
contradictory, unknown) and near-misses. They are put in words in five ways, embedded in running
text and streamed in chunks of random length. A second table takes the hand-written paraphrases of
``tests/data``, turned into statements. A claim counts as let through when every clause that holds
a word of it passed. The rates measure reading: the guard asks the oracle that made the labels.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adversarial.near_miss import NearMissPlan, make_near_misses
from cards.generator import CardPlan, default_predicates, make_cards
from eval.guard.licensing import Event, Policy
from eval.guard.stream import Guard
from eval.questions.declarative import statement_of
from kg.base.proportions import wilson
from kg.claims import Claim, Label
from kg.knowledge import KnowledgeBase
from kg.words.phrasing import parse_label
from kg.words.plain_text import sentence

PARAPHRASES = Path(__file__).parents[1] / "tests" / "data" / "rivers_paraphrases.jsonl"
STATEMENTS = PARAPHRASES.with_name("rivers_statements.jsonl")
SEED = 2025
POLICIES = {
    "default": Policy(),
    "--pass-unread": Policy(pass_unread=True),
    "--strict": Policy(strict=True),
}
LEADS = (
    "However, {}.", "It is well known that {}.", "In fact, {}.", "Moreover, {}.", "Of course {}.",
    "1. **{}**.\n", "- {}\n", "Note that {}!", "Therefore {}.", "Yes, {}.",
)  # fmt: skip
JOINTS = (" and ", ", and ", ", but ", ", while ", "; ")
# Text that claims nothing of the graph, with everything that must not cut a clause.
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


class Said(NamedTuple):
    """A claim in running text."""

    start: int
    end: int
    true: bool
    form: str


def labelled_claims(kb: KnowledgeBase, count: int) -> list[tuple[Claim, Label, str]]:
    """Claims with their labels, and where they come from."""
    preds = default_predicates(kb)
    cards = make_cards(kb, CardPlan(predicates=preds, per_label=count // 3, seed=SEED)).cards
    near = make_near_misses(kb, NearMissPlan(predicates=preds, num=count // 3, seed=SEED)).cards
    found = [(card.claim, card.label, card.label) for card in cards]
    found += [(card.claim, card.label, "near-miss") for card in near]
    random.Random(SEED).shuffle(found)
    return found


def _verbs(kb: KnowledgeBase, pred: str) -> list[str]:
    """A predicate's synonyms that stand between subject and object."""
    phrases = [phrase for phrase in kb.words.words_of(pred).synonyms if " " in phrase]
    return [p for p in phrases if p.split()[0].endswith("s") and parse_label(p).kind != "noun"]


def running_text(
    kb: KnowledgeBase, claims: list[tuple[Claim, Label, str]]
) -> tuple[str, list[Said]]:
    """All claims in words, with text around them, and where they stand."""
    rng = random.Random(SEED)
    words = kb.words
    text, said = "", []

    def put(before: str, clause: str, after: str, *, true: bool, form: str) -> None:
        nonlocal text
        start = len(text) + len(before)
        text += before + clause + after
        said.append(Said(start, start + len(clause), true, form))

    left = list(claims)
    while left:
        claim, label, origin = left.pop()
        if rng.random() < 0.4:
            text += rng.choice(FILLERS) + rng.choice((" ", " ", "\n", "\n\n"))
        clause, roll = words.clause_of(claim), rng.random()
        name = f"{origin}: "
        if roll < 0.25:
            put("", words.fact(claim), " ", true=label == "E", form=name + "fact")
        elif roll < 0.45:
            before, after = rng.choice(LEADS).split("{}")
            put(before, clause, after + " ", true=label == "E", form=name + "led in")
        elif roll < 0.65 and left:
            other, other_label, other_origin = left.pop()
            put("", words.fact(claim).rstrip("."), "", true=label == "E", form=name + "joined")
            put(rng.choice(JOINTS), words.clause_of(other), ". ", true=other_label == "E",
                form=f"{other_origin}: joined")  # fmt: skip
        elif roll < 0.85 and (verbs := _verbs(kb, claim.pred)):
            obj = words.name(claim.obj, claim.pred)
            told = sentence(f"{words.name(claim.subj)} {rng.choice(verbs)} {obj}")
            put("", told, ". ", true=label == "E", form=name + "synonym")
        else:
            put("", words.denied(claim), " ", true=label == "C", form=name + "denied")
    return text, said


def chunked(text: str) -> Iterator[str]:
    """The text in chunks of random length."""
    rng, at = random.Random(SEED), 0
    while at < len(text):
        size = rng.randint(1, 40)
        yield text[at : at + size]
        at += size


def let_through(events: list[Event], said: list[Said]) -> list[bool]:
    """For each claim whether all clauses that hold a word of it passed."""
    result, at = [], 0
    for claim in said:
        while events[at].start + len(events[at].source) <= claim.start:
            at += 1
        here, passed = at, True
        while here < len(events) and events[here].start < claim.end:
            passed &= events[here].passed
            here += 1
        result.append(passed)
    return result


def rate(hits: int, all_: int) -> str:
    """A share with Wilson's 95 % interval."""
    if not all_:
        return "–"
    low, high = wilson(hits, all_)
    return f"{hits}/{all_} = {hits / all_:.4f} [{low:.4f}, {high:.4f}]"


def measured(kb: KnowledgeBase, title: str, text: str, said: list[Said]) -> None:
    """Prints a table for one text."""
    print(f"\n{title}: {len(said)} claims, {len(text):,} characters\n")
    print("| policy | false claims let through | true claims withheld | clauses/s |")
    print("|---|---|---|---|")
    shown: list[tuple[Said, bool]] = []
    for name, policy in POLICIES.items():
        guard = Guard(kb, policy)
        began = time.perf_counter()
        events = list(guard.events(chunked(text)))
        speed = len(events) / (time.perf_counter() - began)
        passed = list(zip(said, let_through(events, said), strict=True))
        wrong = [ok for claim, ok in passed if not claim.true]
        right = [ok for claim, ok in passed if claim.true]
        print(f"| {name} | {rate(sum(wrong), len(wrong))} | "
              f"{rate(len(right) - sum(right), len(right))} | {speed:,.0f} |")  # fmt: skip
        shown = shown or passed
    print("\n| form (default policy) | false let through | true withheld |")
    print("|---|---|---|")
    for form in sorted({claim.form for claim in said}):
        wrong = [ok for claim, ok in shown if not claim.true and claim.form == form]
        right = [ok for claim, ok in shown if claim.true and claim.form == form]
        print(f"| {form} | {sum(wrong)}/{len(wrong)} | {len(right) - sum(right)}/{len(right)} |")


def paraphrased(kb: KnowledgeBase) -> tuple[str, list[Said]]:
    """The hand-written paraphrases as statements; those that make no claim count as false."""
    text, said = "", []
    for line in PARAPHRASES.read_text("utf-8").splitlines():
        row = json.loads(line)
        statement = statement_of(row["question"])
        if not statement.turned:
            continue
        true, form = False, "asks more than a claim"
        if row["claim"]:
            claim = _claim(kb, row["claim"])
            if claim is None:
                continue
            label = next(iter(kb.oracle.license_many([claim]))).label
            true, form = label == "E", f"batch {row['batch']}"
        said.append(Said(len(text), len(text) + len(statement.text), true, form))
        text += statement.text + " "
    return text, said


def statements(kb: KnowledgeBase) -> tuple[str, list[Said]]:
    """Hand-written statements; those that make no claim of the graph count as false."""
    text, said = "", []
    for line in STATEMENTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        true, form = False, "more than a claim"
        if row["claim"]:
            claim = _claim(kb, row["claim"])
            if claim is None:
                raise ValueError(f"the graph has no such claim: {line}")
            label = next(iter(kb.oracle.license_many([claim]))).label
            true, form = label == ("C" if row["denied"] else "E"), "a claim"
        said.append(Said(len(text), len(text) + len(row["text"]), true, form))
        text += row["text"] + " "
    return text, said


def _claim(kb: KnowledgeBase, named: list[str | int]) -> Claim | None:
    """A claim given by labels; None where a name has several bearers or is a number."""
    subj, pred, obj = named
    if not isinstance(obj, str):
        return None
    ends = [[i for i in kb.labels.find(name) if kb.labels.label(i) == name] for name in (subj, obj)]
    if any(len(found) != 1 for found in ends):
        return None
    return Claim(ends[0][0], kb.resolve_predicate(pred), ends[1][0])


def fillers_withheld(kb: KnowledgeBase) -> str:
    """Share of clauses withheld in text that claims nothing of the graph."""
    events = [e for e in Guard(kb).events([" ".join(FILLERS)]) if e.source.strip()]
    return rate(sum(not event.passed for event in events), len(events))


def main() -> None:
    """Prints the tables of docs/guard.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=1_500, help="claims to make, about")
    kb = KnowledgeBase.open("rivers")
    claims = labelled_claims(kb, parser.parse_args().claims)
    measured(kb, "From templates", *running_text(kb, claims))
    measured(kb, "Hand-written paraphrases, as statements", *paraphrased(kb))
    measured(kb, "Hand-written statements, never mended after", *statements(kb))
    print(f"\nclauses withheld in text without claims: {fillers_withheld(kb)}")


if __name__ == "__main__":
    main()
