"""Reads what a job wrote into columns of values that can be frozen and compared.

A column holds all values of one key of one file, in the order in which they stand there: the JSON
key ``value`` wherever it is nested, the CSV column ``value``. Keys are few and values many, so a
renamed key is one changed name, and a changed number is one changed value at a known place.
Columns whose names stand in angle brackets hold what has no key: see the constants below.
"""

from __future__ import annotations

import csv
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

KEYS = "<keys>"  # the distinct lists of keys that the file's objects have
ORDER = "<order>"  # which of these lists each object has, and the length of each list
BYTES = "<bytes>"  # digest of the whole file
LINES = "<lines>"
FIGURES = "<figures>"  # numbers of tables and charts, in the order of the text
SAID = "<numbers in sentences>"  # a set: a reworded sentence may state them elsewhere
IDS = "<ids>"
LINKS = "<links>"

# Prose is rewritten without a change of behaviour, so of such a text only its place is compared.
# A single word under these keys is a code, not prose, and is compared. "PATTERN:KEY" holds for
# files of that name only, where the same key holds data elsewhere.
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
PROSE_OF_FILES = (
    "audit.json:state",
    "metrics.json:question",  # what a pair of systems is compared for
    "report.*:question",
    "report.json:title",
    "comparison.json:title",
    "report.json:accuracy",
    "*manifest.json:accuracy",  # how rules judge it
    "report.json:hallucination, groundedness",
    "*manifest.json:hallucination, groundedness",
    "report.json:rules",
    "*manifest.json:rules",  # what a baseline of rules goes by
)
# Tables of labels and texts for readers: only their number of rows is compared.
PROSE_TABLES = frozenset({"by_complexity", "facts"})
# Machine facts. Sizes and digests of files follow from texts that are masked.
MASKED_KEYS = frozenset(
    {"at_s", "bytes", "ended", "latency_s", "search_s", "started", "ttft_s", "versions", "wall_s"}
)
# Rows say in prose how an answer was found; the numbers in it are compared.
NUMBERS_ONLY = frozenset({"raw"})

MAX_KEYS = 40  # an object with more keys is a table, whose keys are data
MAX_TOKEN = 48
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

