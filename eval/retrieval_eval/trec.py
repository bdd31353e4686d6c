"""Renders rankings and labels in TREC formats, so that other tools can evaluate them too.

``trec_eval`` ignores the ranks in a run file: it sorts by score, and breaks ties by id. Retrievers
break ties differently. So the score written here is the rank counted from the end, which has no
ties and gives other tools the same order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eval.retrieval_eval.questions import Question

_UNSAFE_CHAR = re.compile(r"[\s%]|[^\x20-\x7e\u00a0-\U0010ffff]")


def render_qrels(questions: Sequence[Question]) -> str:
    """Renders ``question 0 chunk grade`` for every gold chunk; none for unanswerable questions."""
    return "".join(
        f"{_escape_field(question.id)} 0 {_escape_field(chunk_id)} {grade}\n"
        for question in questions
        for chunk_id, grade in question.qrels.items()
    )


def render_run(
    name: str, rankings: Mapping[str, Sequence[str]], questions: Sequence[Question]
) -> str:
    """Renders ``question Q0 chunk rank score name``; the score is the rank from the end.

    Args:
        name: name of the retriever.
        rankings: id of a question → ids of the chunks found, best first; questions for which
            nothing was found may be absent.
        questions: the questions.
    """
    lines: list[str] = []
    for question in questions:
        ranking = rankings.get(question.id, ())
        for rank, chunk_id in enumerate(ranking, start=1):
            lines.append(
                f"{_escape_field(question.id)} Q0 {_escape_field(chunk_id)} {rank} "
                f"{len(ranking) + 1 - rank} {_escape_field(name)}\n"
            )
    return "".join(lines)


def _escape_field(text: str) -> str:
    """Percent-encodes whitespace, ``%`` and control characters, since spaces separate fields."""
    return _UNSAFE_CHAR.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text
    )
