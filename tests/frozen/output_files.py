"""Reads the output files of a job into columns of values that can be frozen and compared.

A column has all values of one key of one file in their order, such as the values of the JSON key
``value`` at any depth, or the CSV column ``value``. So a renamed key changes one column name, and
a changed number changes one value at a known place. Columns with names in angle brackets hold
values without a key: see the constants below.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from bs4 import BeautifulSoup

KEYS = "<keys>"  # the distinct lists of keys of the file's objects
ORDER = "<order>"  # which of these lists each object has, and the length of each list
BYTES = "<bytes>"  # digest of the whole file
LINES = "<lines>"
FIGURES = "<figures>"  # numbers of tables and charts, in the order of the text
SENTENCE_NUMBERS = "<numbers in sentences>"  # a set: a reworded sentence may state them elsewhere
IDS = "<ids>"
LINKS = "<links>"

# Prose may be reworded without a change of behaviour, so under these keys a text of several words
# is replaced by a mask. A single word under these keys is a code and is compared.
PROSE_KEYS = frozenset(
    {
        "about",
        "by_complexity",
        "card_proof",
        "caveats",
        "data_notes",
        "error",
        "hint",
        "meaning",
        "measures",
        "note",
        "notes",
        "notices",
        "problem",
        "proof",
        "reason",
        "reasons",
        "rejections",
        "said",
        "schema_errors",
        "strengths",
        "verdict",
        "warnings",
        "weaknesses",
        "why",
    }
)
# Keys that hold prose only in some files: "FILE PATTERN:KEY". In other files they hold data.
PROSE_OF_FILES = (
    "audit.json:state",
    "metrics.json:question",  # the question that a comparison of two systems answers
    "report.*:question",
    "report.json:title",
    "report.json:answer",  # what the first screen says in sentences
    "comparison.json:title",
    "report.json:accuracy",
    "*manifest.json:accuracy",  # a description of how the rules judge accuracy
    "report.json:hallucination, groundedness",
    "*manifest.json:hallucination, groundedness",
    "report.json:rules",
    "*manifest.json:rules",  # a description of the rules of a baseline
)
# Tables of labels and texts for readers: only their number of rows is compared.
PROSE_TABLES = frozenset({"by_complexity", "facts"})
# Values that depend on the time or the machine, and file sizes, which depend on masked texts.
MASKED_KEYS = frozenset(
    {
        *("at_s", "bytes", "content_sha256", "ended", "latency_s", "search_s", "started", "ttft_s"),
        *("versions", "wall_s"),
    }
)
# Here rows explain in prose how an answer was found; only the numbers of the text are compared.
NUMBERS_ONLY = frozenset({"raw"})

MAX_KEYS = 40  # an object with more keys is a table, whose keys are data
MAX_TOKEN = 48  # longer strings are cut and digested
MAX_FIGURE_WORDS = 3  # a cell with more words is a sentence
MAX_LINE_WORDS = 6  # the same for a line of a plain text
SENTENCE_TAGS = frozenset(
    {
        "p",
        "li",
        "figcaption",
        "caption",
        "summary",
        "title",
        "desc",
        "blockquote",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    }
)

# A hash of 64 or 12 hexadecimal digits with at least one letter and one digit.
_DIGEST = re.compile(r"(?<![\w.])(?=\d*[a-f])(?=[a-f]*\d)(?:[0-9a-f]{64}|[0-9a-f]{12})(?!\w)")
_LINE_DIGESTS = re.compile(r"^\d+:(?:[0-9a-f]{4})*$")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:\+00:00|Z| UTC)?")
_VERSION = re.compile(r"(?<=\bv:)\d[\w.]*|^\d+\.\d+\.\d+(?:\.?(?:dev|rc|a|b)\d+)?$")
# The folders of an absolute path or one that starts with "../", without the file name. In the first
# pattern the path is the whole text, so it may contain spaces.
_OUTSIDE_FOLDERS_OF_WHOLE_TEXT = re.compile(r"\A(?:\.\.)?/(?=[^\n]*\Z)(?:[^/\n]+/)*(?=[^/\n]+\Z)")
_OUTSIDE_FOLDERS = re.compile(r"(?:\.\./|(?<![\w:/.>])/)(?:[^\s\"'<>|,;]+/)*(?=[^\s\"'<>|,;/]+)")
# A number that is not part of a name, address, path or version, with its sign and percent sign.
_NUMBER = re.compile(
    r"(?<![\w.@#/])(?<![A-Za-z]-)(?:(?<![^\s(\[|])[-+−])?\d[\d,]*(?:\.\d+)?(?!\.?\w)(?: ?%)?"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE_TRIPLE = re.compile(r'(rdfs:comment\s+)"(?:[^"\\]|\\.)*"')
_PROSE_FIELD = re.compile(rf'"({"|".join(sorted(PROSE_KEYS))})":"[^"\\ ]* (?:[^"\\]|\\.)*"')


class Cell(NamedTuple):
    """One value as the frozen file writes it, and its position in the output file."""

    token: str
    position: str


Columns = dict[str, list[Cell]]


def mask_text(text: str) -> str:
    """Returns the text without digests, times and versions, which differ from run to run."""
    patterns = (
        *((_DIGEST, "<digest>"), (_LINE_DIGESTS, "<digests>")),
        *((_TIME, "<time>"), (_VERSION, "<version>")),
    )
    for pattern, mask in patterns:
        text = pattern.sub(mask, text)
    return text


def mask_paths(text: str) -> str:
    """Returns the text with paths outside of the job's folder shortened to the file name."""
    if "/" not in text or "://" in text:
        return text
    return _OUTSIDE_FOLDERS.sub("<path>/", _OUTSIDE_FOLDERS_OF_WHOLE_TEXT.sub("<path>/", text))


