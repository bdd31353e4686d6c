"""The extractors as plain functions, under the names of the published benchmark.

    extract_skn(text, model="ollama/qwen2.5:7b", question="Why does the pod restart?")

Each opens a client, calls the model once (twice if the first reply cannot be read) and closes the
client. The benchmark itself uses ``ModelExtractor``, which shares one client among all questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from eval.model.options import ClientOptions
from eval.skn.formats.extraction import Extraction, ModelExtractor
from eval.skn.formats.pipelines import PIPELINES
from eval.skn.formats.settings import Setting, open_client
from kg.base.errors import NotationError


def _extract_with_model(
    name: str, raw_text: str, model: str | None, question: str | None
) -> Extraction:
    setting = Setting(show_question=question is not None)

    async def ask_extractor() -> Extraction:
        async with open_client(ClientOptions(model=model), setting) as client:
            extractor = ModelExtractor(PIPELINES[name], client, setting)
            return await extractor.extract(raw_text, question or "")

    extraction = asyncio.run(ask_extractor())
    if not extraction.readable:
        raise NotationError(
            f"the model's extraction cannot be read: {extraction.problem}",
            where=f"{name} by {model or 'EPOCHE_MODEL'}",
            hint="Try again, or use a model that follows formats better.",
        )
    return extraction


def _extract_as_values(
    name: str, raw_text: str, model: str | None, question: str | None
) -> dict[str, Any]:
    return _extract_with_model(name, raw_text, model, question).content or {}


def _extract_as_text(name: str, raw_text: str, model: str | None, question: str | None) -> str:
    return _extract_with_model(name, raw_text, model, question).context


def extract_json(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """Extracts entities, relationships and claims as JSON, without metadata.

    Args (of all extractors):
        raw_text: the text to extract from.
        model: ``provider/model``; None means ``EPOCHE_MODEL``.
        question: the question that the extraction is for; None shows the model no question.

    Returns:
        The content as JSON values; the SKN extractors return the canonical text instead.

    Raises:
        EpocheError: the model cannot be used, or the call failed for good.
        NotationError: the reply cannot be read, even after one repair turn.
    """
    return _extract_as_values("json", raw_text, model, question)


def extract_json_conf(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """Extracts the same as ``extract_json``, with a confidence for every claim."""
    return _extract_as_values("json_conf", raw_text, model, question)


def extract_json_meta(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """Extracts typed JSON with all the content that SKN can have."""
    return _extract_as_values("json_meta", raw_text, model, question)


def extract_skn_min(raw_text: str, model: str | None = None, *, question: str | None = None) -> str:
    """Extracts SKN with the source and the facts only."""
    return _extract_as_text("skn_min", raw_text, model, question)


def extract_skn_no_gaps(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """Extracts SKN without ``@gaps``."""
    return _extract_as_text("skn_no_gaps", raw_text, model, question)


def extract_skn_no_causal(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """Extracts SKN without ``@causal``."""
    return _extract_as_text("skn_no_causal", raw_text, model, question)


def extract_skn_no_risk(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """Extracts SKN without ``@risk``."""
    return _extract_as_text("skn_no_risk", raw_text, model, question)


def extract_skn(raw_text: str, model: str | None = None, *, question: str | None = None) -> str:
    """Extracts SKN with all its sections."""
    return _extract_as_text("skn", raw_text, model, question)


EXTRACTORS: dict[str, Callable[..., Any]] = {
    "json": extract_json,
    "json_conf": extract_json_conf,
    "json_meta": extract_json_meta,
    "skn_min": extract_skn_min,
    "skn_no_gaps": extract_skn_no_gaps,
    "skn_no_causal": extract_skn_no_causal,
    "skn_no_risk": extract_skn_no_risk,
    "skn": extract_skn,
}
"""All extractors by pipeline name."""
