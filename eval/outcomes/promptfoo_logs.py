"""Reads the results of promptfoo, whose ``--repeat N`` counts each repeat as a test of its own.

Therefore a test is its content: the variables and assertions. If each occurs equally often, these
are repeats; otherwise the copies of some tests are a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.outcomes.log_content import (
    NOT_SCORED,
    LocatedRow,
    LogContent,
    flatten,
    get_object,
    read_count,
)
from eval.outcomes.question_texts import cluster_copies, write_text
from kg.base.errors import RecordError

_CALL_FAILED: Final = 2
"""The ``failureReason`` of a test whose call failed; 1 is a failed assertion."""


class _Result(NamedTuple):
    where: str
    row: dict[str, Any]
    system: tuple[str, str]
    """Provider and prompt."""
    variables: str
    content: str
    """Variables and assertions."""


def read_promptfoo_results(document: Mapping[str, Any], path: Path) -> LogContent:
    """Reads the rows of promptfoo's results; each provider and prompt is a system.

    Args:
        document: the object ``results`` of the file, which has a list of the same name.
        path: the file.

    Raises:
        RecordError: a result has no test or success.
    """
    results = [
        _read_result(result, f"{path}:result {number}")
        for number, result in enumerate(document["results"], start=1)
    ]
    systems = {result.system for result in results}
    has_prompts = len({prompt for _, prompt in systems}) > 1
    for result in results:
        if len(systems) == 1:
            del result.row["system"]  # The file's own name is that of the system.
        elif has_prompts:
            result.row["system"] += f", prompt {result.system[1]}"
    n_repeats = _number_repeats(results)
    rows: list[LocatedRow] = [(result.where, result.row) for result in results]
    cluster_copies(rows, [result.variables for result in results])
    stats = get_object(document, "stats")
    n_announced = sum(read_count(stats.get(name)) for name in ("successes", "failures", "errors"))
    n_questions = 0
    if n_announced > len(results):
        n_questions = -(-n_announced // max(1, len(systems) * n_repeats))
    return LogContent(rows, ["success"], n_questions, n_repeats)


def _read_result(result: Any, where: str) -> _Result:
    if not isinstance(result, dict) or not {"testIdx", "success"} <= result.keys():
        raise RecordError(
            "a result of promptfoo has no 'testIdx' or 'success'",
            where=where,
            hint="Write the file with promptfoo eval --output FILE.json.",
        )
    provider = result.get("provider")
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else None
    system, prompt = str(name or "system"), str(result.get("promptIdx"))
    failed = result.get("failureReason") == _CALL_FAILED
    variables, test = get_object(result, "vars"), get_object(result, "testCase")
    content = _find_variables(variables, get_object(test, "vars"))
    asserted = write_text(test.get("assert"))
    row = {
        **flatten("vars", variables),
        **flatten("namedScores", get_object(result, "namedScores")),
        "id": result["testIdx"],
        "question": content,
        "system": system,
        "success": NOT_SCORED if failed else result["success"],
    }
    return _Result(
        where, row, (system, prompt), content, f"{content}\n{asserted}" if content else asserted
    )


def _find_variables(found: Mapping[str, Any], stated: Mapping[str, Any]) -> str:
    """Writes the variables of a test, without those that promptfoo adds while it runs."""
    names = stated or found
    return write_text(
        {name: found.get(name, names[name]) for name in names if not name.startswith("_")}
    )


def _number_repeats(results: Sequence[_Result]) -> int:
    """Numbers the copies of tests as repeats, if each test has the same number of them.

    Returns:
        The number of repeats.
    """
    copies: dict[tuple[tuple[str, str], str], list[_Result]] = {}
    for result in results:
        copies.setdefault((result.system, result.content), []).append(result)
    sizes = {len(found) for found in copies.values()}
    if len(sizes) != 1 or sizes <= {1} or any(not content for _, content in copies):
        return 1
    # In the order of the tests, so that a test has the id that it has without repeats.
    ordered = sorted(results, key=lambda result: _get_order(result.row["id"]))
    tests = list(dict.fromkeys(result.content for result in ordered))
    numbers = {content: number for number, content in enumerate(tests)}
    for (_, content), found in copies.items():
        for repeat, result in enumerate(sorted(found, key=lambda r: _get_order(r.row["id"]))):
            result.row["id"], result.row["repeat"] = numbers[content], repeat
    return sizes.pop()


def _get_order(test: Any) -> float:
    return test if isinstance(test, int | float) else 0.0
