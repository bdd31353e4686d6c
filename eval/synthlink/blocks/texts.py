"""The opening words of the section: what the score is, what it is worth, and where it is lost."""

from __future__ import annotations

from collections import Counter

from eval.blocks.text_format import format_name, format_number, format_percent, format_points
from eval.synthlink.blocks.losses import PartOfScore, parts_of_score, verdict_counts
from eval.synthlink.blocks.metric_texts import MEASURES, PARTS, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.metrics import AnswerStatus, MetricName, Mode
from eval.synthlink.scoring.comparison_text import select_headlines
from eval.synthlink.scoring.outputs import ComparedScores
from eval.synthlink.scoring.record import MeanScore, QuestionComparison
from kg.base.plain_text import join_list

_NAMED_AT_MOST = 3
_NEAR = 0.02
"""Two scores that differ by less are nearly the same."""
_FAR = 0.1
"""Two values of one part that differ by as much are not."""
_PLAIN: dict[MetricName, str] = {
    "f1": "being right and complete",
    "p_at_5": "the pages named",
    "rqs": "the steps taken",
    "fcs": "the claims",
    "ie": "the speed",
}

_NOT_ANSWERED: dict[AnswerStatus, tuple[str, str]] = {
    "abstained": ("is abstained from", "are abstained from"),
    "missing": ("has no answer", "have no answer"),
    "refused": ("has a row that cannot be used", "have rows that cannot be used"),
}
"""Of one question, and of several."""

LITERAL = (
    "These are the published formulas as they stand. A list of keywords scores higher in "
    "them than an honest answer does, so they do not measure quality."
)
"""For a file that was scored in literal mode only."""


def verdict(folder: ScoredFolder) -> tuple[str, ...]:
    """The sentences of the opening paragraph."""
    return (
        _opening(folder),
        _score(folder),
        *_literal(folder),
        *_lost(folder),
        *_claims(folder),
        *_describe_comparisons(folder),
    )


def caveats(folder: ScoredFolder) -> tuple[str, ...]:
    """What limits the headline numbers."""
    said = []
    overall = folder.headline.overall
    only = overall.answered_only.get("aggregate")
    if overall.answered < overall.n and only is not None:
        said.append(
            f"Each question without an answer is worth 0. Over the answered ones alone the score "
            f"would be {format_number(only)}, which is what leaving questions out would claim."
        )
    said += _of_run(folder)
    corrected = folder.corrected
    if corrected is not None:
        pages = corrected.overall.measures.get("p_at_5")
        if not any(fact for view in folder.answers for fact in view.facts):
            said.append(
                "The catalogue states no facts, so no step can be checked; the other parts have "
                "the weight."
            )
        elif corrected.unjudged_steps:
            total = sum(corrected.steps.values())
            said.append(
                f"Whether the answers state {corrected.unjudged_steps:,} of {total:,} facts of "
                "steps is unjudged."
            )
        score = corrected.overall.measures.get("aggregate")
        if score is not None and score.lowest is not None:
            low, high = format_number(score.lowest), format_number(score.highest)
            said.append(f"With what is unjudged, the corrected score can be {low} to {high}.")
        if pages is not None and pages.value is None:
            said.append(
                "It is not recorded which pages were opened, so pages cannot be judged."
                if pages.unjudged
                else "The catalogue names no sources, so pages cannot be judged."
            )
        if not folder.report.graph:
            said.append("No graph was asked: facts, pages or a judge decide claims.")
    return tuple(said)


def _of_run(folder: ScoredFolder) -> list[str]:
    """What is known of the run that the answers are of."""
    if folder.run is None:
        return []
    said = []
    manifest = folder.run.manifest
    asked = len(folder.run.rows)
    if asked < len(folder.answers):
        said.append(
            f"Only {asked:,} of {len(folder.answers):,} questions were asked; the others count as "
            "missing."
        )
    outcomes = Counter[str](row.outcome for row in folder.run.rows.values())
    failed = [
        f"{outcomes[name]:,} {words}"
        for name, words in (
            ("INVALID", "in a reply that cannot be read"),
            ("ERROR", "in a failure"),
        )
        if outcomes[name]
    ]
    if failed:
        said.append(f"No answer: {join_list(failed)}; they are not abstentions.")
    held = folder.manifest
    library = manifest.library or {}
    same = [
        name
        for name, mine, evidence in (
            ("graph", manifest.params.get("graph_sha256"), held.graph_sha256),
            ("pages", library.get("sha256"), held.pages_sha256),
        )
        if evidence is not None and mine == evidence
    ]
    if same:
        said.append(
            f"This system answers from the very {join_list(same)} that its claims are checked "
            "against, so the share of supported claims means little."
        )
    if manifest.offline:
        said.append("No model was called.")
    return said


