"""Epoché's public interface: re-exports the stable names of its packages.

    from epoche import Claim, KnowledgeBase

    kb = KnowledgeBase.open("rivers")
    verdict = kb.oracle.license(Claim(subj, pred, obj))

A name's module is imported when the name is first used, so ``import epoche`` is fast and the
metrics need no graph library. The names exported here are stable; other names in the packages may
change between versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adversarial.near_miss import NearMissPlan, make_near_misses
    from cards.audit import audit_cards
    from cards.card import Card, CardView, read_cards, write_cards
    from cards.generator import CardPlan, make_cards
    from epoche.evaluation import evaluate
    from epoche.finished_run import Run, compare
    from eval.harness.reply import Reply, Vote
    from eval.manifest import RunManifest, read_manifest
    from eval.metrics.comparison import Comparison
    from eval.metrics.observations import read_observations
    from eval.metrics.record import MetricsReport, read_metrics
    from eval.metrics.report import measure
    from eval.registry import make_systems, register
    from eval.result import Answer, Result, read_results
    from eval.runner import run
    from eval.stats.estimates import Estimate
    from eval.system import ClaimOracle, System, SystemOptions
    from kg.base.errors import EpocheError
    from kg.claims import Claim, Proof, Verdict, Violation
    from kg.domain import Domain, load_domain
    from kg.graph import Graph
    from kg.knowledge import KnowledgeBase
    from kg.oracle import Oracle
    from kg.shapes import Shapes

    __version__: str

__all__ = [
    "Answer",
    "Card",
    "CardPlan",
    "CardView",
    "Claim",
    "ClaimOracle",
    "Comparison",
    "Domain",
    "EpocheError",
    "Estimate",
    "Graph",
    "KnowledgeBase",
    "MetricsReport",
    "NearMissPlan",
    "Oracle",
    "Proof",
    "Reply",
    "Result",
    "Run",
    "RunManifest",
    "Shapes",
    "System",
    "SystemOptions",
    "Verdict",
    "Violation",
    "Vote",
    "audit_cards",
    "compare",
    "evaluate",
    "load_domain",
    "make_cards",
    "make_near_misses",
    "make_systems",
    "measure",
    "read_cards",
    "read_manifest",
    "read_metrics",
    "read_observations",
    "read_results",
    "register",
    "run",
    "write_cards",
]

_NAMES_OF_MODULE = {
    "adversarial.near_miss": ("NearMissPlan", "make_near_misses"),
    "cards.audit": ("audit_cards",),
    "cards.card": ("Card", "CardView", "read_cards", "write_cards"),
    "cards.generator": ("CardPlan", "make_cards"),
    "epoche.evaluation": ("evaluate",),
    "epoche.finished_run": ("Run", "compare"),
    "eval.harness.reply": ("Reply", "Vote"),
    "eval.manifest": ("RunManifest", "read_manifest"),
    "eval.metrics.comparison": ("Comparison",),
    "eval.metrics.record": ("MetricsReport", "read_metrics"),
    "eval.metrics.report": ("measure",),
    "eval.metrics.observations": ("read_observations",),
    "eval.registry": ("make_systems", "register"),
    "eval.result": ("Answer", "Result", "read_results"),
    "eval.runner": ("run",),
    "eval.stats.estimates": ("Estimate",),
    "eval.system": ("ClaimOracle", "System", "SystemOptions"),
    "kg.base.errors": ("EpocheError",),
    "kg.claims": ("Claim", "Proof", "Verdict", "Violation"),
    "kg.domain": ("Domain", "load_domain"),
    "kg.graph": ("Graph",),
    "kg.knowledge": ("KnowledgeBase",),
    "kg.oracle": ("Oracle",),
    "kg.shapes": ("Shapes",),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULE.items() for name in names}


# Not defined for type checkers, which would accept misspelt names if they saw a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports a public name when it is first used, and caches it (PEP 562)."""
        if name == "__version__":
            from importlib.metadata import version

            return version("epoche")
        if name not in _MODULE_OF_NAME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULE_OF_NAME[name]), name)
        return value


def __dir__() -> list[str]:
    """Returns the public names, imported or not."""
    return sorted({*globals(), *__all__, "__version__"})
