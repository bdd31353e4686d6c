"""Systems ``json`` to ``skn``: write notes on a card in one of eight formats and answer from them.

An extractor reads the card's facts and rules and writes notes on them in the format. An agent then
answers from these notes and the question alone. By default a language model does both; with
``by=rules`` both are rule-based, which measures only what information a format keeps or drops, not
how a model copes with it. The system ``formats`` runs all eight and writes their rows to one file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from cards.card import CardView
from eval.abstention.answer_client import AnswerClient, Sampling
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.model.prompts import TypedAnswer
from eval.skn.formats.pipelines import FAIR_ABLATION_PIPELINES, PIPELINES, Pipeline
from eval.skn.formats.settings import MIN_WORDS, Setting

if TYPE_CHECKING:
    from eval.skn.card_rules.agent import RuleAgent
    from eval.skn.card_rules.extractor import RuleExtractor

MEASURES = "what a format keeps or drops of a card, by rules, and not how a model fares with it"
"""What answers by rules measure; every table computed from them repeats this sentence."""


class RuleFormatSystem:
    """Answers from notes written and read by rules.

    Args:
        pipeline: the format.
        extractor: writes the notes.
        agent: answers from them.
    """

    def __init__(self, pipeline: Pipeline, extractor: RuleExtractor, agent: RuleAgent) -> None:
        self.name = f"{pipeline.name} (rules)"
        self._extractor = extractor
        self._agent = agent

    def params(self) -> dict[str, Any]:
        """Returns what the answers measure, and the parameters of extractor and agent."""
        return {
            "measures": MEASURES,
            "extractor": self._extractor.params(),
            "agent": self._agent.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """Answers YES, NO or UNKNOWN from the information that the format preserved."""
        from eval.skn.card_rules.context import read_context
        from eval.skn.formats.card_prompt import build_card_text

        extraction = await self._extractor.extract(build_card_text(card), card.question)
        rule_answer = self._agent.answer_yes_no_question(
            read_context(extraction.context), card.question
        )
        return Answer(
            pred=rule_answer.pred, confidence=rule_answer.confidence, raw=rule_answer.reason
        )


class ModelFormatSystem:
    """Answers from notes written by a model, which also reads them in a separate conversation.

    Args:
        pipeline: the format.
        answer_client: the client of the model that writes and reads the notes.
        setting: the settings shared by all formats.
    """

    def __init__(self, pipeline: Pipeline, answer_client: AnswerClient, setting: Setting) -> None:
        from eval.skn.formats.extraction import ModelExtractor

        self.name = answer_client.qualify_name(pipeline.name)
        self.client = answer_client.client
        self._answer_client = answer_client
        self._extractor = ModelExtractor(pipeline, answer_client.client, setting)

    def params(self) -> dict[str, Any]:
        """Returns the extractor's parameters, the prompt for answering, and the model."""
        from eval.skn.formats.card_prompt import CARD_PROMPT

        return {
            "extractor": self._extractor.params(),
            "prompt": CARD_PROMPT.params(),
            **self._answer_client.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """Returns the model's answer from its own notes; ``raw`` has the notes, then the reply.

        If the notes cannot be parsed even after a repair turn, the answer is ``INVALID``. If they
        cannot be parsed strictly, the answer's field ``note`` says so.

        Raises:
            ModelAccessError: no call can succeed.
            ModelCallError: a call failed for good.
        """
        from eval.skn.formats.card_prompt import CARD_PROMPT, build_card_text

        extraction = await self._extractor.extract(build_card_text(card), card.question)
        if not extraction.readable:
            return Answer(
                pred="INVALID", raw=extraction.raw, note=f"extraction: {extraction.problem}"
            )
        messages = CARD_PROMPT.build_messages(notes=extraction.context, question=card.question)
        answer, _ = await self._answer_client.ask(messages, TypedAnswer)
        note = "" if extraction.validity == "strict" else f"extraction {extraction.validity}"
        return msgspec.structs.replace(
            answer,
            raw=f"{extraction.context}\n\n{answer.raw}",
            note="; ".join(filter(None, (note, answer.note))),
        )

    async def aclose(self) -> None:
        """Closes the client."""
        await self._answer_client.aclose()


FormatSystem = RuleFormatSystem | ModelFormatSystem


def _build_systems(
    names: tuple[str, ...], options: SystemOptions, settings: Settings, choices: tuple[str, str]
) -> tuple[FormatSystem, ...]:
    """Builds the systems of some formats.

    Args:
        names: names of the formats.
        options: the options given to the factory.
        settings: the settings to read.
        choices: the choices ``rules`` and ``model`` of the setting ``by``, the default first.
    """
    reader_kind = settings.get_choice("by", choices)
    words = settings.get_int("words", Setting().words, minimum=MIN_WORDS)
    show_question = not settings.get_flag("hide_question")
    if reader_kind == "rules":
        settings.refuse_unknown()
        from eval.skn.card_rules.agent import RuleAgent
        from eval.skn.card_rules.extractor import RuleExtractor

        setting, agent = Setting(words=words, show_question=show_question), RuleAgent()
        return tuple(
            RuleFormatSystem(PIPELINES[name], RuleExtractor(PIPELINES[name], setting), agent)
            for name in names
        )
    constrained = settings.get_flag("constrained")
    sampling = Sampling.from_settings(settings, max_tokens=Setting().max_tokens)
    settings.refuse_unknown()
    setting = Setting(
        words=words,
        show_question=show_question,
        max_tokens=sampling.max_tokens,
        constrained=constrained,
    )
    return tuple(
        ModelFormatSystem(PIPELINES[name], AnswerClient.open(options.client, sampling), setting)
        for name in names
    )


def _build_factory(name: str) -> Callable[[SystemOptions], FormatSystem]:
    def create_system(options: SystemOptions) -> FormatSystem:
        (system,) = _build_systems(
            (name,), options, Settings(options.settings, name), ("model", "rules")
        )
        return system

    create_system.__doc__ = (
        f"A language model's notes of the card as {name}, and its answer from them."
    )
    return create_system


for _name in FAIR_ABLATION_PIPELINES:
    register(_name, asks_model=True)(_build_factory(_name))


@register("formats", asks_model=True)
def create_formats(options: SystemOptions) -> tuple[FormatSystem, ...]:
    """All eight formats (json to skn), rule-based by default: what each keeps of a card."""
    settings = Settings(options.settings, "formats")
    return _build_systems(FAIR_ABLATION_PIPELINES, options, settings, ("rules", "model"))
