"""Reads the input files of a report, and checks that they belong together.

A report with the metrics of one card set and the results of another would not look wrong.
Therefore results and metrics are compared by card-set hash and by system, and results and cards
by id, gold answer and hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cards.card import Card
from cards.card_integrity import are_as_made
from cards.card_origin import read_card_origin
from cards.joiner import join_cards
from eval.abstention.card_check import read_checked_results
from eval.abstention.manifest import RunManifest, find_card_file, read_manifest
from eval.abstention.metrics.cluster_samples import Plan
from eval.abstention.metrics.definitions import POLICIES
from eval.abstention.metrics.observations import SHARED_CARDS_NOTE
from eval.abstention.metrics.outcomes import parse_pred
from eval.abstention.metrics.record import MetricsReport, read_metrics
from eval.abstention.metrics.report import measure
from eval.abstention.result import PREDS, Pred
from eval.abstention.run_integrity import (
    CHANGED_CARDS,
    ReadFile,
    check_card_files,
    check_integrity,
)
from eval.model.usage import Usage
from eval.stats.bootstrap import RESAMPLES
from kg.base.errors import CardSetMismatchError, DuplicateIdError, MissingFileError, RecordError
from kg.base.files import iter_decoded_lines
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, Gold, Label
from reporting.card_report.metrics_source import check_card_set, check_run, check_sources
from reporting.card_report.usage import RowCalls, UsageTally

METRICS_FILE = "metrics.json"


class _ResultRow(msgspec.Struct):
    """The fields of a result line that a report shows; third-party rows lack most of them.

    Every line that `epoche metrics` accepts is accepted here too, so that all results with metrics
    can have a report.
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
class CardReply:
    """One system's reply to one card."""

    pred: Pred
    raw: str
    error: str
    repeat: int = 0
    repeat_preds: tuple[Pred, ...] = ()
    """Answers of the other repeats, in the order of the rows."""


@dataclass(frozen=True)
class NamedManifest:
    """A run manifest and the name of the result file that it describes."""

    name: str
    manifest: RunManifest


@dataclass(frozen=True)
class ReportInputs:
    """All checked inputs of a report."""

    metrics: MetricsReport
    cards: tuple[Card, ...]
    systems: tuple[str, ...]
    """Systems with rows, in the order of the result files."""
    controls: frozenset[str]
    """Those of ``systems`` that are controls (trivial baselines)."""
    replies: dict[str, dict[str, CardReply]]
    """System → card id → reply."""
    runs: tuple[NamedManifest, ...]
    usage: dict[str, UsageTally]
    """System → tokens, cost and time, from its rows."""
    card_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    """What must be said wherever scores on these cards are shown."""
    are_labels_proved: bool = False
    """Whether the cards are as ``epoche cards`` wrote them, by the digest in their manifests."""

    @property
    def n_unproved(self) -> int:
        """Number of cards without a proof, whose gold answers cannot be checked."""
        return sum(card.proof is None for card in self.cards)

    @property
    def domain(self) -> str | None:
        """The domain that the manifests name; ``None`` if they name none, or several."""
        domains = {run.manifest.domain for run in self.runs if run.manifest.domain}
        return domains.pop() if len(domains) == 1 else None


def find_metrics(results: Sequence[Path]) -> Path:
    """Returns the ``metrics.json`` beside result files; beside the first that has one.

    Raises:
        MissingFileError: there is none.
    """
    for folder in dict.fromkeys(path.parent for path in results):
        if (folder / METRICS_FILE).is_file():
            return folder / METRICS_FILE
    files = " ".join(map(str, results))
    raise MissingFileError(
        f"no {METRICS_FILE} lies beside the results",
        where=", ".join(map(str, results)),
        hint=f"`epoche metrics {files} --out {results[0].parent / METRICS_FILE}` computes it; or "
        "name another file with --metrics.",
    )


