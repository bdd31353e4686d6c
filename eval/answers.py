"""Asks a system and makes a well-formed row of whatever comes back.

A system under test is other people's code: it may raise, return the wrong type, a confidence of
NaN, or a text no JSON can hold. None of that ends a run or passes for an abstention: a failure is
``ERROR``, an unreadable reply ``INVALID``.
"""

from __future__ import annotations

import inspect
import math
import re
import time
from numbers import Real
from typing import Any

import msgspec

from cards.card import Card, CardView
from eval.model.calls import current_calls
from eval.redaction import hide_secrets
from eval.registry import AnySystem
from eval.result import PREDS, Answer, Pred, Result, Usage, rounded
from eval.system import ClaimOracle
from kg.base.errors import TERMINATED, ModelAccessError

MAX_ERROR_CHARS = 500
MAX_RAW_CHARS = 100_000
"""Longer replies are cut in the row: a runaway generation must not fill the disk."""

_VIEW = msgspec.json.Decoder(CardView)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")

_PLAIN: dict[str, Pred] = {"YES": "YES", "NO": "NO", "UNKNOWN": "UNKNOWN"}


def ask(system: AnySystem, card: Card, *, name: str, card_set: str) -> Result:
    """Asks one system one card.

    The system is handed ``card.view`` and nothing else; a ``ClaimOracle`` is handed the claim.

    Args:
        system: the system under test.
        card: the card; only its view (or claim) leaves this function.
        name: the system's name as it was when the run started.
        card_set: hex hash of the card set; its first 12 digits go into the row.

    Returns:
        The row, whatever the system did short of ending the process. What it cost, and which
        repeat it is, comes from the ``recording`` that is open.

    Raises:
        ModelAccessError: no model answers at all, so no card is worth asking.
    """
    question = _Question(system, card, name, card_set)
    try:
        return question.answered(question.put())
    except (Exception, SystemExit) as error:  # every failure of a system is a row, never the end
        return question.failed(error)


async def ask_async(system: AnySystem, card: Card, *, name: str, card_set: str) -> Result:
    """``ask`` for a system whose answer has to be awaited."""
    question = _Question(system, card, name, card_set)
    try:
        reply = question.put()
        return question.answered(await reply if inspect.isawaitable(reply) else reply)
    except (Exception, SystemExit) as error:
        return question.failed(error)
    except BaseException as error:
        if not is_stray_cancellation(error):
            raise
        return question.failed(error)


def is_async(system: AnySystem) -> bool:
    """Whether a system's answer has to be awaited."""
    return inspect.iscoroutinefunction(
        system.answer_claim if isinstance(system, ClaimOracle) else system.answer
    )


def is_stray_cancellation(error: BaseException) -> bool:
    """Whether a system let an end escape that it came to itself, and not the run.

    That is a cancellation of its own, or a generator's end, which asyncio would take for the
    worker's: all questions would stay unasked and the run would look complete.
    """
    import asyncio

    if isinstance(error, GeneratorExit):
        return True
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()


