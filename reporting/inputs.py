"""What a report is made of, read and held against each other before anything is drawn.

A report that mixes metrics of one card set with results of another would look perfectly fine, so
every link between the files is checked here: results against metrics by card-set hash and by
system, results against cards by id, gold answer and hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cards.card import Card, card_set_hash
from cards.joining import join_cards
from eval.manifest import RunManifest, find_cards, read_manifest
from eval.metrics.outcomes import read_pred
from eval.metrics.record import MetricsReport, read_metrics
from eval.result import PREDS, Pred, Usage
from kg.base.errors import CardSetMismatchError, DuplicateIdError, MissingFileError, RecordError
from kg.base.files import iter_decoded_lines
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, Gold, Label
from reporting.usage import RowCalls, UsageTally

_HASH_DIGITS = 12


class _Row(msgspec.Struct):
    """The fields of a result line that a report shows; rows from elsewhere lack most of them.

    As lenient as the metrics are, so that whatever has metrics can have a report.
    """

    id: str
    pred: Any
    gold: Gold | None = None
    label: Label | None = None
    system: str | None = None
    raw: str | None = None
    error: str | None = None
    cards: str | None = None
    repeat: int | None = None
    latency_s: Any = None
    usage: Any = None
    calls: Any = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What one system said to one card."""

    pred: Pred
    raw: str
    error: str
    repeat: int = 0
    also: tuple[Pred, ...] = ()
    """What it said when asked again, in the order of the rows."""


@dataclass(frozen=True)
class Run:
    """One manifest and the name of the result file it belongs to."""

    name: str
    manifest: RunManifest


@dataclass(frozen=True)
class Inputs:
    """Everything a report shows, consistent with itself."""

    metrics: MetricsReport
    cards: tuple[Card, ...]
    systems: tuple[str, ...]
    """Systems with rows, in the order of the result files."""
    controls: frozenset[str]
    """Those of ``systems`` that look at nothing."""
    answers: dict[str, dict[str, Reply]]
    """System → card id → reply."""
    runs: tuple[Run, ...]
    usage: dict[str, UsageTally]
    """System → what its rows say they cost."""

    @property
    def unproved(self) -> int:
        """Cards that carry no proof: their gold answers are taken on trust."""
        return sum(card.proof is None for card in self.cards)

    @property
    def domain(self) -> str | None:
        """The domain the manifests agree on."""
        named = {run.manifest.domain for run in self.runs if run.manifest.domain}
        return named.pop() if len(named) == 1 else None


def read_inputs(
    results: Sequence[Path], metrics: Path, cards: Sequence[Path] | None = None
) -> Inputs:
    """Reads and cross-checks the files of a report.

    Args:
        results: result files; their manifests are read when they stand beside them.
        metrics: the ``metrics.json`` made from them.
        cards: the card files; without any, the ones the manifests name.

    Raises:
        MissingFileError, RecordError: a file is missing or is not what it should be.
        DuplicateIdError: a system answered one card twice, or two card files share an id.
        CardSetMismatchError: the files do not belong together.
    """
    if not metrics.is_file():
        raise MissingFileError(
            "metrics file does not exist",
            where=str(metrics),
            hint="Compute it first with `epoche metrics --results … --out …`.",
        )
    report = read_metrics(metrics)
    deck = join_cards(_card_files(results, cards))
    labels = {card.id: card.label for card in deck}
    answers: dict[str, dict[str, Reply]] = {}
    usage: dict[str, UsageTally] = {}
    asked: set[tuple[str, str, int]] = set()
    for path in results:
        _read_answers(path, report, metrics, labels, answers, usage, asked)
    if not answers:
        raise RecordError(
            "the result files hold no rows",
            where=", ".join(map(str, results)),
            hint="Run a system first, for instance with `epoche eval --system kg`.",
        )
    _check_hash(deck, report)
    known = {name for policy in report.policies.values() for name in policy.systems}
    computed = {name.casefold() for p in report.policies.values() for name in p.controls}
    controls = frozenset(name for name in answers if name.casefold() in computed)
    for name in answers:
        if name not in known and name not in controls:
            raise CardSetMismatchError(
                f"system {name!r} has results but no metrics",
                where=str(metrics),
                hint="Compute the metrics again over all result files.",
            )
    for name in sorted(known - answers.keys()):
        raise CardSetMismatchError(
            f"system {name!r} has metrics but no results were given",
            where=str(metrics),
            hint="Pass its result file with --results too.",
        )
    runs = tuple(
        Run(path.name, read_manifest(beside))
        for path in results
        if (beside := manifest_path(path)).is_file()
    )
    return Inputs(report, tuple(deck), tuple(answers), controls, answers, runs, usage)