def _opening(folder: ScoredFolder) -> str:
    statuses = [row.status for row in folder.headline.questions]
    n, answered = len(statuses), statuses.count("answered")
    if n == 1:
        return f"The one question is {statuses[0]}."
    text = f"Each of {n:,} questions takes facts from several pages"
    if answered == n:
        return f"{text}; all are answered."
    said = [f"{answered or 'none'} {'is' if answered < 2 else 'are'} answered"]
    for status, words in _NOT_ANSWERED.items():
        if count := statuses.count(status):
            said.append(f"{count:,} {words[count != 1]}")
    return f"{text}; {join_list(said)}."


def _score(folder: ScoredFolder) -> str:
    found = _value(folder, folder.modes[0])
    if found is None or found.value is None:
        why = f" ({found.why})" if found is not None and found.why else ""
        known = [
            f"{MEASURES[key].short_name} {format_number(part.value)}"
            for key in PARTS
            if (part := _value(folder, folder.modes[0], key)) is not None and part.value is not None
        ]
        measured = f" {join_list(known)} {'is' if len(known) == 1 else 'are'} measured."
        return f"There is no {folder.modes[0]} score{why}.{measured if known else ''}"
    span = ""
    if found.low is not None and found.high is not None:
        span = f" ({format_number(found.low)} to {format_number(found.high)})"
    return f"The score is {format_number(found.value)} of 1{span}."


def _value(folder: ScoredFolder, mode: Mode, key: MetricName = "aggregate") -> MeanScore | None:
    scores = folder.report.modes.get(mode)
    return None if scores is None else scores.overall.measures.get(key)


def _literal(folder: ScoredFolder) -> list[str]:
    """How far the published formulas are from the corrected ones, and which part makes it so."""
    values = [_value(folder, mode) for mode in ("literal", "corrected")]
    shown = [one.value for one in values if one is not None and one.value is not None]
    if folder.modes != ("corrected", "literal") or not shown:
        return []
    if len(shown) < 2:
        return [
            f"The published formulas give {format_number(shown[0])}; a list of keywords "
            "scores higher in them than an honest answer does."
        ]
    gap = shown[0] - shown[1]
    text = f"The published formulas would give {format_number(shown[0])}"
    weights = folder.report.weights
    literal, corrected = (
        {one.measure: one for one in parts_of_score(folder.report.modes[mode], weights)}
        for mode in ("literal", "corrected")
    )
    apart = {key: literal[key].share - corrected[key].share for key in literal if key in corrected}
    if abs(gap) < _NEAR:
        key = max(apart, key=lambda one: abs(apart[one]))
        text += ", nearly the same"
        if abs(apart[key]) < _FAR:
            return [f"{text}."]
        text += ", though not for the same reasons: "
    else:
        # Of all parts the one that moves the score furthest that way.
        key = max(apart, key=lambda one: apart[one] * weights[one] * gap)
        text += f", {format_number(abs(gap))} {'more' if gap > 0 else 'less'}"
        if apart[key] * gap <= 0:
            return [f"{text}."]
        text += ", above all because they give "
    first, second = (format_number(parts[key].share, 2) for parts in (literal, corrected))
    return [f"{text}{first} instead of {second} for {_PLAIN[key]}."]


def _lost(folder: ScoredFolder) -> list[str]:
    """The parts on which most is lost."""
    parts = parts_of_score(folder.headline, folder.report.weights)
    lost = sum(part.lost for part in parts)
    if lost < 0.0005:
        return []
    worst: list[PartOfScore] = sorted(parts, key=lambda part: -part.lost)[:2]
    first, *more = [
        (format_number(part.lost), _PLAIN[part.measure]) for part in worst if part.lost > 0
    ]
    text = f"Of the {format_number(lost)} that it lacks, {first[0]} is lost on {first[1]}"
    return [f"{text}{''.join(f' and {much} on {what}' for much, what in more)}."]


