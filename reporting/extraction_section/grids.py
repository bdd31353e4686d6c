"""Tables of quality: headline, parts of the score, all metrics, categories, modes, breakdowns."""

from __future__ import annotations

from collections.abc import Sequence

from eval.extraction.record import Average, Dimension, Estimate, Group, Mode, SystemReport
from eval.extraction.verdicts.sample_score import CATEGORIES
from kg.words.plain_text import join_list
from reporting.benchmark_sections.blocks import Cell, Grid, Head, Line
from reporting.charts import UNDEFINED_TEXT, format_number, format_percent, to_chart_estimate
from reporting.extraction_section.metric_words import TIERS, grade_span, value_cell, words
from reporting.extraction_section.shown import Shown

HEADLINE = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "exact_match"),
    *("hallucination_rate", "success_rate", "latency_p95_s"),
)
GLANCE = (
    *("extraction_quality_score", "schema_validity", "field_f1_partial", "exact_match"),
    *("type_accuracy", "hallucination_rate", "success_rate", "latency_p95_s"),
)
DIRECTIONS = {True: "higher is better", False: "lower is better", None: "describes only"}
OF_FIELDS = (
    *("field_precision_partial", "field_recall_partial", "field_f1_partial", "field_f1_strict"),
    *("type_accuracy", "omission_rate", "hallucination_rate"),
)
OF_SAMPLES = (
    *("extraction_quality_score", "schema_validity", "exact_match", "field_f1_partial"),
    *("type_accuracy", "omission_rate", "hallucination_rate"),
)
DIMENSIONS: dict[Dimension, str] = {
    "type": "Field type",
    "depth": "Nesting depth",
    "required": "Required or optional",
    "name": "Field name",
    "complexity": "Complexity of the schema",
    "domain": "Domain",
    "language": "Language",
}
AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")
NAMES_SHOWN = 15
"""Names of fields in the page, the most frequent ones; all are in the table's file."""


def metric_head(shown: Shown, key: str) -> Head:
    """The head of a metric's column."""
    found = [one.metrics[key] for _, one in shown.systems if key in one.metrics]
    named = words(key)
    return Head(
        named.short_name,
        DIRECTIONS[found[0].higher_is_better if found else None],
        f"{named.full_name}. {named.explanation}",
    )


def headline(shown: Shown) -> Grid:
    """The numbers that matter most, one line a system, and what came to no valid extraction."""
    heads = [Head("System", numeric=False), *(metric_head(shown, key) for key in HEADLINE)]
    meaning = "Replies that are no JSON, or no valid instance of the schema, and calls that failed."
    heads.append(Head("unusable", "no JSON + invalid + failed", meaning))
    lines = []
    for name, one in shown.systems:
        ended = one.outcomes
        bad = (ended.unparsable, ended.invalid, ended.error)
        cells = [value_cell(key, one.metrics.get(key)) for key in HEADLINE]
        detail = (
            (" + ".join(map(str, bad)), format_percent(sum(bad) / ended.rows)) if sum(bad) else ()
        )
        lines.append(Line(name, (*cells, Cell(f"{sum(bad):,}", detail))))
    return Grid(
        "Headline",
        "Under each number its interval; bounds span what failed calls could have been. A dash "
        "says why there is no number.",
        tuple(heads),
        tuple(lines),
    )


def glance(shown: Shown) -> Grid:
    """Every graded metric with its grade, a column a system."""
    heads = [Head("Metric", numeric=False)]
    heads += [Head(name) for name in shown.shown_names]
    heads.append(Head("A from", "limits of the grades"))
    lines = []
    graded = {name: {g.metric: g for g in one.grades} for name, one in shown.systems}
    for key in GLANCE:
        cells = []
        limit = UNDEFINED_TEXT
        for name, one in shown.systems:
            grade = graded[name].get(key)
            if grade is None:
                cells.append(value_cell(key, one.metrics.get(key)))
                continue
            limit = value_cell(key, Estimate(value=grade.limits.get("A"))).text
            good, bad = grade.grade in ("A+", "A"), grade.grade in ("D", "F")
            value = value_cell(key, one.metrics.get(key), bounds=False)
            cells.append(
                Cell(
                    f"{grade.grade} · {value.text}" if grade.grade else value.text,
                    tuple(text for text in (*value.below, grade_span(grade)) if text),
                    "up" if good else "down" if bad else "",
                )
            )
        lines.append(Line(words(key).full_name, (*cells, Cell(limit))))
    return Grid(
        "At a glance",
        "Grades from A+ to F by fixed limits. Below: the interval, and the grades at its ends if "
        "they differ.",
        tuple(heads),
        tuple(lines),
    )


