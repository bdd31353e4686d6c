"""Asks a model for a typed reply and turns it into an answer; used by every system with a model.

A reply becomes YES, NO or UNKNOWN only if it says so explicitly. A refusal, a reply that was cut
off before its answer was complete and a reply that cannot be read are ``INVALID``; a failed call
raises an error, and its row is ``ERROR``. Neither is ever counted as an abstention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import UnsetType

from eval.abstention.result import PENALTY_MARK, Answer, Pred
from eval.harness.systems.settings import Settings
from eval.model.foreign_values import MAX_RAW_CHARS
from eval.model.replies.probability import compute_answer_probability
from eval.replies.cleaner import remove_thoughts
from eval.replies.parser import ParsedReply, read_reply
from kg.base.console import print_warning_once
from kg.claims import Gold

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.completion import Completion, Message, Reply
    from eval.model.options import ClientOptions

MAX_ANSWER_TOKENS = 128
"""Default maximum length of a reply with an answer and a confidence, which needs about 25 tokens.

The rest is for models that write a sentence first, on servers that cannot enforce a form."""
MAX_PROPOSAL_TOKENS = 192
"""Default maximum length of a reply with claims: mostly one is asked for, of about 60 tokens.

Small models go on to the last claim allowed. A reply cut off before that has its answer."""
MAX_REASON_TOKENS = 384
"""Added to the default maximum length of a reply if a reason is asked for."""
MAX_PENALTY = 0.99
SERVER_DEFAULT = "server"
"""``--set temperature=server`` leaves the temperature to the server."""

# Beginnings of notes, which say how a reply was read.
_REFUSED = "refused"
_CUT_OFF = "cut off at max_tokens"
_CUT_OFF_AFTER = "cut off at max_tokens after its answer"
_UNREADABLE = "unreadable"
_READ_AS_TEXT = "read as text"
_JSON_ANSWER = re.compile(r"\{[^{}]*\"answer\"")

ConfidenceSource = Literal["auto", "logprob", "stated", "none"]
"""Where the confidence of an answer comes from. ``auto``: the log-probability if the server gives
it, else the confidence that the model states, else null."""


class AnswerReply(Protocol):
    """A typed reply that has an answer and a confidence."""

    @property
    def answer(self) -> Gold:
        """YES, NO or UNKNOWN."""

    @property
    def confidence(self) -> float | UnsetType:
        """The confidence that the model states, 0 to 1; unset if the reply was cut off."""


T = TypeVar("T", bound=AnswerReply)


@dataclass(frozen=True)
class Sampling:
    """The settings that influence a model's replies, as given with ``--set``."""

    temperature: float | None
    top_p: float
    max_tokens: int
    seed: int | None
    structured: str
    confidence: str
    reason: bool = False
    """Whether the model is asked for a reason, which costs most of the tokens of a reply."""
    penalty: float | None = None
    """What the model is told a wrong answer costs; see ``announce_penalty``."""

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        temperature: float = 0.0,
        max_tokens: int = MAX_ANSWER_TOKENS,
        with_confidence: bool = True,
    ) -> Sampling:
        """Reads the settings that all systems with a model have.

        They are ``temperature``, ``top_p``, ``max_tokens``, ``model_seed``, ``structured``,
        ``reason``, ``penalty`` and ``confidence``. With ``temperature=server``, no temperature is
        sent.

        Args:
            settings: as given with ``--set``.
            temperature: default temperature.
            max_tokens: default maximum length of a reply without a reason, in tokens.
            with_confidence: whether the system has the setting ``confidence``. If not, no
                confidence is requested from the model.

        Raises:
            SettingError: a setting has an invalid value.
        """
        # Some models refuse every request that contains a temperature.
        reason = settings.get_flag("reason")
        max_tokens += MAX_REASON_TOKENS if reason else 0
        leave_to_server = settings.get_text("temperature", "") == SERVER_DEFAULT
        return cls(
            temperature=None
            if leave_to_server
            else settings.get_float("temperature", temperature, minimum=0.0, maximum=2.0),
            top_p=settings.get_fraction("top_p", 1.0),
            max_tokens=settings.get_int("max_tokens", max_tokens, minimum=1),
            seed=settings.get_optional_int("model_seed"),
            structured=settings.get_choice(
                "structured", ("auto", "json_schema", "json_object", "text")
            ),
            confidence=settings.get_choice("confidence", ("auto", "logprob", "stated", "none"))
            if with_confidence
            else "none",
            reason=reason,
            penalty=settings.get_float("penalty", 0.0, minimum=0.0, maximum=MAX_PENALTY)
            if settings.get_text("penalty", "")
            else None,
        )