class _Question:
    """One card on its way to one system and back as a row."""

    def __init__(self, system: AnySystem, card: Card, name: str, card_set: str) -> None:
        self._system = system
        self._card = card
        self._name = name
        self._card_set = card_set
        self._started = time.perf_counter()

    def put(self) -> object:
        """What the system returns, or something to await it by."""
        # By its method: an isinstance check against a protocol takes as long as a short answer.
        system: Any = self._system
        if hasattr(system, "answer_claim"):
            return system.answer_claim(self._card.claim)
        # A copy down to the strings, so that not even object identity leads back to the card.
        return system.answer(_VIEW.decode(msgspec.json.encode(self._card.view)))

    def answered(self, reply: object) -> Result:
        """The row for what the system returned."""
        seconds = time.perf_counter() - self._started
        answer, note = read_answer(reply)
        return self._row(answer, note, seconds)

    def failed(self, error: BaseException) -> Result:
        """The row for what the system raised, unless that ends the run."""
        if isinstance(error, ModelAccessError):
            raise error
        if isinstance(error, SystemExit) and error.code == TERMINATED:
            raise error  # We are being stopped; any other exit is the system's own.
        seconds = time.perf_counter() - self._started
        return self._row(Answer(pred="ERROR", error=describe_error(error)), "", seconds)

    def _row(self, answer: Answer, note: str, seconds: float) -> Result:
        card, calls = self._card, current_calls()
        extra: dict[str, Any] = {"note": note} if note else {}
        if calls.repairs:
            extra["calls"] = {"repairs": calls.repairs}
        if calls.fallbacks:
            extra.setdefault("calls", {})["fallbacks"] = calls.fallbacks
        # Local systems keep null: their files are then identical from run to run.
        waited: float | None = None
        if calls.calls:
            waited = calls.latency_s
        elif getattr(self._system, "remote", False) is True:
            waited = seconds
        return Result(
            id=card.id,
            system=self._name,
            gold=card.gold,
            label=card.label,
            pred=answer.pred,
            passed=answer.pred == card.gold,
            confidence=answer.confidence,
            raw=answer.raw,
            latency_s=None if waited is None else round(waited, 4),
            usage=rounded(calls.usage()) if calls.calls else answer.usage,
            error=answer.error,
            kind=card.kind,
            cluster=card.cluster,
            difficulty=card.difficulty,
            cards=self._card_set[:12],
            repeat=calls.repeat,
            extra=extra,
        )


def read_answer(reply: object) -> tuple[Answer, str]:
    """Reads what a system returned.

    Returns:
        The answer with every field of its declared type; and its own note with whatever was put
        right.
    """
    if isinstance(reply, str):
        plain = _PLAIN.get(reply.strip().strip("\"'.!").upper())
        if plain is None:
            return Answer(
                pred="INVALID", raw=storable(reply)
            ), "the reply is not YES, NO or UNKNOWN"
        return Answer(pred=plain, raw=storable(reply)), ""
    if not isinstance(reply, Answer):
        kind = type(reply).__name__
        if inspect.iscoroutine(reply):
            reply.close()  # nobody will await it
        return Answer(pred="INVALID", raw=storable(_shown(reply))), f"the system returned a {kind}"
    notes: list[str] = []
    note: object = reply.note
    if note:
        notes.append(_cut(storable(_shown(note)), MAX_ERROR_CHARS))
    pred: Pred = reply.pred
    if pred not in PREDS:
        notes.append(f"pred {_shown(pred)[:40]} is none of {', '.join(PREDS)}")
        pred = "INVALID"
    error = reply.error
    if error is not None:
        error = _cut(hide_secrets(storable(_shown(error))), MAX_ERROR_CHARS)
    return (
        Answer(
            pred=pred,
            confidence=_confidence(reply.confidence, notes),
            raw=storable(_shown(reply.raw)),
            usage=_usage(reply.usage, notes),
            error=error,
        ),
        "; ".join(notes),
    )


def describe_error(error: BaseException) -> str:
    """An exception as one capped line without secrets."""
    text = " ".join(storable(_shown(error)).split())
    name = type(error).__name__
    return _cut(hide_secrets(f"{name}: {text}" if text else name), MAX_ERROR_CHARS)


def _confidence(value: object, notes: list[str]) -> float | None:
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and 0.0 <= number <= 1.0:
            return number
    notes.append(f"confidence {_shown(value)[:40]} is no number in [0, 1]")
    return None


def _usage(value: object, notes: list[str]) -> Usage | None:
    if value is None:
        return None
    try:
        return msgspec.convert(msgspec.to_builtins(value), Usage)
    except (msgspec.ValidationError, TypeError, ValueError):
        notes.append("usage is not a Usage")
        return None


def _shown(value: Any) -> str:
    """``str(value)``, also for objects whose ``__str__`` raises.

    Without memory addresses: they differ from run to run, results must not.
    """
    try:
        return _ADDRESS.sub(">", str(value))
    except Exception:  # hostile or broken __str__
        return f"<{type(value).__name__} that cannot be shown>"


def storable(text: str) -> str:
    """A text that JSON can hold (lone surrogates written out), cut to a bounded length."""
    text = _cut(text, MAX_RAW_CHARS)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut, {len(text)} characters]"
