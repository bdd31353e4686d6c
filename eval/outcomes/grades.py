"""Reads the grades of a file as outcomes: right, wrong, abstained or unusable.

Some grades mean something only beside the file's other ones: a letter is that of SimpleQA or of
Inspect, and 1 and 0 are right and wrong only if there is no third number, because the middle one of
three (1, 0, −1 of CRAG) is an abstention, which looks like a wrong answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.harness.predictions.reader import show_text
from eval.harness.predictions.rows import list_names
from kg.base.errors import RecordError
from kg.base.plain_text import join_list

OUTCOMES: Final = ("right", "wrong", "abstained", "unusable")
"""``unusable``: the answer cannot be graded, or the call failed."""

SPELLINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("right", "correct", "true", "1", "1.0", "pass", "passed"), "right"),
    **dict.fromkeys(("wahr", "richtig", "vrai"), "right"),
    **dict.fromkeys(("wrong", "incorrect", "false", "0", "0.0", "fail", "failed"), "wrong"),
    **dict.fromkeys(("falsch", "faux"), "wrong"),
    **dict.fromkeys(
        ("abstained", "abstain", "abstention", "not_attempted", "not attempted", "unknown"),
        "abstained",
    ),
    **dict.fromkeys(
        ("refused", "refusal", "no answer", "no_answer", "unanswered", "idk"), "abstained"
    ),
    **dict.fromkeys(("unusable", "invalid", "error", "unreadable", "unparsable"), "unusable"),
}
_LETTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "SimpleQA": {"a": "right", "b": "wrong", "c": "abstained"},
    "Inspect": {"c": "right", "i": "wrong", "n": "abstained"},
}
"""Grades of one letter. They contradict each other, so all grades of a file must be of one set."""
_TRUE_OR_FALSE: Final = frozenset(
    (
        *("true", "1", "1.0", "pass", "passed", "wahr", "vrai"),
        *("false", "0", "0.0", "fail", "failed", "falsch", "faux"),
    )
)
"""Grades that do not say themselves of what they are true."""
_OTHER_SCORES: Final = re.compile(
    r"fail|abst|refus|declin|reject|halluc|toxic|err(?:ors?)?$|latenc|cost|harm(?!less)|bias|unsafe"
    r"|violat|incorrect|wrong|mistake|invalid|perplex|ppl$|loss$|length|duration|timed?$|impossible"
    r"|unanswer|unusable|unknown|jailbreak|leak|contradict|uncertain|fehl|falsch|halluz|enthalt|verweiger"
)
"""Beginnings of words of scores that are high where answers are not right, or of other things."""
_UNBOUNDED_SCORES: Final = re.compile(r"err(?:ors?)?$|latenc|cost")
"""The same of scores of which no threshold says that an answer is right."""
_SCORES_OF_RIGHTNESS: Final = frozenset(
    (
        *("correct", "right", "acc", "accuracy", "match", "pass", "passed", "success", "ok"),
        *("free", "no", "non", "without"),
    )
)
"""Words of scores that are high where answers are right, as ``error_free``."""
_NO_ANSWER: Final = re.compile(r"\b(?:no|non|not) (?:answer|response|reply|attempt)")
"""The opposite, in the words of a name."""
_GOLD_NAMES: Final = frozenset(("target", "answer", "expected", "label", "gold", "correct"))
"""Words of columns of gold answers."""
_FIRST_OPTION: Final = "D"
"""The first letter of options of questions that is no grade of SimpleQA."""
_NAME_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_RIGHT_OR_WRONG: Final = {0.0, 1.0}
"""The numbers that are grades by themselves, if a file has no other."""
_MAX_SHOWN: Final = 3
_MAX_SHOWN_NUMBERS: Final = 10


class Outcomes(NamedTuple):
    """The outcomes of a file, and how its grades were read."""

    outcomes: list[str]
    note: str
    letters: str = ""
    """The letters that were read as grades, as ``ABC``."""


def is_other_score(name: str, *, has_threshold: bool = False) -> bool:
    """Returns whether a score, by its name, is not about whether an answer is right.

    Args:
        name: the score or column.
        has_threshold: whether the user gives a number from which on it says that answers are right.
    """
    words = _split_name(name)
    others = _UNBOUNDED_SCORES if has_threshold else _OTHER_SCORES
    is_other = any(map(others.match, words)) and _SCORES_OF_RIGHTNESS.isdisjoint(words)
    return is_other or (not has_threshold and bool(_NO_ANSWER.search(" ".join(words))))


def check_score_name(
    name: str,
    given: Iterable[str],
    path: Path,
    values: Mapping[str, str],
    scores: Sequence[str],
    *,
    has_threshold: bool = False,
) -> None:
    """Refuses to read 1 and 0 of a score such as ``failure`` as right and wrong.

    Args:
        name: the score or column.
        given: its grades in lower case.
        path: the file.
        values: as in ``read_grades``.
        scores: all scores of the log, or columns of the file.
        has_threshold: whether other numbers are read by a threshold.

    Raises:
        RecordError: a grade is true or false of something else, and the user does not say what it
            means.
    """
    read = {t for t in given if t in _TRUE_OR_FALSE or (has_threshold and _is_number(t))}
    explained = {**values, **_explain_numbers(read, values)}
    unclear = sorted(read - explained.keys())[:_MAX_SHOWN]
    if unclear and is_other_score(name, has_threshold=has_threshold):
        raise RecordError(
            f"by its name, {show_text(name)} does not say whether an answer is right, so that "
            f"{join_list(unclear, 'or')} may mean anything",
            where=str(path),
            hint=f"Say what they mean, as in --value 1=wrong,0=right, or choose another score or "
            f"column with --map outcome=NAME: {list_names(scores)}.",
        )


def check_letters(
    letters: str, name: str, rows: Iterable[Mapping[str, Any]], others: Iterable[str], path: Path
) -> None:
    """Refuses letters that are options of questions, as another column has them, too.

    Args:
        letters: the letters that were read as grades.
        name: the column that has them.
        rows: the rows of the file.
        others: the columns that are not used.
        path: the file.

    Raises:
        RecordError: another column has nothing but single letters, and is called like one of gold
            answers, or has a D or later letter.
    """
    rows = list(rows)
    # Options are A, B, C, … and not the C, I, N of Inspect.
    for other in others if "a" in letters.casefold() else ():
        found = {str(row[other]).strip() for row in rows if not is_empty(row.get(other))}
        has_letters = len(found) > 1 and all(len(text) == 1 and text.isalpha() for text in found)
        is_gold = not _GOLD_NAMES.isdisjoint(_split_name(other))
        if has_letters and (is_gold or max(map(str.upper, found)) >= _FIRST_OPTION):
            raise RecordError(
                f"{show_text(name)} and {show_text(other)} have single letters: these are options "
                "of questions, and no grades",
                where=str(path),
                hint="Write a column that says whether the two are equal, and name it with --map "
                "outcome=…; if they are grades, say what each means: --value A=right,B=wrong,….",
            )


def read_grades(
    given: Sequence[tuple[str, str]],
    path: Path,
    values: Mapping[str, str],
    threshold: float | None = None,
) -> Outcomes:
    """Reads the outcomes of a file.

    Args:
        given: file and line, and grade in lower case, of each answer.
        path: the file.
        values: grade in lower case → outcome, as the user says; before all others.
        threshold: other numbers are right from this on, else wrong; ``None`` to read none so.

    Raises:
        RecordError: a grade is not known, grades are of different sets, or none is usable.
    """
    explained = _explain_numbers({text for _, text in given}, values)
    if threshold is not None:
        numbers = {text: _parse_number(text) for _, text in given if text not in values}
        explained = {
            text: "right" if number >= threshold else "wrong"
            for text, number in numbers.items()
            if number is not None
        } | explained
    known = {**SPELLINGS, **values, **explained}
    unexplained = _find_ambiguous_numbers({text for _, text in given}, {**values, **explained})
    if unexplained:
        raise _make_number_error([text for _, text in given], unexplained, path)
    unknown = {text for _, text in given if text not in known}
    note = used = ""
    if unknown:
        sets = [(kind, letters) for kind, letters in _LETTERS.items() if unknown <= set(letters)]
        if len(sets) != 1:
            raise _make_outcome_error(given, known, path)
        kind, letters = sets[0]
        known = {**letters, **known}
        used = "".join(letters)
        pairs = (f"{letter.upper()} {known[letter]}" for letter in letters)
        note = f"grades are read as those of {kind}: {', '.join(pairs)}"
    outcomes = [known[text] for _, text in given]
    if outcomes and set(outcomes) == {"unusable"}:
        shown = ", ".join(
            show_text(text) for text in list(dict.fromkeys(t for _, t in given))[:_MAX_SHOWN]
        )
        raise RecordError(
            f"no answer is usable: all {len(outcomes):,} outcomes are {shown}",
            where=str(path),
            hint="Say what they mean with --value THEIRS=OUTCOME, or name another column.",
        )
    return Outcomes(outcomes, note, used)


def _split_name(name: str) -> list[str]:
    """Returns the words of a name such as ``hasError`` or ``error_rate``, in lower case."""
    return [word.casefold() for word in _NAME_WORD.findall(name)]


def is_empty(value: Any) -> bool:
    """Returns whether a field is not given: it is absent, null or an empty text."""
    return value is None or (isinstance(value, str) and not value.strip())


def _parse_number(text: str) -> float | None:
    """Parses a grade that is a finite number; ``None`` if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_number(text: str) -> bool:
    return _parse_number(text) is not None