class AnswerClient:
    """A model client that returns answers.

    Args:
        client: the model.
        source: the source of the confidence.
        penalty: what the model is told a wrong answer costs, if anything.
        reason: whether the model is asked for a reason.
    """

    def __init__(
        self,
        client: ModelClient,
        source: ConfidenceSource = "auto",
        penalty: float | None = None,
        *,
        reason: bool = False,
    ) -> None:
        self.client = client
        self._reason = reason
        self._penalty = penalty
        self._source: ConfidenceSource = source

    @classmethod
    def open(cls, options: ClientOptions, sampling: Sampling) -> AnswerClient:
        """Opens the client.

        Raises:
            EpocheError: as ``ModelClient.open``.
        """
        from eval.model.client import ModelClient

        structured: Any = sampling.structured  # from_settings has checked both values
        source: Any = sampling.confidence
        client = ModelClient.open(
            options,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            top_p=sampling.top_p,
            seed=sampling.seed,
            structured=structured,
            logprobs=source in ("auto", "logprob"),
        )
        return cls(client, source, sampling.penalty, reason=sampling.reason)

    def params(self) -> dict[str, Any]:
        """Returns the client's parameters, what is asked for, and the penalty."""
        penalty = {} if self._penalty is None else {"penalty": self._penalty}
        asked = {"confidence": self._source, "reason": self._reason}
        return {**self.client.params(), **asked, **penalty}

    def qualify_name(self, base: str) -> str:
        """Returns ``base:model``, so that systems with different models differ in name.

        The penalty of which the model is told follows as in ``raw:lab/model@t.5``.
        """
        name = f"{base}:{self.client.model}"
        if self._penalty is None:
            return name
        return f"{name}{PENALTY_MARK}{f'{self._penalty:g}'.removeprefix('0') or '0'}"

    async def ask(
        self, messages: Sequence[Message], reply_type: type[T], *, sample: int = 0
    ) -> tuple[Answer, T | None]:
        """Asks the model once; if the reply is malformed, asks it once more to repair the reply.

        Args:
            messages: the prompt.
            reply_type: the type of the reply without a reason.
            sample: number of the sample; replies with different numbers are cached separately.

        Returns:
            The answer, and the typed reply if it could be read.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: this call failed and will not be retried.
        """
        if self._penalty is not None:
            messages = announce_penalty(messages, self._penalty)
        if self._reason:
            from eval.model.prompts import WITH_REASON

            reply_type = WITH_REASON[reply_type]
        model_reply = await self.client.ask(messages, reply_type, sample=sample)
        return self._build_answer(model_reply), model_reply.value

    async def aclose(self) -> None:
        """Closes the client."""
        await self.client.aclose()

    def _build_answer(self, reply: Reply[T]) -> Answer:
        completion = reply.completion
        if completion.is_refused:
            return Answer(pred="INVALID", raw=completion.refusal or reply.text, note=_REFUSED)
        value = reply.value
        if value is not None:
            stated = None if isinstance(value.confidence, UnsetType) else value.confidence
            confidence, note = self._choose_confidence(value.answer, stated, completion)
            if completion.is_cut_off:
                note = "; ".join(filter(None, (_CUT_OFF_AFTER, note)))
            return Answer(pred=value.answer, confidence=confidence, raw=reply.text, note=note)
        if completion.is_cut_off:
            if not remove_thoughts(reply.text).strip():
                print_warning_once(
                    "the model was cut off at max_tokens before it wrote an answer; one that "
                    "thinks first needs more, for example --set max_tokens=4096"
                )
            return Answer(pred="INVALID", raw=reply.text, note=_CUT_OFF)
        # A server without structured output may have returned the answer as plain text.
        parsed_reply = _read_plain_text(reply.text)
        if parsed_reply.pred == "INVALID":
            return Answer(pred="INVALID", raw=reply.text, note=f"{_UNREADABLE}: {reply.problem}")
        is_json = _is_json(parsed_reply)
        # In a sentence the first "no" need not be the answer ("there is no doubt: yes"), so its
        # token probabilities are used only for JSON and for one-word replies.
        scored_completion = completion if is_json or _is_one_word(reply.text) else None
        confidence, note = self._choose_confidence(parsed_reply.pred, None, scored_completion)
        note_parts = filter(None, (f"{_READ_AS_TEXT} ({parsed_reply.reason})", note))
        return Answer(
            pred=parsed_reply.pred,
            confidence=confidence,
            raw=reply.text,
            note="; ".join(note_parts),
        )

    def _choose_confidence(
        self, answer: Gold, stated_confidence: float | None, completion: Completion | None
    ) -> tuple[float | None, str]:
        """Returns the confidence, and a note if it does not come from the preferred source.

        Args:
            answer: the answer that was parsed from the reply.
            stated_confidence: the confidence that the model states, if any.
            completion: the completion whose tokens spell the answer, if any.
        """
        if self._source == "none":
            return None, ""
        if self._source != "stated" and completion is not None:
            probability = compute_answer_probability(completion, (answer,))
            if probability is not None:
                return round(probability, 6), ""
        if self._source == "logprob":
            return None, "no log-probability of the answer"
        if stated_confidence is None or not 0.0 <= stated_confidence <= 1.0:
            if stated_confidence is None:
                return None, "no confidence"
            return None, "the stated confidence is not a number from 0 to 1"
        return stated_confidence, "confidence as stated" if self._source == "auto" else ""


