"""The opening words of the section: what the score is, what it is worth, and where it is lost."""

from __future__ import annotations

from eval.synthlink.outputs import Compared
from eval.synthlink.record import Measure, Mode, Value
from kg.words.plain_text import listing
from reporting.charts import number, percent
from reporting.synthlink_comparison import headlines
from reporting.synthlink_section.losing import PartOfScore, claims_by, parts_of_score
from reporting.synthlink_section.measure_words import category_name
from reporting.synthlink_section.reading import ScoredFolder
from reporting.verdict import points
from reporting.visible import shown_name

_NAMED_AT_MOST = 3
_PLAIN: dict[Measure, str] = {
    "f1": "the words of the answer",
    "p_at_5": "the pages named",
    "rqs": "the steps taken",
    "fcs": "claims that are not borne out",
    "ie": "the number of rounds",
}

LITERAL = (
    "These are the published formulas as they stand. Keywords thrown together score better in "
    "them than an honest answer does, so read no quality of answers into them."
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
        *_compared(folder),
    )


def caveats(folder: ScoredFolder) -> tuple[str, ...]:
    """What must be held against the headline numbers."""
    said = []
    overall = folder.headline.overall
    only = overall.answered_only.get("aggregate")
    if overall.answered < overall.n and only is not None:
        said.append(
            f"Each question without an answer is worth 0. Over the answered ones alone the score "
            f"would be {number(only)}, which is what leaving questions out would claim."
        )
    corrected = folder.corrected
    if corrected is not None:
        rqs, pages = (corrected.overall.measures.get(key) for key in ("rqs", "p_at_5"))
        if rqs is not None and rqs.value is None:
            said.append(
                "The catalogue states no facts, so no step can be checked; the other parts bear "
                "the weight."
            )
        if pages is not None and pages.value is None:
            said.append("The catalogue names no sources, so pages cannot be judged.")
        if not folder.report.graph:
            said.append(
                "No graph was asked: claims are held against the catalogue's own words alone."
            )
    return tuple(said)


def _opening(folder: ScoredFolder) -> str:
    report = folder.report
    statuses = [row.status for row in folder.headline.questions]
    n = len(statuses)
    one = n == 1
    text = f"{report.n_answered:,} of {n:,} {'question' if one else 'questions'} "
    text += "is answered" if report.n_answered == 1 else "are answered"
    others = []
    for status, words in (
        ("abstained", ("is abstained from", "are abstained from")),
        ("missing", ("has no row", "have no row")),
        ("refused", ("has a row that cannot be used", "have rows that cannot be used")),
    ):
        if count := statuses.count(status):  # type: ignore[arg-type]
            others.append(f"{count:,} {words[count != 1]}")
    return f"{text}; {listing(others)}." if others else f"{text}."


def _score(folder: ScoredFolder) -> str:
    found = _value(folder, folder.modes[0])
    if found is None or found.value is None:
        return "There is no score."
    span = ""
    if found.low is not None and found.high is not None:
        span = f" ({number(found.low)} to {number(found.high)})"
    return f"The score is {number(found.value)} of 1{span}."


def _value(folder: ScoredFolder, mode: Mode, key: Measure = "aggregate") -> Value | None:
    scores = folder.report.modes.get(mode)
    return None if scores is None else scores.overall.measures.get(key)


def _literal(folder: ScoredFolder) -> list[str]:
    """How far the published formulas are from the corrected ones, and which part makes it so."""
    values = [_value(folder, mode) for mode in ("literal", "corrected")]
    shown = [one.value for one in values if one is not None and one.value is not None]
    if len(shown) < 2 or folder.modes[0] != "corrected":
        return []
    gap = shown[0] - shown[1]
    text = f"The formulas as published would say {number(shown[0])}"
    if abs(gap) < 0.0005:
        return [f"{text}, the same."]
    text += f", {number(abs(gap))} {'more' if gap > 0 else 'less'}"
    weights = folder.report.weights
    parts = [
        {one.measure: one for one in parts_of_score(folder.report.modes[mode], weights)}
        for mode in ("literal", "corrected")
    ]
    apart = {
        key: parts[0][key].gained - parts[1][key].gained for key in parts[0] if key in parts[1]
    }
    key = max(apart, key=lambda one: apart[one] if gap > 0 else -apart[one], default=None)
    if key is not None and apart[key] * gap > 0:
        first, second = (
            number(part[key].gained / part[key].weight, 2) for part in (parts[0], parts[1])
        )
        text += f", above all for {_PLAIN[key]} ({first} instead of {second})"
    return [f"{text}."]