def _explain_numbers(texts: Iterable[str], values: Mapping[str, str]) -> dict[str, str]:
    """Returns the outcomes of numbers that the user explains in another spelling, as 1 for 1.0."""
    by_number = {_parse_number(text): outcome for text, outcome in values.items()}
    by_number.pop(None, None)
    numbers = ((text, _parse_number(text)) for text in texts if text not in values)
    return {text: by_number[number] for text, number in numbers if number in by_number}


def _find_ambiguous_numbers(texts: Iterable[str], explained: Mapping[str, str]) -> set[str]:
    """Finds the numbers that nobody explains, if a file has others than 1 and 0."""
    numbers = {text: number for text in texts if (number := _parse_number(text)) is not None}
    if set(numbers.values()) <= _RIGHT_OR_WRONG:
        return set()
    return numbers.keys() - explained.keys()


def _make_number_error(grades: Iterable[str], unexplained: set[str], path: Path) -> RecordError:
    counts = Counter(text for text in grades if _parse_number(text) is not None)
    texts = sorted(counts, key=lambda text: (-(_parse_number(text) or 0.0), text))
    shown = [f"{show_text(text)} ({counts[text]:,})" for text in texts[:_MAX_SHOWN_NUMBERS]]
    if len(texts) > len(shown):
        shown.append(f"and {len(texts) - len(shown):,} more")
    missing = [text for text in texts if text in unexplained]
    is_graded = all(0 <= (_parse_number(text) or 0.0) <= 1 for text in texts)
    return RecordError(
        f"1 and 0 are right and wrong only where there is no third number; these are the numbers, "
        f"and how often each occurs: {', '.join(shown)}",
        where=str(path),
        hint=f"Say what every one means, with --value THEIRS=OUTCOME also for 1 and 0 (not yet: "
        f"{', '.join(map(show_text, missing[:_MAX_SHOWN_NUMBERS]))}"
        f"{', …' if len(missing) > _MAX_SHOWN_NUMBERS else ''}); outcomes are "
        f"{join_list(OUTCOMES)}. "
        + (
            "Of graded scores, --threshold .5 reads those from .5 on as right."
            if is_graded
            else "Where −1 is wrong, 0 is often abstained."
        ),
    )


def _make_outcome_error(
    given: Sequence[tuple[str, str]], known: Mapping[str, str], path: Path
) -> RecordError:
    lines: dict[str, str] = {}
    for where, text in given:
        if text not in known:
            lines.setdefault(text, where.rpartition(":")[2])
    shown = ", ".join(
        f"{show_text(text)} (line {lines[text]})" for text in list(lines)[:_MAX_SHOWN]
    )
    return RecordError(
        f"these outcomes are not known: {shown}{', …' if len(lines) > _MAX_SHOWN else ''}",
        where=str(path),
        hint=f"Say what they mean with --value THEIRS=OUTCOME; outcomes are {join_list(OUTCOMES)}.",
    )
