"""Imports a public set of questions: ``epoche retrieval import``, or this as a script."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kg.base.console import print_text, run_script

CHUNKS = "chunks.jsonl"
QUESTIONS = "questions.jsonl"
FACTS = "facts.jsonl"


class SetFormat(StrEnum):
    """The published formats."""

    musique = "musique"
    hotpotqa = "hotpotqa"
    beir = "beir"


def main(
    source: Annotated[
        Path,
        typer.Argument(help="File of MuSiQue or HotpotQA, also as .gz, or folder of a BEIR set."),
    ],
    form: Annotated[SetFormat, typer.Option("--format", help="The format of the set.")],
    out: Annotated[
        Path, typer.Option("--out", help=f"Folder for {CHUNKS}, {QUESTIONS} and {FACTS}.")
    ],
    qrels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Judgements of a BEIR set, in TREC's format or BEIR's; repeatable. Default: "
            "qrels/test.tsv and qrels/dev.tsv in its folder."
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Further passages for MuSiQue or HotpotQA: JSON objects with title and text."
        ),
    ] = None,
    openie: Annotated[
        Path | None,
        typer.Option(help="Triples of the passages, as HippoRAG's open extraction writes them."),
    ] = None,
    dev_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Share of the test questions that become dev."),
    ] = 0.0,
) -> None:
    """Converts a public set of questions to chunks and labelled questions.

    Build a run from the chunks with `epoche kg build`, and evaluate retrievers on the questions
    with `epoche retrieval eval`. Nothing is downloaded.
    """
    from eval.retrieval_eval.data.beir import read_beir
    from eval.retrieval_eval.data.multihop import add_corpus, read_hotpotqa, read_musique
    from eval.retrieval_eval.data.openie import read_openie
    from eval.retrieval_eval.metrics import ALL_GOLD, MAX_ALL_GOLD
    from kg.base.errors import RecordError
    from kg.base.files import check_output, write_jsonl_atomic
    from kg.base.plain_text import format_count
    from kg.text.chunks_file import write_chunks
    from kg.text.facts.fact import write_facts

    if qrels and form is not SetFormat.beir:
        raise typer.BadParameter("--qrels needs --format beir")
    if corpus is not None and form is SetFormat.beir:
        raise typer.BadParameter("--corpus has no effect on --format beir")
    extra_files = [path for path in (corpus, openie) if path is not None]
    for name in (CHUNKS, QUESTIONS, FACTS):
        check_output(out / name, [source, *(qrels or ()), *extra_files])
    if form is SetFormat.beir:
        imported = read_beir(source, qrels or ())
    else:
        imported = (read_musique if form is SetFormat.musique else read_hotpotqa)(source)
    if corpus is not None:
        add_corpus(corpus, imported)
    if not imported.questions:
        raise RecordError(
            "the set has no question with gold", where=str(source), hint="Check --format."
        )
    imported.mark_dev_questions(dev_share)
    facts = read_openie(openie, imported) if openie is not None else []
    write_chunks(out / CHUNKS, imported.chunks.values())
    write_jsonl_atomic(out / QUESTIONS, imported.questions.values())
    if facts:
        write_facts(out / FACTS, facts)
    counts = [
        format_count(len(imported.chunks), "passage"),
        format_count(len(imported.questions), "question"),
        *([format_count(len(facts), "fact")] if openie else []),
    ]
    print_text(f"{', '.join(counts)} → {out}")
    n_many = sum(len(question.gold) > MAX_ALL_GOLD for question in imported.questions.values())
    imported.notes[f"questions with over {MAX_ALL_GOLD} gold passages, whose {ALL_GOLD} is 0"] = (
        n_many
    )
    for note, count in imported.notes.items():
        if count:
            print_text(f"{note}: {count:,}")


if __name__ == "__main__":
    run_script(main)
