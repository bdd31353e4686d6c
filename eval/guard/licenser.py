"""Decides for each clause whether it may pass: a claim passes if the graph licenses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from eval.guard.segmenter import Segment
from eval.guard.splitter import CONNECTIVES, Clause, ClauseSplitter
from eval.questions.parser import ClaimParser, ParseFailure
from eval.questions.statements import Statement, StatementReader
from eval.replies.parser import read_reply
from kg.claims import Claim, Label

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

Kind = Literal["licensed", "contradicted", "unknown", "ambiguous", "unread", "question", "no-claim"]
KINDS: tuple[Kind, ...] = (
    "licensed", "contradicted", "unknown", "ambiguous", "unread", "question", "no-claim",
)  # fmt: skip

# A clause in three parts: marks and a connective before it, the clause proper, and punctuation.
_EDGES = re.compile(
    rf"(?P<before>[\s\-*•>#]*(?:(?:{CONNECTIVES})\s+)?)(?P<core>.*?)(?P<after>[\s.,;:!?…。！？]*)",
    re.DOTALL | re.IGNORECASE,
)
# Words of questions that assert what they ask about ("Did you know that …?").
_ASSERTING_WORDS = re.compile(
    r"\b(?:know|knew|aware|realise|realize|right|correct|why|how|when|because|since|given|forgot|"
    r"forget|isn|doesn|don|aren|wasn|didn|true)\b",
    re.IGNORECASE,
)
# Words for yes and no, including those that ``read_reply`` does not accept as an answer.
_YES_NO = (
    r"[\s\W]*(?:yes|no|nope|yep|yeah|indeed|of course|sure|surely|exactly|certainly|definitely|"
    r"absolutely|naturally|obviously|clearly|correct|right|true|false|wrong|never|not)\b"
)
# A clause that begins with yes or no, or a whole clause such as "They do."
_ANSWER = re.compile(
    rf"{_YES_NO}|[\s\W]*(?:it|they|he|she|that|this|so)\s+(?:is|are|was|do|does|did|has|have|it)\W*$",
    re.IGNORECASE,
)
# A clause that begins with yes or no and a punctuation mark, such as "Yes, the Rhine …".
_LEADING_YES_NO = re.compile(rf"{_YES_NO}\s*[,;:!.–—-]", re.IGNORECASE)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The clauses that pass in addition to licensed claims."""

    strict: bool = False
    """Whether only licensed claims pass; questions and text without a claim are then withheld."""
    pass_unread: bool = False
    """Whether clauses pass that may be claims about the graph but cannot be parsed."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One clause of the stream and its outcome."""

    start: int
    """Offset of the clause in the stream, in characters."""
    source: str
    """The original clause."""
    text: str
    """The output: the clause itself, or a mark that it was withheld."""
    kind: Kind
    passed: bool
    reason: str = ""
    """The reason why the clause was withheld."""
    claims: tuple[Claim, ...] = ()
    """The claims that the clause was parsed as."""


class Context(NamedTuple):
    """The context that the preceding clauses give to the next one."""

    subject: str = ""
    """Name of the last clause's subject, which the next clause may leave out; or empty."""
    has_open_question: bool = False
    """Whether a question about the graph has passed and no claim has followed it yet. A mere "Yes."
    would then be a claim."""