_DIGEST = re.compile(r"(?<![\w.])(?=\d*[a-f])(?=[a-f]*\d)(?:[0-9a-f]{64}|[0-9a-f]{12})(?!\w)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:\+00:00|Z| UTC)?")
_VERSION = re.compile(r"(?<=\bv:)\d[\w.]*|^\d+\.\d+\.\d+(?:\.?(?:dev|rc|a|b)\d+)?$")
_ONLY_OUTSIDE = re.compile(r"\A(?:\.\.)?/(?=[^\n]*\Z)(?:[^/\n]+/)*(?=[^/\n]+\Z)")
_OUTSIDE = re.compile(r"(?:\.\./|(?<![\w:/.>])/)(?:[^\s\"'<>|,;]+/)*(?=[^\s\"'<>|,;/]+)")
_NUMBER = re.compile(
    r"(?<![\w.@#/])(?<![A-Za-z]-)(?:(?<![^\s(\[|])[-+−])?\d[\d,]*(?:\.\d+)?(?!\.?\w)(?: ?%)?"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE_TRIPLE = re.compile(r'(rdfs:comment\s+)"(?:[^"\\]|\\.)*"')
_PROSE_FIELD = re.compile(rf'"({"|".join(sorted(PROSE_KEYS))})":"[^"\\ ]* (?:[^"\\]|\\.)*"')


class Cell(NamedTuple):
    """One value: how it is written in the frozen file, and where it stands in the output."""

    token: str
    where: str


Columns = dict[str, list[Cell]]


def mask_text(text: str) -> str:
    """The text without digests, times, versions and folders, which differ from run to run."""
    for pattern, mask in ((_DIGEST, "<digest>"), (_TIME, "<time>"), (_VERSION, "<version>")):
        text = pattern.sub(mask, text)
    return text


def mask_paths(text: str) -> str:
    """The text with paths that lead out of the job's folder cut down to the file's name."""
    if "/" not in text or "://" in text:
        return text
    # A path that is the whole text may hold spaces.
    return _OUTSIDE.sub("<path>/", _ONLY_OUTSIDE.sub("<path>/", text))


def write_token(value: object) -> str:
    """A value as it stands in the frozen file: JSON, with long strings cut and digested."""
    if isinstance(value, float):
        # The last digits depend on the BLAS, and so do sums that are almost zero, or minus zero.
        text = f"{round(value, 12) + 0.0:.10g}"
        return text if re.search("[.en]", text) else text + ".0"
    if not isinstance(value, str):
        return json.dumps(value)
    text = mask_paths(mask_text(value))
    if len(text) > MAX_TOKEN:
        text = f"{text[: MAX_TOKEN // 2]}…#{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return json.dumps(text, ensure_ascii=False)


def find_numbers(text: str) -> list[str]:
    """Numbers of a text in their order, without numbers that are parts of names."""
    found = _NUMBER.findall(mask_paths(mask_text(text)))
    return [number.replace("−", "-").replace(" ", "") for number in found]


class FileColumns:
    """Columns of one file, filled by the readers below."""

    def __init__(self, name: str, old_names: Mapping[str, str]) -> None:
        self.name = name
        self._old_names = old_names  # of keys: what is masked goes by these
        self.columns: Columns = {}
        self._shapes: dict[str, int] = {}

    def add_cell(self, key: str, value: object, where: str) -> None:
        """Appends one value to the column of ``key``."""
        self.columns.setdefault(key, []).append(Cell(write_token(value), where))

    def add_value(self, key: str, value: object, where: str) -> None:
        """Appends one value, masked where the key says that it is prose or a machine fact."""
        old_key = self._old_names.get(key, key)
        if old_key in MASKED_KEYS and value not in {None, ""}:
            value = "<masked>"
        elif isinstance(value, str):
            if old_key in NUMBERS_ONLY:
                value = " ".join(find_numbers(value))
            elif re.search(r"\s", value) and self._holds_prose(old_key):
                value = "<text>"
        self.add_cell(key, value, where)

    def add_shape(self, keys: list[str], where: str) -> None:
        """Notes which keys an object has."""
        shape = json.dumps(keys, ensure_ascii=False)
        if shape not in self._shapes:
            self._shapes[shape] = len(self._shapes)
            self.columns.setdefault(KEYS, []).append(Cell(shape, where))
        self.add_cell(ORDER, self._shapes[shape], where)

    def add_tree(self, value: Any, key: str = "<top>", where: str = "") -> None:
        """Appends all values of a JSON document."""
        old_key = self._old_names.get(key, key)
        if isinstance(value, dict) and old_key == "versions":
            self.add_cell(key, "<masked>", where)
        elif isinstance(value, dict) and old_key in PROSE_TABLES:
            self.add_cell(key, f"<{len(value)} texts>", where)
        elif isinstance(value, dict):
            if is_table := len(value) > MAX_KEYS:
                self.add_cell(ORDER, f"{{{len(value)}}}", where)
            else:
                self.add_shape(list(value), where)
            for name, child in value.items():
                if is_table:
                    self.add_cell(f"{key}{{}}", name, where)
                self.add_tree(child, key if is_table else name, f"{where}.{name}".lstrip("."))
        elif isinstance(value, list):
            self.add_cell(ORDER, f"[{len(value)}]", where)
            for index, child in enumerate(value):
                self.add_tree(child, key, f"{where}[{index}]")
        else:
            self.add_value(key, value, where)

    def add_number_text(self, text: str, where: str, max_words: int) -> None:
        """Appends the numbers of a text: in their order if it is a figure, else as a set."""
        numbers = find_numbers(text)
        if len(_WORD.findall(text)) <= max_words:
            for number in numbers:
                self.add_cell(FIGURES, number, where)
        else:
            # Whole numbers come and go as sentences are reworded; measured ones do not.
            said = self.columns.setdefault(SAID, [])
            known = {cell.token for cell in said}
            for number in numbers:
                token = write_token(number)
                if re.search("[.%]", number) and token not in known:
                    known.add(token)
                    said.append(Cell(token, where))

    def _holds_prose(self, key: str) -> bool:
        return key in PROSE_KEYS or any(
            key == prose_key and fnmatch(self.name.rsplit("/", 1)[-1], pattern)
            for pattern, _, prose_key in (entry.partition(":") for entry in PROSE_OF_FILES)
        )


def read_json(path: Path, file: FileColumns) -> None:
    file.add_tree(json.loads(path.read_text("utf-8")))


def read_jsonl(path: Path, file: FileColumns) -> None:
    text = path.read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        file.add_tree(json.loads(line), where=f"line {number} ")
    if path.name.endswith("cards.jsonl"):
        # Cards are frozen to the byte, less what this test masks and the names of keys.
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
        data.add_tree(json.loads(tag.string or "null"), where=f"#{tag.get('id')} ")
        for key, cells in data.columns.items():
            # The page's own data are texts for its readers: words are compared elsewhere.
            file.columns[f"data:{key}"] = [
                Cell('"<text>"' if " " in cell.token and key not in {KEYS, ORDER} else cell.token,
                     cell.where)
                for cell in cells
            ]  # fmt: skip
    for tag in soup.find_all(["script", "style", "pre", "code"]):
        tag.decompose()
    place = "the top"
    for tag in soup.find_all(True):
        if tag.has_attr("id"):
            file.add_cell(IDS, tag["id"], place := f"#{tag['id']}")
        if str(tag.get("href", "")).startswith("#"):
            file.add_cell(LINKS, tag["href"], place)
    place = "the top"
    for text in soup.find_all(string=re.compile(r"\d")):
        if section := text.find_parent(id=True):
            place = f"#{section['id']}"
        in_sentence = any(parent.name in SENTENCE_TAGS for parent in text.parents)
        where = f"{place}: {' '.join(text.split())[:60]}"
        file.add_number_text(text, where, -1 if in_sentence else MAX_FIGURE_WORDS)


def read_junit(path: Path, file: FileColumns) -> None:
    for tag in ElementTree.parse(path).iter():
        for name in ("tests", "failures", "errors", "skipped", "type"):
            if name in tag.attrib:
                file.add_cell(name, tag.get(name), tag.tag)
        file.add_cell(LINES, tag.tag, tag.get("name", tag.tag))
        file.add_number_text(tag.text or "", tag.tag, -1)


def read_prose(path: Path, file: FileColumns) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        where = f"line {number}: {line[:60]}"
        if path.suffix == ".txt":
            file.add_number_text(line, where, MAX_LINE_WORDS)
        elif line.startswith("|"):
            for cell in line.strip("|").split("|"):
                file.add_number_text(cell, where, MAX_FIGURE_WORDS)
        else:
            file.add_number_text(line, where, -1)


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
    # Which entries are zero does not depend on the BLAS; all that is made of the array is frozen.
    for index, count in enumerate(np.count_nonzero(array, axis=-1)):
        file.add_cell("<nonzero>", int(count), f"row {index}")


READERS: dict[str, Callable[[Path, FileColumns], None]] = {
    ".json": read_json,
    ".jsonl": read_jsonl,
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
# Parquet files hold the tables of the CSV files, and are written only where pyarrow is installed.
SKIPPED = {".parquet"}


def read_outputs(
    folder: Path, inputs: set[Path], old_names: Mapping[str, str]
) -> Iterator[tuple[str, Columns]]:
    """Name and columns of every file under ``folder`` but ``inputs``, sorted by name.

    Links to folders are not followed, so a run and its link ``latest`` are read once.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in inputs and path.suffix not in SKIPPED:
            file = FileColumns(path.relative_to(folder).as_posix(), old_names)
            READERS[path.suffix](path, file)
            yield file.name, file.columns
