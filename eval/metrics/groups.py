"""The cards of each label and kind, of all near-misses, and of each faithfulness kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cards.kinds import FAITHFULNESS_KINDS
from eval.metrics.abstention import REPLY_RATES, metrics
from eval.metrics.outcomes import Codes, cards_per_label, count_cells, table_of
from eval.metrics.record import GroupReport, PolicyName
from eval.metrics.samples import Samples
from eval.metrics.signature import Signature
from eval.metrics.values import metric_value
from kg.claims import LABELS, Label

_GROUP_METRICS = (
    *("CVRR", "FAR-NE", "LA", "coverage", "accuracy"),
    *("false_denial_rate", "abstention_recall", *REPLY_RATES),
)
"""What means something for cards of one label or kind; AP needs several labels."""


@dataclass(frozen=True)
class _Group:
    """Some cards, by their places among all that were read."""

    name: str
    signed: str
    places: NDArray[np.int64]
    labels: Codes
    n_clusters: int


class Groups:
    """The cards of each label and kind, where every metric is a proportion of cards."""

    def __init__(self, samples: Samples, policy: PolicyName) -> None:
        seen = samples.observations
        self.wanted = metrics(_GROUP_METRICS, policy)
        self.labels = seen.golds if policy == "published" else seen.labels
        self.clusters = seen.clusters
        headline = seen.headline
        kinds = np.array(seen.kinds, dtype=object)
        named = [(kind, np.flatnonzero(kinds == kind)) for kind in sorted({*seen.kinds} - {""})]
        # In the order of their labels: kinds of E first, then C, then U.
        named.sort(key=lambda group: (int(self.labels[group[1]].min()), group[0]))
        self.sections = {
            "label": [
                self._group(label, "label", np.flatnonzero(headline & (self.labels == code)))
                for code, label in enumerate(LABELS)
            ],
            "kind": [self._group(k, "kind", at) for k, at in named if k not in FAITHFULNESS_KINDS],
            "near-misses": [
                self._group("all near-misses", "set", np.flatnonzero(seen.near_misses))
            ],
            "faithfulness": [
                self._group(k, "kind", at) for k, at in named if k in FAITHFULNESS_KINDS
            ],
        }

    def report(self, section: str, answers: Codes, base: Signature) -> dict[str, GroupReport]:
        """A system's answers in every group of a section that has cards."""
        return {
            group.name: self._report(group, answers, base)
            for group in self.sections[section]
            if group.places.size
        }

    def _group(self, name: str, what: str, places: NDArray[np.int64]) -> _Group:
        n_clusters = int(np.unique(self.clusters[places]).size)
        return _Group(name, f"{what}:{name}", places, self.labels[places], n_clusters)

    def _report(self, group: _Group, answers: Codes, base: Signature) -> GroupReport:
        """The group's table, and the metrics that are defined on its labels."""
        counts = count_cells(group.labels, answers[group.places])
        present = cards_per_label(counts)
        held: tuple[Label, ...] = tuple(label for label in LABELS if present[label])
        signature = base.of("", group=group.signed)
        repeated_in = group.n_clusters if answers.ndim == 2 else 0
        return GroupReport(
            n_cards=int(group.places.size),
            n_clusters=group.n_clusters,
            table=table_of(counts, labels=held),
            metrics={
                metric.name: metric_value(metric, counts, signature, repeated_in=repeated_in)
                for metric in self.wanted
                if metric.parts(counts)[1] > 0
            },
        )
