"""Defines the command ``epoche`` and its subcommands.

Each subcommand is the ``main`` function of a script, so ``epoche cards`` and
``python cards/make_context_cards.py`` take the same flags. A script is imported when its
command is used, and imports the rest of the code inside ``main``: commands start fast.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from epoche.command_group import Stage, make_group_class
from eval.blocks.page import PageFormat, register_page_writer
from kg.base.console import enable_tracebacks

if TYPE_CHECKING:
    from eval.blocks.section import Section


def _write_section(section: Section, out: Path, formats: Collection[PageFormat]) -> list[Path]:
    from reporting.section_page import write_section

    return write_section(section, out, formats)


register_page_writer(_write_section)

_STAGES: tuple[Stage, ...] = (
    ("cards", "cards.make_context_cards:main", "Make E/C/U cards from a graph, each label proved."),
    (
        "near-miss",
        "adversarial.make_near_miss:main",
        "Make near-misses, each proved false or unknown.",
    ),
    ("paraphrase", "cards.paraphrase_cards:main", "Ask the questions of cards in other words."),
    ("join", "cards.join_cards:main", "Join card files of one graph into one set."),
    ("eval", "eval.run_epistemic_tests:main", "Run a system on cards."),
    (
        "score",
        "eval.abstention.commands.score:main",
        "Score predictions on cards that were made elsewhere.",
    ),
    (
        "outcomes",
        "eval.outcomes.command:main",
        "Measure graded answers to any questions: right, wrong, abstained.",
    ),
    (
        "degrade",
        "eval.abstention.commands.degrade:main",
        "Run systems on graphs that get worse, and draw the curves.",
    ),
    ("merge", "eval.commands.merge:main", "Merge the shards of one run."),
    (
        "verify",
        "eval.commands.verify:main",
        "Check that rows follow from replies, and labels from the graph.",
    ),
    (
        "metrics",
        "eval.metrics_abstention:main",
        "Compute the metrics of cards or of run folders, with intervals.",
    ),
    (
        "report",
        "reporting.html_report:main",
        "Write an HTML report of cards and run folders, with exports.",
    ),
    (
        "compare",
        "reporting.commands.compare_runs:main",
        "Compare systems on the same cards or items with paired tests.",
    ),
    ("gate", "eval.commands.gate:main", "Exit 100 when a metric or a regression check fails."),
    ("power", "eval.commands.power:main", "Compute how many cards or items a comparison needs."),
    (
        "guard",
        "eval.guard.command:main",
        "Pass on a text stream while the graph supports its claims.",
    ),
    ("audit", "cards.audit_labels:main", "Test whether the cards' surface predicts their labels."),
    (
        "test-connection",
        "eval.commands.check_connection:main",
        "Test a model server and what it supports.",
    ),
    (
        "serve-model",
        "eval.commands.serve_model:main",
        "Serve a GGUF model on this machine, for a command.",
    ),
    ("record", "eval.commands.record:main", "Record a model's replies, to replay them without it."),
    ("systems", "eval.commands.list_systems:main", "List the available systems."),
    ("schema", "epoche.schemas:print_schema", "Print the JSON Schema of a record."),
)
_GRAPH_STAGES: tuple[Stage, ...] = (
    (
        "build",
        "eval.text.build_graph:main",
        "Build a concept graph and section tree from documents.",
    ),
    ("diff", "kg.diff_runs:main", "List what came, went or changed between two runs."),
    (
        "extract",
        "eval.text.extract_triples:main",
        "Extract triples from a run with a model, checked by shapes.",
    ),
    ("facts", "kg.text.collect_facts:main", "Find facts of documents by rules, for cards."),
    ("export", "kg.export_graph:main", "Export a run's concepts as SKOS, with shapes and wording."),
    (
        "init",
        "kg.init_domain:main",
        "Draft a domain from a graph: rules, words, what can be asked.",
    ),
    ("inspect", "kg.inspect_graph:inspect_command", "Summarise a graph or run and what to fix."),
    (
        "analyze",
        "eval.text.analyze_query:analyze_command",
        "Find a question's subgraph and its difficulty.",
    ),
    (
        "plot",
        "reporting.commands.plot_graph:main",
        "Plot a run or a card's claim as an interactive page.",
    ),
)
_RETRIEVAL_STAGES: tuple[Stage, ...] = (
    ("search", "retrieval.search_run:main", "Search the chunks of a run."),
    ("web", "retrieval.search_web:main", "Search the web, and record or replay searches."),
    (
        "eval",
        "eval.retrieval_eval.commands.evaluate:main",
        "Evaluate and compare retrievers on labelled questions.",
    ),
    (
        "import",
        "eval.retrieval_eval.commands.import_set:main",
        "Convert MuSiQue, HotpotQA or a BEIR set to chunks and questions.",
    ),
    (
        "score",
        "eval.retrieval_eval.commands.score:main",
        "Score rankings that were made elsewhere.",
    ),
)
_SKN_STAGES: tuple[Stage, ...] = (
    ("run", "eval.skn.commands.run:main", "Compare JSON and SKN: search, extract, answer, judge."),
    ("score", "eval.skn.commands.score:main", "Judge and score answers that were made elsewhere."),
    ("judge", "eval.skn.commands.judge:main", "Judge a finished run with other judges."),
    ("parse", "eval.skn.commands.parse_skn:main", "Convert an SKN file to typed JSON."),
    (
        "format",
        "eval.skn.commands.format_skn:main",
        "Format SKN or typed JSON, or convert one to the other.",
    ),
    ("validate", "eval.skn.commands.validate_skn:main", "List the errors in SKN files."),
)
_EXTRACTION_STAGES: tuple[Stage, ...] = (
    ("run", "eval.extraction.commands.run:main", "Extract with models or rules, score, report."),
    ("score", "eval.extraction.commands.score:main", "Score extractions that were made elsewhere."),
    (
        "report",
        "eval.extraction.commands.report:main",
        "Score the rows of a run again and write its report.",
    ),
    (
        "compare",
        "eval.extraction.commands.compare:main",
        "Compare runs on the same samples with paired tests.",
    ),
    (
        "score-own",
        "eval.extraction.commands.score_own:main",
        "Score Epoché's own SKN, JSON and triples against gold.",
    ),
    (
        "inspect",
        "eval.extraction.commands.inspect_dataset:main",
        "Describe samples or a schema; list malformed rows.",
    ),
    (
        "validate-config",
        "eval.extraction.commands.validate_config:main",
        "List the errors in a configuration.",
    ),
    (
        "test-connection",
        "eval.extraction.commands.check_server:main",
        "Test the model server of a run.",
    ),
)
_SYNTHLINK_STAGES: tuple[Stage, ...] = (
    (
        "run",
        "eval.synthlink.commands.run:main",
        "Answer the questions with a system, score and report.",
    ),
    ("score", "eval.synthlink.commands.score:main", "Score and compare files of predictions."),
    (
        "calibrate",
        "eval.synthlink.commands.calibrate:main",
        "Measure the errors of a judge of claims.",
    ),
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
    if not debug:
        enable_tracebacks(None)
        return
    from eval.model.redaction import hide_secrets

    enable_tracebacks(hide_secrets)


def main() -> NoReturn:
    """Runs the command line."""
    app(prog_name="epoche")
    raise SystemExit(0)