def announce_penalty(messages: Sequence[Message], penalty: float) -> list[Message]:
    """Adds to the system message how answers are scored, as in the skill score with this penalty.

    Args:
        messages: the prompt, its system message first.
        penalty: the penalty t: an answer pays off from a probability of t on.
    """
    system, *others = messages
    cost = penalty / (1 - penalty)
    scoring = (
        "Your answers are scored: a right answer is worth 1 point, a wrong answer costs "
        f"{cost:.3g} points, and UNKNOWN is worth 0 points where YES or NO would have been right. "
        f"So answer YES or NO only if you are more than {penalty:.0%} sure of it."
    )
    return [{**system, "content": f"{system['content']}\n\n{scoring}"}, *others]


def read_raw_again(raw: str, note: str) -> Pred | None:
    """Returns the prediction that follows from a row of a system that only asks for an answer.

    Args:
        raw: the row's ``raw``.
        note: the row's ``note``, which says how the reply was read.

    Returns:
        The prediction; None if ``raw`` is not what the model wrote (a long reply that was cut).
    """
    from eval.model.prompts import TypedAnswer
    from eval.model.replies.reply_form import get_form

    if len(raw) > MAX_RAW_CHARS:
        return None
    if note in (_REFUSED, _CUT_OFF) or note.startswith(_UNREADABLE):
        return "INVALID"
    if note.startswith(_READ_AS_TEXT):
        return _read_plain_text(raw).pred
    is_cut_off = note.startswith(_CUT_OFF_AFTER)
    value = get_form(TypedAnswer).read_reply(raw, is_cut_off=is_cut_off).value
    return "INVALID" if value is None else value.answer


def _read_plain_text(text: str) -> ParsedReply:
    """Reads a reply that is no typed one. Broken JSON is not searched for an answer word."""
    parsed_reply = read_reply(text)
    has_json = text.lstrip().startswith("{") or _JSON_ANSWER.search(remove_thoughts(text))
    if has_json and not _is_json(parsed_reply):
        return ParsedReply("INVALID", parsed_reply.reason)
    return parsed_reply


def _is_json(parsed_reply: ParsedReply) -> bool:
    # The reason begins with how the answer was found, for instance in JSON or in a sentence.
    return parsed_reply.reason.startswith("JSON")


def _is_one_word(text: str) -> bool:
    """Returns whether a reply is a single word, so that its tokens are those of the answer."""
    return len(text.split()) == 1
