"""Asks a system one card and converts its reply or its error to a well-formed row.

A system under test is third-party code: it may raise an exception, or return a value of the wrong
type, a confidence of NaN, or text that JSON cannot represent. None of this ends a run or counts as
an abstention: a failed call becomes ``ERROR``, an unreadable reply ``INVALID``.
"""

from __future__ import annotations

import inspect
import time
from typing import Any

import msgspec

from cards.card import Card, CardView
from eval.abstention.result import PREDS, Answer, Pred, Result
from eval.abstention.system import AnySystem, ClaimOracle
from eval.model.calls import current_calls
from eval.model.foreign_values import (
    MAX_ERROR_CHARS,
    check_confidence,
    check_usage,
    describe_failure,
    is_stray_cancellation,
    make_storable,
    to_safe_text,
    truncate_text,
)
from eval.model.redaction import hide_secrets
from eval.model.usage import Usage, round_cost
from eval.replies.parser import read_reply
from kg.base.console import print_traceback
from kg.base.errors import EXIT_TERMINATED, ModelAccessError

_VIEW_DECODER = msgspec.json.Decoder(CardView)

_PRED_OF_TEXT: dict[str, Pred] = {"YES": "YES", "NO": "NO", "UNKNOWN": "UNKNOWN"}


def ask_system(system: AnySystem, card: Card, *, name: str, card_set: str) -> Result:
    """Asks one system one card.

    The system receives only ``card.view``; a ``ClaimOracle`` receives the claim.

    Args:
        system: the system under test.
        card: the card; only its view (or claim) leaves this function.
        name: the system's name as it was when the run started.
        card_set: hex hash of the card set; its first 12 digits go into the row.

    Returns:
        The row, also if the system failed. The costs of model calls and the number of the repeat
        come from the enclosing ``record_calls`` context.

    Raises:
        ModelAccessError: the model cannot be used, so no further card can be answered.
    """
    request = _CardRequest(system, card, name, card_set)
    try:
        return request.build_answer_row(request.call_system())
    except (
        Exception,
        SystemExit,
    ) as error:  # a failing system gives an ERROR row, the run continues
        return request.build_error_row(error)


async def ask_system_async(system: AnySystem, card: Card, *, name: str, card_set: str) -> Result:
    """Does the same as ``ask_system`` for a system whose ``answer`` is async."""
    request = _CardRequest(system, card, name, card_set)
    try:
        reply = request.call_system()
        return request.build_answer_row(await reply if inspect.isawaitable(reply) else reply)
    except (Exception, SystemExit) as error:
        return request.build_error_row(error)
    except BaseException as error:
        if not is_stray_cancellation(error):
            raise
        return request.build_error_row(error)


def is_async(system: AnySystem) -> bool:
    """Returns whether a system's answer must be awaited."""
    return inspect.iscoroutinefunction(
        system.answer_claim if isinstance(system, ClaimOracle) else system.answer
    )


class _CardRequest:
    """Asks one system one card, and builds the row from the reply or the error."""

    def __init__(self, system: AnySystem, card: Card, name: str, card_set: str) -> None:
        self._system = system
        self._card = card
        self._name = name
        self._card_set = card_set
        self._started = time.perf_counter()

    def call_system(self) -> object:
        """Calls the system and returns its reply, or an awaitable of it."""
        # Not isinstance, because checking a protocol takes as long as a fast system's answer.
        system: Any = self._system
        if hasattr(system, "answer_claim"):
            return system.answer_claim(self._card.claim)
        # A deep copy, strings included, so that not even object identity leads back to the card.
        return system.answer(_VIEW_DECODER.decode(msgspec.json.encode(self._card.view)))

    def build_answer_row(self, reply: object) -> Result:
        """Builds the row from the value that the system returned."""
        seconds = time.perf_counter() - self._started
        answer, note = read_answer(reply)
        return self._build_row(answer, note, seconds)

    def build_error_row(self, error: BaseException) -> Result:
        """Builds the row for an error of the system; re-raises errors that must end the run."""
        if isinstance(error, ModelAccessError):
            raise error
        if isinstance(error, SystemExit) and error.code == EXIT_TERMINATED:
            raise error  # SIGTERM stops the run; any other exit code comes from the system.
        print_traceback(error)
        seconds = time.perf_counter() - self._started
        return self._build_row(Answer(pred="ERROR", error=describe_failure(error)), "", seconds)

    def _build_row(self, answer: Answer, note: str, seconds: float) -> Result:
        calls = current_calls()
        extra: dict[str, Any] = {"note": note} if note else {}
        if calls.repairs:
            extra["calls"] = {"repairs": calls.repairs}
        if calls.fallbacks:
            extra.setdefault("calls", {})["fallbacks"] = calls.fallbacks
        # Local systems get null, so that their result files are identical from run to run.
        latency: float | None = None
        if calls.calls:
            latency = calls.latency_s
        elif getattr(self._system, "remote", False) is True:
            latency = seconds
        return build_result(
            self._card,
            answer,
            name=self._name,
            card_set=self._card_set,
            latency_s=None if latency is None else round(latency, 4),
            usage=round_cost(calls.sum_usage()) if calls.calls else answer.usage,
            repeat=calls.repeat,
            extra=extra,
        )


