"""Every metric of a run of SKN against JSON."""

from __future__ import annotations

from eval.skn.published_metrics import bootstrap_ci

__all__ = ["bootstrap_ci"]
