"""Defines the eight pipelines: the notation of an extraction and its permitted content.

Six pipelines are those of the published benchmark. Its ablation confounds notation and content,
because only SKN carries metadata. The other two pipelines separate them: ``json_meta`` (typed JSON
with the same content as SKN) and ``skn_min`` (SKN with source and facts only).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from eval.skn.grammar.document import Section

Notation: TypeAlias = Literal["json", "skn"]

ALL_SECTIONS: frozenset[Section] = frozenset({"causal", "gaps", "risk"})


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write an extraction.

    Attributes:
        name: name in tables and flags.
        notation: the notation it is written in.
        sections: the optional sections of a ``Document`` that it may contain.
        confidence: whether claims carry a confidence.
        typed: whether its content is a ``Document``; if not, it is a ``FlatExtraction``.
    """

    name: str
    notation: Notation
    sections: frozenset[Section] = frozenset()
    confidence: bool = True
    typed: bool = True

    def params(self) -> dict[str, Any]:
        """Returns the fields as JSON values, for the manifest."""
        return {**msgspec.to_builtins(self), "sections": sorted(self.sections)}


def _make_skn_pipeline(name: str, sections: frozenset[Section]) -> Pipeline:
    return Pipeline(name=name, notation="skn", sections=sections)


PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for pipeline in (
        Pipeline(name="json", notation="json", confidence=False, typed=False),
        Pipeline(name="json_conf", notation="json", typed=False),
        Pipeline(name="json_meta", notation="json", sections=ALL_SECTIONS),
        _make_skn_pipeline("skn_min", frozenset()),
        _make_skn_pipeline("skn_no_gaps", ALL_SECTIONS - {"gaps"}),
        _make_skn_pipeline("skn_no_causal", ALL_SECTIONS - {"causal"}),
        _make_skn_pipeline("skn_no_risk", ALL_SECTIONS - {"risk"}),
        _make_skn_pipeline("skn", ALL_SECTIONS),
    )
}
"""All pipelines by name."""

DEFAULT_PIPELINES = ("json", "skn")
ABLATION_PIPELINES = ("json", "json_conf", "skn_no_gaps", "skn_no_causal", "skn_no_risk", "skn")
"""The pipelines of the published ablation, in its order."""
FAIR_ABLATION_PIPELINES = (*ABLATION_PIPELINES, "json_meta", "skn_min")
"""The published ablation and the two pipelines that make it fair: they separate the effect of the
notation from that of the content."""
