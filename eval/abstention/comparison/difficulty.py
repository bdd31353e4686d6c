"""Measures how hard cards are: the share of systems that fail on them.

A system fails on a card if its answer is not the gold answer; a failed call and a missing row are
failures that are counted separately, too. Of a system that answered a card several times, the share
of its answers counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.card import DIFFICULTIES
from eval.abstention.comparison.card_answers import (
    MIN_SYSTEMS,
    NOT_ASKED,
    CardAnswers,
    read_card_answers,
    select_judging_systems,
)
from eval.abstention.metrics.outcomes import CONTROLS, ERROR, as_number
from eval.abstention.metrics.triplets import find_triplets, score_triplets
from eval.metrics.measurement import ResamplingPlan
from eval.metrics.metric_value import Number
from eval.stats.bootstrap import ClusterResamples, Distribution, resample_blocks, round_significant
from eval.stats.estimates import Estimate, choose_interval, compute_ratios, estimate_column
from eval.stats.paired_tests import square_and_add
from kg.base.errors import SystemNotFoundError
from kg.base.packed_strings import StringColumn
from kg.base.proportions import wilson_interval
from kg.claims import LABELS, Label

_MAX_GROUPS_AT_ONCE = 16
"""Maximum number of groups that are resampled at once, to need little memory."""


class FailureShare(msgspec.Struct, frozen=True, kw_only=True):
    """How many systems fail, with Wilson's interval over the systems."""

    systems: int
    """Number of systems that were asked."""
    failures: Number
    """Number of those that failed; not whole if a system answered several times."""
    share: float
    low: float
    high: float


class CardDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """The measured difficulty of one card: a line of ``epoche compare --difficulty``."""

    id: str
    systems: int
    failures: Number
    share: float
    low: float
    high: float
    """These five as in ``FailureShare``."""
    errors: Number
    """Number of the failures that are failed calls or missing rows."""
    label: Label
    kind: str = ""
    predicate: str = ""
    difficulty: str = ""
    """The stated difficulty."""
    triplet: FailureShare | None = None
    """The systems that fail on at least one of the three cards of its triplet; null for a card
    without one, or if no system was asked all three."""


class GroupDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """The measured difficulty of a group of cards."""

    name: str
    n_cards: int
    failures: Estimate
    """Share of the answers, one per system and card, that are failures; its interval is that of the
    bootstrap over clusters of cards, for these systems."""
    error_share: float
    """Share of the answers that are failed calls or missing rows."""


class LevelStep(msgspec.Struct, frozen=True, kw_only=True):
    """Whether systems fail more often on the cards of one stated level than of the level below."""

    easier: str
    harder: str
    difference: float
    """Failures on ``harder`` minus those on ``easier``, paired over clusters."""
    low: float
    high: float
    finding: Literal["in order", "not shown", "reversed"]


class DifficultyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The measured difficulty of a card set, in ``comparison.json``.

    Kinds are those of all cards; everything else is about the headline cards.
    """

    systems: tuple[str, ...]
    """The systems that count: no controls, oracles or systems asked without the card."""
    n_cards: int
    n_all_right: int
    """Number of cards that no system fails on."""
    n_all_failed: int
    """Number of cards that every system fails on."""
    cards: GroupDifficulty
    triplets: Estimate | None = None
    """Share of the triplets, one per system, that are not answered right as a whole; null without
    triplets."""
    levels: tuple[GroupDifficulty, ...] = ()
    """By stated difficulty, from easy to hard."""
    steps: tuple[LevelStep, ...] = ()
    """The differences between neighbouring levels."""
    kinds: tuple[GroupDifficulty, ...] = ()
    """The hardest first, by the lower ends of their intervals."""
    predicates: tuple[GroupDifficulty, ...] = ()
    """The hardest first, as kinds; empty if the cards were not found."""


def measure_difficulty(
    files: Sequence[Path],
    *,
    systems: Sequence[str],
    oracles: Collection[str],
    plan: ResamplingPlan,
    controls: Collection[str] = CONTROLS,
    suffixes: Sequence[str] = (),
    selectors: Sequence[str] = (),
    cards: Sequence[Path] = (),
    without_mined: bool = False,
    is_required: bool = False,
) -> DifficultyMeasurement | None:
    """Measures the difficulty of cards by the systems that were asked them.

    Args:
        files: result files of one card set, which were checked before.
        systems: names of all systems, as for ``select_judging_systems``.
        oracles: as there.
        plan: how clusters of cards are resampled.
        controls: as there.
        suffixes: for each file, what is appended to the names of its systems.
        selectors: as for ``select_judging_systems``.
        cards: as for ``read_card_answers``.
        without_mined: as there.
        is_required: raise an error if there are not enough systems.

    Returns:
        The measurement; ``None`` if there are fewer than two systems to measure by.

    Raises:
        SystemNotFoundError: as ``select_judging_systems``, or if there are not enough systems and
            it is required.
        EpocheError: as ``read_card_answers``.
    """
    chosen = select_judging_systems(systems, oracles, controls, selectors)
    if len(chosen) < MIN_SYSTEMS:
        if is_required:
            raise SystemNotFoundError(
                "difficulty is measured by at least two systems that are no controls or oracles",
                where=", ".join(map(str, files)),
                hint="Give the results of more systems, or name systems with --difficulty-system.",
            )
        return None
    answers = read_card_answers(
        files, chosen, suffixes=suffixes, cards=cards, without_mined=without_mined
    )
    return DifficultyMeasurement(answers, plan)


class DifficultyMeasurement:
    """The failures of some systems, by card.

    Args:
        answers: the answers of the systems.
        plan: how clusters of cards are resampled.
    """

    def __init__(self, answers: CardAnswers, plan: ResamplingPlan) -> None:
        self._answers = answers
        self._plan = plan
        self._resamples = ClusterResamples(answers.n_clusters, plan.resamples, plan.seed)
        n = len(answers.ids)
        self._asked, self._failures, self._errors = np.zeros(n), np.zeros(n), np.zeros(n)
        for preds in answers.preds.values():
            asked = preds != NOT_ASKED
            n_repeats = asked.sum(axis=1)
            divisor = np.maximum(n_repeats, 1)
            is_wrong = asked & (preds != answers.golds[:, None])
            self._asked += n_repeats > 0
            self._failures += is_wrong.sum(axis=1) / divisor
            self._errors += (preds == ERROR).sum(axis=1) / divisor
        headline = np.flatnonzero(answers.is_headline).astype(np.int32)
        found = find_triplets(answers.triplets[headline], answers.golds[headline])
        self._triplets = headline[found]
        """Indices of the cards of each triplet, shape (triplets, 3)."""
        self._triplet_asked = np.zeros(len(found))
        self._triplet_failures = np.zeros(len(found))
        for preds in answers.preds.values():
            asked = (preds[self._triplets] != NOT_ASKED).all(axis=(1, 2))
            is_right = score_triplets(self._triplets, answers.golds, preds)
            self._triplet_asked += asked
            self._triplet_failures += asked * (1 - is_right)

    def list_cards(self) -> Iterator[CardDifficulty]:
        """Yields the difficulty of each card, in the order of their ids."""
        answers, confidence = self._answers, self._plan.confidence
        triplet_of = np.full(len(answers.ids), -1)
        triplet_of[self._triplets] = np.arange(len(self._triplets))[:, None]
        for number, id_ in enumerate(answers.ids):
            triplet, share = int(triplet_of[number]), None
            if triplet >= 0 and self._triplet_asked[triplet]:
                counts = self._triplet_asked[triplet], self._triplet_failures[triplet]
                share = _share_failures(*counts, confidence)
            own = _share_failures(self._asked[number], self._failures[number], confidence)
            yield CardDifficulty(
                id=id_,
                **msgspec.structs.asdict(own),
                errors=_round_count(self._errors[number]),
                label=LABELS[answers.labels[number]],
                kind=answers.kinds[number],
                predicate=answers.predicates[number],
                difficulty=answers.levels[number],
                triplet=share,
            )

    def build_report(self) -> DifficultyReport:
        """Builds the report: difficulty by level, kind and predicate."""
        answers, headline = self._answers, self._answers.is_headline
        shares = self._failures[headline] / self._asked[headline]
        level_codes = np.full(len(answers.ids), -1)
        for code, level in enumerate(DIFFICULTIES):
            level_codes[headline & answers.levels.select(level.__eq__)] = code
        levels = [code for code in range(len(DIFFICULTIES)) if (level_codes == code).any()]
        level_distribution = self._resample_groups(level_codes, levels)
        level_groups = [
            self._build_group(DIFFICULTIES[code], level_codes == code, level_distribution, column)
            for column, code in enumerate(levels)
        ]
        whole = self._resample_groups(np.where(headline, 0, -1), [0])
        return DifficultyReport(
            systems=tuple(answers.preds),
            n_cards=int(headline.sum()),
            n_all_right=int((shares == 0).sum()),
            n_all_failed=int((shares == 1).sum()),
            cards=self._build_group("all cards", headline, whole, 0),
            triplets=self._estimate_triplets(),
            levels=tuple(level_groups),
            steps=tuple(self._compare_levels(level_groups, level_distribution)),
            kinds=self._rank_groups(answers.kinds, np.ones(len(headline), dtype=np.bool_)),
            predicates=self._rank_groups(answers.predicates, headline),
        )

    def _estimate_triplets(self) -> Estimate | None:
        """Estimates the share of triplets that fail, by cluster of their first card."""
        if not self._triplet_asked.sum():
            return None
        clusters = self._answers.clusters[self._triplets[:, 0]]
        block = np.zeros((self._answers.n_clusters, 2))
        np.add.at(block, clusters, np.stack([self._triplet_failures, self._triplet_asked], axis=1))
        (data,) = resample_blocks([block], self._resamples)
        distribution = compute_ratios(data, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
        n = round(self._triplet_asked.sum())
        return estimate_column(
            distribution,
            0,
            Estimate(value=None, n=n, higher_is_better=False),
            self._plan.confidence,
        )

    def _rank_groups(
        self, column: StringColumn, mask: NDArray[np.bool_]
    ) -> tuple[GroupDifficulty, ...]:
        """Measures the groups of equal strings, the hardest first.

        They are sorted by the lower ends of their intervals, so that no group is first because it
        has only a few cards.
        """
        codes = np.where(mask, column.codes.astype(np.int64), -1)
        used = [code for code in np.unique(codes).tolist() if code >= 0 and column.names[code]]
        groups = []
        for start in range(0, len(used), _MAX_GROUPS_AT_ONCE):
            part = used[start : start + _MAX_GROUPS_AT_ONCE]
            distribution = self._resample_groups(codes, part)
            groups += [
                self._build_group(column.names[code], codes == code, distribution, number)
                for number, code in enumerate(part)
            ]
        return tuple(sorted(groups, key=lambda g: (-_get_ends(g)[1][0], -_get_ends(g)[0], g.name)))

    def _resample_groups(self, codes: NDArray[np.int64], groups: Sequence[int]) -> Distribution:
        """Computes the bootstrap distribution of the failure share of each group."""
        block = np.zeros((self._answers.n_clusters, 2 * len(groups)))
        for number, code in enumerate(groups):
            members = codes == code
            for column, values in enumerate((self._failures, self._asked)):
                np.add.at(
                    block[:, 2 * number + column], self._answers.clusters[members], values[members]
                )
        (data,) = resample_blocks([block], self._resamples)
        weights = np.eye(2 * len(groups))
        return compute_ratios(data, weights[0::2], weights[1::2])

    def _build_group(
        self,
        name: str,
        mask: NDArray[np.bool_],
        distribution: Distribution,
        column: int,
    ) -> GroupDifficulty:
        n_answers = float(self._asked[mask].sum())
        estimate = Estimate(
            value=None,
            n=round(n_answers),
            numerator=_round_count(self._failures[mask].sum()),
            denominator=_round_count(n_answers),
            higher_is_better=False,
        )
        return GroupDifficulty(
            name=name,
            n_cards=int(mask.sum()),
            failures=estimate_column(distribution, column, estimate, self._plan.confidence),
            error_share=round_significant(float(self._errors[mask].sum()) / n_answers),
        )

    def _compare_levels(
        self, groups: Sequence[GroupDifficulty], distribution: Distribution
    ) -> Iterator[LevelStep]:
        """Yields the difference of each level and the one below it."""
        n = len(groups)
        steps = _select_columns(distribution, range(1, n)) - _select_columns(
            distribution, range(n - 1)
        )
        intervals = steps.compute_intervals(self._plan.confidence)
        for column in range(n - 1):
            easier, harder = groups[column], groups[column + 1]
            found = choose_interval(intervals, column)
            if found is not None:
                low, high = found.low, found.high
            else:  # No resample varies: Newcombe's interval, from those of both levels.
                low, high = square_and_add(_get_ends(harder), _get_ends(easier))
            yield LevelStep(
                easier=easier.name,
                harder=harder.name,
                difference=round_significant(float(steps.values[column])),
                low=round_significant(low),
                high=round_significant(high),
                finding="in order" if low > 0 else "reversed" if high < 0 else "not shown",
            )


def _get_ends(group: GroupDifficulty) -> tuple[float, tuple[float, float]]:
    found = group.failures
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value, (found.low, found.high)


def _select_columns(distribution: Distribution, columns: range) -> Distribution:
    chosen = list(columns)
    return Distribution(
        distribution.values[chosen],
        distribution.replicates[:, chosen],
        distribution.jackknife[:, chosen],
        distribution.support[chosen],
    )


def _share_failures(asked: float, failures: float, confidence: float) -> FailureShare:
    failures = min(float(_round_count(failures)), asked)
    low, high = wilson_interval(failures, asked, confidence)
    return FailureShare(
        systems=round(asked),
        failures=as_number(failures),
        share=round_significant(failures / asked),
        low=round_significant(low),
        high=round_significant(high),
    )


def _round_count(value: float) -> Number:
    return as_number(round_significant(float(value)))
