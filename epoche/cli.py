"""The command ``epoche``: every stage under one name.

Each command is the ``main`` of a stage's own script, so ``epoche cards``, ``make cards`` and
``python cards/make_context_cards.py`` take the same flags. The scripts import their machinery
inside ``main``, which keeps ``epoche --help`` quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from adversarial.make_near_miss import main as near_miss
from cards.audit_labels import main as audit
from cards.join_cards import main as join
from cards.make_context_cards import main as cards
from epoche.schemas import RECORDS, schema
from eval.check_connection import main as test_connection
from eval.extraction.commands.check_server import main as check_server
from eval.extraction.commands.inspect_dataset import main as inspect_dataset
from eval.extraction.commands.validate_config import main as validate_config
from eval.gate_runs import main as gate
from eval.guard_text import main as guard
from eval.list_systems import main as systems
from eval.merge_runs import main as merge
from eval.metrics_abstention import main as metrics
from eval.power_analysis import main as power
from eval.ranking.measure_retrieval import main as measure_retrieval
from eval.run_epistemic_tests import main as evaluate
from eval.skn.commands.format_skn import main as format_skn
from eval.skn.commands.parse_skn import main as parse_skn
from eval.skn.commands.validate_skn import main as validate_skn
from eval.text.build_graph import main as build_graph
from eval.text.extract_triples import main as extract_triples
from kg.analyze_query import analyze_command
from kg.base.console import guarded, say_json
from kg.export_graph import main as export_graph
from kg.inspect_graph import inspect_command
from reporting.compare_extraction import main as compare_extraction
from reporting.compare_runs import main as compare
from reporting.html_report import main as report
from reporting.plot_graph import main as plot_graph
from reporting.report_extraction import main as report_extraction
from reporting.run_extraction import main as run_extraction
from reporting.run_skn import main as run_skn
from reporting.run_synthlink import main as run_synthlink
from reporting.score_own import main as score_own
from reporting.score_synthlink import main as score_synthlink
from retrieval.search_run import main as search_run
from retrieval.search_web import main as search_web

app = typer.Typer(
    name="epoche",
    help="Does it know when not to answer? Proved cards, honest abstention metrics, a report.",
    epilog="Exit codes: docs/errors.md. In order: cards, near-miss, join, eval, metrics, report.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
graph_app = typer.Typer(help="Make knowledge graphs and look at them.", no_args_is_help=True)
app.add_typer(graph_app, name="kg")
retrieval_app = typer.Typer(help="Search a run, and measure how well.", no_args_is_help=True)
app.add_typer(retrieval_app, name="retrieval")
skn_app = typer.Typer(
    help="Structured Knowledge Notation: read it, write it, compare it.", no_args_is_help=True
)
app.add_typer(skn_app, name="skn")
extract_app = typer.Typer(
    help="Structured extraction: fill JSON Schemas from texts, score, compare.",
    no_args_is_help=True,
)
app.add_typer(extract_app, name="extract")
synthlink_app = typer.Typer(
    help="SynthLink: multi-hop questions, scored so that the score means something.",
    no_args_is_help=True,
)
app.add_typer(synthlink_app, name="synthlink")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"epoche {version('epoche')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Reads the flags that belong to no command."""


_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("cards", cards, "Make E/C/U cards from a graph, each label proved."),
    ("near-miss", near_miss, "Make near-misses, each proved false or unknown."),
    ("join", join, "Join card files of one graph into one set."),
    ("eval", evaluate, "Put the cards to a system."),
    ("merge", merge, "Put the shards of one run together."),
    ("metrics", metrics, "AP, CVRR, FAR-NE, LA with intervals and controls."),
    ("report", report, "One HTML file, and CSV, Markdown and JSON beside it."),
    ("compare", compare, "Paired differences: who wins by what, can we tell?"),
    ("gate", gate, "Exit 100 when a metric or a regression fails."),
    ("power", power, "How many cards does a comparison need?"),
    ("guard", guard, "Let a stream of text through as far as the graph licenses it."),
    ("audit", audit, "Can labels be read off the surface of the cards?"),
    ("test-connection", test_connection, "Reach a model's server; what does it support?"),
    ("systems", systems, "List the systems that can be named."),
)
for _name, _main, _short_help in _STAGES:
    app.command(_name, short_help=_short_help)(guarded(_main))
_GRAPH_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("build", build_graph, "A concept graph and a section tree from documents."),
    ("extract", extract_triples, "Triples read off a run by a model, checked by shapes."),
    ("export", export_graph, "A run's concepts as SKOS, with shapes and words for cards."),
    ("inspect", inspect_command, "Counts, coverage, violations; or what a run holds."),
    ("analyze", analyze_command, "What a question touches, and how hard that makes it."),
    ("plot", plot_graph, "A run, or a card's claim, as an interactive page."),
)
for _name, _main, _short_help in _GRAPH_STAGES:
    graph_app.command(_name, short_help=_short_help)(guarded(_main))
_RETRIEVAL_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("search", search_run, "The chunks of a run that a question finds."),
    ("web", search_web, "Search the web, record it, replay it."),
    ("eval", measure_retrieval, "Recall, nDCG and more on labelled questions; who is better?"),
)
for _name, _main, _short_help in _RETRIEVAL_STAGES:
    retrieval_app.command(_name, short_help=_short_help)(guarded(_main))
_SKN_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("run", run_skn, "JSON against SKN: search, extract, answer, judge, compare."),
    ("parse", parse_skn, "What an SKN file says, as typed JSON."),
    ("format", format_skn, "SKN or typed JSON in canonical form; one from the other."),
    ("validate", validate_skn, "What is wrong with SKN files, and where."),
)
for _name, _main, _short_help in _SKN_STAGES:
    skn_app.command(_name, short_help=_short_help)(guarded(_main))

_EXTRACTION_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("run", run_extraction, "Extract with models or rules, score, report."),
    ("report", report_extraction, "Measure and report the rows of a run."),
    ("compare", compare_extraction, "Runs on the same samples: who extracts better by what?"),
    ("score-own", score_own, "Our own SKN, JSON and triples, scored against a gold set."),
    ("inspect", inspect_dataset, "What samples or a schema ask for; which rows are malformed."),
    ("validate-config", validate_config, "What is wrong with a configuration, and where."),
    ("test-connection", check_server, "Reach the server of a run; what does it support?"),
)
for _name, _main, _short_help in _EXTRACTION_STAGES:
    extract_app.command(_name, short_help=_short_help)(guarded(_main))

_SYNTHLINK_STAGES: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("run", run_synthlink, "Search, read, link, answer; then score and report."),
    ("score", score_synthlink, "Score a file of predictions, compare it with others."),
)
for _name, _main, _short_help in _SYNTHLINK_STAGES:
    synthlink_app.command(_name, short_help=_short_help)(guarded(_main))


@app.command("schema", short_help="Print the JSON Schema of a record.")
@guarded
def _schema(
    record: Annotated[str, typer.Argument(help=f"One of: {', '.join(RECORDS)}.")],
) -> None:
    """Prints the JSON Schema of a record that passes between rooms."""
    say_json(schema(record))


def main() -> NoReturn:
    """Entry point of the installed command."""
    app(prog_name="epoche")
    raise SystemExit(0)
