"""``epoche kg facts``: finds facts of documents by rules, for cards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from kg.base import options
from kg.base.console import print_text, run_script


def main(
    run: options.RunFolder,
    out: Annotated[
        Path, typer.Option("--out", help="Facts (.jsonl), for `epoche kg init` and --facts.")
    ],
) -> None:
    """Finds facts in lines such as "Default: 16" by rules, without a model.

    Such a line says something of the section it stands in. Documents without any give no facts
    here; `epoche kg extract` finds others with a model.
    """
    from kg.base.errors import EmptyGraphError
    from kg.base.files import check_output, to_json_bytes, write_files_atomic
    from kg.text.facts.labelled_values import MIN_SECTIONS, find_labelled_values
    from kg.text.run.folder import open_run

    check_output(out)
    facts = find_labelled_values(open_run(run).chunks)
    if not facts:
        raise EmptyGraphError(
            f"no line such as “Default: 16” stands in {MIN_SECTIONS} or more sections",
            hint="Extract facts with a model: epoche kg extract.",
        )
    write_files_atomic({out: b"".join(to_json_bytes(fact) + b"\n" for fact in facts)})
    relations = Counter(fact.relation for fact in facts)
    for relation, count in relations.most_common():
        print_text(f"{count:>7,}  {relation}")
    print_text(f"{len(facts):,} facts → {out}")
    print_text(f"Next: epoche kg init {out} --passages {run} --out DOMAIN")


if __name__ == "__main__":
    run_script(main)
