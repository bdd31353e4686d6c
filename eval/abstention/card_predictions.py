"""Writes a result file of cards from predictions that were made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from cards.card_integrity import accept_changed_cards
from cards.card_origin import read_card_origin
from eval.abstention.answers import build_result, read_answer
from eval.abstention.card_file import CardFile
from eval.abstention.manifest import PREDICTIONS_SYSTEM, RunManifest, write_manifest
from eval.abstention.metrics.result_row import describe_unreadable
from eval.abstention.result import PREDS, Answer, Pred, Result, result_to_json
from eval.harness.predictions.foreign_labels import UnreadableTexts
from eval.harness.predictions.reader import (
    PredictionFile,
    PredictionFormat,
    Predictions,
    describe_files,
    read_predictions,
    show_text,
)
from eval.harness.predictions.repeats import count_repeats, renumber_repeats
from eval.harness.predictions.scored_run import NO_PREDICTION
from eval.harness.reply import Reply
from eval.harness.verification.line_digests import digest_lines
from kg.base.errors import RecordError, WriteError
from kg.base.files import check_output, sha256_file, write_jsonl_atomic
from kg.base.plain_text import join_list
from kg.base.provenance import library_versions, make_relative_name, manifest_path, utc_now

VALUES: Final[tuple[Pred, ...]] = ("YES", "NO", "UNKNOWN", "INVALID")
"""What a label of a file may mean."""
_SAYS_INVALID: Final = "the file says that the reply cannot be read"


def write_card_predictions(
    cards_file: Path,
    files: Sequence[PredictionFile],
    out: Path,
    *,
    field_map: Mapping[str, str],
    values: Mapping[str, str] | None = None,
    overwrite: bool = False,
    allow_changed: bool = False,
) -> tuple[RunManifest, dict[str, Predictions]]:
    """Writes rows and manifest as ``epoche eval`` does; a card without a prediction is an ERROR.

    Args:
        cards_file: the card file.
        files: the predictions of each system.
        out: the result file.
        field_map: our name of a field → the files' name.
        values: a label of the files in lower case → what it means; before all others.
        overwrite: whether an existing result file is replaced.
        allow_changed: accept cards that their manifest does not describe; the manifest says so.

    Returns:
        The manifest as written, and what was read from each file.

    Raises:
        MissingFileError, RecordError, DuplicateIdError: cards or predictions cannot be read.
        RecordError: also if no prediction of a file is an answer, or many are labels of another
            set.
        ChangedRunError: the cards changed after they were made, and this is not accepted.
        WriteError: the result file exists, would overwrite an input, or cannot be written.
    """
    for path in (out, manifest_path(out)):
        inputs = (cards_file, manifest_path(cards_file), *(file.path for file in files))
        check_output(path, inputs)
    if out.exists() and out.stat().st_size and not overwrite:
        raise WriteError(
            "the result file exists already",
            where=str(out),
            hint="Choose another --out, or use --overwrite to replace it.",
        )
    with CardFile(cards_file) as cards:
        accepted = accept_changed_cards(
            [cards_file], allow_changed=allow_changed, card_set=cards.sha256
        )
        predictions: dict[str, Predictions] = {}
        for file in files:
            labels = _LabelReader(values or {})
            form = PredictionFormat(
                value="pred", noun="card", read_value=labels.read, field_map=field_map
            )
            # Each alone: a file with repeats says nothing about the others.
            read = {file.name: read_predictions(file, _CardIds(cards), form)}
            predictions |= renumber_repeats(read)
            _check_readable(file, predictions[file.name], form, labels)
        names = tuple(predictions)
        replies = {
            (reply.system, reply.id, reply.repeat): reply
            for read in predictions.values()
            for reply in read.replies
        }
        params = describe_files(files, field_map)
        for param in params.values() if values else ():
            param["values"] = dict(values or {})
        repeats = {name: count_repeats({name: read}) for name, read in predictions.items()}
        counts: dict[str, int] = dict.fromkeys(PREDS, 0)
        manifest = RunManifest(
            results=out.name,
            cards_file=make_relative_name(cards_file, out.parent),
            cards_sha256=cards.sha256,
            cards_file_sha256=cards.file_sha256,
            card_count=len(cards),
            card_warnings=read_card_origin(cards_file).warnings,
            repeats=max(repeats.values()),
            system_repeats=repeats if len(set(repeats.values())) > 1 else msgspec.UNSET,
            system=PREDICTIONS_SYSTEM,
            systems=names,
            params=params if len(names) > 1 else params[names[0]],
            seed=0,
            versions=library_versions(),
            started=utc_now(),
            ended=utc_now(),
            status="complete",
            counts=counts,
            accepted_card_changes=accepted or msgspec.UNSET,
        )

        def iter_rows() -> Iterator[dict[str, Any]]:
            layout = manifest.layout
            for item in layout.asked_items:
                card = cards[item]
                for _, repeat, column in layout.iter_item_rows(item):
                    reply = replies.get((names[column], card.id, repeat))
                    answer, extra = _make_answer(reply)
                    counts[answer.pred] += 1
                    row: Result = build_result(
                        card,
                        answer,
                        name=names[column],
                        card_set=cards.sha256,
                        latency_s=None,
                        usage=None,
                        repeat=repeat,
                        extra=extra,
                    )
                    yield result_to_json(row)

        write_jsonl_atomic(out, iter_rows())
        manifest = msgspec.structs.replace(
            manifest, rows_sha256=sha256_file(out), line_digests={out.name: digest_lines(out)}
        )
        write_manifest(manifest_path(out), manifest)
    return manifest, predictions


def describe_invalid(read: Predictions) -> str:
    """Says how many predictions are no answer, with examples; empty if all are answers."""
    raws = [reply.raw for reply in read.replies if reply.status == "invalid"]
    return describe_unreadable(raws, len(raws), len(read.replies)) if raws else ""


def _check_readable(
    file: PredictionFile, read: Predictions, form: PredictionFormat, labels: _LabelReader
) -> None:
    """Refuses a file without a single answer, or with many labels of another set.

    The file of a run whose replies were all unusable says so in our own word.
    """
    where = f"{file.path}, field {form.name_field('value')}"
    if foreign := labels.unreadable.find_labels(labels.n_read):
        n_unreadable, n_labels = labels.unreadable.n_texts, sum(foreign.values())
        share = "all" if n_labels == n_unreadable else f"{n_labels:,}"
        shown = [f"{show_text(label)} ({count:,})" for label, count in foreign.items()]
        raise RecordError(
            f"{n_unreadable:,} of {labels.n_read:,} predictions are no answer, and {share} of "
            f"these are {join_list(shown, 'or')}: labels of another set",
            where=where,
            hint="Say what each means with --value THEIRS=PRED, where PRED is "
            f"{join_list(VALUES, 'or')}.",
        )
    is_readable = any(
        reply.status == "ok" or reply.problem == _SAYS_INVALID for reply in read.replies
    )
    if not is_readable and (problem := describe_invalid(read)):
        raise RecordError(
            problem,
            where=where,
            hint="Write YES, NO, UNKNOWN or replies in words, or name their field: --map pred=…; "
            "--value THEIRS=YES says what other labels mean.",
        )


class _CardIds:
    """The ids of an open card file, which are not kept in memory."""

    def __init__(self, cards: CardFile) -> None:
        self._cards = cards

    def __contains__(self, card_id: object) -> bool:
        return isinstance(card_id, str) and self._cards.find_item(card_id) is not None


class _LabelReader:
    """Reads the predictions of a file, and counts those that are no answer.

    Args:
        values: a label in lower case → what it means.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.n_read = 0
        self.unreadable = UnreadableTexts()

    def read(self, value: object) -> Reply:
        """Reads a prediction; raises nothing."""
        self.n_read += 1
        reply = _read_value(self._values.get(str(value).strip().casefold(), value))
        if reply.status == "invalid" and reply.problem != _SAYS_INVALID:
            self.unreadable.add(str(value).strip())
        return reply


def _read_value(value: object) -> Reply:
    """Reads YES, NO, UNKNOWN, or a reply in words; the values of our own result files too."""
    if value == "ERROR":
        return Reply(status="error", problem="the file says that the call failed")
    if value == "INVALID":
        return Reply(status="invalid", raw=value, problem=_SAYS_INVALID)
    answer, note = read_answer(value)
    if answer.pred == "INVALID":
        return Reply(status="invalid", raw=answer.raw, problem=note)
    return Reply(value=answer.pred, raw=answer.raw, notes=(note,) if note else ())


def _make_answer(reply: Reply | None) -> tuple[Answer, dict[str, Any]]:
    """Returns the answer of a reply, and further fields of its row."""
    if reply is None:
        return Answer(pred="ERROR", error=NO_PREDICTION), {}
    if reply.status == "error":
        return Answer(pred="ERROR", raw=reply.raw, error=reply.problem), {}
    note = "; ".join(filter(None, (reply.problem, *reply.notes)))
    pred: Pred = reply.value if reply.status == "ok" else "INVALID"
    answer = Answer(pred=pred, confidence=reply.confidence, raw=reply.raw)
    return answer, {"note": note} if note else {}
