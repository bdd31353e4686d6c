"""Loads samples from the shipped set, a file, a folder of files, or the Hugging Face hub.

Malformed rows are left out and reported with their number and the reason; with ``strict`` the first
of them is an error.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from eval.extraction.samples.hub import HubRows, is_hub_name
from eval.extraction.samples.row_files import ENDINGS, Row, iter_file_rows
from eval.extraction.samples.sample import MARKS, RowError, Sample, sample_from_row
from kg.base.console import track_progress
from kg.base.errors import MissingFileError, RecordError
from kg.base.plain_text import clean_text, format_count

SHIPPED = "shipped"
"""Name of the data set that comes with the package."""
DEFAULT_SEED = 42
MAX_REJECTED = 10_000
"""Number of malformed rows after which loading fails: it is probably the wrong file."""
_MAX_REASON_LENGTH = 300
_HINT = "Each row needs text, schema and expected_output; see docs/reference/extraction.md."


_MARK_NOTES = {
    "wrapper": "with a schema that was taken out of a wrapper",
    "schema": "without a usable schema: their fields are compared, but they count neither as valid "
    "nor as invalid",
    "metadata": "with keys in their gold that begin with _ or $ and are no fields, left out",
    "columns": "with another column of the same name in another spelling",
    "gold": "with a gold value that is invalid under its own schema, scored all the same",
    "text": "without a text: whether a value is found in the text is unknown for them",
}
"""Kind of a mark → what a note says of the samples that have it."""


class RejectedRow(msgspec.Struct, frozen=True):
    """A malformed row."""

    row: int
    """Its number, from 1; for JSON lines the line number."""
    why: str
    file: str = ""
    """Name of its file, if a folder was read."""

    def __str__(self) -> str:
        return f"{self.file + ' ' if self.file else ''}row {self.row}: {self.why}"


class LoadedSamples(msgspec.Struct, frozen=True):
    """Samples with the rows that were left out."""

    samples: list[Sample]
    """In the order of the source."""
    rejected: list[RejectedRow]
    """Malformed rows that were left out, in the order of the source."""
    notes: list[str] = []
    """What a reader of results must know about the samples."""

    def describe_rejections(self, max_reasons: int = 3) -> str:
        """Describes the rows left out in one line, with the first reasons; empty if none were."""
        if not self.rejected:
            return ""
        count = len(self.rejected)
        if count == max_reasons + 1:  # naming the last one takes no more words
            max_reasons = count
        reasons = "; ".join(map(str, self.rejected[:max_reasons]))
        more = f"; and {count - max_reasons:,} more" if count > max_reasons else ""
        rows = "1 malformed row is" if count == 1 else f"{count:,} malformed rows are"
        return f"{rows} left out: {reasons}{more}"


def shipped_folder() -> Path:
    """Returns the folder of the samples that come with the package."""
    return Path(__file__).parents[1] / "data" / "samples"


def describe_marks(samples: list[Sample]) -> Iterator[str]:
    """Yields a note for each kind of mark, with the number of samples and the first reason."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    left_out: set[str] = set()
    for sample in samples:
        marks = sample.meta.get(MARKS, {})
        left_out.update(marks.get("metadata", ()))
        for kind, reason in marks.items():
            counts[kind] += 1
            first.setdefault(kind, f"{clean_text(sample.id, 60)}: {clean_text(str(reason), 200)}")
    for kind, words in _MARK_NOTES.items():
        if not counts[kind]:
            continue
        n_samples = format_count(len(samples), "sample")
        shown = "" if kind == "text" else f"; the first: {first[kind]}"
        if kind == "metadata":
            shown = f": {clean_text(', '.join(sorted(left_out)), 200)}"
        yield f"{counts[kind]:,} of {n_samples} {words}{shown}"


def load_samples(
    source: str | Path,
    *,
    split: str = "test",
    limit: int | None = None,
    sample_size: int | None = None,
    seed: int = DEFAULT_SEED,
    strict: bool = False,
    formats: bool = True,
    cache_dir: Path | None = None,
) -> LoadedSamples:
    """Loads samples.

    Args:
        source: ``shipped``; a JSONL, JSON or Parquet file, gzipped or not; a folder of such files;
            or ``owner/name`` of a data set on the hub. Existing files and folders take precedence.
        split: split of a data set on the hub.
        limit: read only this many usable rows.
        sample_size: number of rows to sample from these at random without replacement, in their
            original order; all rows if there are fewer.
        seed: seed of the sampling; the same seed, rows and number give the same samples.
        strict: whether a malformed row is an error.
        formats: whether expected outputs must satisfy the formats of their schemas.
        cache_dir: folder for downloads from the hub; by default the library's own.

    Returns:
        At least one sample.

    Raises:
        MissingFileError: the file does not exist.
        MissingExtraError: a package for this source is missing, or the hub cannot be reached.
        SettingError: the data set on the hub has no such split.
        RecordError: a file is damaged or too large; no row is usable; ``MAX_REJECTED`` rows are
            malformed; or one row is malformed and ``strict`` is set.
    """
    notes: list[str] = []
    reader = SampleReader(str(source), strict=strict, formats=formats, limit=limit)
    for name, rows in _iter_sources(source, split, cache_dir, notes):
        reader.read_rows(name, rows)
        if reader.is_full:
            break
    samples = reader.samples
    if not samples:
        first_reason = f"; {reader.rejected[0]}" if reader.rejected else ""
        raise RecordError(f"no usable samples{first_reason}", where=str(source), hint=_HINT)
    if sample_size is not None:
        if sample_size < len(samples):
            sampled_indexes = random.Random(seed).sample(range(len(samples)), sample_size)  # noqa: S311  # no secret
            notes.append(f"{sample_size:,} of {len(samples):,} samples, sampled with seed {seed}")
            samples = [samples[index] for index in sorted(sampled_indexes)]
        elif sample_size > len(samples):
            notes.append(
                f"{sample_size:,} samples were requested, but there are only {len(samples):,}"
            )
    return LoadedSamples(samples, reader.rejected, [*notes, *describe_marks(samples)])