def components(shown: Shown) -> Grid:
    """The parts of the score and what each adds to it."""
    heads = [Head("Part", numeric=False), Head("Weight")]
    heads += [Head(name, "mean of samples", "Below it: over all fields") for name in shown.names]
    parts = list(shown.report.weights)
    lines = []
    for part in parts:
        cells = []
        for _, one in shown.systems:
            found = one.quality.components[part]
            adds = None if found.macro is None else found.weight * found.macro
            cells.append(
                Cell(
                    format_number(found.macro),
                    (f"adds {format_number(adds)}", f"all fields: {format_number(found.value)}"),
                )
            )
        weight = shown.report.weights[part]
        lines.append(
            Line(
                part.replace("_", " ").replace("f1", "F1"), (Cell(format_number(weight, 2)), *cells)
            )
        )
    totals = [
        Cell(
            to_chart_estimate(one.quality.score).text,
            (f"micro: {format_number(one.quality.micro.value)}",),
            "best",
        )
        for _, one in shown.systems
    ]
    lines.append(Line("extraction quality score", (Cell("1"), *totals)))
    return Grid(
        "What the score is made of",
        "Each part times its weight, added up. “No hallucination” is 1 less the hallucination "
        "rate.",
        tuple(heads),
        tuple(lines),
    )


def every_metric(shown: Shown) -> Grid:
    """Every scalar metric by tier, a column a system."""
    heads = [Head("Metric", numeric=False), *(Head(name) for name in shown.names)]
    lines = []
    for tier, keys in TIERS:
        for key in keys:
            values = [one.metrics.get(key) for _, one in shown.systems]
            known = next((value for value in values if value is not None), None)
            direction = DIRECTIONS[known.higher_is_better if known else None]
            lines.append(
                Line(
                    words(key).full_name,
                    tuple(value_cell(key, value) for value in values),
                    f"{words(key).explanation} {direction[0].upper()}{direction[1:]}.",
                    f"Tier {tier}" if tier[0].isdigit() else tier,
                )
            )
    return Grid("Every metric", "", tuple(heads), tuple(lines))


def categories(shown: Shown, mode: Mode = "partial") -> Grid:
    """Counts and shares of the match categories."""
    heads = [Head("System", numeric=False), *(Head(key) for key in CATEGORIES)]
    lines = []
    for name, one in shown.systems:
        cells = []
        for key in CATEGORIES:
            share = one.categories[mode][key]
            span = ""
            if share.low is not None and share.high is not None:
                span = f"{100 * share.low:.1f}–{100 * share.high:.1f} %"
            value = UNDEFINED_TEXT if share.share is None else f"{100 * share.share:.1f} %"
            cells.append(Cell(f"{share.count:,}", (value, *((span,) if span else ()))))
        lines.append(Line(name, tuple(cells)))
    worth = (
        "Of an invalid reply every field that both sides have is incorrect."
        if shown.report.invalid == "zero" and _any_invalid(shown)
        else ""
    )
    return Grid(f"Match categories, {mode} mode", worth, tuple(heads), tuple(lines))


def _any_invalid(shown: Shown) -> bool:
    return any(one.outcomes.invalid for _, one in shown.systems)


def _on_merit(shown: Shown, said: str) -> str:
    """What a table is of, and that invalid replies are in it for what they are."""
    more = " Fields of invalid replies are in it as they came." if _any_invalid(shown) else ""
    return said + more


def modes(shown: Shown) -> Grid:
    """Precision, recall and F1 in three modes, by three averages."""
    measures = [
        f"field_{m}_{mode}"
        for mode in ("strict", "partial", "lenient")
        for m in ("precision", "recall", "f1")
    ]
    heads = [Head("Average", numeric=False)]
    heads += [Head(words(key).short_name, key.rsplit("_", 1)[-1]) for key in measures]
    lines = [
        Line(
            average,
            tuple(
                value_cell(key, one.averages[key].get(average), bounds=False) for key in measures
            ),
            group=name,
        )
        for name, one in shown.systems
        for average in AVERAGES
    ]
    return Grid(
        "Precision, recall and F1",
        "Micro: all fields together; macro: the mean over samples; weighted: by a sample's "
        f"expected fields. The headline is {shown.report.average}.",
        tuple(heads),
        tuple(lines),
    )


def other_policy(shown: Shown) -> Grid | None:
    """The same accuracy under the other reading of invalid replies; none where none is invalid."""
    if not any(one.outcomes.invalid + one.outcomes.unparsable for _, one in shown.systems):
        return None
    keys = [
        key
        for key in (*HEADLINE, "type_accuracy", "omission_rate")
        if any(key in one.other_policy for _, one in shown.systems)
    ]
    if not keys:
        return None
    heads = [Head("System", numeric=False), *(metric_head(shown, key) for key in keys)]
    lines = [
        Line(name, tuple(value_cell(key, one.other_policy.get(key)) for key in keys))
        for name, one in shown.systems
    ]
    said = {
        "zero": "Here what is right in invalid replies counts; in the headline they are worth 0.",
        "as_is": "Here invalid replies are worth 0; in the headline what is right in them counts.",
    }
    return Grid(
        "Invalid replies, read the other way",
        said[shown.report.invalid],
        tuple(heads),
        tuple(lines),
    )


