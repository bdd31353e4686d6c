"""Writes ``counts.tsv``: ``python -m eval.synthlink.corrected.english.build_counts [--check]``.

The prose is that of the shipped textbook, whose subject is none of the benchmark's. Questions,
answers and pages of the benchmark take no part, so that they can show whether the table does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import retrieval
from eval.synthlink.corrected.english.counts import TABLE, as_table, count
from kg.base.console import print_text, wrap_command
from kg.base.errors import RecordError
from kg.base.files import write_text_atomic
from kg.text.documents.document import Paragraph
from kg.text.documents.reader import read_document

BOOK = Path(retrieval.__file__).with_name("corpora") / "keeping_data" / "book"


def prose() -> Iterator[str]:
    """The paragraphs of the textbook in order."""
    for path in sorted(BOOK.glob("*.md")):
        for block in read_document(path).blocks:
            if isinstance(block, Paragraph):
                yield block.text


def main(*, check: bool = False) -> None:
    """Writes the table or, with ``check``, compares it.

    Raises:
        RecordError: the committed table is not what the prose gives.
    """
    table = as_table(count(prose()))
    if not check:
        write_text_atomic(TABLE, table)
        print_text(f"wrote {TABLE.name}: {len(table.splitlines())} rows")
    elif not TABLE.is_file() or TABLE.read_text("utf-8") != table:
        raise RecordError(
            "counts.tsv is not what the prose gives",
            where=str(TABLE),
            hint="Run python -m eval.synthlink.corrected.english.build_counts.",
        )


if __name__ == "__main__":
    wrap_command(lambda: main(check="--check" in sys.argv[1:]))()