class Licenser:
    """Decides with one knowledge base which clauses may pass."""

    def __init__(self, knowledge: KnowledgeBase, policy: Policy) -> None:
        self._kb = knowledge
        self._policy = policy
        self._reader = StatementReader(ClaimParser(knowledge))
        self._splitter = ClauseSplitter(self._reader, knowledge.verbaliser.render_term)

    def judge_segment(self, segment: Segment, context: Context) -> Iterator[tuple[Event, Context]]:
        """Judges the clauses of a sentence.

        Args:
            segment: the sentence.
            context: the context left by the clause before the sentence.

        Yields:
            Each clause's event, and the context for the next clause.
        """
        start = segment.start
        has_open_question = context.has_open_question
        is_question = _is_question(segment.text)
        for original in self._split_segment(segment, context.subject):
            clause = original
            if has_open_question and not is_question and _is_answer(original):
                clause = Clause(original.text, ParseFailure("it answers a question"), "")
            event = self._build_event(clause, start, is_question=is_question)
            if clause.reading is not None:
                # A question is open if it passes. An answer leaves it open, because it counts as
                # unread; any other clause about the graph closes it.
                has_open_question = (is_question and event.passed) or (
                    has_open_question and clause is not original
                )
            yield event, Context(clause.subject, has_open_question)
            start += len(clause.text)

    def _split_segment(self, segment: Segment, subject: str) -> Iterator[Clause]:
        if not segment.text.strip():
            yield Clause(segment.text, None, "" if segment.text.count("\n") > 1 else subject)
        elif segment.forced or _is_question(segment.text):
            # Part of a clause must not be judged as if it were a whole clause, nor a question as
            # if it were a statement.
            concerns_graph = self._reader.concerns_graph(
                segment.text, may_omit_subject=bool(subject)
            )
            failure = ParseFailure("it was cut off" if segment.forced else "it is a question")
            yield Clause(segment.text, failure if concerns_graph else None, "")
        else:
            yield from self._splitter.split_sentence(segment.text, subject)

    def _build_event(self, clause: Clause, start: int, *, is_question: bool) -> Event:
        claims: tuple[Claim, ...] = ()
        if is_question:
            kind, reason = self._judge_question(clause)
        elif clause.reading is None:
            kind, reason = "no-claim", "it claims nothing of the graph"
        elif isinstance(clause.reading, ParseFailure):
            kind, reason = "unread", _UNREAD_REASON
        else:
            claims = tuple(
                claim for alternatives in clause.reading.claims for claim in alternatives
            )
            kind, reason = self._judge_statement(clause.reading)
        passed = not clause.text.strip() or self._may_pass(kind)
        return Event(
            start=start,
            source=clause.text,
            text=clause.text if passed else _mark_withheld(clause.text, reason),
            kind=kind,
            passed=passed,
            reason="" if passed else reason,
            claims=claims,
        )

    def _may_pass(self, kind: Kind) -> bool:
        if kind == "licensed":
            return True
        if self._policy.strict:
            return False
        return kind in ("no-claim", "question") or (kind == "unread" and self._policy.pass_unread)

    def _judge_question(self, clause: Clause) -> tuple[Kind, str]:
        if clause.reading is not None and _ASSERTING_WORDS.search(clause.text):
            return "unread", _UNREAD_REASON
        return "question", "it is a question"

    def _judge_statement(self, statement: Statement) -> tuple[Kind, str]:
        """Returns the worst outcome of a statement's claims, and its reason."""
        outcomes: list[tuple[Kind, str]] = []
        for alternatives in statement.claims:
            labels = {verdict.label for verdict in self._kb.oracle.license_many(alternatives)}
            text = self._kb.verbaliser.render_clause(alternatives[0])
            if len(labels) > 1:
                outcomes.append(("ambiguous", f"several things may be meant by “{text}”"))
            else:
                outcomes.append(_judge_label(labels.pop(), text, negated=statement.negated))
        worst_first = ("contradicted", "unknown", "ambiguous", "licensed")
        return min(outcomes, key=lambda outcome: worst_first.index(outcome[0]))


_UNREAD_REASON = "it could not be checked against the graph"


def _judge_label(label: Label, text: str, *, negated: bool) -> tuple[Kind, str]:
    """Returns the outcome of a clause that asserts or denies a claim with this label."""
    if label == "U":
        return "unknown", f"nothing in the graph {'denies' if negated else 'says'} that {text}"
    if (label == "E") != negated:
        return "licensed", ""
    return "contradicted", f"the graph {'says' if negated else 'contradicts'} that {text}"


def _mark_withheld(text: str, reason: str) -> str:
    """Replaces a clause by a mark, keeping the connective before and the punctuation after it."""
    parts = _EDGES.fullmatch(text)
    before, after = (parts["before"], parts["after"]) if parts else ("", "")
    return f"{before}[withheld: {reason}]{after}"


def _is_answer(clause: Clause) -> bool:
    """Returns whether a clause is a yes or no, in any language, or begins with one.

    "Yes, the Rhine flows into the North Sea" is true by itself, but would be wrong as an answer to
    the question whether it flows into another sea.
    """
    if isinstance(clause.reading, Statement):
        return _LEADING_YES_NO.match(clause.text) is not None
    if clause.reading is not None:
        return False
    return read_reply(clause.text).pred in ("YES", "NO") or _ANSWER.match(clause.text) is not None


def _is_question(text: str) -> bool:
    """Returns whether a sentence ends with a question mark, ignoring quotes and brackets."""
    return text.rstrip("\"'’”»)]}*_` \t\n").endswith(("?", "？"))
