"""Opens the keyword extractor and the synonym verifier of a build: offline, or with a model."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from kg.text.canonical.verifier import SynonymVerifier
    from kg.text.keywords.protocol import KeywordExtractor


class KeywordStep(StrEnum):
    """How keywords are extracted: by the statistics of YAKE, or by a model."""

    yake = "yake"
    model = "model"


class VerifyStep(StrEnum):
    """What decides which keywords are synonyms: rules, or a model."""

    rules = "rules"
    model = "model"


def open_extractor(step: KeywordStep, top_n: int | None, client: ClientOptions) -> KeywordExtractor:
    """Opens a keyword extractor.

    Args:
        step: the kind of extractor.
        top_n: maximum number of keywords per chunk; if None, it depends on the chunk's length.
        client: the model and how it is called; not used by ``KeywordStep.yake``.

    Raises:
        EpocheError: the extractor cannot be opened.
    """
    if step is KeywordStep.model:
        from eval.text.keywords import ModelKeywords

        return ModelKeywords(client, top_n)
    from kg.text.keywords.yake_extractor import Yake

    return Yake(top_n)


def open_verifier(step: VerifyStep, client: ClientOptions) -> SynonymVerifier:
    """Opens a synonym verifier.

    Args:
        step: the kind of verifier.
        client: the model and how it is called; not used by ``VerifyStep.rules``.

    Raises:
        EpocheError: the verifier cannot be opened.
    """
    if step is VerifyStep.model:
        from eval.text.synonyms import ModelVerifier

        return ModelVerifier(client)
    from kg.text.canonical.verifier import RuleVerifier

    return RuleVerifier()
