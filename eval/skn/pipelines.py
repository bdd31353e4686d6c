"""The eight pipelines: what an extraction of each may hold, and in which notation it is written.

Six are the published benchmark's. Its ablation cannot tell the notation from what is written in
it, because SKN alone carries metadata; ``json_meta`` (typed JSON with all that SKN holds) and
``skn_min`` (SKN with source and facts only) part the two.
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
        name: as in tables and flags.
        notation: in which it is written.
        sections: which of the optional parts of a ``Document`` it may hold.
        confidence: whether claims carry one.
        typed: whether it holds a ``Document``; if not, a ``FlatExtraction``.
    """

    name: str
    notation: Notation
    sections: frozenset[Section] = frozenset()
    confidence: bool = True
    typed: bool = True

    def params(self) -> dict[str, Any]:
        """For the manifest."""
        return {**msgspec.to_builtins(self), "sections": sorted(self.sections)}


def _skn(name: str, sections: frozenset[Section]) -> Pipeline:
    return Pipeline(name=name, notation="skn", sections=sections)


PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for pipeline in (
        Pipeline(name="json", notation="json", confidence=False, typed=False),
        Pipeline(name="json_conf", notation="json", typed=False),
        Pipeline(name="json_meta", notation="json", sections=ALL_SECTIONS),
        _skn("skn_min", frozenset()),
        _skn("skn_no_gaps", ALL_SECTIONS - {"gaps"}),
        _skn("skn_no_causal", ALL_SECTIONS - {"causal"}),
        _skn("skn_no_risk", ALL_SECTIONS - {"risk"}),
        _skn("skn", ALL_SECTIONS),
    )
}
"""All of them by name."""

DEFAULT_PIPELINES = ("json", "skn")
ABLATION_PIPELINES = ("json", "json_conf", "skn_no_gaps", "skn_no_causal", "skn_no_risk", "skn")
"""The published ablation, in its order."""
FAIR_ABLATION_PIPELINES = (*ABLATION_PIPELINES, "json_meta", "skn_min")
"""The published ablation and the two that part the notation from what is written in it."""
