"""Epoché's public interface: re-exports the stable names of its packages.

    from epoche import Claim, KnowledgeBase

    kb = KnowledgeBase.open("rivers")
    verdict = kb.oracle.license(Claim(subj, pred, obj))

A name's module is imported when the name is first used, so ``import epoche`` is fast and the
metrics need no graph library. The names exported here are stable; other names in the packages may
change between versions.
"""

from __future__ import annotations

# As of `typing`, whose import takes longer than this whole module. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from adversarial.near_miss import NearMissPlan, make_near_misses
    from cards.card import Card, CardView, read_cards, write_cards
    from cards.generation.card_plan import CardPlan
    from cards.generator import make_cards
    from cards.leakage.audit import audit_cards
    from epoche.evaluation import evaluate
    from epoche.finished_run import Run, compare
    from eval.abstention.manifest import RunManifest, read_manifest
    from eval.abstention.metrics.observations import read_observations
    from eval.abstention.metrics.record import MetricsReport, read_metrics
    from eval.abstention.metrics.report import measure
    from eval.abstention.result import Answer, Result, read_results
    from eval.abstention.runner import run
    from eval.abstention.system import ClaimOracle, System, SystemOptions
    from eval.abstention.systems.registry import make_systems, register
    from eval.guard.stream import Guard
    from eval.harness.journals.row_layout import Shard
    from eval.harness.reply import Reply, Vote
    from eval.harness.session import RunLimits
    from eval.harness.systems.settings import Settings
    from eval.metrics.comparison import Comparison
    from eval.model.client import ClientOptions, ModelClient
    from eval.replies.parser import read_reply
    from eval.skn.agent import agent_reason
    from eval.skn.notation import parse as parse_skn
    from eval.skn.notation import serialize as serialize_skn
    from eval.skn.notation import try_parse as try_parse_skn
    from eval.skn.systems.extractors import extract_skn
    from eval.stats.estimates import Estimate
    from eval.synthlink.agents.trail import CitedPage, Round, Trail
    from kg.base.errors import EpocheError
    from kg.claims import Claim, Proof, Verdict, Violation
    from kg.domain import Domain, load_domain
    from kg.graph import Graph
    from kg.knowledge import KnowledgeBase
    from kg.oracle import Oracle
    from kg.shapes import Shapes
    from kg.text.chunker import chunk_documents
    from kg.text.documents import read_document
    from kg.text.keywords.yake_extractor import Yake
    from kg.text.run.folder import open_run
    from retrieval.corpus import read_corpus
    from retrieval.factory import RetrieverOptions, open_retriever

    __version__: str

__all__ = [
    "Answer",
    "Card",
    "CardPlan",
    "CardView",
    "CitedPage",
    "Claim",
    "ClaimOracle",
    "ClientOptions",
    "Comparison",
    "Domain",
    "EpocheError",
    "Estimate",
    "Graph",
    "Guard",
    "KnowledgeBase",
    "MetricsReport",
    "ModelClient",
    "NearMissPlan",
    "Oracle",
    "Proof",
    "Reply",
    "Result",
    "RetrieverOptions",
    "Round",
    "Run",
    "RunLimits",
    "RunManifest",
    "Settings",
    "Shapes",
    "Shard",
    "System",
    "SystemOptions",
    "Trail",
    "Verdict",
    "Violation",
    "Vote",
    "Yake",
    "agent_reason",
    "audit_cards",
    "chunk_documents",
    "compare",
    "evaluate",
    "extract_skn",
    "load_domain",
    "make_cards",
    "make_near_misses",
    "make_systems",
    "measure",
    "open_retriever",
    "open_run",
    "parse_skn",
    "read_cards",
    "read_corpus",
    "read_document",
    "read_manifest",
    "read_metrics",
    "read_observations",
    "read_reply",
    "read_results",
    "register",
    "run",
    "serialize_skn",
    "try_parse_skn",
    "write_cards",
]

_NAMES_OF_MODULE = {
    "adversarial.near_miss": ("NearMissPlan", "make_near_misses"),
    "cards.leakage.audit": ("audit_cards",),
    "cards.card": ("Card", "CardView", "read_cards", "write_cards"),
    "cards.generation.card_plan": ("CardPlan",),
    "cards.generator": ("make_cards",),
    "epoche.evaluation": ("evaluate",),
    "epoche.finished_run": ("Run", "compare"),
    "eval.guard.stream": ("Guard",),
    "eval.harness.reply": ("Reply", "Vote"),
    "eval.harness.journals.row_layout": ("Shard",),
    "eval.harness.session": ("RunLimits",),
    "eval.model.client": ("ClientOptions", "ModelClient"),
    "eval.abstention.manifest": ("RunManifest", "read_manifest"),
    "eval.metrics.comparison": ("Comparison",),
    "eval.abstention.metrics.observations": ("read_observations",),
    "eval.abstention.metrics.record": ("MetricsReport", "read_metrics"),
    "eval.abstention.metrics.report": ("measure",),
    "eval.abstention.systems.registry": ("make_systems", "register"),
    "eval.replies.parser": ("read_reply",),
    "eval.abstention.result": ("Answer", "Result", "read_results"),
    "eval.abstention.runner": ("run",),
    "eval.harness.systems.settings": ("Settings",),
    "eval.skn.agent": ("agent_reason",),
    "eval.skn.systems.extractors": ("extract_skn",),
    "eval.skn.notation": (
        "parse as parse_skn",
        "serialize as serialize_skn",
        "try_parse as try_parse_skn",
    ),
    "eval.stats.estimates": ("Estimate",),
    "eval.synthlink.agents.trail": ("CitedPage", "Round", "Trail"),
    "eval.abstention.system": ("ClaimOracle", "System", "SystemOptions"),
    "kg.base.errors": ("EpocheError",),
    "kg.claims": ("Claim", "Proof", "Verdict", "Violation"),
    "kg.domain": ("Domain", "load_domain"),
    "kg.graph": ("Graph",),
    "kg.knowledge": ("KnowledgeBase",),
    "kg.oracle": ("Oracle",),
    "kg.shapes": ("Shapes",),
    "kg.text.chunker": ("chunk_documents",),
    "kg.text.documents": ("read_document",),
    "kg.text.keywords.yake_extractor": ("Yake",),
    "kg.text.run.folder": ("open_run",),
    "retrieval.corpus": ("read_corpus",),
    "retrieval.factory": ("RetrieverOptions", "open_retriever"),
}
"""Module → its public names; "parse as parse_skn" is public under the second name."""

# Public name → its module, and its name there.
_SOURCES = {
    name.rpartition(" as ")[2]: (module, name.partition(" as ")[0])
    for module, names in _NAMES_OF_MODULE.items()
    for name in names
}


# Not defined for type checkers, which would accept misspelt names if they saw a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Imports a public name when it is first used, and caches it (PEP 562)."""
        if name == "__version__":
            from importlib.metadata import version

            return version("epoche")
        if name not in _SOURCES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, name_there = _SOURCES[name]
        value = globals()[name] = getattr(import_module(module), name_there)
        return value


def __dir__() -> list[str]:
    """Returns the public names, imported or not."""
    return sorted({*globals(), *__all__, "__version__"})
