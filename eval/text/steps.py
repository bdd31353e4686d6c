"""Who takes each step of a build: what works offline, or a model."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.canonical.verifier import SynonymVerifier
    from kg.text.keywords.protocol import KeywordExtractor


class KeywordStep(StrEnum):
    """Who finds keywords."""

    yake = "yake"
    model = "model"


class VerifyStep(StrEnum):
    """Who decides which keywords are synonyms."""

    rules = "rules"
    model = "model"


def open_extractor(step: KeywordStep, top_n: int | None, client: ClientOptions) -> KeywordExtractor:
    """The extractor of keywords that was asked for.

    Args:
        step: which.
        top_n: keywords a chunk may have; None lets its length decide.
        client: how a model is called, where one is.

    Raises:
        EpocheError: it cannot be had.
    """
    if step is KeywordStep.model:
        from eval.text.keywords import ModelKeywords

        return ModelKeywords(client, top_n)
    from kg.text.keywords.statistical import Yake

    return Yake(top_n)


def open_verifier(step: VerifyStep, client: ClientOptions) -> SynonymVerifier:
    """The verifier of synonyms that was asked for.

    Args:
        step: which.
        client: how a model is called, where one is.

    Raises:
        EpocheError: it cannot be had.
    """
    if step is VerifyStep.model:
        from eval.text.synonyms import ModelVerifier

        return ModelVerifier(client)
    from kg.text.canonical.verifier import RuleVerifier

    return RuleVerifier()