def write_token(value: object) -> str:
    """Returns a value as the frozen file writes it: JSON, with long strings cut and digested."""
    if isinstance(value, float):
        # The last digits depend on the BLAS, as does the sign of zero and of sums near zero.
        text = f"{round(value, 12) + 0.0:.10g}"
        return text if re.search("[.en]", text) else text + ".0"
    if not isinstance(value, str):
        return json.dumps(value)
    text = mask_paths(mask_text(value))
    if len(text) > MAX_TOKEN:
        text = f"{text[: MAX_TOKEN // 2]}…#{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return json.dumps(text, ensure_ascii=False)


def find_numbers(text: str) -> list[str]:
    """Returns the numbers of a text in their order, without numbers that are parts of names."""
    numbers = _NUMBER.findall(mask_paths(mask_text(text)))
    return [number.replace("−", "-").replace(" ", "") for number in numbers]


class FileColumns:
    """Columns of one file, filled by the readers below."""

    def __init__(self, name: str, old_names: Mapping[str, str]) -> None:
        self.name = name
        self._old_names = old_names  # of renamed keys; the constants above have the old names
        self.columns: Columns = {}
        self._shapes: dict[str, int] = {}

    def add_cell(self, key: str, value: object, position: str) -> None:
        """Appends one value to the column of ``key``."""
        self.columns.setdefault(key, []).append(Cell(write_token(value), position))

    def add_value(self, key: str, value: object, position: str) -> None:
        """Appends one value, masked if its key is for prose or for a fact about the machine."""
        old_key = self._old_names.get(key, key)
        if old_key in MASKED_KEYS and value not in {None, ""}:
            value = "<masked>"
        elif isinstance(value, str):
            if old_key in NUMBERS_ONLY:
                value = " ".join(find_numbers(value))
            elif re.search(r"\s", value) and self._holds_prose(old_key):
                value = "<text>"
        self.add_cell(key, value, position)

    def add_shape(self, keys: list[str], position: str) -> None:
        """Records the list of keys of an object, which is its shape."""
        shape = json.dumps(keys, ensure_ascii=False)
        if shape not in self._shapes:
            self._shapes[shape] = len(self._shapes)
            self.columns.setdefault(KEYS, []).append(Cell(shape, position))
        self.add_cell(ORDER, self._shapes[shape], position)

    def add_tree(self, value: Any, key: str = "<top>", position: str = "") -> None:
        """Appends all values of a JSON document."""
        old_key = self._old_names.get(key, key)
        if isinstance(value, dict) and old_key == "versions":
            self.add_cell(key, "<masked>", position)
        elif isinstance(value, dict) and old_key in PROSE_TABLES:
            self.add_cell(key, f"<{len(value)} texts>", position)
        elif isinstance(value, dict):
            if is_table := len(value) > MAX_KEYS:
                self.add_cell(ORDER, f"{{{len(value)}}}", position)
            else:
                self.add_shape(list(value), position)
            for name, child in value.items():
                if is_table:
                    self.add_cell(f"{key}{{}}", name, position)
                self.add_tree(child, key if is_table else name, f"{position}.{name}".lstrip("."))
        elif isinstance(value, list):
            self.add_cell(ORDER, f"[{len(value)}]", position)
            for index, child in enumerate(value):
                self.add_tree(child, key, f"{position}[{index}]")
        else:
            self.add_value(key, value, position)

    def add_number_text(self, text: str, position: str, max_words: int) -> None:
        """Appends the numbers of a text.

        The numbers of a text of at most ``max_words`` words are a list in their order. Those of a
        longer text are a set. With ``max_words`` = -1 every text counts as longer.
        """
        numbers = find_numbers(text)
        if len(_WORD.findall(text)) <= max_words:
            for number in numbers:
                self.add_cell(FIGURES, number, position)
        else:
            # Rewording a sentence may add or drop whole numbers, but not measured ones.
            sentence_cells = self.columns.setdefault(SENTENCE_NUMBERS, [])
            known_tokens = {cell.token for cell in sentence_cells}
            for number in numbers:
                token = write_token(number)
                if re.search("[.%]", number) and token not in known_tokens:
                    known_tokens.add(token)
                    sentence_cells.append(Cell(token, position))

    def _holds_prose(self, key: str) -> bool:
        return key in PROSE_KEYS or any(
            key == prose_key and fnmatch(self.name.rsplit("/", 1)[-1], pattern)
            for pattern, _, prose_key in (entry.partition(":") for entry in PROSE_OF_FILES)
        )