class SampleReader:
    """Collects samples and malformed rows from one source.

    Args:
        source: name of the source, for messages.
        strict: whether a malformed row is an error.
        formats: whether expected outputs must satisfy the formats of their schemas.
        limit: number of samples to read; all if ``None``.
        keep: whether to keep and mark samples, see ``sample_from_row``.
    """

    def __init__(
        self, source: str, *, strict: bool, formats: bool, limit: int | None, keep: bool = False
    ) -> None:
        self.samples: list[Sample] = []
        self.rejected: list[RejectedRow] = []
        self._source = source
        self._strict = strict
        self._formats = formats
        self._limit = limit
        self._keep = keep
        self._row_names_by_id: dict[str, str] = {}

    @property
    def is_full(self) -> bool:
        """Whether the requested number of samples has been read."""
        return self._limit is not None and len(self.samples) >= self._limit

    def read_rows(self, file: str, rows: Iterator[Row]) -> None:
        """Reads the rows of one file; its name is empty if it is the only file."""
        for row in rows:
            if self.is_full:
                return
            try:
                self.samples.append(self._read_sample(row, file))
            except RowError as error:
                self._reject_row(
                    RejectedRow(row.number, clean_text(str(error), _MAX_REASON_LENGTH), file)
                )

    def _read_sample(self, row: Row, file: str) -> Sample:
        if row.values is None:
            raise RowError(row.problem)
        stem = file.split(".", 1)[0]
        default_id = f"{stem}-{row.number}" if stem else str(row.number)
        sample = sample_from_row(row.values, default_id, formats=self._formats, keep=self._keep)
        row_name = f"{file} row {row.number}".strip()
        if sample.id in self._row_names_by_id:
            raise RowError(
                f"its id {sample.id!r} is already used by {self._row_names_by_id[sample.id]}"
            )
        self._row_names_by_id[sample.id] = row_name
        return sample

    def _reject_row(self, rejected: RejectedRow) -> None:
        if self._strict:
            raise RecordError(
                f"not a valid sample: {rejected}",
                where=self._source,
                hint=f"{_HINT} Without --strict, malformed rows are left out.",
            )
        self.rejected.append(rejected)
        if len(self.rejected) >= MAX_REJECTED:
            raise RecordError(
                f"{MAX_REJECTED:,} rows are malformed; the first is {self.rejected[0]}",
                where=self._source,
                hint="Check that this is the right file.",
            )


def _iter_sources(
    source: str | Path, split: str, cache: Path | None, notes: list[str]
) -> Iterator[tuple[str, Iterator[Row]]]:
    """Yields the files of a source with their rows; names are empty unless it is a folder."""
    path = shipped_folder() if source == SHIPPED else Path(source)
    source = str(source)
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError:  # name too long, or no permission; opening the file reports the reason
        exists, is_folder = True, False
    if is_folder:
        files = sorted(file for file in path.iterdir() if file.name.lower().endswith(ENDINGS))
        if not files:
            raise MissingFileError(
                "the folder has no data file",
                where=str(path),
                hint=f"Data files end in {' '.join(ENDINGS)}.",
            )
        for file in track_progress(files, what="files of samples", total=len(files)):
            yield file.name, iter_file_rows(file)
    elif not exists:
        # A file name, or a path into a folder that is here, was not meant as a name on the hub.
        is_path = source.lower().endswith(ENDINGS)
        if is_path or not is_hub_name(source) or Path(path.parts[0]).is_dir():
            raise MissingFileError(
                "no such file or folder",
                where=source,
                hint="Check the path. A data set on the hub is given as owner/name.",
            )
        rows = HubRows(source, split, cache)
        if rows.from_cache:
            notes.append("the hub did not answer; a copy downloaded earlier is used")
        if rows.split != split:
            notes.append(
                f"the data set has no split {split!r}; its only split, {rows.split!r}, is used"
            )
        yield "", track_progress(rows, what="rows of the data set", total=rows.count)
    else:
        yield "", track_progress(iter_file_rows(path), what="rows of samples")