def breakdown(shown: Shown, dimension: Dimension) -> Grid | None:
    """The numbers of every key of a dimension, a group of lines a system."""
    of_samples = dimension in ("complexity", "domain", "language")
    keys = OF_SAMPLES if of_samples else OF_FIELDS
    heads = [Head(DIMENSIONS[dimension], numeric=False)]
    heads += (
        [Head("samples", meaning="Samples of this kind")]
        if of_samples
        else [
            Head("expected", "fields", "Fields that were expected"),
            Head("extracted", "fields", "Fields that came"),
        ]
    )
    heads += [metric_head(shown, key) for key in keys]
    lines, left_out = [], 0
    for name, one in shown.systems:
        found = one.breakdowns.get(dimension)
        groups = list(found.groups.items()) if found else []
        if dimension == "name":
            groups.sort(key=lambda pair: -pair[1].expected)
            left_out = max(left_out, len(groups) - NAMES_SHOWN)
            groups = groups[:NAMES_SHOWN]
        lines += [
            Line(key, (*_sizes(group, of_samples), *_values(group, keys)), group=name)
            for key, group in groups
        ]
    if not lines:
        return None
    more = f" {left_out} rarer ones stand only in the file of breakdowns." if left_out > 0 else ""
    return Grid(f"By {DIMENSIONS[dimension].lower()}", more.strip(), tuple(heads), tuple(lines))


def _sizes(group: Group, of_samples: bool) -> tuple[Cell, ...]:
    if of_samples:
        return (Cell(f"{group.samples:,}"),)
    return Cell(f"{group.expected:,}"), Cell(f"{group.predicted:,}")


def _values(group: Group, keys: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(value_cell(key, group.metrics.get(key), bounds=False) for key in keys)


def confusion(shown: Shown, name: str, one: SystemReport) -> Grid | None:
    """Which type came where which was expected."""
    found = one.type_confusion
    came = list(dict.fromkeys(key for row in found.values() for key in row))
    came.sort(key=lambda key: (list(found).index(key) if key in found else len(found), key))
    if not came:
        return None
    lines = []
    for expected, row in found.items():
        total = sum(row.values())
        cells = tuple(
            Cell(
                f"{row[key]:,}" if key in row else "0",
                (format_percent(row[key] / total),) if key in row else (),
                shade=row.get(key, 0) / total if total else 0.0,
            )
            for key in came
        )
        lines.append(Line(expected, cells, f"{total:,} fields"))
    heads = (Head("Expected", numeric=False), *(Head(key) for key in came))
    return Grid(
        f"{name}: types that came",
        _on_merit(shown, "Shares of a row; the fuller the colour, the more."),
        heads,
        tuple(lines),
        "shares",
    )


def distribution(shown: Shown) -> Grid:
    """The scores of paired fields in the specification's bins, and the similarities of texts."""
    bins = next(iter(shown.systems))[1].composite.bins
    heads = [
        Head("System", numeric=False),
        Head("pairs", meaning="Fields that both sides have"),
        Head("mean"),
        Head("median"),
    ]
    heads += [
        Head(
            one.name.replace("_", " "),
            f"{format_number(one.low, 2)} to {format_number(one.high, 2)}",
        )
        for one in bins
    ]
    lines = []
    for name, one in shown.systems:
        found = one.composite
        lines.append(
            Line(
                name,
                (
                    Cell(f"{found.n:,}"),
                    Cell(format_number(found.mean)),
                    Cell(format_number(found.median, 2)),
                    *(Cell(f"{b.count:,}", (format_percent(b.share),)) for b in found.bins),
                ),
            )
        )
    return Grid(
        "Composite scores of paired fields",
        _on_merit(shown, "Fields that both sides have, by how near their values are."),
        tuple(heads),
        tuple(lines),
    )


def similarities(shown: Shown) -> Grid | None:
    """Three ways to compare texts."""
    lines = []
    for name, one in shown.systems:
        for key, found in one.similarities.items():
            if found.n:
                low = sum(found.histogram[:10]) / found.n
                high = sum(found.histogram[19:]) / found.n
                lines.append(
                    Line(
                        key.replace("_", " "),
                        (
                            Cell(f"{found.n:,}"),
                            Cell(format_number(found.mean)),
                            Cell(format_number(found.median, 2)),
                            Cell(format_percent(low)),
                            Cell(format_percent(high)),
                        ),
                        group=name,
                    )
                )
    if not lines:
        return None
    heads = ("Similarity", "pairs of texts", "mean", "median", "below 0.5", "0.95 and more")
    return Grid(
        "Similarity of texts",
        _on_merit(
            shown,
            "Over pairs of texts that are compared by likeness. The histograms are in the JSON.",
        ),
        tuple(Head(head, numeric=at > 0) for at, head in enumerate(heads)),
        tuple(lines),
    )


def names_of(shown: Shown, most: int = 3) -> str:
    """The systems in words."""
    names = list(shown.shown_names)
    rest = len(names) - most
    return join_list([*names[:most], f"{rest} more"] if rest > 0 else names)
