"""``json`` … ``skn``: a card written down in one of eight formats, and an agent that reads that.

The card's facts and rules are the text. An extractor writes it down in the format, and the agent
answers from what was written and sees nothing else of the card but the question. With a model both
are the model; with ``by=rules`` both are rules, which measures what information a format keeps or
drops and nothing of what a model makes of it. ``formats`` asks all eight into one file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from cards.card import CardView
from eval.asking import Asker, Sampling
from eval.prompts import TypedAnswer
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.skn.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES, Pipeline
from eval.skn.setting import LEAST_WORDS, Setting
from eval.system import SystemOptions

if TYPE_CHECKING:
    from eval.skn.rules.agent import RuleAgent
    from eval.skn.rules.extractor import RuleExtractor

MEASURES = "what a format keeps or drops of a card, by rules, and not how a model fares with it"
"""What answers by rules say; every table made of them repeats it."""


class FormatByRules:
    """Answers from an extraction by rules.

    Args:
        pipeline: the format.
        extractor: writes it.
        agent: reads it.
    """

    def __init__(self, pipeline: Pipeline, extractor: RuleExtractor, agent: RuleAgent) -> None:
        self.name = f"{pipeline.name} (rules)"
        self._extractor = extractor
        self._agent = agent

    def params(self) -> dict[str, Any]:
        """The rules of both, with the format and the budget, and what comes of them."""
        return {
            "measures": MEASURES,
            "extractor": self._extractor.params(),
            "agent": self._agent.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN by what the format kept of the card."""
        from eval.skn.formats.card_reading import card_text
        from eval.skn.rules.known import read_context

        extraction = await self._extractor.extract(card_text(card), card.question)
        found = self._agent.decide(read_context(extraction.context), card.question)
        return Answer(pred=found.pred, confidence=found.confidence, raw=found.reason)


class FormatByModel:
    """Has a model extract and, in a conversation of its own, answer from the extraction.

    Args:
        pipeline: the format.
        asker: the model for both.
        setting: what is the same for every format.
    """

    def __init__(self, pipeline: Pipeline, asker: Asker, setting: Setting) -> None:
        from eval.skn.formats.extracting import ModelExtractor

        self.name = asker.name(pipeline.name)
        self.client = asker.client
        self._asker = asker
        self._extractor = ModelExtractor(pipeline, asker.client, setting)

    def params(self) -> dict[str, Any]:
        """The extractor's, the prompt of the reading, and the model."""
        from eval.skn.formats.card_reading import CARD_READING

        return {
            "extractor": self._extractor.params(),
            "prompt": CARD_READING.params(),
            **self._asker.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """As the model reads its own extraction; ``raw`` holds that, then the reply.

        An extraction that cannot be read even after its repair turn is ``INVALID``; one that
        needed more than strict reading says so in the note.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: a call failed for good.
        """
        from eval.skn.formats.card_reading import CARD_READING, card_text

        extraction = await self._extractor.extract(card_text(card), card.question)
        if not extraction.readable:
            return Answer(
                pred="INVALID", raw=extraction.raw, note=f"extraction: {extraction.problem}"
            )
        messages = CARD_READING.messages(notes=extraction.context, question=card.question)
        answer, _ = await self._asker.ask(messages, TypedAnswer)
        way = "" if extraction.validity == "strict" else f"extraction {extraction.validity}"
        return msgspec.structs.replace(
            answer,
            raw=f"{extraction.context}\n\n{answer.raw}",
            note="; ".join(filter(None, (way, answer.note))),
        )

    async def aclose(self) -> None:
        """Closes the client."""
        await self._asker.aclose()


FormatSystem = FormatByRules | FormatByModel


def _made(
    names: tuple[str, ...], options: SystemOptions, settings: Settings, by: tuple[str, str]
) -> tuple[FormatSystem, ...]:
    """The systems of these formats.

    Args:
        names: of the formats.
        options: as a factory is given them.
        settings: reads theirs.
        by: who extracts and answers, ``rules`` or ``model``; the default first.
    """
    chosen = settings.choice("by", by)
    words = settings.whole("words", Setting().words, least=LEAST_WORDS)
    show_question = not settings.flag("hide_question")
    if chosen == "rules":
        settings.refuse_others()
        from eval.skn.rules.agent import RuleAgent
        from eval.skn.rules.extractor import RuleExtractor

        setting, agent = Setting(words=words, show_question=show_question), RuleAgent()
        return tuple(
            FormatByRules(PIPELINES[name], RuleExtractor(PIPELINES[name], setting), agent)
            for name in names
        )
    constrained = settings.flag("constrained")
    sampling = Sampling.read(settings, max_tokens=Setting().max_tokens)
    settings.refuse_others()
    setting = Setting(
        words=words,
        show_question=show_question,
        max_tokens=sampling.max_tokens,
        constrained=constrained,
    )
    return tuple(
        FormatByModel(PIPELINES[name], Asker.open(options.client, sampling), setting)
        for name in names
    )


def _factory(name: str) -> Callable[[SystemOptions], FormatSystem]:
    def create(options: SystemOptions) -> FormatSystem:
        (system,) = _made((name,), options, Settings(options.settings, name), ("model", "rules"))
        return system

    create.__doc__ = f"A language model's notes of the card as {name}, and its answer from them."
    return create


for _name in FAIR_ABLATION_PIPELINES:
    register(_name)(_factory(_name))


@register("formats")
def formats(options: SystemOptions) -> tuple[FormatSystem, ...]:
    """The eight formats (json … skn) into one file, by rules: what each keeps of a card."""
    settings = Settings(options.settings, "formats")
    return _made(FAIR_ABLATION_PIPELINES, options, settings, ("rules", "model"))