def build_result(
    card: Card,
    answer: Answer,
    *,
    name: str,
    card_set: str,
    latency_s: float | None,
    usage: Usage | None,
    repeat: int,
    extra: dict[str, Any],
) -> Result:
    """Builds the row of an answer to a card.

    Args:
        card: the card.
        answer: the answer, as ``read_answer`` returns it.
        name: name of the system.
        card_set: hex hash of the card set; its first 12 digits go into the row.
        latency_s: seconds of its model calls.
        usage: usage of its model calls.
        repeat: number of the repeat, from 0.
        extra: further fields of the row, such as a note.
    """
    return Result(
        id=card.id,
        system=name,
        gold=card.gold,
        label=card.label,
        pred=answer.pred,
        passed=answer.pred == card.gold,
        confidence=answer.confidence,
        raw=answer.raw,
        latency_s=latency_s,
        usage=usage,
        error=answer.error,
        kind=card.kind,
        cluster=card.cluster,
        difficulty=card.difficulty,
        cards=card_set[:12],
        mined_rules=card.rests_on_mined_rules,
        triplet=card.triplet,
        full_label=card.full_label,
        repeat=repeat,
        extra=extra,
    )


def read_answer(reply: object) -> tuple[Answer, str]:
    """Validates what a system returned.

    Returns:
        The answer, in which every field has its declared type, and a note. The note contains the
        system's own note and says which invalid values were replaced.
    """
    if isinstance(reply, str):
        return _read_text(reply)
    if not isinstance(reply, Answer):
        type_name = type(reply).__name__
        if inspect.iscoroutine(reply):
            reply.close()  # Otherwise Python warns that it was never awaited.
        return Answer(
            pred="INVALID", raw=make_storable(to_safe_text(reply))
        ), f"the system returned a {type_name}"
    notes: list[str] = []
    note: object = reply.note
    if note:
        notes.append(truncate_text(make_storable(to_safe_text(note)), MAX_ERROR_CHARS))
    pred: Pred = reply.pred
    if pred not in PREDS:
        notes.append(f"pred {to_safe_text(pred)[:40]} is none of {', '.join(PREDS)}")
        pred = "INVALID"
    error = reply.error
    if error is not None:
        error = truncate_text(hide_secrets(make_storable(to_safe_text(error))), MAX_ERROR_CHARS)
    return (
        Answer(
            pred=pred,
            confidence=check_confidence(reply.confidence, notes),
            raw=make_storable(to_safe_text(reply.raw)),
            usage=check_usage(reply.usage, notes),
            error=error,
        ),
        "; ".join(notes),
    )


def _read_text(text: str) -> tuple[Answer, str]:
    """Reads a reply in words, as those of models are read; see ``docs/reference/replies.md``."""
    raw = make_storable(text)
    pred = _PRED_OF_TEXT.get(text.strip().strip("\"'.!").upper())
    if pred is not None:
        return Answer(pred=pred, raw=raw), ""
    parsed = read_reply(text)
    # Broken JSON is not searched for an answer word.
    is_broken_json = text.lstrip().startswith("{") and not parsed.reason.startswith("JSON")
    if parsed.pred == "INVALID" or is_broken_json:
        return Answer(pred="INVALID", raw=raw), f"not YES, NO or UNKNOWN: {parsed.reason}"
    return Answer(pred=parsed.pred, raw=raw), f"read as text ({parsed.reason})"
