"""Rankings and labels in the formats of TREC, so that other tools can measure them too.

``trec_eval`` orders a run by score and equal scores by id, whatever the ranks say. The order of a
retriever is settled otherwise, so the scores written are places counted from the end: other tools
see the very order that was measured here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eval.ranking.questions import Question
from eval.ranking.rankings import Rankings

_UNSAFE = re.compile(r"[\s%]|[^\x20-\x7e\u00a0-\U0010ffff]")


def qrels_text(questions: Sequence[Question]) -> str:
    """``question 0 chunk 1`` for every gold chunk. Unanswerable questions have no line."""
    return "".join(
        f"{_field(question.id)} 0 {_field(chunk_id)} 1\n"
        for question in questions
        for chunk_id in question.gold
    )


def run_text(rankings: Rankings, questions: Sequence[Question]) -> str:
    """``question Q0 chunk rank score name``, the score being the place counted from the end."""
    lines: list[str] = []
    for question in questions:
        found = rankings.by_question[question.id]
        for place, chunk_id in enumerate(found, start=1):
            lines.append(
                f"{_field(question.id)} Q0 {_field(chunk_id)} {place} "
                f"{len(found) + 1 - place} {_field(rankings.name)}\n"
            )
    return "".join(lines)


def _field(text: str) -> str:
    """``text`` without space or control character, each written as %XX as in an address."""
    return _UNSAFE.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace")), text
    )
