"""Writing: a proved question and the facts around it as a card. Every card is written here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cards.card import Card
from cards.difficulty import difficulty_of
from cards.facts import Fact, as_json
from cards.proving import Prover
from cards.world import World
from kg.claims import GOLD_OF_LABEL, Proof, Verdict


def write_card(
    world: World,
    prover: Prover,
    facts: Sequence[Fact],
    sentences: Mapping[Fact, str],
    verdict: Verdict,
    *,
    kind: str,
    question: str,
    proof: Proof,
    salt: Sequence[object],
    meta: Mapping[str, Any],
) -> Card:
    """A card of facts in the order given.

    Args:
        world: the terms, and the facts of the graph around them.
        prover: the predicate's rules in words.
        facts: what the card states, in this order.
        sentences: each fact in words.
        verdict: the licence over the card alone; its label is the card's.
        kind: the card's kind.
        question: the claim as asked.
        proof: the proof the card shows: over the graph, or over the card where they differ.
        salt: what the id depends on before question and facts (the seed first).
        meta: what ``meta`` holds besides facts, card proof and difficulty.
    """
    claim = verdict.claim
    texts = tuple(sentences[fact] for fact in facts)
    difficulty, subgraph = difficulty_of(world.fact_graph, world.terms, claim)
    return Card(
        id=digest(*salt, question, *texts),
        facts=texts,
        rules=prover.texts,
        question=question,
        gold=GOLD_OF_LABEL[verdict.label],
        label=verdict.label,
        kind=kind,
        claim=claim,
        proof=proof,
        cluster=claim.subj,
        difficulty=difficulty,
        meta={
            "triples": as_json(facts, world.terms),
            "card_proof": msgspec.to_builtins(verdict.proof),
            "difficulty": subgraph,
            **meta,
        },
    )


def sentence(world: World, fact: Fact) -> str:
    """A fact in words."""
    claim = fact.claim(world.terms)
    return world.kb.words.denied(claim) if fact.denied else world.kb.words.fact(claim)


def digest(*parts: object) -> str:
    """An opaque id: 16 hex digits that depend on nothing but seed and visible text."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]
