"""The extractors as plain functions, under the names of the published benchmark.

    extract_skn(text, model="ollama/qwen2.5:7b", question="Why does the pod restart?")

Each opens a client, asks once (and once more if the reply cannot be read) and closes it. A
benchmark uses ``ModelExtractor`` itself, which shares one client among many questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from eval.model.options import ClientOptions
from eval.skn.formats.extracting import Extraction, ModelExtractor
from eval.skn.pipelines import PIPELINES
from eval.skn.setting import Setting, open_client
from kg.base.errors import NotationError


def _extract(name: str, raw_text: str, model: str | None, question: str | None) -> Extraction:
    setting = Setting(show_question=question is not None)

    async def ask() -> Extraction:
        async with open_client(ClientOptions(model=model), setting) as client:
            extractor = ModelExtractor(PIPELINES[name], client, setting)
            return await extractor.extract(raw_text, question or "")

    extraction = asyncio.run(ask())
    if not extraction.readable:
        raise NotationError(
            f"the model's extraction cannot be read: {extraction.problem}",
            where=f"{name} by {model or 'EPOCHE_MODEL'}",
            hint="Ask again, or a model that follows forms better.",
        )
    return extraction


def _json(name: str, raw_text: str, model: str | None, question: str | None) -> dict[str, Any]:
    return _extract(name, raw_text, model, question).content or {}


def _skn(name: str, raw_text: str, model: str | None, question: str | None) -> str:
    return _extract(name, raw_text, model, question).context


def extract_json(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """Entities, relationships and claims, without metadata.

    Args (of all extractors):
        raw_text: what is extracted from.
        model: ``provider/model``; null means ``EPOCHE_MODEL``.
        question: what the extraction is for; null shows none.

    Returns:
        The content as plain values; of the SKN extractors, the canonical text.

    Raises:
        EpocheError: the model cannot be used, or the call failed for good.
        NotationError: the reply cannot be read, not even after one further turn.
    """
    return _json("json", raw_text, model, question)


def extract_json_conf(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """The same, with a confidence for every claim."""
    return _json("json_conf", raw_text, model, question)


def extract_json_meta(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> dict[str, Any]:
    """Typed JSON with all that SKN holds."""
    return _json("json_meta", raw_text, model, question)


def extract_skn_min(raw_text: str, model: str | None = None, *, question: str | None = None) -> str:
    """SKN with the source and the facts only."""
    return _skn("skn_min", raw_text, model, question)


def extract_skn_no_gaps(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """SKN without ``@gaps``."""
    return _skn("skn_no_gaps", raw_text, model, question)


def extract_skn_no_causal(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """SKN without ``@causal``."""
    return _skn("skn_no_causal", raw_text, model, question)


def extract_skn_no_risk(
    raw_text: str, model: str | None = None, *, question: str | None = None
) -> str:
    """SKN without ``@risk``."""
    return _skn("skn_no_risk", raw_text, model, question)


def extract_skn(raw_text: str, model: str | None = None, *, question: str | None = None) -> str:
    """SKN with all its sections."""
    return _skn("skn", raw_text, model, question)


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
"""All extractors by the names of their pipelines."""