def read_inputs(
    results: Sequence[Path],
    metrics: Path,
    cards: Sequence[Path] | None = None,
    *,
    without_mined: bool = False,
    allow_changed: bool = False,
) -> ReportInputs:
    """Reads and cross-checks the files of a report.

    Args:
        results: result files; the manifests next to them are read too.
        metrics: the ``metrics.json`` computed from them.
        cards: the card files; by default those that the manifests name.
        without_mined: leave out the C cards whose proof rests only on rules found in the data. If
            the metrics count them, they are computed again with the same settings.
        allow_changed: accept rows and cards that are not as their run left them, with a warning.

    Raises:
        MissingFileError, RecordError: a file is missing or invalid.
        SettingError: without the cards that rest on rules found in the data, none remains.
        DuplicateIdError: a system answered a card twice in one repeat, or two cards share an id.
        CardSetMismatchError: the files do not belong together.
        ChangedRunError: rows or cards are not as their run left them, or the metrics were edited.
    """
    if not metrics.is_file():
        raise MissingFileError(
            "metrics file does not exist",
            where=str(metrics),
            hint="Compute it first with `epoche metrics --results … --out …`.",
        )
    report = read_metrics(metrics, allow_changed=allow_changed)
    card_files = _find_card_files(results, cards)
    card_set = join_cards(card_files)
    labels = {card.id: card.label for card in card_set}
    replies: dict[str, dict[str, CardReply]] = {}
    usage: dict[str, UsageTally] = {}
    answered_keys: set[tuple[str, str, int]] = set()
    for path in results:
        rows_by_system = _read_replies(path, report, metrics, labels, replies, usage, answered_keys)
        check_run(path, rows_by_system, report, metrics)
    if not replies:
        raise RecordError(
            "the result files have no rows",
            where=", ".join(map(str, results)),
            hint="Run a system first, for instance with `epoche eval --system kg`.",
        )
    check_card_set(card_set, report)
    card_set_name = "" if report.cards.startswith("ids-") else report.cards
    found = [
        check_integrity(
            [ReadFile(path=path, card_set=card_set_name) for path in results],
            with_cards=not cards,
            allow_changed=allow_changed,
        ),
        check_card_files(cards or (), allow_changed=allow_changed),
    ]
    measured_systems = {name for policy in report.policies.values() for name in policy.systems}
    # The metrics always include the controls; a control that was also run has rows.
    control_names = {name.casefold() for p in report.policies.values() for name in p.controls}
    controls = frozenset(name for name in replies if name.casefold() in control_names)
    for name in replies:
        if name not in measured_systems and name not in controls:
            raise CardSetMismatchError(
                f"system {name!r} has results but no metrics",
                where=str(metrics),
                hint="Compute the metrics again over all result files, as `make metrics` does.",
            )
    for name in sorted(measured_systems - replies.keys()):
        raise CardSetMismatchError(
            f"system {name!r} has metrics but no results",
            where=str(metrics),
            hint="Pass its result file with --results too.",
        )
    check_sources(results, report, metrics)
    runs = tuple(
        NamedManifest(path.name, read_manifest(manifest))
        for path in results
        if (manifest := manifest_path(path)).is_file()
    )
    warnings = [
        *report.warnings,
        *(warning for integrity in found for warning in integrity.warnings),
        *(warning for path in card_files for warning in read_card_origin(path).warnings),
        *(warning for run in runs for warning in run.manifest.card_warnings),
    ]
    if without_mined and report.n_mined_left_out is None:
        report = _measure_unmined_cards(results, card_files, report, allow_changed=allow_changed)
    if report.n_mined_left_out is not None:
        card_set = [card for card in card_set if not card.rests_on_mined_rules]
        kept = {card.id for card in card_set}
        replies = {
            system: {card: reply for card, reply in by_card.items() if card in kept}
            for system, by_card in replies.items()
        }
    return ReportInputs(
        report,
        tuple(card_set),
        tuple(replies),
        controls,
        replies,
        runs,
        usage,
        tuple(card_files),
        tuple(dict.fromkeys(warnings)),
        are_labels_proved=all(map(are_as_made, card_files))
        and not any(CHANGED_CARDS in integrity.signature_details for integrity in found),
    )


