"""Puts one question to an agent and makes a well-formed row of whatever comes back.

An agent may be other people's code, and a model's reply may be anything: none of that ends a run,
touches another row, or passes for an abstention.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import msgspec

from eval.answers import describe_error, is_stray_cancellation, make_storable
from eval.model.calls import current_calls
from eval.result import round_cost
from eval.synthlink.agents.model_replies import describe_failure
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Round, Trail
from eval.synthlink.predictions import MAX_ITEMS, MAX_TEXT_LENGTH, MAX_TOTAL_LENGTH, is_blank
from eval.synthlink.question import Question
from eval.synthlink.running.row import SynthLinkRow
from kg.base.errors import EXIT_TERMINATED, ModelAccessError, WriteError

ENDING: Final = (ModelAccessError, WriteError)
"""Failures that no other question would be spared: nobody answers, or nothing can be kept."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of a trail as JSON: an agent without end must not fill the disk."""


async def row_of(agent: Any, question: Question, system: str) -> SynthLinkRow:
    """Asks one question.

    Args:
        agent: who is asked. It is handed a copy of the question's text, and nothing else.
        question: what is asked; only its text leaves this function.
        system: the agent's name as it was when the run started.

    Returns:
        The row, whatever the agent did short of ending the process. What it cost is read off the
        open ``CallLog``.

    Raises:
        ModelAccessError: no model answers at all, so no question is worth asking.
        WriteError: what a live search found cannot be kept.
    """
    row = SynthLinkRow(id=question.id, category=question.category, system=system, outcome="ERROR")
    # A copy, so that not even the object's identity leads back to the question.
    text = msgspec.json.decode(msgspec.json.encode(question.question))
    try:
        reply = agent.answer(text)
        trail, note = checked(await reply if inspect.isawaitable(reply) else reply)
    except ENDING:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and error.code == EXIT_TERMINATED:
            raise  # we are being stopped; any other exit is the agent's own
        return _costed(row, error=describe_failure(error))
    except BaseException as error:
        if not is_stray_cancellation(error):
            raise
        return _costed(row, error=describe_failure(error))
    if trail is not None and trail.failed:
        return _costed(row, error=trail.why or "the agent says that it failed", trail=trail)
    if trail is None or not trail.readable:
        return _costed(row, outcome="INVALID", trail=trail, note=note)
    outcome = "ABSTAINED" if trail.abstained else "ANSWERED"
    return _costed(row, outcome=outcome, trail=trail, note=note)


def checked(reply: object) -> tuple[Trail | None, str]:
    """Reads what an agent returned.

    Returns:
        A trail that JSON can hold and a scorer will read, or null where there is none; and what
        is wrong with it, or was put right.
    """
    if isinstance(reply, str):
        told = make_storable(reply)
        return checked(
            Trail(answer=told, rounds=(Round(answer=told[:MAX_TEXT_LENGTH], done=True),))
        )
    if not isinstance(reply, Trail):
        if inspect.iscoroutine(reply):
            reply.close()  # nobody will await it
        return None, f"the agent returned a {type(reply).__name__}"
    try:
        # There and back: whatever stands in its fields is then of the declared types.
        stored = msgspec.json.encode(reply)
        if len(stored) > MOST_BYTES:
            return None, f"the agent returned a trail of more than {MOST_BYTES:,} bytes"
        trail = msgspec.json.decode(stored, type=Trail)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return None, f"the agent returned a trail that is none: {describe_error(error)}"
    if trail.failed or not trail.readable:
        return trail, trail.why
    problem = _problem(trail)
    if problem:
        return msgspec.structs.replace(trail, readable=False, why=problem), problem
    return _shortened(trail)


def _problem(trail: Trail) -> str:
    """Why a trail is no reply to a question; empty if nothing is wrong."""
    if len(trail.rounds) > MAX_ROUNDS:
        return f"{len(trail.rounds)} iterations, and there are at most {MAX_ROUNDS}"
    longest = max((len(one.answer) for one in trail.rounds), default=0)
    if max(longest, len(trail.answer)) > MAX_TEXT_LENGTH:
        return f"an answer is longer than {MAX_TEXT_LENGTH:,} characters"
    if is_blank(trail.answer) and not trail.abstained:
        return "neither an answer nor an abstention"
    return ""


def _shortened(trail: Trail) -> tuple[Trail, str]:
    """A trail without pages and texts beyond what a scorer reads."""
    docs = _fitting(trail.docs, _length)
    verified = _fitting(trail.verified, len)
    lost = len(trail.docs) - len(docs) + len(trail.verified) - len(verified)
    # All rounds share one room in a prediction, and their answers go before their pages.
    room = MAX_TOTAL_LENGTH - sum(len(one.answer) for one in trail.rounds)
    rounds = []
    for one in trail.rounds:
        found = _fitting(one.found, _length, room)
        room -= sum(map(_length, found))
        lost += len(one.found) - len(found)
        rounds.append(msgspec.structs.replace(one, found=found))
    short = msgspec.structs.replace(trail, docs=docs, verified=verified, rounds=tuple(rounds))
    return short, f"{lost} pages or texts left out: too long, or too many" if lost else ""


def _fitting(
    items: tuple[Any, ...], size: Callable[[Any], int], room: int = MAX_TOTAL_LENGTH
) -> tuple[Any, ...]:
    """The first items that fit into ``room`` characters and one list of a prediction."""
    kept: list[Any] = []
    for item in items:
        needed = size(item)
        if needed <= MAX_TEXT_LENGTH and needed <= room and len(kept) < MAX_ITEMS:
            kept.append(item)
            room -= needed
    return tuple(kept)


def _length(page: CitedPage) -> int:
    """Characters of what a prediction calls a page by."""
    return len(page.name)


def _costed(row: SynthLinkRow, **changes: Any) -> SynthLinkRow:
    log = current_calls()
    waited = round(log.latency_s, 4) if log.calls else None
    return msgspec.structs.replace(
        row, latency_s=waited, usage=round_cost(log.sum_usage()), **changes
    )
