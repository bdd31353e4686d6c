"""Writes what the recorded models show, as Markdown tables.

    make all compare extract skn synthlink
    python benchmarks/recorded_models.py results --out docs/reference/recorded-models.md

The numbers in tables are copied from ``metrics.json``, or counted in the rows.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from sklearn.metrics import roc_auc_score

from eval.abstention.degradation.curves import CURVE_METRICS, DATA_NAME, read_degradation
from eval.abstention.metrics.definitions import SKILL
from eval.abstention.metrics.record import MetricsReport, SystemReport, read_metrics
from eval.abstention.result import PENALTY_MARK
from eval.abstention.run_files import find_result_files
from eval.blocks.escaped_text import render_markdown_table
from eval.blocks.text_format import (
    ChartEstimate,
    format_number,
    format_p_value,
    format_signed,
    to_chart_estimate,
)
from eval.extraction.blocks.run_data import read_run
from eval.extraction.record import ExtractionReport
from eval.judges.rates import Rate
from eval.model.providers import RECORDED
from eval.skn.blocks.run_data import read_run as read_skn_run
from eval.skn.judges.agreement import Agreement
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.scoring.record import MeanScore
from kg.base.files import write_text_atomic

INTRODUCTION = """# What the recorded models show

`make all` replays what real language models answered to a [fixed card
set](../how-to/models.md#the-shipped-recordings) ({n_cards} cards), beside the systems that need no
model; `make extract` [what one extracted](#data-from-texts), `make skn` [how one answered from
notes in three formats](#skn-against-json), and `make synthlink` [how one answered multi-hop
questions](#multi-hop-questions). Step by step, for one of them:

```console
$ epoche join --shipped rivers-1 --out fixed.jsonl
300 cards of 1 files → fixed.jsonl …
$ epoche eval --cards fixed.jsonl --system raw_closed_book --model recorded/SmolLM2-135M-Instruct.Q4_1 --out answers.jsonl
raw_closed_book: 300 answers → answers.jsonl …
```

This page is written by

```sh
make all compare extract skn synthlink
python benchmarks/recorded_models.py results --out docs/reference/recorded-models.md
```

Intervals are {confidence:g} %. Where a system answers all cards of a label alike, resampling
cannot say how sure its skill is; the interval is then
[Wilson's, on that scale](metrics.md#intervals), and wide.

Models of 135 million and 1.5 billion parameters, quantised to four bits (the larger one was trained
for code), show how the parts work together. They say nothing about larger models: measure yours
with `make llm EPOCHE_MODEL=provider/model`.
[How they were recorded](../how-to/models.md#record-replies).

**The licence comes from the graph and the oracle that also labelled the cards.** So what
`graph_rag_llm` lets through is right by construction, and the graph without a model (`kg`,
`graph_rag`) answers every card. The comparison shows how many wrong answers the licence takes from
a model, not that the model adds something.
"""  # noqa: E501  commands and links

CLOSED_BOOK = """## With and without evidence

The same model was asked the question alone (closed book). Difference = with evidence − closed book.
p is adjusted by Holm's method over the lines of this table. It is computed by resampling, so it
cannot fall below a limit that depends on the number of resamples.
"""

LICENCE = """## What the licence does to a model's answers

`graph_rag_llm` lets a YES pass if the graph entails the claim, and a NO if it contradicts it. Any
other YES or NO is overruled, and becomes UNKNOWN: rightly if it was not the gold answer. Accuracy
is that of the model's own answers, and that of what is left of them.
"""

CONFIDENCE = """## Confidence

AUROC is how well confidence ranks right answers above wrong ones (.5 is chance). The probability is
that of the answer's tokens before the server restricted them to the form that was asked for, so
those of the three answers do not add up to 1. The stated confidence is what the model writes. A
dash stands where all answers are right, or wrong, or have the same confidence. `graph_rag_llm` is
left out: an overruled answer has no confidence.
"""

DEGRADATION = """## On a graph that lacks facts

34 of the triplets, asked again after a share of the graph's facts was dropped. Gold is what the
cards' graph says before anything is dropped. A system that knows when not to answer keeps FAR-NE
and false denials low, and loses LA.
"""

PENALTIES = """## With an announced penalty

The same cards. The model is told that a wrong answer costs t/(1−t) points. A system that knows
what it knows answers less as t grows, and is right more often when it answers.
"""

COSTS = """## Tokens and seconds a card

Means over the cards. Prompt tokens include those that the server had kept from the prompt before.
Seconds are those of the recording, on two cores.
"""

EXTRACTION = """## Data from texts

What `make extract` replays: {n_samples} of the shipped texts, with {n_expected:,} fields that texts
give a value for. Other fields are left out, rightly, or invented ([metrics](extraction.md)).
"""

SKN = """## SKN against JSON

What `make skn` replays: a recorded model extracts notes from the search results of the first {n} of
the shipped questions in three formats, answers from the notes, and judges its own answers. Of the
{n_answerable} questions with an answer, `accuracy` is the share judged right. The other metrics are
[defined here](skn.md#metrics).

What the judge is worth is measured on anchors, answers whose truth is known: it accepts
{sensitivity} of the right answers themselves,
and rejects {specificity} of the right answers to other questions.
"""

SKN_PAIRS = """Paired differences, p adjusted by Holm's method over the pairs of a metric:
"""

SYNTHLINK = """## Multi-hop questions

What `make synthlink` replays: `agent` with a recorded model on the first {n} of the shipped
questions, beside the systems that need no model on the same questions. Replies that break off are
unusable. No judge read the claims that neither graph, facts nor pages decide, so scores that
depend on these are given from lowest to highest ([metrics](synthlink.md#metrics)).
"""

EXTRACTION_METRICS = (
    *("right_rate", "wrong_rate", "omission_rate", "left_out_rate", "invented_rate"),
    *("schema_validity", "exact_match", "field_f1_partial", "extraction_quality_score"),
)

SKN_METRICS = (
    *("accuracy", "answered", "abstention_precision", "abstention_recall"),
    *("hallucination_rate", "groundedness"),
)
SKN_TOKENS = ("context_tokens_est", "tokens")

Row = dict[str, Any]


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "results", type=Path, help="made by `make all compare extract skn synthlink`"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    sample = arguments.results / "sample"
    report = read_metrics(sample / "metrics.json")
    rows = read_rows(find_result_files([sample]))
    systems = report.policies["licensed"].systems
    models = sorted((name for name in systems if f":{RECORDED}/" in name), key=split_name)
    names = [*(name for name in systems if name not in models), *models]
    parts = [
        INTRODUCTION.format(n_cards=report.n_cards, confidence=report.confidence * 100),
        "\n".join(describe_licences(report)) + "\n",
        "## Answers\n",
        render_answers({name: systems[name] for name in names}),
        CLOSED_BOOK,
        render_closed_book(report),
        f"## Paired differences of {SKILL}\n",
        render_pairs(report, models),
        LICENCE,
        render_licences({name: rows[name] for name in models if name.startswith("graph_rag_llm")}),
        CONFIDENCE,
        render_confidence(
            {name: rows[name] for name in models if not name.startswith("graph_rag_llm")}
        ),
        DEGRADATION,
        render_degradation(sorted(sample.glob(f"degraded/*/{DATA_NAME}"))),
        PENALTIES,
        render_penalties(sorted(sample.glob("penalties/*/metrics.json"))),
        COSTS,
        render_costs({name: rows[name] for name in models}),
        *render_extraction(read_run(arguments.results / "extract").report),
        *render_skn(sorted(arguments.results.glob("skn@*"))),
        *render_synthlink(sorted((arguments.results / "synthlink").glob("agent@*"))),
    ]
    write_text_atomic(arguments.out, "\n".join(parts))
    print(f"{len(models)} systems with a recorded model → {arguments.out}")


def read_rows(paths: Iterable[Path]) -> dict[str, list[Row]]:
    """Reads the rows of each system."""
    rows: dict[str, list[Row]] = {}
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            rows.setdefault(row["system"], []).append(row)
    return rows


def split_name(system: str) -> tuple[str, str]:
    """Splits a system's name into its model and what asks it; the model may be empty."""
    base, _, model = system.partition(f":{RECORDED}/")
    return model, base


def render_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Renders a table, or says that there is nothing to show."""
    cells = [list(row) for row in rows]
    return (render_markdown_table(list(heads), cells) if cells else "Not recorded.") + "\n"


def name_cells(system: str) -> list[str]:
    """Returns the cells of a system's model and name."""
    model, base = split_name(system)
    return [model or "–", f"`{base}`"]


def render_value(value: Any) -> str:
    """Renders an estimate with its interval."""
    shown = to_chart_estimate(value)
    return f"{shown.text} [{shown.interval_text}]" if shown.interval_text else shown.text


def render_rate(rate: Rate) -> str:
    """Renders a share of anchors with its interval."""
    shown = ChartEstimate(rate.value, rate.low, rate.high)
    return f"{shown.text} [{shown.interval_text}]" if shown.interval_text else shown.text


def render_answers(systems: dict[str, SystemReport]) -> str:
    """Renders what each system answered, with its headline."""
    return render_table(
        ("model", "system", "YES / NO / UNKNOWN / unusable", SKILL, "all-three", "accuracy"),
        (
            [
                *name_cells(name),
                " / ".join(map(str, count_answers(system))),
                *(
                    render_value(system.metrics.get(metric))
                    for metric in (SKILL, "all-three", "accuracy")
                ),
            ]
            for name, system in systems.items()
        ),
    )


def count_answers(system: SystemReport) -> list[int]:
    """Counts YES, NO, UNKNOWN, and replies that are none of them."""
    counts: Counter[str] = Counter()
    for answers in system.table.values():
        counts.update({answer: int(n) for answer, n in answers.items()})
    return [
        *(counts[answer] for answer in ("YES", "NO", "UNKNOWN")),
        counts["INVALID"] + counts["ERROR"],
    ]


def render_difference(pair: Any) -> list[str]:
    """Renders difference, interval and p of a pair."""
    interval = f" [{format_signed(pair.low)}, {format_signed(pair.high)}]"
    p_value = format_p_value(pair.p_holm if pair.p_holm is not None else pair.p)
    return [
        format_signed(pair.difference) + (interval if pair.low is not None else ""),
        p_value or "–",
    ]


def describe_licences(report: MetricsReport) -> Iterator[str]:
    """Yields a sentence for each model: what the licence changes against retrieval."""
    for pair in report.comparisons:
        sides = [split_name(pair.candidate), split_name(pair.baseline)]
        if (pair.policy, pair.metric) != ("licensed", SKILL) or sides[0][0] != sides[1][0]:
            continue
        values = {
            base: value
            for (_, base), value in zip(
                sides, (pair.value_candidate, pair.value_baseline), strict=True
            )
        }
        if values.keys() == {"graph_rag_llm", "rag_llm"}:
            gained, lost = values["graph_rag_llm"], values["rag_llm"]
            yield (
                f"* {sides[0][0]}: {SKILL} {format_number(gained)} with the licence of the graph "
                f"(`graph_rag_llm`), {format_number(lost)} with retrieved passages (`rag_llm`)"
                f"{', a significant difference' if pair.better else ''}. Always answering UNKNOWN "
                "scores 0."
            )


def render_closed_book(report: MetricsReport) -> str:
    """Renders each system with evidence beside the same model without."""
    return render_table(
        ("model", "system", "metric", "with evidence", "closed book", "difference", "p"),
        (
            [
                *name_cells(pair.candidate),
                pair.metric,
                format_number(pair.value_candidate),
                format_number(pair.value_baseline),
                *render_difference(pair),
            ]
            for pair in sorted(report.closed_book, key=lambda pair: split_name(pair.candidate))
        ),
    )


def render_pairs(report: MetricsReport, models: Sequence[str]) -> str:
    """Renders the differences between systems of one model, and to those without a model.

    Those to the same model without evidence have their own table.
    """

    def belongs(candidate: str, baseline: str) -> bool:
        sides = [split_name(candidate), split_name(baseline)]
        if any(base == "raw_closed_book" for _, base in sides):
            return False
        return sides[0][0] == sides[1][0] or {"rag", "graph_rag"} & {candidate, baseline} != set()

    pairs = (
        pair
        for pair in report.comparisons
        if (pair.policy, pair.metric) == ("licensed", SKILL)
        and belongs(pair.candidate, pair.baseline)
        and {pair.candidate, pair.baseline} & set(models)
    )
    return render_table(
        ("candidate", "baseline", "difference", "p"),
        ([f"`{pair.candidate}`", f"`{pair.baseline}`", *render_difference(pair)] for pair in pairs),
    )


def render_licences(rows_by_system: dict[str, list[Row]]) -> str:
    """Renders how often the licence overruled a model, and how often rightly."""

    def count(rows: Sequence[Row]) -> Iterator[str]:
        overruled = [row for row in rows if "overruled" in (row.get("note") or "")]
        proposals = [row["note"].split("overruled ")[1].split(";")[0] for row in overruled]
        rightly = sum(
            proposal != row["gold"] for proposal, row in zip(proposals, overruled, strict=True)
        )
        answered = [row for row in rows if row["pred"] in ("YES", "NO")]
        yield str(len(answered) + len(overruled))
        yield f"{len(overruled)} ({rightly} rightly)"
        yield f"{len(answered)} ({sum(row['pass'] for row in answered)} right)"
        yield str(sum(row["pred"] == "UNKNOWN" for row in rows) - len(overruled))
        n_right = sum(row["pass"] for row in rows)
        n_gained = sum(row["pass"] for row in overruled)
        n_lost = len(overruled) - rightly
        yield format_number((n_right - n_gained + n_lost) / len(rows))
        yield format_number(n_right / len(rows))

    return render_table(
        (
            *("model", "proposed YES or NO", "overruled", "passed", "proposed UNKNOWN"),
            *("accuracy as proposed", "with the licence"),
        ),
        ([split_name(name)[0], *count(rows)] for name, rows in rows_by_system.items()),
    )


def render_confidence(rows_by_system: dict[str, list[Row]]) -> str:
    """Renders mean and AUROC of the two confidences of each system."""

    def summarise(pairs: Sequence[tuple[float, bool]]) -> tuple[str, str]:
        if not pairs:
            return "–", "–"
        values, outcomes = zip(*pairs, strict=True)
        # One value for all is no ranking.
        has_ranking = len(set(outcomes)) == 2 and len(set(values)) > 1
        auroc = format_number(float(roc_auc_score(outcomes, values))) if has_ranking else "–"
        return format_number(fmean(values)), auroc

    lines = []
    for name, rows in rows_by_system.items():
        usable = [row for row in rows if row["pred"] in ("YES", "NO", "UNKNOWN")]
        measured = [
            (row["confidence"], row["pass"]) for row in usable if row["confidence"] is not None
        ]
        stated = [
            (value, row["pass"])
            for row in usable
            if (value := read_stated_confidence(row["raw"])) is not None
        ]
        accuracy = fmean(row["pass"] for row in rows)
        lines.append(
            [*name_cells(name), format_number(accuracy), *summarise(measured), *summarise(stated)]
        )
    heads = ("model", "system", "accuracy", "probability", "AUROC", "stated", "AUROC (stated)")
    return render_table(heads, lines)


def read_stated_confidence(raw: str) -> float | None:
    """Reads the confidence that a reply states, if it is a number from 0 to 1."""
    _, brace, rest = raw.partition("{")
    try:
        value = json.JSONDecoder().raw_decode(brace + rest)[0].get("confidence")
    except (ValueError, AttributeError):
        return None
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def render_degradation(paths: Iterable[Path]) -> str:
    """Renders the curves of each model: a line for each system and share."""
    lines = []
    for path in paths:
        degradation = read_degradation(path.parent / DATA_NAME)
        for system in degradation.systems:
            for point in degradation.select_curve("dropped"):
                values = (render_value(point.estimates[system][key]) for key in CURVE_METRICS)
                lines.append([*name_cells(system), f"{point.dropped:.0%}", *values])
    return render_table(("model", "system", "dropped", *CURVE_METRICS), lines)


def render_penalties(paths: Iterable[Path]) -> str:
    """Renders what each model answers at each penalty, and the skill with that penalty."""
    lines = []
    for path in paths:
        systems = read_metrics(path).policies["licensed"].systems
        for name, system in sorted(systems.items(), key=lambda item: get_penalty(item[0])):
            base, _, text = name.rpartition(PENALTY_MARK)
            metrics = ("coverage", "answer_accuracy", f"skill@{text}")
            values = (render_value(system.metrics.get(metric)) for metric in metrics)
            lines.append([*name_cells(base), text, *values])
    heads = ("model", "system", "t", "answered", "right answers", "skill@t")
    return render_table(heads, lines)


def get_penalty(system: str) -> tuple[str, float]:
    """Returns a system's name without its penalty, and the penalty."""
    base, _, text = system.rpartition(PENALTY_MARK)
    return base, float(text)


def render_costs(rows_by_system: dict[str, list[Row]]) -> str:
    """Renders mean tokens and seconds of each system."""
    lines = []
    for name, rows in rows_by_system.items():
        usages = [row["usage"] for row in rows if row["usage"]]
        lines.append(
            [
                *name_cells(name),
                format_number(fmean(usage["prompt_tokens"] for usage in usages), 0),
                format_number(fmean(usage["completion_tokens"] for usage in usages), 1),
                format_number(fmean(row["latency_s"] for row in rows), 1),
            ]
        )
    heads = ("model", "system", "prompt tokens", "reply tokens", "seconds")
    return render_table(heads, lines)


def render_extraction(report: ExtractionReport) -> Iterator[str]:
    """Renders what each model extracted: a sentence, and a column of metrics."""
    yield EXTRACTION.format(n_samples=report.n_samples, n_expected=report.n_expected)
    names = {name: split_name(f":{name}")[0] for name in report.systems}
    for system, name in names.items():
        invented = report.systems[system].metrics["invented_rate"]
        counts = f"{invented.numerator:.0f} of the {invented.denominator:.0f} fields"
        yield f"* {name} invents a value for {counts} without one: {render_value(invented)}."
    yield ""
    yield render_table(
        ("metric", *names.values()),
        (
            [
                f"`{metric}`",
                *(render_value(system.metrics[metric]) for system in report.systems.values()),
            ]
            for metric in EXTRACTION_METRICS
        ),
    )


def render_skn(folders: Iterable[Path]) -> Iterator[str]:
    """Renders how each model answered from notes in several formats, and how good its judge is."""
    for folder in folders:
        report = read_skn_run(folder).report
        agreement = msgspec.convert(report.judges, Agreement)
        yield SKN.format(
            n=report.n_samples,
            n_answerable=report.n_answerable,
            sensitivity=render_rate(agreement.sensitivity),
            specificity=render_rate(agreement.specificity),
        )
        yield render_table(
            ("model", "format", *SKN_METRICS, *SKN_TOKENS, "unusable"),
            (
                [
                    folder.name.partition("@")[2],
                    f"`{name}`",
                    *(render_value(pipeline.metrics[metric]) for metric in SKN_METRICS),
                    *(format_number(pipeline.metrics[metric].value, 0) for metric in SKN_TOKENS),
                    str(pipeline.outcomes.invalid),
                ]
                for name, pipeline in report.pipelines.items()
            ),
        )
        yield SKN_PAIRS
        yield render_table(
            ("metric", "candidate", "baseline", "difference", "p"),
            (
                [
                    f"`{pair.metric}`",
                    f"`{pair.candidate}`",
                    f"`{pair.baseline}`",
                    *render_difference(pair),
                ]
                for pair in report.comparisons
                if pair.metric in {*SKN_METRICS, *SKN_TOKENS} and pair.n
            ),
        )


def render_synthlink(folders: Sequence[Path]) -> Iterator[str]:
    """Renders how recorded models answered multi-hop questions, beside the other systems."""
    if not folders:
        return
    scores = [read_scores(folder) for folder in folders]
    systems = {
        folder.name.replace("@", f":{RECORDED}/", 1): score.report.modes["corrected"].overall
        for folder, score in zip(folders, scores, strict=True)
    }
    for compared in scores[0].comparisons:
        name = "extractive" if "extractive" in compared.name else "graph_walk"
        systems[name] = compared.modes["corrected"]
    yield SYNTHLINK.format(n=scores[0].report.n_questions)
    yield render_table(
        ("model", "system", "answered / abstained / unusable", "P@5", "FCS", "aggregate"),
        (
            [
                *name_cells(name),
                f"{group.answered} / {group.abstained} / "
                f"{group.n - group.answered - group.abstained}",
                *(render_mean(group.measures[metric]) for metric in ("p_at_5", "fcs", "aggregate")),
            ]
            for name, group in systems.items()
        ),
    )


def render_mean(mean: MeanScore) -> str:
    """Renders a mean score: with its interval, or from lowest to highest."""
    if mean.lowest is not None and mean.highest is not None:
        return f"{format_number(mean.lowest)} to {format_number(mean.highest)}"
    if mean.value is None or mean.low is None or mean.high is None:
        return "–" if mean.value is None else format_number(mean.value)
    interval = f"{format_number(mean.low)}–{format_number(mean.high)}"
    return f"{format_number(mean.value)} [{interval}]"


if __name__ == "__main__":
    main()