def _measure_unmined_cards(
    results: Sequence[Path],
    card_files: Sequence[Path],
    report: MetricsReport,
    *,
    allow_changed: bool,
) -> MetricsReport:
    """Computes metrics again, without the cards that rest only on rules found in the data."""
    observations = read_checked_results(
        results,
        card_files,
        common=any(note.startswith(SHARED_CARDS_NOTE) for note in report.notes),
        without_mined=True,
        allow_changed=allow_changed,
    )
    policies = tuple(name for name in POLICIES if name in report.policies)
    # What a user has chosen is for differences, too.
    resamples = None if report.resamples == RESAMPLES else report.resamples
    plan = Plan(policies, resamples, report.seed, report.confidence)
    return measure(observations, plan)


def _read_replies(
    path: Path,
    report: MetricsReport,
    metrics: Path,
    labels: dict[str, Label],
    replies_by_system: dict[str, dict[str, CardReply]],
    usage: dict[str, UsageTally],
    answered_keys: set[tuple[str, str, int]],
) -> Counter[str]:
    """Adds the rows of a file to replies and usage; returns their number by system."""
    decoder = msgspec.json.Decoder(_ResultRow)
    rows_by_system: Counter[str] = Counter()
    for line_number, row in iter_decoded_lines(path, "result", decoder.decode):
        if row.cards and row.cards != report.cards:
            raise CardSetMismatchError(
                f"the results are of card set {row.cards}, the metrics of {report.cards}",
                where=f"{path}:{line_number} and {metrics}",
                hint="Compute the metrics again from these results.",
            )
        label = labels.get(row.id)
        gold = None if label is None else GOLD_OF_LABEL[label]
        if gold is None or row.gold not in (None, gold) or row.label not in (None, label):
            problem = "has another gold answer" if label else "is not among the cards"
            raise CardSetMismatchError(
                f"card {row.id!r} {problem}",
                where=f"{path}:{line_number}",
                hint="Pass the card files that the systems were run on with --cards.",
            )
        system = row.system or path.stem
        rows_by_system[system] += 1
        system_replies = replies_by_system.setdefault(system, {})
        repeat = row.repeat or 0
        key = system, row.id, repeat
        if key in answered_keys:
            raise DuplicateIdError(
                f"system {system!r} answers card {row.id!r} twice",
                where=f"{path}:{line_number}",
                hint="Give each result file once; remove the repeated line.",
            )
        answered_keys.add(key)
        pred = PREDS[parse_pred(row.pred)]
        reply = CardReply(pred, row.raw or "", row.error or "", repeat)
        system_replies[row.id] = _merge_repeats(system_replies.get(row.id), reply)
        usage.setdefault(system, UsageTally()).add_row(
            _convert_or_none(row.usage, Usage),
            _parse_seconds(row.latency_s),
            _convert_or_none(row.calls, RowCalls),
        )
    return rows_by_system


Part = TypeVar("Part")


def _convert_or_none(value: Any, target_type: type[Part]) -> Part | None:
    """Converts an optional part of a row; ``None`` if it is missing or has another structure.

    Third-party files may contain anything in its place.
    """
    try:
        return msgspec.convert(value, target_type | None)
    except msgspec.ValidationError:
        return None


def _parse_seconds(value: Any) -> float | None:
    seconds = _convert_or_none(value, float)
    return seconds if seconds is not None and seconds >= 0 else None


def _merge_repeats(merged_reply: CardReply | None, reply: CardReply) -> CardReply:
    """Merges the replies so far to a card with a further one.

    The reply of the lowest repeat is shown; of all other repeats only the answers are stored.
    """
    if merged_reply is None:
        return reply
    if reply.repeat < merged_reply.repeat:
        return replace(reply, repeat_preds=(merged_reply.pred, *merged_reply.repeat_preds))
    return replace(merged_reply, repeat_preds=(*merged_reply.repeat_preds, reply.pred))


def _find_card_files(results: Sequence[Path], cards: Sequence[Path] | None) -> list[Path]:
    if cards:
        return list(cards)
    card_files: list[Path] = []
    for path in results:
        manifest = manifest_path(path)
        card_file = find_card_file(manifest) if manifest.is_file() else None
        if card_file is not None and card_file not in card_files:
            card_files.append(card_file)
    if not card_files:
        raise MissingFileError(
            "no card file was found: no manifest next to the results names one that exists",
            where=", ".join(map(str, results)),
            hint="Pass the card file with --cards.",
        )
    return card_files
