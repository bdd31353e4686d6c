"""Names and explanations of metrics, policies, tests and terms, for readers of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricDescription:
    """A metric's name in column heads, its full name, and what it says in a sentence."""

    short_name: str
    full_name: str
    explanation: str
    blind_spot: str = ""
    """What a metric of the original experiment leaves out, in a sentence; else empty."""

    @property
    def whole_explanation(self) -> str:
        """What the metric says, and what it leaves out."""
        return f"{self.explanation} {self.blind_spot}".rstrip()


METRIC_DESCRIPTIONS: dict[str, MetricDescription] = {
    "skill@.5": MetricDescription(
        "skill@.5",
        "Abstention skill score, penalty 0.5",
        "A right answer scores 1, UNKNOWN where the gold answer is YES or NO 0, a wrong answer −1; "
        "all-UNKNOWN is 0, perfect 1.",
    ),
    "all-three": MetricDescription(
        "all-three",
        "All three of a triplet right",
        "Share of triplets whose entailed, contradictory and unknown card it answered right.",
    ),
    "geomean-recall": MetricDescription(
        "geomean recall",
        "Geometric mean of the recalls",
        "Geometric mean of its shares of right answers on the three labels.",
    ),
    "skill@0": MetricDescription(
        "skill@0",
        "Abstention skill score, no penalty",
        "As skill@.5, but a wrong answer costs nothing: balanced accuracy adjusted for chance.",
    ),
    "skill@.75": MetricDescription(
        "skill@.75",
        "Abstention skill score, penalty 0.75",
        "As skill@.5, but a wrong answer costs three right ones.",
    ),
    "skill@.9": MetricDescription(
        "skill@.9",
        "Abstention skill score, penalty 0.9",
        "As skill@.5, but a wrong answer costs nine right ones.",
    ),
    "AP": MetricDescription(
        "AP",
        "Abstention precision",
        "Share of its abstentions and rejections that were right.",
        "Does not see wrong answers, only abstentions and rejections.",
    ),
    "CVRR": MetricDescription(
        "CVRR",
        "Constraint violation rejection rate",
        "Share of the contradictory cards on which it rejected the claim.",
        "Does not see E and U cards, nor whether a contradiction was recognised (NO) or the answer "
        "withheld (UNKNOWN).",
    ),
    "CVRR_recognised": MetricDescription(
        "CVRR: NO",
        "Contradictions recognised",
        "Share of the contradictory cards on which it said NO.",
    ),
    "CVRR_withheld": MetricDescription(
        "CVRR: UNKNOWN",
        "Contradictions withheld",
        "Share of the contradictory cards on which it said UNKNOWN instead of NO.",
    ),
    "FAR-NE": MetricDescription(
        "FAR-NE",
        "False answer rate on non-entailed cards",
        "Share of the non-entailed cards on which it gave a false answer.",
        "Does not see E cards: to answer nothing gives the best value.",
    ),
    "LA": MetricDescription(
        "LA",
        "Licensed answer accuracy",
        "Share of the entailed cards that it answered with YES.",
        "Does not see C and U cards: to say YES to everything gives the best value.",
    ),
    "coverage": MetricDescription(
        "coverage", "Coverage", "Share of cards answered with YES or NO."
    ),
    "accuracy": MetricDescription(
        "accuracy",
        "Three-way accuracy",
        "Share of cards on which YES, NO or UNKNOWN is exactly the gold answer.",
    ),
    "false_denial_rate": MetricDescription(
        "false denials", "False denial rate", "Share of the entailed cards answered with NO."
    ),
    "abstention_recall": MetricDescription(
        "abstention recall",
        "Abstention recall",
        "Share of the non-entailed cards on which it abstained or rejected the claim.",
    ),
    "AP_invalid": MetricDescription(
        "AP invalid",
        "AP on contradictions",
        "AP if only abstentions on contradictory cards count as right.",
    ),
    "AP_unknown": MetricDescription(
        "AP unknown", "AP on unknowns", "AP if only abstentions on unknown cards count as right."
    ),
    "AR_contradictory": MetricDescription(
        "AR contradictory", "Abstention recall on C", "Abstention recall on contradictory cards."
    ),
    "AR_unknown": MetricDescription(
        "AR unknown", "Abstention recall on U", "Abstention recall on unknown cards."
    ),
    "answer_accuracy": MetricDescription(
        "answer accuracy", "Answer accuracy", "Share of its YES and NO answers that are right."
    ),
    "overall_accuracy": MetricDescription(
        "overall accuracy",
        "Overall accuracy",
        "Licensed answers and justified abstentions, as a share of all cards.",
    ),
    "invalid_rate": MetricDescription(
        "INVALID", "Invalid replies", "Share of replies from which no answer could be parsed."
    ),
    "error_rate": MetricDescription("ERROR", "Failed calls", "Share of calls that failed."),
    "yes_rate": MetricDescription("YES", "YES rate", "Share of cards answered YES."),
    "no_rate": MetricDescription("NO", "NO rate", "Share of cards answered NO."),
    "unknown_rate": MetricDescription(
        "UNKNOWN", "UNKNOWN rate", "Share of cards answered UNKNOWN."
    ),
}

