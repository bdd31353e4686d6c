"""The names of the retrievers, and which of them search what."""

from __future__ import annotations

ENSEMBLE_COMPONENTS = ("bm25", "dense", "kg", "section_tree")
HYBRID_COMPONENTS = ("bm25", "dense")
FUSION_COMPONENTS = {"hybrid": HYBRID_COMPONENTS, "ensemble": ENSEMBLE_COMPONENTS}
"""The components of each fused retriever."""
TEXT_RETRIEVERS = (*HYBRID_COMPONENTS, "hybrid")
"""Retrievers over any passages."""
RUN_RETRIEVERS = (*TEXT_RETRIEVERS, "kg", "section_tree", "ensemble")
"""Retrievers over the chunks of a run of ``epoche kg build``."""
