"""Defines the command-line flags that several commands share: name, type and help of each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

# Sources of facts and constraints.

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
    """The engine that checks shapes."""

    incremental = "incremental"
    pyshacl = "pyshacl"
    pyrudof = "pyrudof"


ShapesEngine: TypeAlias = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Engine that checks shapes; pyshacl (the reference) and pyrudof (needs the extra "
        "rudof) validate the whole graph for every claim, so use them for small graphs only.",
    ),
]

# Card generation.

Predicates: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--pred", help="Predicate: IRI, prefixed or local name, or label; repeatable."),
]
PredicateLabels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--pred-label", help="Label to use for the predicate, one per --pred."),
]
CardsOut: TypeAlias = Annotated[
    Path, typer.Option("--out", help="Card file (JSONL); the manifest is written next to it.")
]
CardSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Random seed; same seed and input give the same bytes.")
]
FactsPerCard: TypeAlias = Annotated[
    int, typer.Option("--num-facts", min=1, help="Target number of facts per card.")
]
AuditCards: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--audit", help="Test whether labels can be predicted from the surface; if so, draw again."
    ),
]
StrictCards: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail when fewer cards than requested can be made, or --audit finds a leak.",
    ),
]
AllowViolations: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-violations",
        help="Keep nodes that break the shapes; by default they are left out, and --strict refuses "
        "the graph.",
    ),
]

# Results and resampling.

RunPaths: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Run folders of one benchmark, or results of cards: files (JSONL) or folders.",
    ),
]
MoreRunPaths: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--results", help="The same as RUN; repeatable.")
]
CheckedCards: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--cards",
        help="Card file that the results must belong to; repeatable, in the order of the run.",
    ),
]
SkipOtherCards: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--skip-other-cards", help="Ignore, with a warning, results of cards not in --cards."
    ),
]
WithoutMined: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--without-mined",
        help="Leave out the C cards whose proof rests only on rules found in the data.",
    ),
]
AllowChanged: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-changed",
        help="Accept rows and cards that changed after they were made; signatures say so.",
    ),
]
AllowChangedCards: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-changed",
        help="Accept cards that their manifest does not describe; signatures say so.",
    ),
]
Resamples: TypeAlias = Annotated[
    int, typer.Option("--resamples", min=100, help="Number of bootstrap resamples.")
]
ChosenResamples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        min=100,
        help="Number of bootstrap resamples.",
        show_default="2000; for differences more if there are more than 10 tests",
    ),
]
ResampleSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed of the resamples.")
]
Confidence: TypeAlias = Annotated[
    float,
    typer.Option("--confidence", min=0.5, max=0.999, help="Confidence level of the intervals."),
]

# Model calls.

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model", help="provider/model; default: EPOCHE_MODEL from the environment or .env."
    ),
]
RequestsPerMinute: TypeAlias = Annotated[
    float | None, typer.Option("--rpm", min=0.01, help="Maximum requests per minute.")
]
TokensPerMinute: TypeAlias = Annotated[
    float | None, typer.Option("--tpm", min=1, help="Maximum tokens per minute.")
]
CallTimeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", min=0.001, help="Timeout of each attempt, in seconds.")
]
CallRetries: TypeAlias = Annotated[
    int, typer.Option("--retries", min=0, help="Maximum retries of a call that may succeed later.")
]
ReplyCache: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="SQLite file of model replies; default: responses.sqlite next to --out."
    ),
]
NoReplyCache: TypeAlias = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the cache of model replies.")
]
PriceFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--prices", help="JSON file of prices that override the built-in ones."),
]

# Systems under test.

SystemSpecs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="SPEC",
        help="Your own system, as mypkg.mod:Class, mypkg.mod:function or "
        "callable:mypkg.mod:function; repeatable.",
    ),
]
SystemSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the system; repeatable."),
]
_PREDICTIONS = typer.Option(
    "--predictions",
    metavar="NAME=FILE",
    help="Name of a system and its predictions (JSONL, JSON or CSV); repeatable.",
)
PredictionFiles: TypeAlias = Annotated[list[str], _PREDICTIONS]
OptionalPredictionFiles: TypeAlias = Annotated[list[str] | None, _PREDICTIONS]
FieldMap: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=THEIRS[,…]",
        help="The files' own names of fields, for example id=number,confidence=sure.",
    ),
]

# Execution of a run.

Concurrency: TypeAlias = Annotated[
    int,
    typer.Option(
        "--concurrency", min=1, help="Maximum number of questions asked at the same time."
    ),
]
MaxCost: TypeAlias = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Stop the run after this cost in USD.")
]
MaxConsecutiveErrors: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-consecutive-errors",
        min=0,
        help="Stop the run after this many errors in a row; 0: never.",
    ),
]
Repeats: TypeAlias = Annotated[
    int, typer.Option("--repeat", min=1, max=10_000, help="Number of answers per question.")
]
ShardName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--shard", metavar="I/N", help="Ask only every N-th question, starting with the I-th."
    ),
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume/--no-resume",
        help="Resume an interrupted run; --no-resume: fail if --out is not empty.",
    ),
]
AllowChangedRows: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-changed",
        help="Resume rows that were changed after the last session; manifest and signatures say "
        "so.",
    ),
]
RetryErrors: TypeAlias = Annotated[
    bool, typer.Option("--retry-errors", help="Ask questions that ended in ERROR again.")
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]

# Text and retrieval.

RunFolder: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--run", help="Run folder made by `epoche kg build`, or a folder with a `latest` run."
    ),
]