def read_json(path: Path, file: FileColumns) -> None:
    file.add_tree(json.loads(path.read_text("utf-8")))


def read_packed_json(path: Path, file: FileColumns) -> None:
    file.add_tree(json.loads(gzip.decompress(path.read_bytes())))


def read_jsonl(path: Path, file: FileColumns) -> None:
    text = path.read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        file.add_tree(json.loads(line), position=f"line {number} ")
    if path.name.endswith("cards.jsonl"):
        # Cards are compared byte by byte, except for masked texts and the names of keys.
        text = re.sub(r'"\w+":', ":", _PROSE_FIELD.sub(r'"\1":"<text>"', mask_text(text)))
        file.add_cell(BYTES, hashlib.sha256(text.encode()).hexdigest()[:20], "the whole file")


def read_csv(path: Path, file: FileColumns) -> None:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows, [])
        file.add_shape(header, "the header")
        for number, row in enumerate(rows, 2):
            file.add_cell(ORDER, f"[{len(row)}]", f"row {number}")
            for key, cell in zip(header, row, strict=False):
                value: object = cell
                if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell):
                    value = float(cell) if re.search("[.e]", cell) else int(cell)
                file.add_value(key, value, f"row {number}")


def read_page(path: Path, file: FileColumns) -> None:
    soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
    for tag in soup.find_all(attrs={"type": "application/json"}):
        data = FileColumns(file.name, {})
        data.add_tree(json.loads(tag.string or "null"), position=f"#{tag.get('id')} ")
        for key, cells in data.columns.items():
            # The texts in the page's data are prose for its readers, so they are masked.
            file.columns[f"data:{key}"] = [
                Cell('"<text>"' if " " in cell.token and key not in {KEYS, ORDER} else cell.token,
                     cell.position)
                for cell in cells
            ]  # fmt: skip
    for tag in soup.find_all(["script", "style", "pre", "code"]):
        tag.decompose()
    section_id = "the top"
    for tag in soup.find_all(True):
        if tag.has_attr("id"):
            file.add_cell(IDS, tag["id"], section_id := f"#{tag['id']}")
        if str(tag.get("href", "")).startswith("#"):
            file.add_cell(LINKS, tag["href"], section_id)
    section_id = "the top"
    for text in soup.find_all(string=re.compile(r"\d")):
        if section := text.find_parent(id=True):
            section_id = f"#{section['id']}"
        in_sentence = any(parent.name in SENTENCE_TAGS for parent in text.parents)
        position = f"{section_id}: {' '.join(text.split())[:60]}"
        file.add_number_text(text, position, -1 if in_sentence else MAX_FIGURE_WORDS)


