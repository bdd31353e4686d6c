"""What the numbers are called and what they mean, in words a first-time reader can use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricWords:
    """A metric's name for column heads, its full name, and one sentence on how to read it."""

    short: str
    name: str
    plain: str


METRIC_WORDS: dict[str, MetricWords] = {
    "AP": MetricWords(
        "AP",
        "Abstention precision",
        "Of all the times it held back or rejected, the share in which that was right.",
    ),
    "CVRR": MetricWords(
        "CVRR",
        "Constraint violation rejection rate",
        "Of the contradictory claims, the share it did not let pass.",
    ),
    "FAR-NE": MetricWords(
        "FAR-NE",
        "False answer rate on non-entailed cards",
        "Of the cards on which nothing licenses an answer, the share it answered all the same.",
    ),
    "LA": MetricWords(
        "LA",
        "Licensed answer accuracy",
        "Of the cards whose answer is entailed, the share it answered with YES.",
    ),
    "coverage": MetricWords("coverage", "Coverage", "Share of cards answered with YES or NO."),
    "accuracy": MetricWords(
        "accuracy",
        "Three-way accuracy",
        "Share of cards on which YES, NO or UNKNOWN is exactly the proved answer.",
    ),
    "false_denial_rate": MetricWords(
        "false denials", "False denial rate", "Of the entailed cards, the share denied with NO."
    ),
    "abstention_recall": MetricWords(
        "abstention recall",
        "Abstention recall",
        "Of the cards that are not entailed, the share it held back on or rejected.",
    ),
    "AP_invalid": MetricWords(
        "AP invalid", "AP on contradictions", "AP with only contradictory cards as reasons."
    ),
    "AP_unknown": MetricWords(
        "AP unknown", "AP on unknowns", "AP with only unknown cards as reasons."
    ),
    "AR_contradictory": MetricWords(
        "AR contradictory", "Abstention recall on C", "Abstention recall on contradictory cards."
    ),
    "AR_unknown": MetricWords(
        "AR unknown", "Abstention recall on U", "Abstention recall on unknown cards."
    ),
    "answer_accuracy": MetricWords(
        "answer accuracy", "Answer accuracy", "Of its YES and NO answers, the share that is right."
    ),
    "overall_accuracy": MetricWords(
        "overall accuracy",
        "Overall accuracy",
        "Licensed answers and justified abstentions, as a share of all cards.",
    ),
    "invalid_rate": MetricWords(
        "INVALID", "Unreadable replies", "Share of replies that could not be read."
    ),
    "error_rate": MetricWords("ERROR", "Failed calls", "Share of calls that failed."),
    "yes_rate": MetricWords("YES", "YES rate", "Share of cards answered YES."),
    "no_rate": MetricWords("NO", "NO rate", "Share of cards answered NO."),
    "unknown_rate": MetricWords("UNKNOWN", "UNKNOWN rate", "Share of cards answered UNKNOWN."),
}

POLICY_WORDS = {
    "licensed": "A proved NO is a good answer: on contradictory cards NO and "
    "UNKNOWN both reject; on entailed cards NO is a false denial; on unknown cards YES and NO are "
    "false answers.",
    "published": "As in the original experiment's code. Only UNKNOWN abstains; "
    "YES and NO both count as answers, so a correct NO counts as a false answer.",
}

TEST_WORDS = {
    "mcnemar-exact": "exact McNemar",
    "wilcoxon": "Wilcoxon signed rank",
    "cluster-bootstrap": "cluster bootstrap",
    "none": "not tested",
}

COMPARISON_TERMS: tuple[tuple[str, str], ...] = (
    (
        "Difference",
        "The first system's value less the second's, on the same cards. The interval resamples "
        "whole clusters: cards about one subject stand and fall together.",
    ),
    (
        "Exact McNemar",
        "For what is a yes or no per card: could a fair coin have decided the cards on which only "
        "one of the two counts? Their numbers are given as first : second.",
    ),
    (
        "Wilcoxon signed rank",
        "The same question where each card was asked several times, on the cards' means.",
    ),
    (
        "Cluster bootstrap",
        "For ratios whose denominator depends on the answers, such as AP: how often does the "
        "difference change its sign when the subjects are drawn again?",
    ),
    (
        "p, adjusted",
        "After Holm's correction over all pairs of the metric: with many pairs, some would look "
        "different by chance.",
    ),
    (
        "The data tell",
        "Only where the adjusted p is below 0.05 and the interval leaves out zero. Whether the "
        "intervals of two single values overlap is never used.",
    ),
    (
        "Smallest detectable",
        "The true difference that a comparison of this size finds 4 times in 5: the grey band. A "
        "pair that cannot be told apart may still differ by as much.",
    ),
    (
        "Effect size d",
        "The mean difference per card over its standard deviation; about 0.2 is small, 0.5 medium, "
        "0.8 large (Cohen 1988). Only for metrics whose denominator the cards decide.",
    ),
)

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Card",
        "A question with facts and rules. Its label is proved twice: over the whole graph, and "
        "over the card's own facts and rules alone, so a reader of the card can reach it.",
    ),
    ("E, entailed", "The graph states the claim or it follows. The right answer is YES."),
    (
        "C, contradictory",
        "The graph denies the claim, or adding it would break a constraint. The right answer is "
        "NO.",
    ),
    ("U, unknown", "Neither. The right answer is UNKNOWN."),
    (
        "Held back",
        "UNKNOWN although the answer can be proved: cautious and safe on a contradiction, a "
        "missed answer on an entailed card.",
    ),
    (
        "INVALID, ERROR",
        "A reply that could not be read, or a call that failed. Never counted as abstention; "
        "worst-case bounds show what they could at most have changed.",
    ),
    (
        "Control",
        "A policy that looks at nothing: always YES, always NO, always UNKNOWN, a fair guess. A "
        "metric that a control wins says little on its own.",
    ),
    (
        "Interval",
        "Made anew with other cards of the kind, such an interval would hold the true number about "
        "as often as its confidence says, mostly 95 times in 100; cards about one subject are "
        "resampled together.",
    ),
    (
        "Paired test",
        "Two systems on the same cards. Only this decides whether one is better; overlapping "
        "intervals decide nothing.",
    ),
    ("Signature", "Everything needed to repeat a number, on one line."),
)


def metric_words(key: str) -> MetricWords:
    """The words for a metric; a metric this report does not know is called by its own name."""
    return METRIC_WORDS.get(key) or MetricWords(key, key.replace("_", " "), "")
