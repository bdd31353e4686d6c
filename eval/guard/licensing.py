"""Says of each clause whether it may pass: a claim does when the graph licenses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from eval.guard.cutting import Piece
from eval.guard.splitting import CONNECTIVES, Part, Splitter
from eval.questions.parsing import ClaimParser, Unread
from eval.questions.statements import Statement, StatementReader
from eval.replies.parsing import read_reply
from kg.claims import Claim, Label

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

Kind = Literal["licensed", "contradicted", "unknown", "ambiguous", "unread", "question", "no-claim"]
KINDS: tuple[Kind, ...] = (
    "licensed", "contradicted", "unknown", "ambiguous", "unread", "question", "no-claim",
)  # fmt: skip

_EDGES = re.compile(
    rf"(?P<before>[\s\-*•>#]*(?:(?:{CONNECTIVES})\s+)?)(?P<core>.*?)(?P<after>[\s.,;:!?…。！？]*)",
    re.DOTALL | re.IGNORECASE,
)
# Questions that assert what they ask about.
_ASSERTING = re.compile(
    r"\b(?:know|knew|aware|realise|realize|right|correct|why|how|when|because|since|given|forgot|"
    r"forget|isn|doesn|don|aren|wasn|didn|true)\b",
    re.IGNORECASE,
)
# Yes and no in words that are too weak to be read as a model's whole answer.
_YES_NO = (
    r"[\s\W]*(?:yes|no|nope|yep|yeah|indeed|of course|sure|surely|exactly|certainly|definitely|"
    r"absolutely|naturally|obviously|clearly|correct|right|true|false|wrong|never|not)\b"
)
_ANSWER = re.compile(
    rf"{_YES_NO}|[\s\W]*(?:it|they|he|she|that|this|so)\s+(?:is|are|was|do|does|did|has|have|it)\W*$",
    re.IGNORECASE,
)
_ANSWER_FIRST = re.compile(rf"{_YES_NO}\s*[,;:!.–—-]", re.IGNORECASE)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What passes besides licensed claims."""

    strict: bool = False
    """Nothing does: neither questions nor text that makes no claim."""
    pass_unread: bool = False
    """Clauses that name things of the graph in words that are not understood."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One clause of the stream and what became of it."""

    start: int
    """Where the clause begins in the stream, in characters."""
    source: str
    """The clause as it came."""
    text: str
    """What is let through in its place: the clause itself, or a mark that it was withheld."""
    kind: Kind
    passed: bool
    reason: str = ""
    """Why it was withheld."""
    claims: tuple[Claim, ...] = ()
    """The claims it was read as."""


class Context(NamedTuple):
    """What the clauses before lend to the next one."""

    subject: str = ""
    """What the last clause was about, for the next to leave out; or empty."""
    asked: bool = False
    """Whether a question about the graph was let through and no claim came since, so that a bare
    "Yes." would be a claim."""


class Licenser:
    """Judges clauses against one knowledge base."""

    def __init__(self, knowledge: KnowledgeBase, policy: Policy) -> None:
        self._kb = knowledge
        self._policy = policy
        self._reader = StatementReader(ClaimParser(knowledge))
        self._splitter = Splitter(self._reader, knowledge.words.name)

    def judge(self, piece: Piece, context: Context) -> Iterator[tuple[Event, Context]]:
        """Judges the clauses of a sentence.

        Args:
            piece: the sentence.
            context: of the clause before it.

        Yields:
            Each clause's event, and what it leaves to the clause behind it.
        """
        start, asked, question = piece.start, context.asked, _asks(piece.text)
        for found in self._parts(piece, context.subject):
            part = found
            if asked and not question and _answers(found):
                part = Part(found.text, Unread("it answers a question"), "")
            event = self._event(part, start, question=question)
            if part.reading is not None:
                # An answer that was withheld leaves its question open; a claim of its own does not.
                asked = (question and event.passed) or (asked and part is not found)
            yield event, Context(part.subject, asked)
            start += len(part.text)

    def _parts(self, piece: Piece, subject: str) -> Iterator[Part]:
        if not piece.text.strip():
            yield Part(piece.text, None, "" if piece.text.count("\n") > 1 else subject)
        elif piece.forced or _asks(piece.text):
            # Half a clause must not pass for a whole one, nor a question for an answer.
            concerns = self._reader.concerns(piece.text, continues=bool(subject))
            why = Unread("it was cut off" if piece.forced else "it is a question")
            yield Part(piece.text, why if concerns else None, "")
        else:
            yield from self._splitter.split(piece.text, subject)

    def _event(self, part: Part, start: int, *, question: bool) -> Event:
        claims: tuple[Claim, ...] = ()
        if question:
            kind, reason = self._of_question(part)
        elif part.reading is None:
            kind, reason = "no-claim", "it claims nothing of the graph"
        elif isinstance(part.reading, Unread):
            kind, reason = "unread", _UNREAD
        else:
            claims = tuple(claim for group in part.reading.claims for claim in group)
            kind, reason = self._licensed(part.reading)
        passed = not part.text.strip() or self._passes(kind)
        return Event(
            start=start,
            source=part.text,
            text=part.text if passed else _marked(part.text, reason),
            kind=kind,
            passed=passed,
            reason="" if passed else reason,
            claims=claims,
        )

    def _passes(self, kind: Kind) -> bool:
        if kind == "licensed":
            return True
        if self._policy.strict:
            return False
        return kind in ("no-claim", "question") or (kind == "unread" and self._policy.pass_unread)

    def _of_question(self, part: Part) -> tuple[Kind, str]:
        if part.reading is not None and _ASSERTING.search(part.text):
            return "unread", _UNREAD
        return "question", "it is a question"

    def _licensed(self, statement: Statement) -> tuple[Kind, str]:
        """The worst that is to be said of a statement's claims, and why."""
        found: list[tuple[Kind, str]] = []
        for group in statement.claims:
            labels = {verdict.label for verdict in self._kb.oracle.license_many(group)}
            said = self._kb.words.clause_of(group[0])
            if len(labels) > 1:
                found.append(("ambiguous", f"several things may be meant by “{said}”"))
            else:
                found.append(_judged(labels.pop(), said, negated=statement.negated))
        order = ("contradicted", "unknown", "ambiguous", "licensed")
        return min(found, key=lambda judged: order.index(judged[0]))


_UNREAD = "it could not be held against the graph"


def _judged(label: Label, said: str, *, negated: bool) -> tuple[Kind, str]:
    """What the label of a claim means for the clause that says or denies it."""
    if label == "U":
        return "unknown", f"nothing in the graph {'denies' if negated else 'says'} that {said}"
    if (label == "E") != negated:
        return "licensed", ""
    return "contradicted", f"the graph {'says' if negated else 'contradicts'} that {said}"


def _marked(text: str, reason: str) -> str:
    """The mark in place of a clause, between the connective before and the pause behind it."""
    edges = _EDGES.fullmatch(text)
    before, after = (edges["before"], edges["after"]) if edges else ("", "")
    return f"{before}[withheld: {reason}]{after}"


def _answers(part: Part) -> bool:
    """Whether a clause is a yes or no, in whatever language, or begins with one.

    "Yes, the Rhine flows into the North Sea" is licensed by itself, but not as an answer to
    whether it flows into another sea.
    """
    if isinstance(part.reading, Statement):
        return _ANSWER_FIRST.match(part.text) is not None
    if part.reading is not None:
        return False
    return read_reply(part.text).pred in ("YES", "NO") or _ANSWER.match(part.text) is not None


def _asks(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip("\"'’”»)]}*_` \t\n").endswith(("?", "？"))
