"""Structured Knowledge Notation as text: read it, strictly or as models write it, and write it.

The grammar stands in ``docs/skn.md``. ``parse(serialize(x)) == x`` for every document, and
``serialize`` gives each document one text only, so formatting twice changes nothing.
"""

from __future__ import annotations

from eval.skn.grammar import lexical
from eval.skn.grammar.document import Document
from eval.skn.grammar.parsed import Parsed, Problem
from eval.skn.grammar.strict_reading import read_strictly
from eval.skn.grammar.tolerant_reading import read_tolerantly
from kg.base.errors import NotationError

__all__ = ["Parsed", "Problem", "parse", "read", "serialize"]


def parse(text: str, *, strict: bool = True) -> Document:
    """The document that ``text`` says.

    Args:
        text: one SKN block.
        strict: hold it to the grammar. Else deviations are let pass, those that drop or guess
            something too; ``read`` says which there were.

    Raises:
        NotationError: it cannot be read; the message has the line and column of the first problem.
    """
    parsed = read(text, strict=strict)
    if parsed.document is not None:
        return parsed.document
    first = parsed.loss or parsed.problems[0]
    others = len(parsed.problems) - 1
    more = f" (and {others} more)" if others else ""
    raise NotationError(
        f"not SKN: {first.what}{more}",
        where=f"line {first.line}, column {first.column}",
        hint="The grammar stands in docs/skn.md.",
    )


def read(text: str, *, strict: bool = True) -> Parsed:
    """Reads ``text`` and says what is wrong with it; never raises, whatever the text is.

    Time is linear in its length; more than ``lexical.MAX_CHARACTERS`` are not read at all.
    """
    if len(text) > lexical.MAX_CHARACTERS:
        what = f"longer than {lexical.MAX_CHARACTERS} characters: not read"
        return Parsed(None, (Problem(1, 1, what),), lossless=False)
    exact = read_strictly(text)
    if strict or exact.document is not None:
        return exact
    tolerant = read_tolerantly(text)
    # Blank lines too many are all that tolerant reading passes over in silence.
    return tolerant if tolerant.problems else tolerant._replace(problems=exact.problems)


def serialize(document: Document) -> str:
    """The one canonical text of ``document``, without blank lines and without a last line break.

    Raises:
        NotationError: the text would be longer than can be read back.
    """
    source = document.source
    lines = [
        "[SKN]",
        f"@src {lexical.domain(source.domain)} | fresh:{source.fresh}"
        f" | reliability:{lexical.unit(source.reliability)}",
        "@facts",
    ]
    lines += [
        f"  {fact.priority} {lexical.quoted(fact.text)} [{lexical.unit(fact.confidence)}]"
        for fact in document.facts
    ]
    if document.causal is not None:
        lines.append("@causal")
        lines += [
            f"  {lexical.term(link.cause)} -> {lexical.term(link.effect)}"
            f" [{lexical.unit(link.strength)}]"
            for link in document.causal
        ]
    if document.gaps is not None:
        lines += ["@gaps", *(f"  - {lexical.gap(gap)}" for gap in document.gaps)]
    if document.risk is not None:
        risk = document.risk
        lines.append(
            f"@risk misdirection:{risk.misdirection} | missing_context:{risk.missing_context}"
        )
    text = "\n".join([*lines, "[/SKN]"])
    if len(text) > lexical.MAX_CHARACTERS:
        raise NotationError(
            f"the document takes {len(text)} characters, more than can be read back",
            hint=f"At most {lexical.MAX_CHARACTERS} are.",
        )
    return text