def _read_answers(
    path: Path,
    report: MetricsReport,
    metrics: Path,
    labels: dict[str, Label],
    answers: dict[str, dict[str, Reply]],
    usage: dict[str, UsageTally],
    asked: set[tuple[str, str, int]],
) -> None:
    decoder = msgspec.json.Decoder(_Row)
    for number, row in iter_decoded_lines(path, "result", decoder.decode):
        if row.cards and row.cards != report.cards:
            raise CardSetMismatchError(
                f"results are of card set {row.cards}, metrics of {report.cards}",
                where=f"{path}:{number} and {metrics}",
                hint="Compute the metrics again from these results.",
            )
        label = labels.get(row.id)
        gold = None if label is None else GOLD_OF_LABEL[label]
        if gold is None or row.gold not in (None, gold) or row.label not in (None, label):
            state = "has another gold answer" if label else "is not among the cards"
            raise CardSetMismatchError(
                f"card {row.id!r} {state}",
                where=f"{path}:{number}",
                hint="Pass the card files the systems were run on with --cards.",
            )
        system = row.system or path.stem
        mine = answers.setdefault(system, {})
        repeat = row.repeat or 0
        key = system, row.id, repeat
        if key in asked:
            raise DuplicateIdError(
                f"system {system!r} answers card {row.id!r} twice",
                where=f"{path}:{number}",
                hint="Give each result file once; remove the repeated line.",
            )
        asked.add(key)
        pred = PREDS[read_pred(row.pred)]
        reply = Reply(pred, row.raw or "", row.error or "", repeat)
        mine[row.id] = _with_repeats(mine.get(row.id), reply)
        usage.setdefault(system, UsageTally()).add(
            _lenient(row.usage, Usage), _seconds(row.latency_s), _lenient(row.calls, RowCalls)
        )


Part = TypeVar("Part")


def _lenient(value: Any, what: type[Part]) -> Part | None:
    """A part of a row that may be anything in files from elsewhere; nothing hangs on it."""
    try:
        return msgspec.convert(value, what | None)
    except msgspec.ValidationError:
        return None


def _seconds(value: Any) -> float | None:
    seconds = _lenient(value, float)
    return seconds if seconds is not None and seconds >= 0 else None


def _with_repeats(first: Reply | None, reply: Reply) -> Reply:
    """The reply to show of a card asked several times: the first, with what the others said."""
    if first is None:
        return reply
    if reply.repeat < first.repeat:
        return replace(reply, also=(first.pred, *first.also))
    return replace(first, also=(*first.also, reply.pred))


def _card_files(results: Sequence[Path], cards: Sequence[Path] | None) -> list[Path]:
    if cards:
        return list(cards)
    found: list[Path] = []
    for path in results:
        beside = manifest_path(path)
        card_file = find_cards(beside) if beside.is_file() else None
        if card_file is not None and card_file not in found:
            found.append(card_file)
    if not found:
        raise MissingFileError(
            "no cards to show",
            where=", ".join(map(str, results)),
            hint="No manifest beside the results names a card file that exists; pass --cards.",
        )
    return found


def _check_hash(deck: list[Card], report: MetricsReport) -> None:
    if report.cards.startswith("ids-"):
        return  # The results name no card set: ids and gold answers are all there is to compare.
    whole = card_set_hash(deck)[:_HASH_DIGITS]
    if whole != report.cards:
        raise CardSetMismatchError(
            f"the cards are set {whole}, the metrics are of {report.cards}",
            where="--cards",
            hint="Pass exactly the card files the systems were run on, in the same order.",
        )
