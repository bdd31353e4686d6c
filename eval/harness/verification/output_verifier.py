"""Verifies the output files of a run: they are computed again in another folder and compared."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from eval.harness.benchmark import Benchmark, Row
from eval.harness.reply import REPLIES, VOTES
from eval.harness.verification.record import ABSENT, DifferenceLog
from eval.model.foreign_values import describe_error
from kg.base.errors import WriteError
from kg.base.files import write_jsonl_atomic
from kg.base.plain_text import join_list


def verify_outputs(
    folder: Path,
    benchmark: Benchmark[Any, Row, Any],
    rows: Iterable[Row],
    log: DifferenceLog,
) -> None:
    """Compares the output files in the folder of a finished run with those that it should have.

    Files that are not there, and files that do not follow from the run alone, are listed as not
    checked.

    Args:
        folder: the folder.
        benchmark: the benchmark.
        rows: the rows that the run should have.
        log: where differences are added.

    Raises:
        WriteError: the temporary copy cannot be written.
    """
    with TemporaryDirectory(prefix="epoche-verify-") as name:
        copy = Path(name)
        inputs = (benchmark.manifest_file, REPLIES, VOTES, *benchmark.item_files)
        for file in inputs:
            if (folder / file).is_file():
                shutil.copyfile(folder / file, copy / file)
        write_jsonl_atomic(copy / benchmark.rows_file, rows)
        try:
            benchmark.write_outputs(copy)
        except WriteError:
            raise
        except Exception as error:  # changed replies may give rows that no run can have
            log.add(
                folder,
                "output files",
                expected="a run from which they can be computed",
                found=describe_error(error),
            )
            return
        expected = {
            path.relative_to(copy).as_posix(): path
            for path in sorted(copy.rglob("*"))
            if path.is_file() and path.name not in (*inputs, benchmark.rows_file)
        }
        missing = [file for file in expected if not (folder / file).is_file()]
        for file in expected:
            if file not in missing:
                _compare_files(expected[file], folder / file, log)
    log.checked["output files"] = len(expected) - len(missing)
    if missing:
        log.skipped.append(f"{join_list(missing)}: not in the folder")
    found = {path.name for pattern in benchmark.output_files for path in folder.glob(pattern)}
    if others := sorted(found.difference(expected)):
        log.skipped.append(f"{join_list(others)}: computed from more than the files of the run")


def _compare_files(expected: Path, found: Path, log: DifferenceLog) -> None:
    """Compares two files value by value if they are JSON, and otherwise line by line."""
    contents = [path.read_bytes() for path in (expected, found)]
    if contents[0] == contents[1]:
        return
    n_before = log.n_differences
    if expected.suffix == ".json":
        log.compare(found, *map(_decode, contents))
    else:
        lines = zip_longest(*(content.splitlines() for content in contents))
        for number, (wanted, actual) in enumerate(lines, start=1):
            if wanted != actual:
                log.compare(found, _decode(wanted), _decode(actual), line=number)
    if log.n_differences == n_before:
        log.add(found, "bytes", expected="the same values in the same form", found="another form")


def _decode(content: bytes | None) -> Any:
    """Decodes JSON; what is not JSON becomes a text."""
    if content is None:
        return ABSENT
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return content.decode("utf-8", "replace")