def _claims(folder: ScoredFolder) -> list[str]:
    if folder.corrected is None:
        return []
    count = verdict_counts(folder.corrected)
    n_unjudged = count.pop("unjudged")
    total = sum(count.values())
    if not total:
        if not n_unjudged:
            return ["No answer claims anything that could be checked."]
        return [f"None of {n_unjudged:,} claims is judged."]
    rest = f" {n_unjudged:,} more {'is' if n_unjudged == 1 else 'are'} unjudged."
    rest = rest if n_unjudged else ""
    if count["supported"] == total > 1:
        return [f"All {total:,} claims with a verdict are supported.{rest}"]
    text = f"Of {total:,} {'claim' if total == 1 else 'claims'} with a verdict"
    text += (
        f" {format_percent(count['supported'] / total)} {'is' if total == 1 else 'are'} supported"
    )
    wrong = count["contradicted"]
    text += (
        f" and {format_percent(wrong / total)} contradicted" if wrong else ", none is contradicted"
    )
    return [f"{text}; the rest are not found.{rest}" if count["not_found"] else f"{text}.{rest}"]


def _describe_comparisons(folder: ScoredFolder) -> list[str]:
    sentences = []
    files = folder.scored.comparisons
    for one in files[:_NAMED_AT_MOST]:
        sentences += _describe_comparison(folder, one)
    rest = len(files) - _NAMED_AT_MOST
    if rest > 0:
        more = "file is" if rest == 1 else "files are"
        sentences.append(f"{rest} more {more} compared below.")
    return sentences


def _describe_comparison(folder: ScoredFolder, compared: ComparedScores) -> list[str]:
    """What the paired test on the score says, and whether the published formulas would differ."""
    found = {
        mode: one for mode, one in select_headlines(compared).items() if one.difference is not None
    }
    first = found.get(folder.modes[0])
    if first is None:
        return []
    other = format_name(compared.name)
    if first.better is not None:
        which = "better" if first.better == first.candidate else "worse"
        size = format_points(first.difference, first.low, first.high)
        text = f"Paired tests on the same questions find it {which} than {other}{size}"
    else:
        text = f"Paired tests on the same questions find no difference from {other}"
        text += _describe_possible_miss(first)
    second = found.get(folder.modes[1]) if len(folder.modes) > 1 else None
    if second is None or second.better == first.better:
        return [f"{text}."]
    if second.better is None:
        return [
            f"{text}. By the {folder.modes[1]} scores there would be no significant difference."
        ]
    who = "this file" if second.better == second.candidate else other
    return [f"{text}. The {folder.modes[1]} scores would put {who} first."]


def _describe_possible_miss(one: QuestionComparison) -> str:
    """What a test that finds no difference leaves open."""
    seen = one.difference or 0.0
    if one.minimum_detectable_effect is None:
        return ""
    if abs(seen) > one.minimum_detectable_effect:
        return (
            f"; the {format_number(abs(seen) * 100, 1)} points between them would need more "
            "questions to be sure of"
        )
    return (
        f"; a true difference below {min(one.minimum_detectable_effect, 1.0) * 100:.0f} points "
        "may be missed"
    )


def extremes(folder: ScoredFolder) -> str:
    """The span of the categories' scores, in a sentence."""
    known = {
        key: value.value
        for key, group in folder.headline.categories.items()
        if (value := group.measures.get("aggregate")) is not None and value.value is not None
    }
    overall = _value(folder, folder.modes[0])
    if len(known) < 2 or overall is None or overall.value is None:
        return ""
    low, high = min(known.values()), max(known.values())
    if high - low < 0.0005:
        return f"All categories have a score of {format_number(low)}."
    ends = [
        join_list([category_name(key) for key, value in known.items() if value == end])
        for end in (high, low)
    ]
    return (
        f"The score goes from {format_number(high)} ({ends[0]}) down to {format_number(low)} "
        f"({ends[1]}). Nothing here tests categories against each other."
    )
