"""Verifies the files of finished runs: ``epoche verify``, or this file as a script."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg.base.console import print_json, print_text, run_script
from kg.base.plain_text import to_one_line

if TYPE_CHECKING:
    from eval.abstention.card_verifier import LabelProver
    from eval.harness.verification.record import Difference, Verification
    from kg.base.errors import EpocheError

SCHEMA = "epoche.verification/1"
MAX_PRINTED = 20
"""Maximum number of differences of a run that are printed; ``--json`` and ``--out`` list more."""


def main(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run folders, results of cards (files or folders), or card files.",
        ),
    ],
    cards: Annotated[
        Path | None,
        typer.Option(help="Card file of the results; by default the one that the manifest names."),
    ] = None,
    no_proofs: Annotated[
        bool, typer.Option("--no-proofs", help="Do not prove the labels of cards again.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the result to this file (JSON).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Checks that rows follow from items, replies and votes, and labels of cards from the graph.

    Nothing is asked and nothing is changed. Exits with 39 if anything differs, and otherwise with
    the highest code of a run that cannot be read, or whose labels cannot be proved because graph or
    manifest of the cards are gone or changed (3); all other runs are verified before that.
    """
    import msgspec

    from kg.base.files import check_output, to_json_bytes, write_json_atomic

    if out is not None:
        check_output(out, [path for run in runs for path in _list_files(run)])
    found, failures = _verify_all(runs, cards, with_proofs=not no_proofs)
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "agrees": not failures and all(item.agrees and not item.unproved for item in found),
        "runs": [msgspec.to_builtins(item) for item in found],
        "unreadable": [
            {"run": str(path), "error": error.format_line(), "exit_code": error.exit_code}
            for path, error in failures.items()
        ],
    }
    if out is not None:
        write_json_atomic(out, report)
    if as_json:
        print_json(to_json_bytes(report, indent=2).decode())
    else:
        for item in found:
            _print_verification(item)
        for path, error in failures.items():
            print_text(to_one_line(f"{path}: cannot be verified: {error.format_line()}"))
    _raise_problem(found, list(failures.values()))


def _verify_all(
    runs: list[Path], cards: Path | None, *, with_proofs: bool
) -> tuple[list[Verification], dict[Path, EpocheError]]:
    """Verifies all runs; returns the results, and the error of each run that cannot be read."""
    from eval.abstention.card_verifier import LabelProver
    from kg.base.errors import EpocheError, MissingFileError

    prover = LabelProver() if with_proofs else None
    found: list[Verification] = []
    failures: dict[Path, EpocheError] = {}
    for run in runs:
        try:
            paths = _find_results(run)
        except EpocheError as error:
            failures[run] = error
            continue
        for path in paths:
            try:
                found.append(_verify(path, cards, prover))
            except EpocheError as error:
                failures[path] = error
            except OSError as error:
                failures[path] = MissingFileError(
                    f"a file cannot be opened: {error.strerror}", where=str(error.filename)
                )
    return found, failures


def _find_results(run: Path) -> list[Path]:
    """Returns a run folder, or the result files of cards that a path names."""
    from eval.abstention.run_files import find_result_files
    from eval.runs.measurement import is_run_folder

    return [run] if is_run_folder(run) else find_result_files([run])


def _verify(path: Path, cards: Path | None, prover: LabelProver | None) -> Verification:
    from eval.abstention.card_verifier import verify_cards, verify_results
    from eval.abstention.metrics.reader import ResultReader
    from eval.abstention.row_statistics.verifier import verify_statistics
    from eval.abstention.run_files import is_card_file
    from eval.harness.benchmarks import find_benchmark
    from eval.harness.verification.folder_verifier import verify_folder

    if is_card_file(path):
        return verify_cards(path, prover)
    if path.is_dir():
        return verify_folder(path, find_benchmark(path))
    check_statistics = partial(verify_statistics, reader=ResultReader())
    return verify_results(path, cards, prover, check_statistics)


def _raise_problem(found: list[Verification], failures: list[EpocheError]) -> None:
    """Ends the command with the error of the worst problem, if there is one."""
    from kg.base.errors import VerificationError

    failed = [item for item in found if not item.agrees]
    if failed:
        unreadable = f"; {_count(len(failures), 'run')} cannot be verified" if failures else ""
        raise VerificationError(
            f"{_count(sum(item.n_differences for item in failed), 'difference')} in "
            f"{len(failed)} of {_count(len(found) + len(failures), 'run')}{unreadable}",
            where=", ".join(item.run for item in failed),
            hint="They are listed above; do not use these runs before you know why they differ.",
        )
    if unproved := [item for item in found if item.unproved]:
        failures = [*failures, _make_unproved_error(unproved)]
    if failures:
        raise max(failures, key=lambda error: error.exit_code)


def _make_unproved_error(unproved: list[Verification]) -> EpocheError:
    from kg.base.errors import MissingFileError

    return MissingFileError(
        f"labels were not checked: {unproved[0].unproved}",
        where=", ".join(item.run for item in unproved),
        hint="Put graph and manifest of the cards back as they were. For cards that never had any, "
        "--no-proofs checks the rest.",
    )


def _list_files(run: Path) -> list[Path]:
    """Lists the files of a run, which the report must not overwrite."""
    from kg.base.provenance import manifest_path

    if run.is_dir():
        return [path for path in run.iterdir() if path.is_file()]
    return [run, manifest_path(run)]


def _print_verification(found: Verification) -> None:
    checked = ", ".join(f"{number:,} {what}" for what, number in found.checked.items())
    verdict = "agrees" if found.agrees else _count(found.n_differences, "difference")
    if found.unproved:
        verdict = f"labels not checked: {to_one_line(found.unproved)}; the rest: {verdict}"
    print_text(f"{found.run} ({found.benchmark}): {verdict}; checked {checked}")
    for reason in found.skipped:
        if reason != f"labels: {found.unproved}":
            print_text(f"  not checked: {reason}")
    for difference in found.differences[:MAX_PRINTED]:
        print_text(f"  {_describe_difference(difference)}")
    if found.n_differences > MAX_PRINTED:
        print_text(f"  … and {found.n_differences - MAX_PRINTED:,} more (--json lists them)")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _describe_difference(difference: Difference) -> str:
    from eval.harness.verification.changed_files import describe_difference

    line = "" if difference.line is None else f":{difference.line}"
    return f"{to_one_line(difference.file)}{line}: {describe_difference(difference)}"


if __name__ == "__main__":
    run_script(main)
