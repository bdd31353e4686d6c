"""Simulates the replies of extractors of different skill by corrupting the expected outputs.

Every reply is scored by the real code. The corruption is seeded and covers every error that the
benchmark distinguishes: missing, cut, lengthened, moved, mistyped and invented fields, surplus
array elements, replies that are not JSON, and failed calls.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eval.extraction.row import ExtractionRow, Outcome
from eval.extraction.samples.loader import load_samples, shipped_folder
from eval.extraction.samples.sample import Sample
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.scorer import score_sample
from eval.extraction.settings import DEFAULT_MATCHING, Matching
from eval.extraction.verdicts.sample_score import Category, Mode, SampleScore, Tally
from eval.model.usage import Usage

START_S = 1_760_000_000.0


@dataclass(frozen=True)
class Skill:
    """Error rates and costs of a simulated extractor.

    Attributes:
        slip: probability that a leaf is corrupted; fractions of it are the probabilities that a
            field is dropped or moved and that an array element is dropped or repeated.
        extra: probability that an object gets a field that is not in the schema.
        unparsable: probability of a reply that is not JSON.
        error: probability that a call fails.
        seconds: median time of a call; ``None`` for an extractor without calls.
        price: dollars per token; ``None`` if unknown.
        gives_confidence: whether replies state a confidence.
        constrained: whether decoding follows the schema, so that few replies violate it.
    """

    slip: float = 0.1
    extra: float = 0.02
    unparsable: float = 0.02
    error: float = 0.02
    seconds: float | None = 0.8
    price: float | None = 1e-6
    gives_confidence: bool = False
    constrained: bool = True


def load_shipped_samples(count: int | None = None) -> list[Sample]:
    """Returns ``count`` shipped samples, spread evenly over all files; all if it is ``None``."""
    samples = load_samples(shipped_folder()).samples
    if count is None or count >= len(samples):
        return list(samples)
    return [samples[number * len(samples) // count] for number in range(count)]


def simulate_rows(
    samples: Sequence[Sample],
    system: str,
    skill: Skill,
    *,
    seed: int = 1,
    repeats: int = 1,
    matching: Matching = DEFAULT_MATCHING,
) -> list[ExtractionRow]:
    """Simulates the rows of one system."""
    rng = random.Random(f"{seed} {system}")
    rows, clock = [], START_S
    for repeat in range(repeats):
        for sample in samples:
            row = _simulate_row(rng, sample, system, skill, repeat, matching)
            # Calls overlap, so the clock advances by less than the time of each call.
            clock += (row.latency_s or 0.0) * 0.6
            finished_s = None if row.latency_s is None else round(clock, 3)
            rows.append(msgspec.structs.replace(row, at_s=finished_s))
    return rows


def _simulate_row(
    rng: random.Random,
    sample: Sample,
    system: str,
    skill: Skill,
    repeat: int,
    matching: Matching,
) -> ExtractionRow:
    roll = rng.random()
    if roll < skill.error:
        return ExtractionRow(
            id=sample.id,
            system=system,
            repeat=repeat,
            outcome="ERROR",
            problem="no reply within 60 s",
            timed_out=True,
            retries=3,
            score=score_sample(sample, None, matching, parsed=False).score,
        )
    predicted = corrupt_value(rng, sample.expected, skill)
    validator = SchemaValidator.from_schema(sample.schema)
    # Constrained decoding is simulated by repeating the corruption until the value is valid, at
    # most 24 times.
    for _ in range(24 if skill.constrained else 0):
        if validator.is_valid(predicted):
            break
        predicted = corrupt_value(rng, sample.expected, skill)
    raw = msgspec.json.encode(predicted).decode()
    parsed = roll >= skill.error + skill.unparsable
    if not parsed:
        predicted, raw = None, f"Here is what I found: {raw[: len(raw) // 2]}"
    score = score_sample(sample, predicted, matching, parsed=parsed).score
    outcome: Outcome = "OK" if score.valid else "INVALID" if parsed else "UNPARSABLE"
    tokens = len(sample.text) // 4 + 60, len(raw) // 4
    seconds = None
    if skill.seconds is not None:
        seconds = round(skill.seconds * rng.lognormvariate(0, 0.35) * (0.6 + tokens[1] / 250), 3)
    correct_share = score.tally.strict / max(score.tally.expected, 1)
    return ExtractionRow(
        id=sample.id,
        system=system,
        repeat=repeat,
        outcome=outcome,
        predicted=predicted,
        raw="" if outcome == "OK" else raw,
        problem="" if outcome == "OK" else "; ".join(score.schema_errors) or "no JSON",
        confidence=round(min(0.5 + correct_share / 2 + rng.uniform(-0.1, 0.1), 1.0), 3)
        if skill.gives_confidence
        else None,
        latency_s=seconds,
        ttft_s=None if seconds is None else round(seconds * 0.2, 3),
        usage=None
        if seconds is None
        else Usage(*tokens, None if skill.price is None else sum(tokens) * skill.price),
        retries=int(seconds is not None and rng.random() < 0.05),
        input_chars=len(sample.text) + 400,
        output_chars=len(raw),
        score=score,
    )


def corrupt_value(rng: random.Random, value: Any, skill: Skill) -> Any:
    """Returns the value as an extractor of this skill would return it."""
    if isinstance(value, dict):
        corrupted = {}
        for key, child in value.items():
            if rng.random() < skill.slip / 3:
                continue
            is_moved = rng.random() < skill.slip / 12 and not isinstance(child, dict | list)
            corrupted[f"{key}_text" if is_moved else key] = corrupt_value(rng, child, skill)
        if rng.random() < skill.extra:
            corrupted["remarks"] = "checked by the night shift"
        return corrupted
    if isinstance(value, list):
        items = [
            corrupt_value(rng, item, skill) for item in value if rng.random() >= skill.slip / 4
        ]
        if items and rng.random() < skill.slip / 3:
            items.append(items[-1])
        return items
    return value if rng.random() >= skill.slip else _replace_value(rng, value)


def _replace_value(rng: random.Random, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((value + 1, round(value * 1.3, 2), str(value)))
    if not isinstance(value, str):
        return "N/A"
    words = value.split()
    return rng.choice(
        (
            " ".join(words[: max(1, len(words) // 2)]),
            f"{value} and others",
            "Quentin Fabricated",
            value.swapcase(),
            "unknown",
        )
    )


def count_categories(tally: Tally, mode: Mode) -> dict[Category, int]:
    """Counts the five categories of SemEval 2013 task 9.1; strict mode has no partial ones."""
    exact = tally.strict if mode == "strict" else tally.exact
    partial = {"strict": 0, "partial": tally.partial, "lenient": tally.lenient - tally.exact}[mode]
    return {
        "exact": exact,
        "partial": partial,
        "incorrect": tally.n_paired - exact - partial,
        "missed": tally.missed,
        "spurious": tally.spurious,
    }


def get_headline_tally(score: SampleScore) -> Tally:
    """Returns the tally that counts for the headline if invalid replies count zero."""
    return score.tally if score.valid else score.tally.remove_credit()
