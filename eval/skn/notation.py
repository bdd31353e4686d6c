"""Parses Structured Knowledge Notation (SKN), strictly or as models write it, and serialises it.

The grammar is in ``docs/reference/skn-notation.md``. ``parse(serialize(x)) == x`` holds for every
document, and ``serialize`` returns exactly one text per document, so formatting is idempotent.
"""

from __future__ import annotations

from eval.skn.grammar import lexical
from eval.skn.grammar.document import Document
from eval.skn.grammar.parse_result import ParseResult, Problem
from eval.skn.grammar.strict_parser import parse_strictly
from eval.skn.grammar.tolerant_parser import parse_tolerantly
from kg.base.errors import NotationError

__all__ = ["ParseResult", "Problem", "parse", "serialize", "try_parse"]


def parse(text: str, *, strict: bool = True) -> Document:
    """Parses one SKN block.

    Args:
        text: one SKN block.
        strict: require the exact grammar. If false, deviations are accepted, including those for
            which something is dropped or guessed; ``try_parse`` lists them.

    Raises:
        NotationError: the text cannot be parsed; the message has the line and column of the first
            problem.
    """
    parsed = try_parse(text, strict=strict)
    if parsed.document is not None:
        return parsed.document
    problem = parsed.loss or parsed.problems[0]
    n_more = len(parsed.problems) - 1
    suffix = f" (and {n_more} more)" if n_more else ""
    raise NotationError(
        f"not SKN: {problem.what}{suffix}",
        where=f"line {problem.line}, column {problem.column}",
        hint="The grammar is in docs/reference/skn-notation.md.",
    )


def try_parse(text: str, *, strict: bool = True) -> ParseResult:
    """Parses ``text`` and lists its problems; never raises an error.

    Takes time linear in the length of the text. A text of more than ``lexical.MAX_CHARACTERS``
    characters is not parsed.
    """
    if len(text) > lexical.MAX_CHARACTERS:
        what = f"longer than {lexical.MAX_CHARACTERS} characters: not read"
        return ParseResult(None, (Problem(1, 1, what),), lossless=False)
    exact = parse_strictly(text)
    if strict or exact.document is not None:
        return exact
    tolerant = parse_tolerantly(text)
    # Tolerant parsing reports every deviation except surplus blank lines. If it found none, the
    # problems of the strict parser give the numbers of those lines.
    return tolerant if tolerant.problems else tolerant._replace(problems=exact.problems)


def serialize(document: Document) -> str:
    """Returns the canonical text of ``document``, without blank lines or a final line break.

    Raises:
        NotationError: the text would be too long to be parsed again.
    """
    source = document.source
    lines = [
        "[SKN]",
        f"@src {lexical.format_domain(source.domain)} | fresh:{source.fresh}"
        f" | reliability:{lexical.format_unit(source.reliability)}",
        "@facts",
    ]
    lines += [
        f"  {fact.priority} {lexical.quote_string(fact.text)} "
        f"[{lexical.format_unit(fact.confidence)}]"
        for fact in document.facts
    ]
    if document.causal is not None:
        lines.append("@causal")
        lines += [
            f"  {lexical.format_term(link.cause)} -> {lexical.format_term(link.effect)}"
            f" [{lexical.format_unit(link.strength)}]"
            for link in document.causal
        ]
    if document.gaps is not None:
        lines += ["@gaps", *(f"  - {lexical.format_gap(gap)}" for gap in document.gaps)]
    if document.risk is not None:
        risk = document.risk
        lines.append(
            f"@risk misdirection:{risk.misdirection} | missing_context:{risk.missing_context}"
        )
    text = "\n".join([*lines, "[/SKN]"])
    if len(text) > lexical.MAX_CHARACTERS:
        raise NotationError(
            f"the document has {len(text)} characters, too many to be parsed again",
            hint=f"The limit is {lexical.MAX_CHARACTERS} characters.",
        )
    return text
