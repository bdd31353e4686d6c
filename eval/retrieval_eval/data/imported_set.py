"""Collects the passages and questions of a public set, and reads its files.

A file is a JSON array or JSON Lines, plain or compressed with gzip.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, TypeVar

import msgspec

from eval.retrieval_eval.questions import Question
from kg.base.errors import RecordError
from kg.base.files import MAX_LINE_BYTES, require_file, sha256_bytes
from kg.base.plain_text import clean_text
from kg.text.chunks import Chunk
from kg.text.chunks_file import MAX_CHUNK_CHARACTERS

Record = TypeVar("Record")

MAX_FILE_BYTES: Final = 2 * 1024**3
"""Maximum size of an unpacked file; the largest published ones have about half a gigabyte."""
MAX_PASSAGES: Final = 10_000_000
_MAX_TITLE_LENGTH: Final = 200
"""Maximum number of characters of a title that become part of an id."""
_HINT: Final = "docs/how-to/retrieval.md shows which file each format needs."


class ImportedSet:
    """The passages and questions of a public set.

    Attributes:
        chunks: id → passage, in the order in which they were added.
        questions: id → question.
        notes: what was left out or changed → how often.
    """

    def __init__(self) -> None:
        self.chunks: dict[str, Chunk] = {}
        self.questions: dict[str, Question] = {}
        self.notes: Counter[str] = Counter()
        self._id_of_text: dict[str, str] = {}

    def add_passage(self, title: str, text: str, passage_id: str = "") -> str:
        """Adds a passage, and returns its id.

        Args:
            title: its title; the first line of the passage. Two titles are told apart by a number.
            text: its text.
            passage_id: its id; by default the title, and the same for equal passages.

        Returns:
            The id; empty if the passage has no text.
        """
        title, text = " ".join(title.split()), text.strip()
        content = f"{title}\n{text}".strip()
        if not content:
            self.notes["passages without text left out"] += 1
            return ""
        if not passage_id and content in self._id_of_text:
            return self._id_of_text[content]
        if len(self.chunks) == MAX_PASSAGES:
            raise RecordError(f"more than {MAX_PASSAGES:,} passages", hint=_HINT)
        base = clean_text(passage_id or title, _MAX_TITLE_LENGTH) or "passage"
        chunk_id, number = base, 1
        while chunk_id in self.chunks:
            number += 1
            chunk_id = f"{base}~{number}"
        if len(content) > MAX_CHUNK_CHARACTERS:
            self.notes[f"passages cut to {MAX_CHUNK_CHARACTERS:,} characters"] += 1
        self.chunks[chunk_id] = Chunk(
            chunk_id, content[:MAX_CHUNK_CHARACTERS], {"section": title} if title else {}
        )
        if not passage_id:
            self._id_of_text[content] = chunk_id
        return chunk_id

    def find_passage(self, content: str) -> str | None:
        """Returns the id of the passage with this title and text, separated by a line break."""
        title, _, text = content.partition("\n")
        return self._id_of_text.get(f"{' '.join(title.split())}\n{text.strip()}".strip())

    def add_question(self, question: Question, where: str) -> None:
        """Adds a question.

        Raises:
            RecordError: a question with its id was added before.
        """
        if question.id in self.questions:
            raise RecordError(
                f"question id {clean_text(question.id, 100)!r} occurs twice",
                where=where,
                hint="Each question must occur once.",
            )
        self.questions[question.id] = question

    def mark_dev_questions(self, share: float) -> None:
        """Moves a share of the test questions to the split ``dev``, chosen by a hash of their id.

        Args:
            share: expected share, from 0 to 1.
        """
        for question_id, question in self.questions.items():
            digest = int(sha256_bytes(question_id.encode("utf-8", "surrogatepass"))[:8], 16)
            if question.split == "test" and digest < share * 16**8:
                self.questions[question_id] = msgspec.structs.replace(question, split="dev")


def iter_json_records(path: Path, kind: type[Record], what: str) -> Iterator[tuple[str, Record]]:
    """Yields each record of a JSON array or of JSON Lines, after where it is.

    Args:
        path: the file.
        kind: the type of a record.
        what: what a record is, for messages.

    Raises:
        MissingFileError: there is no such file.
        RecordError: the file is too large or damaged, or a record is not of the type.
    """
    with open_and_unpack(path, what) as stream:
        lines: Iterator[tuple[str, bytes]]
        head = stream.peek(64).lstrip()[:1]  # type: ignore[attr-defined]
        if head == b"[":
            data = _read_up_to_limit(stream, path)
            try:
                records = msgspec.json.decode(data, type=list[msgspec.Raw])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise _make_error(path, f"not JSON: {error}") from error
            lines = ((f"{path}: {what} {n}", bytes(raw)) for n, raw in enumerate(records, start=1))
        else:
            lines = _iter_lines(stream, path)
        decoder = msgspec.json.Decoder(kind)
        for where, line in lines:
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise _make_error(where, f"not a {what} of this format: {error}") from error
            yield where, record


def read_json_record(path: Path, kind: type[Record], what: str) -> Record:
    """Reads a file that is one JSON object.

    Raises:
        MissingFileError, RecordError: as ``iter_json_records``.
    """
    with open_and_unpack(path, what) as stream:
        data = _read_up_to_limit(stream, path)
    try:
        # Python writes NaN into JSON, which msgspec does not read.
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, RecursionError) as error:
        raise _make_error(path, f"not an {what} of this format: {error}") from error


def iter_text_lines(path: Path, what: str) -> Iterator[tuple[str, str]]:
    """Yields each line of a text file that is not blank, after where it is.

    Raises:
        MissingFileError, RecordError: as ``iter_json_records``.
    """
    with open_and_unpack(path, what) as stream:
        for where, line in _iter_lines(stream, path):
            try:
                yield where, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise _make_error(where, f"not UTF-8: {error.reason}") from error


def open_and_unpack(path: Path, what: str) -> IO[bytes]:
    """Opens a file, unpacking it if it is compressed with gzip.

    Raises:
        MissingFileError: there is no such file.
    """
    require_file(path, f"{what} file")
    with path.open("rb") as handle:
        is_packed = handle.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_packed else path.open("rb")  # type: ignore[return-value]


def _read_up_to_limit(stream: IO[bytes], path: Path) -> bytes:
    try:
        data = stream.read(MAX_FILE_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise _make_error(path, f"damaged: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise _make_error(path, f"larger than {MAX_FILE_BYTES:,} bytes")
    return data


def _iter_lines(stream: IO[bytes], path: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    try:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1):
            total += len(line)
            if len(line) > MAX_LINE_BYTES:
                raise _make_error(f"{path}:{number}", f"longer than {MAX_LINE_BYTES:,} bytes")
            if total > MAX_FILE_BYTES:
                raise _make_error(path, f"larger than {MAX_FILE_BYTES:,} bytes")
            if line.strip():
                yield f"{path}:{number}", line
    except (EOFError, OSError, zlib.error) as error:
        raise _make_error(path, f"damaged: {error}") from error


def _make_error(where: Path | str, problem: str) -> RecordError:
    return RecordError(problem, where=str(where), hint=_HINT)
