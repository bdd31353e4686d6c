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