def read_junit(path: Path, file: FileColumns) -> None:
    for tag in ElementTree.parse(path).iter():
        for name in ("tests", "failures", "errors", "skipped", "type"):
            if name in tag.attrib:
                file.add_cell(name, tag.get(name), tag.tag)
        file.add_cell(LINES, tag.tag, tag.get("name", tag.tag))
        file.add_number_text(tag.text or "", tag.tag, -1)


def read_prose(path: Path, file: FileColumns) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        position = f"line {number}: {line[:60]}"
        if path.suffix == ".txt":
            file.add_number_text(line, position, MAX_LINE_WORDS)
        elif line.startswith("|"):
            for cell in line.strip("|").split("|"):
                file.add_number_text(cell, position, MAX_FIGURE_WORDS)
        else:
            file.add_number_text(line, position, -1)


def read_lines(path: Path, file: FileColumns) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            file.add_cell(LINES, _PROSE_TRIPLE.sub(r'\1"<text>"', line), f"line {number}")


def read_fields(path: Path, file: FileColumns) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        for position, field in enumerate(line.split(), 1):
            file.add_cell(f"<field {position}>", field, f"line {number}")


def read_array(path: Path, file: FileColumns) -> None:
    array = np.load(path)
    file.add_cell("<shape>", f"{array.dtype} {array.shape}", "the array")
    # Only the number of nonzero entries is frozen, since the values depend on the BLAS. The files
    # that are computed from the array are frozen too.
    for index, count in enumerate(np.count_nonzero(array, axis=-1)):
        file.add_cell("<nonzero>", int(count), f"row {index}")


READERS: dict[str, Callable[[Path, FileColumns], None]] = {
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".gz": read_packed_json,
    ".csv": read_csv,
    ".html": read_page,
    ".xml": read_junit,
    ".md": read_prose,
    ".txt": read_prose,
    ".ttl": read_lines,
    ".toml": read_lines,
    ".trec": read_fields,
    ".npy": read_array,
}
# Parquet files repeat the tables of the CSV files and are written only if pyarrow is installed. The
# graph beside a card file is covered by its hash in the manifest. Statistics follow from the rows.
SKIPPED = {".msgpack", ".parquet", ".nt"}


def read_outputs(
    folder: Path, inputs: set[Path], old_names: Mapping[str, str]
) -> Iterator[tuple[str, Columns]]:
    """Yields name and columns of every file in ``folder`` except ``inputs``, sorted by name.

    Links to folders are not followed, so a run that ``latest`` links to is read once.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in inputs and path.suffix not in SKIPPED:
            file = FileColumns(path.relative_to(folder).as_posix(), old_names)
            READERS[path.suffix](path, file)
            yield file.name, file.columns