RANKING_NAMES = {"skill@.5": "skill", "accuracy": "accuracy"}
"""Metric by which systems are ranked → its name in a sentence."""

POLICY_DESCRIPTIONS = {
    "licensed": "NO is right where it is gold: on contradictory cards NO and UNKNOWN both count "
    "as rejections; on entailed cards NO is a false denial; on unknown cards YES and NO are false "
    "answers.",
    "published": "As in the code of the original experiment: only UNKNOWN is an abstention; YES "
    "and NO both count as answers, so a correct NO counts as a false answer.",
}

TEST_NAMES = {
    "mcnemar-exact": "exact McNemar",
    "mcnemar": "McNemar",
    "sign-flip": "sign flips",
    "wilcoxon": "Wilcoxon signed rank",
    "cluster-bootstrap": "cluster bootstrap",
    "none": "not tested",
}

COMPARISON_TERMS: tuple[tuple[str, str], ...] = (
    (
        "Difference",
        "Candidate − baseline, on the same cards. The bootstrap interval resamples whole "
        "clusters, since answers to cards about one subject are not independent.",
    ),
    (
        "Exact McNemar",
        "For metrics that are 0 or 1 per card: tests whether the discordant cards, on which only "
        "one of the two systems counts, are split evenly. Their numbers are given as "
        "candidate : baseline.",
    ),
    (
        "Wilcoxon signed rank",
        "In place of McNemar if each card was asked several times: a test on the cards' means.",
    ),
    (
        "Cluster bootstrap",
        "For ratios whose denominator depends on the answers, such as AP: p is computed from how "
        "often the difference changes its sign in the resamples.",
    ),
    (
        "p, adjusted",
        "After Holm's correction over all pairs of the metric: with many pairs, some would look "
        "different by chance.",
    ),
    (
        "Significant",
        "A difference is significant if its adjusted p is below 0.05 and its interval excludes "
        "zero. Whether the intervals of two single values overlap is not used.",
    ),
    (
        "Minimum detectable effect",
        "The true difference that a comparison of this size finds with a power of 80 %: the grey "
        "band. A pair without a significant difference may still differ by that much.",
    ),
    (
        "Effect size d",
        "The mean difference per card over its standard deviation; about 0.2 is small, 0.5 medium, "
        "0.8 large (Cohen 1988). Only for metrics whose denominator does not depend on the "
        "answers.",
    ),
)

PROVED_LABELS = (
    "Its label is proved twice: over the whole graph, and over the card's own facts and rules "
    "alone, so the card contains all that is needed."
)
UNVERIFIED_LABELS = (
    "Nothing shows here that the labels are those that `epoche cards` proved: no manifest with a "
    "digest of these very cards lies beside them. `epoche verify` proves them from the graph."
)


def list_report_terms(*, are_labels_proved: bool) -> list[tuple[str, str]]:
    """Lists the terms of a report of cards; only labels that are known to be proved are called so.

    Args:
        are_labels_proved: whether the cards are as the manifest of ``epoche cards`` has them.
    """
    labels = PROVED_LABELS if are_labels_proved else UNVERIFIED_LABELS
    return [("Card", f"A question with facts and rules. {labels}"), *_REPORT_TERMS]


_REPORT_TERMS: tuple[tuple[str, str], ...] = (
    ("E, entailed", "The graph asserts or entails the claim. The right answer is YES."),
    (
        "C, contradictory",
        "The graph denies the claim, or adding it would break a constraint. The right answer is "
        "NO.",
    ),
    ("U, unknown", "Neither. The right answer is UNKNOWN."),
    (
        "Held back",
        "UNKNOWN although the gold answer is YES or NO: cautious and safe on a contradictory card, "
        "a missed answer on an entailed card.",
    ),
    (
        "INVALID, ERROR",
        "A reply from which no answer could be parsed, or a call that failed. Neither counts as an "
        "abstention; worst-case bounds show by how much they could change a value.",
    ),
    (
        "Control",
        "A trivial baseline that ignores the card: always YES, always NO, always UNKNOWN, or a "
        "random guess. A metric on which a control does best says little on its own.",
    ),
    (
        "Interval",
        "If the evaluation were repeated on other cards of the kind, such an interval would "
        "contain the true value in about 95 of 100 repetitions (or whatever its confidence level "
        "is). Cards about one subject are resampled together.",
    ),
    (
        "Paired test",
        "A test of two systems on the same cards. It alone decides whether one is better; whether "
        "intervals overlap does not.",
    ),
    ("Signature", "Everything needed to reproduce a number, on one line."),
)


def describe_metric(key: str) -> MetricDescription:
    """Returns a metric's description; an unknown metric is described by its key alone."""
    return METRIC_DESCRIPTIONS.get(key) or MetricDescription(key, key.replace("_", " "), "")
