"""Samples from wherever they are: the shipped set, a file, a folder of files, or a hub.

Rows that are no samples are left out and told, with their number and the reason; with ``strict``
the first of them ends the loading.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from eval.extraction.samples.hub import HubRows, is_hub_name
from eval.extraction.samples.row_files import ENDINGS, Row, rows_of
from eval.extraction.samples.sample import RowError, Sample, sample_from_row
from kg.base.console import progress
from kg.base.errors import MissingFileError, RecordError
from kg.words.plain_text import plain

SHIPPED = "shipped"
"""Name of the set that comes with the package."""
DEFAULT_SEED = 42
MAX_REJECTED = 10_000
"""Malformed rows after which a file is taken to be something else."""
_LONGEST_REASON = 300
_HINT = "Each row needs text, schema and expected_output; see docs/extraction.md."


class Rejected(msgspec.Struct, frozen=True):
    """A row that is no sample."""

    row: int
    """Its number, from 1; in JSON lines the line's."""
    why: str
    file: str = ""
    """Name of its file, where a folder was read."""

    def __str__(self) -> str:
        return f"{self.file + ' ' if self.file else ''}row {self.row}: {self.why}"


class Loaded(msgspec.Struct, frozen=True):
    """What was loaded."""

    samples: list[Sample]
    """In the order of the source."""
    rejected: list[Rejected]
    """Rows left out because they are no samples, in the order of the source."""
    notes: list[str] = []
    """What the reader of any number made of these samples should know of them."""

    def rejections_in_words(self, most: int = 3) -> str:
        """One line on the rows that were left out, with the first reasons; empty if none was."""
        if not self.rejected:
            return ""
        count = len(self.rejected)
        reasons = "; ".join(map(str, self.rejected[:most]))
        more = f"; and {count - most:,} more" if count > most else ""
        rows = "1 malformed row is" if count == 1 else f"{count:,} malformed rows are"
        return f"{rows} left out: {reasons}{more}"


def shipped() -> Path:
    """Folder of the samples that come with the package."""
    return Path(__file__).parents[1] / "data" / "samples"


def load(
    source: str | Path,
    *,
    split: str = "test",
    limit: int | None = None,
    sample: int | None = None,
    seed: int = DEFAULT_SEED,
    strict: bool = False,
    formats: bool = True,
    cache_dir: Path | None = None,
) -> Loaded:
    """Loads samples.

    Args:
        source: ``shipped``; a JSONL, JSON or Parquet file, gzipped or not; a folder of such; or
            ``owner/name`` of a data set on the hub. What exists as a file or folder is one.
        split: of a data set on the hub.
        limit: take only the first so many usable rows.
        sample: draw so many of those at random, without replacement; they keep their order. All,
            if there are fewer.
        seed: of that draw; the same seed, rows and number give the same samples.
        strict: whether a malformed row is an error.
        formats: whether expected outputs must keep the formats their schemas name.
        cache_dir: folder for what is fetched from a hub; by default the library's own.

    Returns:
        At least one sample.

    Raises:
        MissingFileError: there is no such file.
        MissingExtraError: a package is missing for such a source, or the hub cannot be had.
        SettingError: the hub's data set has no such split.
        RecordError: a file is damaged or too large; no row is usable; nearly all of very many are
            malformed; or one is, and ``strict`` is set.
    """
    notes: list[str] = []
    reading = _Reading(str(source), strict=strict, formats=formats, limit=limit)
    for name, rows in _sources(source, split, cache_dir, notes):
        reading.read(name, rows)
        if reading.full:
            break
    found = reading.samples
    if not found:
        first = f"; {reading.rejected[0]}" if reading.rejected else ""
        raise RecordError(f"no usable samples{first}", where=str(source), hint=_HINT)
    if sample is not None:
        if sample < len(found):
            drawn = random.Random(seed).sample(range(len(found)), sample)  # noqa: S311  # no secret
            notes.append(f"{sample:,} of {len(found):,} samples, drawn with seed {seed}")
            found = [found[index] for index in sorted(drawn)]
        elif sample > len(found):
            notes.append(f"{sample:,} samples were asked for; there are {len(found):,}")
    return Loaded(found, reading.rejected, notes)


class _Reading:
    """The samples so far, and what keeps one from being taken."""

    def __init__(self, source: str, *, strict: bool, formats: bool, limit: int | None) -> None:
        self.samples: list[Sample] = []
        self.rejected: list[Rejected] = []
        self._source = source
        self._strict = strict
        self._formats = formats
        self._limit = limit
        self._places: dict[str, str] = {}

    @property
    def full(self) -> bool:
        """Whether as many samples have been read as are wanted."""
        return self._limit is not None and len(self.samples) >= self._limit

    def read(self, file: str, rows: Iterator[Row]) -> None:
        """Takes the rows of one file, whose name is empty if it is the only one."""
        for row in rows:
            if self.full:
                return
            try:
                self.samples.append(self._sample(row, file))
            except RowError as error:
                self._reject(Rejected(row.number, plain(str(error), _LONGEST_REASON), file))

    def _sample(self, row: Row, file: str) -> Sample:
        if row.values is None:
            raise RowError(row.problem)
        stem = file.split(".", 1)[0]
        default_id = f"{stem}-{row.number}" if stem else str(row.number)
        sample = sample_from_row(row.values, default_id, formats=self._formats)
        place = f"{file} row {row.number}".strip()
        if sample.id in self._places:
            raise RowError(f"its id {sample.id!r} is that of {self._places[sample.id]}")
        self._places[sample.id] = place
        return sample

    def _reject(self, rejected: Rejected) -> None:
        if self._strict:
            raise RecordError(
                f"not a valid sample: {rejected}",
                where=self._source,
                hint=f"{_HINT} Without --strict such rows are left out.",
            )
        self.rejected.append(rejected)
        if len(self.rejected) >= MAX_REJECTED:
            raise RecordError(
                f"{MAX_REJECTED:,} rows are malformed, the first being {self.rejected[0]}",
                where=self._source,
                hint="Check that it is the file you meant.",
            )


def _sources(
    source: str | Path, split: str, cache: Path | None, notes: list[str]
) -> Iterator[tuple[str, Iterator[Row]]]:
    """The files of a source, each with its rows; a name only where there may be several."""
    path = shipped() if source == SHIPPED else Path(source)
    try:
        there, is_folder = path.exists(), path.is_dir()
    except OSError:  # a name too long, a folder that may not be entered; said when it is opened
        there, is_folder = True, False
    if is_folder:
        files = sorted(file for file in path.iterdir() if file.name.lower().endswith(ENDINGS))
        if not files:
            raise MissingFileError(
                "the folder holds no data file",
                where=str(path),
                hint=f"Files that are read end in {' '.join(ENDINGS)}.",
            )
        for file in progress(files, what="files of samples", total=len(files)):
            yield file.name, rows_of(file)
    elif isinstance(source, str) and not there and is_hub_name(source):
        if source.lower().endswith(ENDINGS):
            raise MissingFileError("data file does not exist", where=source, hint="Check the path.")
        rows = HubRows(source, split, cache)
        if rows.from_cache:
            notes.append("the hub did not answer; what was fetched from it earlier is read")
        if rows.split != split:
            notes.append(
                f"the data set has no split {split!r}; its only one, {rows.split!r}, is read"
            )
        yield "", progress(rows, what="rows of the data set", total=rows.count)
    else:
        yield "", progress(rows_of(path), what="rows of samples")
