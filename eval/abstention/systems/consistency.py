"""``consistency``: asks a language model several times and takes the majority answer.

This is self-consistency (X. Wang et al., Self-consistency improves chain of thought reasoning in
language models, ICLR 2023), but without a chain of thought. The model is sampled at a temperature
above 0; the most frequent answer wins, and its share of the samples is the confidence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.abstention.answer_client import SERVER_DEFAULT, AnswerClient, Sampling
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.raw import build_card_messages
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.model.prompts import CLOSED_BOOK, RAW, BareAnswer
from eval.model.redaction import hide_secrets
from kg.base.errors import ModelCallError, SettingError
from kg.claims import Gold

DEFAULT_TEMPERATURE = 0.7
DEFAULT_SAMPLES = 5


class Consistency:
    """Asks the model several times and takes the majority answer.

    Args:
        answer_client: the model client; its temperature must be above 0.
        samples: number of samples per card.
        closed_book: whether facts and rules are withheld, as for the system ``raw``.
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
        """Returns the number of samples, the prompt, the model, and the kind of confidence."""
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
            ModelCallError: calls failed that could have changed the answer.
        """
        messages = build_card_messages(card, closed_book=self._closed_book)
        calls = (
            self._answer_client.ask(messages, BareAnswer, sample=sample_number)
            for sample_number in range(self._samples)
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

    Only samples with YES, NO or UNKNOWN count. The most frequent answer wins, and its share of the
    counted samples is the confidence.

    * If fewer than half of all samples count, the answer is ``INVALID``. If so many calls failed
      that they could have made up the half, the first call error is raised instead.
    * If so many calls failed that another answer could have won, the first call error is raised.
    * On a tie the answer is UNKNOWN, without a confidence. If a reply was unreadable, which could
      have broken the tie, it is ``INVALID``, so that it counts as no abstention.

    Raises:
        ModelCallError: a failed call could have changed the answer.
    """
    votes: Counter[Gold] = Counter()
    call_errors: list[ModelCallError] = []
    lines: list[str] = []
    for number, sample in enumerate(samples, start=1):
        if isinstance(sample, ModelCallError):
            call_errors.append(sample)
            lines.append(f"[{number}] ERROR {hide_secrets(sample.what)}")
            continue
        if sample.pred in ("YES", "NO", "UNKNOWN"):
            votes[sample.pred] += 1
        lines.append(f"[{number}] {sample.pred} {sample.raw}")
    n_readable = votes.total()
    vote_counts = ", ".join(f"{pred} {votes[pred]}" for pred in ("YES", "NO", "UNKNOWN"))
    raw = "\n".join((f"{vote_counts} of {len(samples)} samples", *lines))
    if 2 * n_readable < len(samples):
        if call_errors and 2 * (n_readable + len(call_errors)) >= len(samples):
            raise call_errors[0]
        return Answer(
            pred="INVALID", raw=raw, note=f"{n_readable} of {len(samples)} samples are readable"
        )
    (winner, n_votes), *runners_up = votes.most_common()
    lead = n_votes - (runners_up[0][1] if runners_up else 0)
    if call_errors and lead <= len(call_errors):
        raise call_errors[0]
    note = f"{n_readable} of {len(samples)} samples are readable"
    if not lead:
        if n_readable < len(samples):
            return Answer(pred="INVALID", raw=raw, note=f"{note}, a tie: {vote_counts}")
        return Answer(pred="UNKNOWN", raw=raw, note=f"tie: {vote_counts}")
    if n_readable == len(samples):
        note = ""
    return Answer(pred=winner, confidence=round(n_votes / n_readable, 6), raw=raw, note=note)


@register("consistency", asks_model=True)
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
