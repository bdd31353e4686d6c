"""Flags that several stages share, each written once: its name, its type and its help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

# Where facts and constraints come from.

GraphFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--kg", help="Graph file instead of a domain's; repeatable. Needs --shapes."),
]
ShapesFiles: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--shapes", help="SHACL file; repeatable.")
]
DomainName: TypeAlias = Annotated[
    str | None, typer.Option("--domain", help="Shipped domain, or a path to a domain.toml.")
]


class EngineName(StrEnum):
    """Who checks shapes."""

    incremental = "incremental"
    pyshacl = "pyshacl"


ShapesEngine: TypeAlias = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Who checks shapes; pyshacl, the reference, validates the whole graph per claim: "
        "for small graphs.",
    ),
]

# What cards are made of.

Predicates: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--pred", help="Predicate: IRI, prefixed or local name, or label; repeatable."),
]
PredicateLabels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--pred-label", help="What to call the predicate, one per --pred."),
]
CardsOut: TypeAlias = Annotated[
    Path, typer.Option("--out", help="Card file (JSONL); its manifest goes beside it.")
]
CardSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Same seed and input, same bytes.")
]
FactsPerCard: TypeAlias = Annotated[
    int, typer.Option("--num-facts", min=1, help="Facts per card to aim at.")
]
AllowViolations: TypeAlias = Annotated[
    bool, typer.Option("--allow-violations", help="Accept a graph that breaks its shapes.")
]

# Which results are read, and how they are resampled.

ResultFiles: TypeAlias = Annotated[
    list[Path], typer.Option("--results", help="Result file (JSONL); repeatable.")
]
MoreResultFiles: TypeAlias = Annotated[
    list[Path] | None, typer.Argument(metavar="[RESULTS]...", help="More result files.")
]
CheckedCards: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--cards", help="Card file the results must be about; repeatable, in the asked order."
    ),
]
SkipOtherCards: TypeAlias = Annotated[
    bool,
    typer.Option("--skip-other-cards", help="Leave out, with a warning, results not of --cards."),
]
Resamples: TypeAlias = Annotated[
    int, typer.Option("--resamples", min=100, help="Bootstrap resamples.")
]
ResampleSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the resamples.")
]
Confidence: TypeAlias = Annotated[
    float, typer.Option("--confidence", min=0.5, max=0.999, help="Coverage intervals aim at.")
]

# Which model is called, and how.

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", help="provider/model; by default EPOCHE_MODEL, also from .env."),
]
RequestsPerMinute: TypeAlias = Annotated[
    float | None, typer.Option("--rpm", min=0.01, help="Most requests a minute.")
]
TokensPerMinute: TypeAlias = Annotated[
    float | None, typer.Option("--tpm", min=1, help="Most tokens a minute.")
]
CallTimeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", min=0.001, help="Seconds one attempt of a call may take.")
]
CallRetries: TypeAlias = Annotated[
    int, typer.Option("--retries", min=0, help="Attempts after the first, if it may help.")
]
ReplyCache: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="SQLite file of model replies; by default responses.sqlite beside --out."
    ),
]
NoReplyCache: TypeAlias = Annotated[
    bool, typer.Option("--no-cache", help="Neither use replies of earlier runs nor keep them.")
]
PriceFile: TypeAlias = Annotated[
    Path | None, typer.Option("--prices", help="JSON file of prices that go before the known.")
]

# How a run goes.

Concurrency: TypeAlias = Annotated[
    int, typer.Option("--concurrency", min=1, help="Questions asked at once, where they wait.")
]
MaxCost: TypeAlias = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="US dollars after which a run stops.")
]
MaxConsecutiveErrors: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-consecutive-errors", min=0, help="Errors in a row after which a run stops; 0: never."
    ),
]
Repeats: TypeAlias = Annotated[
    int, typer.Option("--repeat", min=1, help="Ask every question so often.")
]
ShardName: TypeAlias = Annotated[
    str, typer.Option("--shard", metavar="I/N", help="Ask every N-th, from the I-th on.")
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume/--no-resume",
        help="Take up a run that was cut off, or refuse an --out that holds anything.",
    ),
]
RetryErrors: TypeAlias = Annotated[
    bool, typer.Option("--retry-errors", help="Ask again what ended in ERROR.")
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace what --out holds.")
]

# Text and retrieval.

RunFolder: TypeAlias = Annotated[
    Path,
    typer.Option("--run", help="Run that `epoche kg build` made, or a folder with a latest one."),
]
