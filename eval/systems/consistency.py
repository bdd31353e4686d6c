"""``consistency``: asks a language model several times and takes the majority answer.

Self-consistency without a chain of thought (X. Wang et al., Self-consistency improves chain of
thought reasoning in language models, ICLR 2023): it samples at a temperature above 0; the answer of
most samples wins, and its share is the confidence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.answer_client import SERVER_DEFAULT, AnswerClient, Sampling
from eval.prompts import CLOSED_BOOK, RAW, TypedAnswer
from eval.redaction import hide_secrets
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from eval.systems.raw import build_card_messages
from kg.base.errors import ModelCallError, SettingError
from kg.claims import Gold

DEFAULT_TEMPERATURE = 0.7
DEFAULT_SAMPLES = 5


class Consistency:
    """Asks the model several times and takes the majority answer.

    Args:
        answer_client: the model client; its temperature must be above 0.
        samples: number of samples per card.
        closed_book: as for ``raw``.
    """

    def __init__(
        self,
        answer_client: AnswerClient,
        *,
        samples: int = DEFAULT_SAMPLES,
        closed_book: bool = False,
    ) -> None:
        self.name = answer_client.qualify_name(
            "consistency_closed_book" if closed_book else "consistency"
        )
        self.client = answer_client.client
        self._answer_client = answer_client
        self._samples = samples
        self._closed_book = closed_book

    def params(self) -> dict[str, Any]:
        """Returns samples, prompt and model; the confidence is always the agreement."""
        prompt = CLOSED_BOOK if self._closed_book else RAW
        return {
            "samples": self._samples,
            "prompt": prompt.params(),
            **self._answer_client.params(),
            "confidence": "agreement",
        }

    async def answer(self, card: CardView) -> Answer:
        """Returns the majority answer; see ``combine_samples``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: the failed calls could have changed the answer.
        """
        messages = build_card_messages(card, closed_book=self._closed_book)
        calls = (
            self._answer_client.ask(messages, TypedAnswer, sample=number)
            for number in range(self._samples)
        )
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        answers: list[Answer | ModelCallError] = []
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                if not isinstance(outcome, ModelCallError):
                    raise outcome
                answers.append(outcome)
            else:
                answers.append(outcome[0])
        return combine_samples(answers)

    async def aclose(self) -> None:
        """Closes the client."""
        await self._answer_client.aclose()


def combine_samples(samples: Sequence[Answer | ModelCallError]) -> Answer:
    """Combines the answers of several samples into one.

    Only samples with YES, NO or UNKNOWN count. They must be at least half of all samples;
    otherwise the answer is ``INVALID`` or, if successful calls could have made up the half, the
    first call error is raised. The most frequent answer wins, with its share of the counted samples
    as confidence. On a tie the answer is UNKNOWN, without a confidence; but if a failed call could
    have broken the tie, its error is raised, so that a failure never counts as an abstention.

    Raises:
        ModelCallError: in the two cases above.
    """
    votes: Counter[Gold] = Counter()
    failed: list[ModelCallError] = []
    lines: list[str] = []
    for number, sample in enumerate(samples, start=1):
        if isinstance(sample, ModelCallError):
            failed.append(sample)
            lines.append(f"[{number}] ERROR {hide_secrets(sample.what)}")
            continue
        if sample.pred in ("YES", "NO", "UNKNOWN"):
            votes[sample.pred] += 1
        lines.append(f"[{number}] {sample.pred} {sample.raw}")
    readable = votes.total()
    counted = ", ".join(f"{pred} {votes[pred]}" for pred in ("YES", "NO", "UNKNOWN"))
    raw = "\n".join((f"{counted} of {len(samples)} samples", *lines))
    if 2 * readable < len(samples):
        if failed and 2 * (readable + len(failed)) >= len(samples):
            raise failed[0]
        return Answer(
            pred="INVALID", raw=raw, note=f"{readable} of {len(samples)} samples are readable"
        )
    (first, n_votes), *others = votes.most_common()
    if others and others[0][1] == n_votes:
        if failed:
            raise failed[0]
        return Answer(pred="UNKNOWN", raw=raw, note=f"tie: {counted}")
    return Answer(pred=first, confidence=round(n_votes / readable, 6), raw=raw)


@register("consistency")
def create_system(options: SystemOptions) -> Consistency:
    """A language model asked several times (--set samples=5): majority answer, with agreement."""
    settings = Settings(options.settings, "consistency")
    closed_book = settings.get_flag("closed_book")
    samples = settings.get_int("samples", DEFAULT_SAMPLES, minimum=2)
    sampling = Sampling.from_settings(
        settings, temperature=DEFAULT_TEMPERATURE, with_confidence=False
    )
    settings.refuse_unknown()
    if sampling.temperature == 0:
        raise SettingError(
            "samples at temperature 0 are all the same",
            where="--set temperature=0",
            hint=f"Use a temperature above 0, or {SERVER_DEFAULT}; or system raw, which asks once.",
        )
    return Consistency(
        AnswerClient.open(options.client, sampling), samples=samples, closed_book=closed_book
    )
