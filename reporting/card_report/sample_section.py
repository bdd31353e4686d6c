"""Shows systems that were asked only a sample of a report's cards, or a shipped card set.

A folder with a sample has its cards (``cards.jsonl``) and the ``metrics.json`` of the systems that
answered them. They are compared with one another only, never with systems that answered all cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cards.card import Card, hash_card_set, read_cards
from cards.card_origin import list_graph_hashes
from cards.shipped_cards import find_shipped_set, list_shipped_sets
from eval.abstention.metrics.definitions import (
    EXPLANATORY_METRICS,
    HEADLINE_METRICS,
    SKILL,
    choose_ranking_metric,
)
from eval.abstention.metrics.record import read_metrics
from eval.abstention.run_files import find_result_files
from eval.blocks.blocks import (
    Cell,
    Column,
    Figure,
    Part,
    Table,
    TableRow,
    make_estimate_cell,
)
from eval.blocks.charts import DotChart, NamedEstimate
from eval.blocks.glossary import describe_metric
from eval.blocks.section import Section
from eval.blocks.text_format import (
    ChartEstimate,
    describe_recordings,
    format_name,
    shorten_names,
    to_chart_estimate,
)
from eval.model.providers import RECORDED, find_recorded_model
from kg.base.csv_text import to_csv
from kg.base.errors import CardSetMismatchError
from kg.base.plain_text import format_count, join_list
from reporting.card_report.closed_book_view import CLOSED_BOOK_HEADS, list_closed_book_rows
from reporting.card_report.inputs import METRICS_FILE, ReportInputs
from reporting.card_report.metrics_source import check_card_set, check_sources
from reporting.card_report.report_view import ReportView, is_licensed
from reporting.card_report.view_records import PairRow

CARDS_FILE = "cards.jsonl"
_MAX_NAME_LENGTH = 34
_SHOWN_DIGITS = 12
_METRICS = (*HEADLINE_METRICS, *EXPLANATORY_METRICS, "coverage", "accuracy")
_COLUMNS = ("system", "metric", "value", "low", "high")


@dataclass(frozen=True)
class SampleOrigin:
    """How the cards of a sample relate to those of the report.

    Attributes:
        shipped: name of the shipped card set that they are; empty if they are some of the report's.
        card_set: start of the hash of the sample.
        other_set: start of the hash of the report's cards.
        n_cards: number of cards that count in the metrics of the sample.
        n_shared: number of cards of the sample that the report has, too.
        graph: what the cards were made from, in words.
    """

    shipped: str
    card_set: str
    other_set: str
    n_cards: int
    n_shared: int
    graph: str

    @property
    def about(self) -> str:
        """What systems answered, in a few words."""
        if self.shipped:
            return f"the {self.n_cards:,} cards of {self.shipped}, a card set of its own"
        return f"{self.n_cards:,} of the cards"

    @property
    def noun(self) -> str:
        """What to call the cards."""
        return "fixed card set" if self.shipped else "sample"

    def describe(self) -> str:
        """Says which cards the systems answered, and with what they may be compared."""
        if not self.shipped:
            return (
                f"These systems answered {self.about}. Compare them with one another, not with the "
                "numbers of all cards."
            )
        shared = format_count(self.n_shared, "card") if self.n_shared else "no card"
        return (
            f"These systems answered {self.shipped} (cards:{self.card_set}), a fixed set of "
            f"{self.n_cards:,} cards that Epoché ships. It is another card set than that of the "
            f"other systems (cards:{self.other_set}), made from {self.graph}; the two have "
            f"{shared} in common. Compare these systems with one another, not with the numbers of "
            "the other set."
        )


def is_sample(folder: Path) -> bool:
    """Returns whether a folder has a sample of cards, and metrics of the systems that answered."""
    return (folder / CARDS_FILE).is_file() and (folder / METRICS_FILE).is_file()


def build_sample_section(
    folder: Path,
    inputs: ReportInputs,
    number: int = 1,
    *,
    allow_changed: bool = False,
) -> Section | None:
    """Builds the section of a sample.

    Args:
        folder: the folder of the sample.
        inputs: those of the report; what it says of its own metrics is not said again.
        number: of the sample in the report, for the id of the section.
        allow_changed: accept metrics that were edited, with a notice.

    Returns:
        The section; None if the sample is neither of these cards nor a shipped set of their domain.

    Raises:
        CardSetMismatchError: the metrics are not those of the sample's cards and rows.
        ChangedRunError: the metrics were edited, and this is not accepted.
        MissingFileError, RecordError: a file cannot be read.
    """
    report = read_metrics(folder / METRICS_FILE, allow_changed=allow_changed)
    sample = read_cards(folder / CARDS_FILE)
    try:
        check_card_set(sample, report)
    except CardSetMismatchError as error:
        raise CardSetMismatchError(
            f"the metrics are of other cards than {CARDS_FILE}",
            where=str(folder / METRICS_FILE),
            hint=f"Compute them again: epoche metrics {folder}/*_results.jsonl --out "
            f"{folder / METRICS_FILE}",
        ) from error
    origin = _find_origin(sample, report.n_cards, inputs)
    if origin is None:
        return None
    results = find_result_files([folder])
    check_sources(results, report, folder / METRICS_FILE, allow_others=True)
    view = ReportView(report)
    shown = {name: format_name(name) for name in view.systems}
    short_names = shorten_names(shown.values(), _MAX_NAME_LENGTH)
    names = {name: short_names[text] for name, text in shown.items()}
    ranking = choose_ranking_metric(
        {key for system in view.policy.systems.values() for key in system.metrics}
    )
    pairs = _list_pair_rows(view, ranking)
    recorded = any(map(find_recorded_model, view.systems))
    rows = (
        (system, metric, value.value, value.low, value.high)
        for system, found in view.policy.systems.items()
        for metric, value in found.metrics.items()
    )
    return Section(
        id="sample" if number == 1 else f"sample-{number}",
        name="Fixed cards" if origin.shipped else "Sample",
        title=f"{'Recorded models on' if recorded else 'Systems that answered'} a {origin.noun}",
        about=origin.about,
        verdict=tuple(_describe_sample(view, origin)),
        overview=_build_figure(view, ranking, origin, recorded),
        in_opening=True,
        notices=tuple(text for text in report.warnings if text not in inputs.warnings),
        stats=((f"{report.n_cards:,}", "cards"), (str(len(view.systems)), "systems")),
        parts=(
            Part("metrics", "Metrics", "Metrics", (_build_metrics_table(view, names, origin),)),
            *_list_closed_book_parts(view),
            *_list_pair_parts(pairs, ranking, names),
        ),
        tables={"metrics": to_csv(_COLUMNS, rows)},
        sources=(folder / METRICS_FILE, folder / CARDS_FILE, *results),
        data={
            "sample": {
                "cards": report.cards,
                "n_cards": report.n_cards,
                "shipped": origin.shipped or None,
                "n_shared": origin.n_shared,
                "systems": {
                    system: {key: found.metrics[key] for key in _METRICS if key in found.metrics}
                    for system, found in view.policy.systems.items()
                },
                "comparisons": [row.pair for row in pairs],
            }
        },
        version=report.version,
    )


def describe_left_out_sample(folder: Path) -> str:
    """Says why a sample is not in the report: ``build_sample_section`` returned no section."""
    report = read_metrics(folder / METRICS_FILE, allow_changed=True)
    names = {name for policy in report.policies.values() for name in policy.systems}
    recorded = sorted({model for name in names if (model := find_recorded_model(name))})
    subject = f"Recorded models ({join_list(recorded)})" if recorded else "Further systems"
    return (
        f"{subject} are not shown: they answered a sample of other cards than these "
        f"(folder {folder.resolve().name})."
    )


def _find_origin(sample: Sequence[Card], n_cards: int, inputs: ReportInputs) -> SampleOrigin | None:
    """Finds out how a sample relates to the cards of the report; None if in no known way."""
    by_id = {card.id: card for card in inputs.cards}
    n_shared = sum(by_id.get(card.id) == card for card in sample)
    card_set = hash_card_set(sample)
    shipped = find_shipped_set(card_set) or ""
    graph = "the same graph"
    if shipped:
        made_from = list_shipped_sets()[shipped]
        if made_from.domain != inputs.domain:
            shipped = ""
        graph_hashes = list_graph_hashes(inputs.card_files)
        if made_from.full_graph_sha256 not in graph_hashes:
            graph = "another version of the graph" if graph_hashes else "a graph of the same domain"
    if not shipped and n_shared < len(sample):
        return None
    other_set = inputs.metrics.cards[:_SHOWN_DIGITS]
    return SampleOrigin(shipped, card_set[:_SHOWN_DIGITS], other_set, n_cards, n_shared, graph)


def _describe_sample(view: ReportView, origin: SampleOrigin) -> Iterator[str]:
    yield from describe_recordings(view.systems)
    yield origin.describe()
    skills = {
        name: to_chart_estimate(view.policy.systems[name].metrics.get(SKILL))
        for name in view.systems
    }
    below = [
        format_name(name)
        for name, skill in skills.items()
        if skill.high is not None and skill.high < 0
    ]
    if below:
        yield f"Worse than never answering, by the whole interval of {SKILL}: {join_list(below)}."


def _build_figure(view: ReportView, ranking: str, origin: SampleOrigin, recorded: bool) -> Figure:
    # Systems without a recorded model come first, then those of each model.
    ordered = sorted(view.systems, key=find_recorded_model)
    rows = []
    for name in ordered:
        model, system = find_recorded_model(name), view.policy.systems[name]
        shown = name.partition(f":{RECORDED}/")[0] if model else name
        rows.append(
            NamedEstimate(
                format_name(shown) + (" (oracle)" if system.oracle else ""),
                False,
                to_chart_estimate(system.metrics.get(ranking)),
                f"{model} (recorded)" if model else "",
            )
        )
    ends = [end for row in rows for end in (row.estimate.value, row.estimate.low) if end]
    title = "Skill" if ranking == SKILL else "Accuracy"
    title += ", with recorded models" if recorded else f" on a {origin.noun}"
    about = f"On {origin.about}, with {view.report.confidence * 100:g} % intervals."
    best = _describe_best_models(view, ranking)
    return Figure(
        title,
        f"{about} {best}".rstrip(),
        DotChart(tuple(rows), low=-1.0 if min(ends, default=0.0) < 0 else 0.0),
        f"Value and interval of each system on the {origin.noun}; the table of its section has the "
        "numbers.",
    )


def _describe_best_models(view: ReportView, ranking: str) -> str:
    """Names the best system with a model, and the best whose answers the graph does not check."""
    values = {
        name: estimate
        for name in view.systems
        if ":" in name
        and (estimate := to_chart_estimate(view.policy.systems[name].metrics.get(ranking))).value
        is not None
    }
    if not values:
        return ""
    ordered = sorted(values, key=lambda name: -(values[name].value or 0.0))
    described = {name: _describe_value(name, values[name]) for name in ordered}
    text = f"Best with a model: {described[ordered[0]]}"
    if is_licensed(ordered[0]):
        text += ", which checks its answers with the graph that proves the labels"
        unchecked = next((name for name in ordered if not is_licensed(name)), "")
        text += f"; best without that: {described[unchecked]}" if unchecked else ""
    return f"{text}."


def _describe_value(name: str, estimate: ChartEstimate) -> str:
    system, _, model = name.partition(":")
    interval = f" ({estimate.interval_text})" if estimate.has_interval else ""
    model = format_name(find_recorded_model(name) or model)
    return f"{format_name(system)} of {model}, {estimate.text}{interval}"


def _build_metrics_table(view: ReportView, names: dict[str, str], origin: SampleOrigin) -> Table:
    metrics = [
        name
        for name in _METRICS
        if any(name in system.metrics for system in view.policy.systems.values())
    ]
    return Table(
        f"Metrics on the {origin.noun}",
        "Below each number is its interval.",
        (
            Column("System", numeric=False),
            *(Column(name, meaning=describe_metric(name).whole_explanation) for name in metrics),
        ),
        tuple(
            TableRow(
                names[name],
                tuple(
                    make_estimate_cell(
                        to_chart_estimate(view.policy.systems[name].metrics.get(metric))
                    )
                    for metric in metrics
                ),
            )
            for name in view.systems
        ),
    )


def _list_closed_book_parts(view: ReportView) -> Iterator[Part]:
    rows = list_closed_book_rows(view)
    if not rows:
        return
    table = Table(
        "Closed book",
        "The same model asked the question alone: what it gets right then it knows or guesses. "
        "Difference = with evidence − closed book.",
        (Column("System", numeric=False), *(Column(head) for head in CLOSED_BOOK_HEADS)),
        tuple(
            TableRow(
                row.name,
                tuple(Cell(text, (below,) if below else ()) for text, below in row.cells),
            )
            for row in rows
        ),
    )
    yield Part("closed-book", "Closed book", "With and without evidence", (table,))


def _list_pair_rows(view: ReportView, ranking: str) -> list[PairRow]:
    return [
        pair
        for column, rows in view.group_comparisons(view.main_policy)
        if column.key == ranking
        for pair in rows
    ]


def _list_pair_parts(
    rows: Sequence[PairRow], ranking: str, names: dict[str, str]
) -> Iterator[Part]:
    if not rows:
        return
    table = Table(
        f"Paired differences of {ranking}",
        "Candidate − baseline on the same cards; p adjusted by Holm's method over the pairs.",
        (
            Column("Candidate and baseline", numeric=False),
            Column("Difference"),
            Column("p, adjusted"),
            Column("Finding", numeric=False),
        ),
        tuple(
            TableRow(
                f"{names[row.pair.candidate]} − {names[row.pair.baseline]}",
                (
                    Cell(row.difference, (row.interval,) if row.interval else ()),
                    Cell(row.p or "–"),
                    Cell(row.finding, (), "best" if row.pair.better else "muted"),
                ),
            )
            for row in rows
        ),
        look="pairs",
    )
    yield Part("pairs", "Differences", "Which system is better?", (table,))
