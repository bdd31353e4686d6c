"""The names of the retrievers, and which of them search what."""

from __future__ import annotations

ENSEMBLE_COMPONENTS = ("bm25", "dense", "facts", "kg", "section_tree")
HYBRID_COMPONENTS = ("bm25", "dense")
FUSION_COMPONENTS = {"hybrid": HYBRID_COMPONENTS, "ensemble": ENSEMBLE_COMPONENTS}
"""The components that each fused retriever may have."""
DEFAULT_WEIGHTS = {
    "hybrid": {"bm25": 1.0, "dense": 1.0},
    "ensemble": {"bm25": 1.0, "dense": 1.0, "facts": 1.0, "kg": 0.0, "section_tree": 0.0},
}
"""The weights of the components of each fused retriever; ``benchmarks/bench_facts.py`` chooses
them. A component of weight 0 is not built."""
TEXT_RETRIEVERS = (*HYBRID_COMPONENTS, "hybrid")
"""Retrievers over any passages."""
RUN_RETRIEVERS = (*TEXT_RETRIEVERS, "facts", "kg", "section_tree", "ensemble")
"""Retrievers over the chunks of a run of ``epoche kg build``."""
