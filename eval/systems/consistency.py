"""``consistency``: a language model asked several times; what most samples say, and how many.

Self-consistency without a chain of thought (X. Wang et al., Self-consistency improves chain of
thought reasoning in language models, ICLR 2023): samples at a temperature above 0, the answer that
most of them give, their share as its confidence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cards.card import CardView
from eval.asking import SERVERS_OWN, Asker, Sampling
from eval.prompts import CLOSED_BOOK, RAW, TypedAnswer
from eval.redaction import hide_secrets
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from eval.systems.raw import card_messages
from kg.base.errors import ModelCallError, SettingError
from kg.claims import Gold

TEMPERATURE = 0.7
SAMPLES = 5


class Consistency:
    """Asks the model several times and counts votes.

    Args:
        asker: the model; its temperature must be above 0.
        samples: how often each card is asked.
        closed_book: as for ``raw``.
    """

    def __init__(self, asker: Asker, *, samples: int = SAMPLES, closed_book: bool = False) -> None:
        self.name = asker.name("consistency_closed_book" if closed_book else "consistency")
        self.client = asker.client
        self._asker = asker
        self._samples = samples
        self._closed_book = closed_book

    def params(self) -> dict[str, Any]:
        """Samples, prompt and model; confidence is always the agreement."""
        prompt = CLOSED_BOOK if self._closed_book else RAW
        return {
            "samples": self._samples,
            "prompt": prompt.params(),
            **self._asker.params(),
            "confidence": "agreement",
        }

    async def answer(self, card: CardView) -> Answer:
        """What most samples say; see ``vote``.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: so many calls failed that they might have decided.
        """
        messages = card_messages(card, closed_book=self._closed_book)
        asked = (
            self._asker.ask(messages, TypedAnswer, sample=number) for number in range(self._samples)
        )
        got = await asyncio.gather(*asked, return_exceptions=True)
        answers: list[Answer | ModelCallError] = []
        for one in got:
            if isinstance(one, BaseException):
                if not isinstance(one, ModelCallError):
                    raise one
                answers.append(one)
            else:
                answers.append(one[0])
        return vote(answers)

    async def aclose(self) -> None:
        """Closes the client."""
        await self._asker.aclose()


def vote(samples: Sequence[Answer | ModelCallError]) -> Answer:
    """One answer from several.

    Only YES, NO and UNKNOWN are votes. At least half of the samples must be; otherwise the answer
    is ``INVALID``, unless it was failed calls that were missing to reach half: then the first of
    their errors is raised. The answer with the most votes wins, and its share of the votes is the
    confidence. A tie at the top is no majority: the answer is UNKNOWN, without a confidence; but
    where a call failed that could have broken it, its error is raised, for no failure makes an
    abstention.

    Raises:
        ModelCallError: as said.
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
    (first, most), *others = votes.most_common()
    if others and others[0][1] == most:
        if failed:
            raise failed[0]
        return Answer(pred="UNKNOWN", raw=raw, note=f"tie: {counted}")
    return Answer(pred=first, confidence=round(most / readable, 6), raw=raw)


@register("consistency")
def create(options: SystemOptions) -> Consistency:
    """A language model asked several times (--set samples=5): the majority, agreement beside it."""
    settings = Settings(options.settings, "consistency")
    closed_book = settings.flag("closed_book")
    samples = settings.whole("samples", SAMPLES, least=2)
    sampling = Sampling.read(settings, temperature=TEMPERATURE, stated=False)
    settings.refuse_others()
    if sampling.temperature == 0:
        raise SettingError(
            "samples at temperature 0 are all the same",
            where="--set temperature=0",
            hint=f"Use a temperature above 0, or {SERVERS_OWN}; or system raw, which asks once.",
        )
    return Consistency(
        Asker.open(options.client, sampling), samples=samples, closed_book=closed_book
    )
