"""Asks an agent one question and converts its reply or its error to a well-formed row.

An agent is third-party code: it may raise or return anything. None of this ends a run, changes
another row or counts as an abstention.
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
from eval.synthlink.row import SynthLinkRow
from kg.base.errors import EXIT_TERMINATED, ModelAccessError, WriteError

FATAL_ERRORS: Final = (ModelAccessError, WriteError)
"""Errors that end the run: the model cannot be used, or nothing can be written."""
MAX_TRAIL_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a trail as JSON, so that a runaway agent cannot fill the disk."""


async def ask_agent(agent: Any, question: Question, system: str) -> SynthLinkRow:
    """Asks one question.

    Args:
        agent: the agent; it receives a copy of the question's text and nothing else.
        question: the question; only its text leaves this function.
        system: the agent's name as it was when the run started.

    Returns:
        The row, also if the agent failed. Call costs come from the open ``CallLog``.

    Raises:
        ModelAccessError: the model cannot be used, so no further question can be answered.
        WriteError: the results of a live search cannot be recorded.
    """
    row = SynthLinkRow(id=question.id, category=question.category, system=system, outcome="ERROR")
    # A copy, so that not even the object's identity leads back to the question.
    text = msgspec.json.decode(msgspec.json.encode(question.question))
    try:
        reply = agent.answer(text)
        trail, note = check_reply(await reply if inspect.isawaitable(reply) else reply)
    except FATAL_ERRORS:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and error.code == EXIT_TERMINATED:
            raise  # SIGTERM stops the run; any other exit code comes from the agent
        return _add_costs(row, error=describe_failure(error))
    except BaseException as error:
        if not is_stray_cancellation(error):
            raise
        return _add_costs(row, error=describe_failure(error))
    if trail is not None and trail.failed:
        return _add_costs(row, error=trail.why or "the agent says that it failed", trail=trail)
    if trail is None or not trail.readable:
        return _add_costs(row, outcome="INVALID", trail=trail, note=note)
    outcome = "ABSTAINED" if trail.abstained else "ANSWERED"
    return _add_costs(row, outcome=outcome, trail=trail, note=note)


def check_reply(reply: object) -> tuple[Trail | None, str]:
    """Validates what an agent returned.

    Returns:
        A trail that JSON can represent and the scorer can read, or None if there is none; and a
        note on its problems and corrections.
    """
    if isinstance(reply, str):
        text = make_storable(reply)
        return check_reply(
            Trail(answer=text, rounds=(Round(answer=text[:MAX_TEXT_LENGTH], done=True),))
        )
    if not isinstance(reply, Trail):
        if inspect.iscoroutine(reply):
            reply.close()  # else Python warns of a coroutine that was never awaited
        return None, f"the agent returned a {type(reply).__name__}"
    try:
        # Encoded and decoded, so that every field has its declared type.
        stored = msgspec.json.encode(reply)
        if len(stored) > MAX_TRAIL_BYTES:
            return None, f"the agent returned a trail of more than {MAX_TRAIL_BYTES:,} bytes"
        trail = msgspec.json.decode(stored, type=Trail)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return None, f"the agent returned a trail that is none: {describe_error(error)}"
    if trail.failed or not trail.readable:
        return trail, trail.why
    problem = _find_problem(trail)
    if problem:
        return msgspec.structs.replace(trail, readable=False, why=problem), problem
    return _shorten_trail(trail)


def _find_problem(trail: Trail) -> str:
    """Returns why a trail is not a valid reply; empty if it is."""
    if len(trail.rounds) > MAX_ROUNDS:
        return f"{len(trail.rounds)} iterations, and there are at most {MAX_ROUNDS}"
    longest = max((len(one.answer) for one in trail.rounds), default=0)
    if max(longest, len(trail.answer)) > MAX_TEXT_LENGTH:
        return f"an answer is longer than {MAX_TEXT_LENGTH:,} characters"
    if is_blank(trail.answer) and not trail.abstained:
        return "neither an answer nor an abstention"
    return ""


def _shorten_trail(trail: Trail) -> tuple[Trail, str]:
    """Removes pages and texts beyond the limits of a scorer; returns a note on them."""
    docs = _take_fitting(trail.docs, _get_name_length)
    verified = _take_fitting(trail.verified, len)
    n_removed = len(trail.docs) - len(docs) + len(trail.verified) - len(verified)
    # All rounds share one limit in a prediction; answers count before pages.
    chars_left = MAX_TOTAL_LENGTH - sum(len(one.answer) for one in trail.rounds)
    rounds = []
    for one in trail.rounds:
        found = _take_fitting(one.found, _get_name_length, chars_left)
        chars_left -= sum(map(_get_name_length, found))
        n_removed += len(one.found) - len(found)
        rounds.append(msgspec.structs.replace(one, found=found))
    short = msgspec.structs.replace(trail, docs=docs, verified=verified, rounds=tuple(rounds))
    return short, f"{n_removed} pages or texts left out: too long, or too many" if n_removed else ""


def _take_fitting(
    items: tuple[Any, ...], size: Callable[[Any], int], max_chars: int = MAX_TOTAL_LENGTH
) -> tuple[Any, ...]:
    """Returns the first items that fit into ``max_chars`` characters and one list."""
    kept: list[Any] = []
    for item in items:
        needed = size(item)
        if needed <= MAX_TEXT_LENGTH and needed <= max_chars and len(kept) < MAX_ITEMS:
            kept.append(item)
            max_chars -= needed
    return tuple(kept)


def _get_name_length(page: CitedPage) -> int:
    """Returns the length of the name by which a prediction cites a page."""
    return len(page.name)


def _add_costs(row: SynthLinkRow, **changes: Any) -> SynthLinkRow:
    log = current_calls()
    latency_s = round(log.latency_s, 4) if log.calls else None
    return msgspec.structs.replace(
        row, latency_s=latency_s, usage=round_cost(log.sum_usage()), **changes
    )
