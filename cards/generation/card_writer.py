"""Writes cards: combines a proved question with its facts, rules and proofs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from cards.card import Card, Difficulty
from cards.facts import Fact, facts_to_json
from cards.generation.context import Role
from cards.generation.difficulty import compute_shared_difficulty
from cards.generation.graph_lookup import GraphLookup
from cards.generation.pools import Pool
from cards.generation.prover import Prover
from kg.claims import GOLD_OF_LABEL, Label, Proof, Verdict


class Triplet(NamedTuple):
    """Proved roles that share one anchor and one set of facts."""

    pool: Pool
    anchor: int
    """The term that all three cards ask about."""
    roles: list[Role]
    facts: list[Fact]
    graph_verdicts: dict[str, Verdict]
    """Label → verdict over the graph."""
    card_verdicts: dict[str, Verdict]
    """Label → verdict over the card's facts and rules."""
    kinds: dict[str, str]
    """Label → kind."""
    derived: frozenset[Label]
    """The labels, E or C, that do not follow from the card's facts without a derived one."""


def write_triplet_cards(
    lookup: GraphLookup, prover: Prover, triplet: Triplet, seed: int, rng: Random
) -> list[Card]:
    """Writes the cards of a triplet, with the same facts (shuffled), rules and question wording."""
    sentences = {fact: write_sentence(lookup, fact) for fact in triplet.facts}
    wording_choice = rng.random()
    claims = [str(triplet.card_verdicts[role.label].claim) for role in triplet.roles]
    context_id = make_opaque_id(seed, *sorted(sentences.values()), *sorted(claims))
    difficulty = compute_shared_difficulty(
        lookup.fact_graph,
        lookup.terms,
        (triplet.card_verdicts[role.label].claim for role in triplet.roles),
    )
    cards: list[Card] = []
    for role in triplet.roles:
        facts = list(triplet.facts)
        rng.shuffle(facts)
        verdict = triplet.card_verdicts[role.label]
        cards.append(
            write_card(
                lookup,
                prover,
                facts,
                sentences,
                verdict,
                kind=triplet.kinds[role.label],
                question=lookup.kb.verbaliser.render_question(verdict.claim, wording_choice),
                proof=triplet.graph_verdicts[role.label].proof,
                salt=[seed],
                difficulty=difficulty,
                meta={
                    "context": context_id,
                    **({"derived": True} if role.label in triplet.derived else {}),
                },
            )
        )
    return cards


def write_card(
    lookup: GraphLookup,
    prover: Prover,
    facts: Sequence[Fact],
    sentences: Mapping[Fact, str],
    verdict: Verdict,
    *,
    kind: str,
    question: str,
    proof: Proof,
    salt: Sequence[object],
    difficulty: tuple[Difficulty, dict[str, Any]],
    meta: Mapping[str, Any],
) -> Card:
    """Writes a card.

    Args:
        lookup: the knowledge base.
        prover: has the predicate's rules as sentences.
        facts: the card's facts, in this order.
        sentences: the sentence of each fact.
        verdict: the verdict over the card alone; its label is the card's.
        kind: the card's kind.
        question: the question.
        proof: the proof for the card's field ``proof``: over the graph, or over the card for
            context-faithfulness cards.
        salt: values that the id depends on in addition to question and facts, such as the seed.
        difficulty: the level, and how it was computed; see ``compute_difficulty``.
        meta: further keys of ``meta``, in addition to facts, card proof and difficulty.
    """
    claim = verdict.claim
    texts = tuple(sentences[fact] for fact in facts)
    level, subgraph = difficulty
    return Card(
        id=make_opaque_id(*salt, question, *texts),
        facts=texts,
        rules=prover.rule_texts,
        question=question,
        gold=GOLD_OF_LABEL[verdict.label],
        label=verdict.label,
        kind=kind,
        claim=claim,
        proof=proof,
        cluster=claim.subj,
        difficulty=level,
        meta={
            "triples": facts_to_json(facts, lookup.terms),
            "card_proof": msgspec.to_builtins(verdict.proof),
            "difficulty": subgraph,
            **({"mined_rules": True} if proof.rests_on_mined_rules else {}),
            **meta,
        },
    )


def write_sentence(lookup: GraphLookup, fact: Fact) -> str:
    """Returns the sentence of a fact."""
    claim = fact.to_claim(lookup.terms)
    return (
        lookup.kb.verbaliser.render_denial(claim)
        if fact.denied
        else lookup.kb.verbaliser.render_fact(claim)
    )


def make_opaque_id(*parts: object) -> str:
    """Returns an opaque id: 16 hex digits of a hash of ``parts``."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]
