"""Builds what an agent sees of a question, reads what it returned, and builds the row of its reply.

An agent is third-party code that may return anything. Only a trail that says so, or a text that
declines to answer, is an abstention.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import msgspec

from eval.harness.reply import Reply, Vote
from eval.model.foreign_values import describe_error, make_storable
from eval.replies.abstention import is_abstention
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Round, Trail
from eval.synthlink.items import Question
from eval.synthlink.predictions import MAX_ITEMS, MAX_TEXT_LENGTH, MAX_TOTAL_LENGTH, is_blank
from eval.synthlink.row import Outcome, SynthLinkRow
from eval.synthlink.run_manifest import RunManifest

MAX_TRAIL_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a trail as JSON, so that a runaway agent cannot fill the disk."""


def copy_question_text(question: Question) -> str:
    """Returns what an agent sees: the text of the question and nothing else.

    It is a copy, so that not even the object's identity leads back to the question and its answer.
    """
    text: str = msgspec.json.decode(msgspec.json.encode(question.question))
    return text


def read_trail(returned: object) -> Reply:
    """Converts what an agent returned to a reply; it raises nothing."""
    trail, note = check_reply(returned)
    if trail is None:
        return Reply(status="invalid", problem=note)
    if trail.failed:
        problem = trail.why or "the agent says that it failed"
        return Reply(status="error", problem=problem, value=trail)
    if not trail.readable:
        return Reply(status="invalid", problem=note, value=trail)
    return Reply(value=trail, notes=(note,) if note else ())


def score_reply(
    question: Question,
    reply: Reply,
    _vote: Vote | None = None,
    _manifest: RunManifest | None = None,
) -> SynthLinkRow:
    """Builds the row of a reply; it depends on neither votes nor settings."""
    trail = None if reply.value is None else msgspec.convert(reply.value, Trail)
    outcome: Outcome = "ERROR"
    if reply.status == "invalid" or (trail is None and reply.status == "ok"):
        outcome = "INVALID"
    elif reply.status == "ok":
        outcome = "ABSTAINED" if trail is not None and trail.abstained else "ANSWERED"
    return SynthLinkRow(
        id=question.id,
        category=question.category,
        system=reply.system,
        repeat=reply.repeat,
        outcome=outcome,
        error=reply.problem if outcome == "ERROR" else None,
        note=reply.problem if outcome == "INVALID" else "; ".join(reply.notes),
        trail=trail,
        latency_s=reply.latency_s,
        usage=reply.usage,
    )


def check_reply(reply: object) -> tuple[Trail | None, str]:
    """Validates what an agent returned.

    Returns:
        A trail that JSON can represent and the scorer can read, or None if there is none; and a
        note on its problems and corrections.
    """
    if isinstance(reply, str):
        text = make_storable(reply)
        return check_reply(
            Trail(
                answer=text,
                abstained=is_abstention(text),
                rounds=(Round(answer=text[:MAX_TEXT_LENGTH], done=True),),
            )
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