def _lost(folder: ScoredFolder) -> list[str]:
    """The parts on which most is lost."""
    parts = parts_of_score(folder.headline, folder.report.weights)
    lost = sum(part.lost for part in parts)
    if lost < 0.0005:
        return []
    worst: list[PartOfScore] = sorted(parts, key=lambda part: -part.lost)[:2]
    said = [f"{number(part.lost)} on {_PLAIN[part.measure]}" for part in worst if part.lost > 0]
    verb = "is" if len(said) == 1 else "are"
    return [f"Of the {number(lost)} that it lacks, {listing(said)} {verb} lost."]


def _claims(folder: ScoredFolder) -> list[str]:
    if folder.corrected is None:
        return []
    found = claims_by(folder.corrected)
    total = found.total()
    if not total:
        return ["No answer claims anything that could be checked."]
    count = {
        verdict: sum(held for (said, _), held in found.items() if said == verdict)
        for verdict in ("licensed", "contradicted", "unknown")
    }
    return [
        f"Of {total:,} {'claim' if total == 1 else 'claims'} {percent(count['licensed'] / total)} "
        f"{'is' if total == 1 else 'are'} borne out, {percent(count['contradicted'] / total)} "
        f"contradicted; the rest cannot be told."
    ]


def _compared(folder: ScoredFolder) -> list[str]:
    sentences = []
    files = folder.scored.comparisons
    for one in files[:_NAMED_AT_MOST]:
        sentences += _against(folder, one)
    rest = len(files) - _NAMED_AT_MOST
    if rest > 0:
        more = "file is" if rest == 1 else "files are"
        sentences.append(f"{rest} more {more} compared below.")
    return sentences


def _against(folder: ScoredFolder, compared: Compared) -> list[str]:
    """What the paired test on the score says, and whether the published formulas would differ."""
    found = {mode: one for mode, one in headlines(compared).items() if one.difference is not None}
    first = found.get(folder.modes[0])
    if first is None:
        return []
    other = shown_name(compared.name)
    if first.better is not None:
        which = "better" if first.better == first.first else "worse"
        size = points(first.difference, first.low, first.high)
        text = f"Paired tests on the same questions find it {which} than {other}{size}"
    else:
        text = f"Paired tests on the same questions cannot tell it from {other}"
        if first.smallest_found is not None:
            text += (
                f"; a true difference below {min(first.smallest_found, 1.0) * 100:.0f} points may "
                "well be missed"
            )
    second = found.get(folder.modes[1]) if len(folder.modes) > 1 else None
    if second is None or second.better == first.better:
        return [f"{text}."]
    if second.better is None:
        return [f"{text}. By the {folder.modes[1]} scores they could not be told apart."]
    who = "this file" if second.better == second.first else other
    return [f"{text}. The {folder.modes[1]} scores would put {who} first."]


def extremes(folder: ScoredFolder) -> str:
    """The span of the categories' scores, in a sentence."""
    known = {
        key: value.value
        for key, group in folder.headline.categories.items()
        if (value := group.measures.get("aggregate")) is not None and value.value is not None
    }
    if len(known) < 2:
        return ""
    low, high = min(known.values()), max(known.values())
    if high - low < 0.0005:
        return f"All categories have a score of {number(low)}."
    ends = [
        listing([category_name(key) for key, value in known.items() if value == end])
        for end in (high, low)
    ]
    return (
        f"The score goes from {number(high)} ({ends[0]}) down to {number(low)} ({ends[1]}); with "
        "so few questions each, that alone says little about the categories."
    )
