"""Defines the command ``epoche`` and its subcommands.

Each subcommand is the ``main`` function of a script, so ``epoche cards`` and
``python cards/make_context_cards.py`` take the same flags. The scripts import the rest of the
code inside ``main``, which keeps ``epoche --help`` fast.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adversarial.make_near_miss import main as near_miss
from cards.audit_labels import main as audit
from cards.join_cards import main as join
from cards.make_context_cards import main as cards
from cards.paraphrase_cards import main as paraphrase
from epoche.command_group import Stage, make_group_class
from epoche.schemas import RECORDS, build_schema
from eval.abstention.commands.degrade import main as degrade
from eval.abstention.commands.score import main as score_cards
from eval.blocks.page import PageFormat, register_page_writer
from eval.blocks.section import Section
from eval.commands.check_connection import main as test_connection
from eval.commands.gate import main as gate
from eval.commands.list_systems import main as systems
from eval.commands.merge import main as merge
from eval.commands.power import main as power
from eval.commands.record import main as record
from eval.commands.serve_model import main as serve_model
from eval.commands.verify import main as verify
from eval.extraction.commands.check_server import main as check_server
from eval.extraction.commands.compare import main as compare_extraction
from eval.extraction.commands.inspect_dataset import main as inspect_dataset
from eval.extraction.commands.report import main as report_extraction
from eval.extraction.commands.run import main as run_extraction
from eval.extraction.commands.score import main as score_extraction
from eval.extraction.commands.score_own import main as score_own
from eval.extraction.commands.validate_config import main as validate_config
from eval.guard.command import main as guard
from eval.metrics_abstention import main as metrics
from eval.model.redaction import hide_secrets
from eval.outcomes.command import main as outcomes
from eval.retrieval_eval.commands.evaluate import main as measure_retrieval
from eval.retrieval_eval.commands.import_set import main as import_set
from eval.retrieval_eval.commands.score import main as score_rankings
from eval.run_epistemic_tests import main as evaluate
from eval.skn.commands.format_skn import main as format_skn
from eval.skn.commands.judge import main as judge_skn
from eval.skn.commands.parse_skn import main as parse_skn
from eval.skn.commands.run import main as run_skn
from eval.skn.commands.score import main as score_skn
from eval.skn.commands.validate_skn import main as validate_skn
from eval.synthlink.commands.calibrate import main as calibrate_synthlink
from eval.synthlink.commands.run import main as run_synthlink
from eval.synthlink.commands.score import main as score_synthlink
from eval.text.analyze_query import analyze_command
from eval.text.build_graph import main as build_graph
from eval.text.extract_triples import main as extract_triples
from kg.base.console import enable_tracebacks, print_json
from kg.diff_runs import main as diff_runs
from kg.export_graph import main as export_graph
from kg.init_domain import main as init_domain
from kg.inspect_graph import inspect_command
from kg.text.collect_facts import main as collect_facts
from reporting.commands.compare_runs import main as compare
from reporting.commands.plot_graph import main as plot_graph
from reporting.html_report import main as report
from retrieval.search_run import main as search_run
from retrieval.search_web import main as search_web


def _write_section(section: Section, out: Path, formats: Collection[PageFormat]) -> list[Path]:
    from reporting.section_page import write_section

    return write_section(section, out, formats)


register_page_writer(_write_section)


def _print_schema(
    record: Annotated[str, typer.Argument(help=f"One of: {', '.join(RECORDS)}.")],
) -> None:
    """Prints the JSON Schema of one of the records that commands read and write."""
    print_json(build_schema(record))


_STAGES: tuple[Stage, ...] = (
    ("cards", cards, "Make E/C/U cards from a graph, each label proved."),
    ("near-miss", near_miss, "Make near-misses, each proved false or unknown."),
    ("paraphrase", paraphrase, "Ask the questions of cards in other words."),
    ("join", join, "Join card files of one graph into one set."),
    ("eval", evaluate, "Run a system on cards."),
    ("score", score_cards, "Score predictions on cards that were made elsewhere."),
    ("outcomes", outcomes, "Measure graded answers to any questions: right, wrong, abstained."),
    ("degrade", degrade, "Run systems on graphs that get worse, and draw the curves."),
    ("merge", merge, "Merge the shards of one run."),
    ("verify", verify, "Check that rows follow from replies, and labels from the graph."),
    ("metrics", metrics, "Compute the metrics of cards or of run folders, with intervals."),
    ("report", report, "Write an HTML report of cards and run folders, with exports."),
    ("compare", compare, "Compare systems on the same cards or items with paired tests."),
    ("gate", gate, "Exit 100 when a metric or a regression check fails."),
    ("power", power, "Compute how many cards or items a comparison needs."),
    ("guard", guard, "Pass on a text stream while the graph supports its claims."),
    ("audit", audit, "Test whether the cards' surface predicts their labels."),
    ("test-connection", test_connection, "Test a model server and what it supports."),
    ("serve-model", serve_model, "Serve a GGUF model on this machine, for a command."),
    ("record", record, "Record a model's replies, to replay them without it."),
    ("systems", systems, "List the available systems."),
    ("schema", _print_schema, "Print the JSON Schema of a record."),
)
_GRAPH_STAGES: tuple[Stage, ...] = (
    ("build", build_graph, "Build a concept graph and section tree from documents."),
    ("diff", diff_runs, "List what came, went or changed between two runs."),
    ("extract", extract_triples, "Extract triples from a run with a model, checked by shapes."),
    ("facts", collect_facts, "Find facts of documents by rules, for cards."),
    ("export", export_graph, "Export a run's concepts as SKOS, with shapes and wording."),
    ("init", init_domain, "Draft a domain from a graph: rules, words, what can be asked."),
    ("inspect", inspect_command, "Summarise a graph or run and what to fix."),
    ("analyze", analyze_command, "Find a question's subgraph and its difficulty."),
    ("plot", plot_graph, "Plot a run or a card's claim as an interactive page."),
)
_RETRIEVAL_STAGES: tuple[Stage, ...] = (
    ("search", search_run, "Search the chunks of a run."),
    ("web", search_web, "Search the web, and record or replay searches."),
    ("eval", measure_retrieval, "Evaluate and compare retrievers on labelled questions."),
    ("import", import_set, "Convert MuSiQue, HotpotQA or a BEIR set to chunks and questions."),
    ("score", score_rankings, "Score rankings that were made elsewhere."),
)
_SKN_STAGES: tuple[Stage, ...] = (
    ("run", run_skn, "Compare JSON and SKN: search, extract, answer, judge."),
    ("score", score_skn, "Judge and score answers that were made elsewhere."),
    ("judge", judge_skn, "Judge a finished run with other judges."),
    ("parse", parse_skn, "Convert an SKN file to typed JSON."),
    ("format", format_skn, "Format SKN or typed JSON, or convert one to the other."),
    ("validate", validate_skn, "List the errors in SKN files."),
)
_EXTRACTION_STAGES: tuple[Stage, ...] = (
    ("run", run_extraction, "Extract with models or rules, score, report."),
    ("score", score_extraction, "Score extractions that were made elsewhere."),
    ("report", report_extraction, "Score the rows of a run again and write its report."),
    ("compare", compare_extraction, "Compare runs on the same samples with paired tests."),
    ("score-own", score_own, "Score Epoché's own SKN, JSON and triples against gold."),
    ("inspect", inspect_dataset, "Describe samples or a schema; list malformed rows."),
    ("validate-config", validate_config, "List the errors in a configuration."),
    ("test-connection", check_server, "Test the model server of a run."),
)
_SYNTHLINK_STAGES: tuple[Stage, ...] = (
    ("run", run_synthlink, "Answer the questions with a system, score and report."),
    ("score", score_synthlink, "Score and compare files of predictions."),
    ("calibrate", calibrate_synthlink, "Measure the errors of a judge of claims."),
)

app = typer.Typer(
    cls=make_group_class(_STAGES),
    name="epoche",
    help="Tests whether a system knows when not to answer: proved cards, abstention metrics, "
    "reports.",
    epilog="Usual order: cards, near-miss, join, eval, metrics, report. "
    "Exit codes: docs/reference/exit-codes.md.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
graph_app = typer.Typer(
    cls=make_group_class(_GRAPH_STAGES),
    help="Build, inspect and plot knowledge graphs.",
    no_args_is_help=True,
)
app.add_typer(graph_app, name="kg")
retrieval_app = typer.Typer(
    cls=make_group_class(_RETRIEVAL_STAGES),
    help="Search a run or the web, and evaluate retrievers.",
    no_args_is_help=True,
)
app.add_typer(retrieval_app, name="retrieval")
skn_app = typer.Typer(
    cls=make_group_class(_SKN_STAGES),
    help="Structured Knowledge Notation: parse, format, evaluate.",
    no_args_is_help=True,
)
app.add_typer(skn_app, name="skn")
extract_app = typer.Typer(
    cls=make_group_class(_EXTRACTION_STAGES),
    help="Structured extraction from texts: run, score, compare.",
    no_args_is_help=True,
)
app.add_typer(extract_app, name="extract")
synthlink_app = typer.Typer(
    cls=make_group_class(_SYNTHLINK_STAGES),
    help="SynthLink, multi-hop question answering: run, score, calibrate.",
    no_args_is_help=True,
)
app.add_typer(synthlink_app, name="synthlink")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        typer.echo(f"epoche {version('epoche')}")
        raise typer.Exit


@app.callback()
def _read_global_options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Print the tracebacks of errors, also of your own systems."),
    ] = False,
) -> None:
    """Reads the flags that belong to no subcommand."""
    enable_tracebacks(hide_secrets if debug else None)


def main() -> NoReturn:
    """Runs the command line."""
    app(prog_name="epoche")
    raise SystemExit(0)
