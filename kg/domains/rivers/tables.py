"""Reads the source tables of the rivers domain.

The tables are three CSV files in this folder. List items inside a cell are separated by ``;``, an
empty cell means "unknown or not certain", and entities are named by their labels, so that a row can
be read and checked without looking up ids:

* ``rivers.csv``: label, alt, mouth, source, countries (codes, in downstream order; a country that
  the river enters twice is listed where it leaves it last), length_km, discharge_m3s, source_m,
  mouth_m, not_in (codes of countries the river does not flow through), not_into (bodies of water
  it does not flow into).
* ``waterbodies.csv``: label, alt, class, elevation_m, outlet (the river that leaves a lake).
* ``countries.csv``: code, label, alt, continent.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from decimal import Decimal
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent


class Country(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``countries.csv``."""

    code: str
    label: str
    alt: tuple[str, ...]
    continent: str


class WaterBody(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``waterbodies.csv``: anything a river can reach that is not a river."""

    label: str
    alt: tuple[str, ...]
    kind: str
    """Class of the vocabulary: ``Lake``, ``Sea`` or ``Wetland``."""
    elevation_m: int | None
    outlet: str
    """Label of the river that leaves a lake; empty if there is none."""


class River(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``rivers.csv``; ``None`` and ``""`` mean that the value is unknown."""

    line: int
    """Line number in the file."""
    label: str
    alt: tuple[str, ...]
    mouth: str
    source: str
    countries: tuple[str, ...]
    length_km: int | None
    discharge_m3s: Decimal | None
    source_m: int | None
    mouth_m: int | None
    not_in: tuple[str, ...]
    not_into: tuple[str, ...]

    @property
    def id(self) -> str:
        """Local name of its IRI."""
        return make_slug(self.label)


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """All three tables, by label (countries by code), in file order."""

    countries: dict[str, Country]
    waterbodies: dict[str, WaterBody]
    rivers: dict[str, River]


class TableError(ValueError):
    """A table cannot be read; the message names file and line."""


_ASCII_SPELLINGS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ß": "ss", "ı": "i", "æ": "ae", "Þ": "Th", "ð": "d"}
)
"""ASCII spellings of letters that Unicode normalisation does not split into letter and accent."""


def make_slug(label: str) -> str:
    """Makes an ASCII name from a label: ``"Río Negro (Uruguay)"`` → ``"rio-negro-uruguay"``."""
    ascii_spelling = label.translate(_ASCII_SPELLINGS)
    ascii_text = unicodedata.normalize("NFKD", ascii_spelling).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower().replace("'", "")).strip("-")


def strip_qualifier(label: str) -> str:
    """Removes a label's qualifier: ``"Colorado River (Texas)"`` → ``"Colorado River"``."""
    return label.split(" (", 1)[0]


def list_names(river: River) -> tuple[str, ...]:
    """Lists a river's names: label, alternative names, and variants of the label.

    The variants are without the qualifier, and with or without "River".
    """
    name = strip_qualifier(river.label)
    if name.endswith(" River"):
        variants: tuple[str, ...] = (name.removesuffix(" River"),)
    elif name.startswith("River "):
        short = name.removeprefix("River ")
        variants = (short, f"{short} River")
    elif " " in name:
        variants = ()
    else:
        variants = (f"{name} River", f"River {name}")
    return tuple(dict.fromkeys((river.label, *river.alt, name, *variants)))


def read_tables(folder: Path = FOLDER) -> Tables:
    """Reads the three files.

    Raises:
        TableError: a line has the wrong number of cells, an invalid number, or the key (label or
            country code) of an earlier line.
    """
    countries = {
        cells["code"]: Country(
            code=cells["code"],
            label=cells["label"],
            alt=_split_list(cells["alt"]),
            continent=cells["continent"],
        )
        for _line, cells in _read_rows(folder / "countries.csv", key="code")
    }
    waterbodies = {
        cells["label"]: WaterBody(
            label=cells["label"],
            alt=_split_list(cells["alt"]),
            kind=cells["class"],
            elevation_m=_parse_integer(cells["elevation_m"], f"waterbodies.csv:{line}"),
            outlet=cells["outlet"],
        )
        for line, cells in _read_rows(folder / "waterbodies.csv", key="label")
    }
    rivers = {
        cells["label"]: _parse_river(line, cells)
        for line, cells in _read_rows(folder / "rivers.csv", key="label")
    }
    return Tables(countries=countries, waterbodies=waterbodies, rivers=rivers)


def _parse_river(line: int, cells: dict[str, str]) -> River:
    where = f"rivers.csv:{line}"
    discharge = cells["discharge_m3s"]
    if discharge and not re.fullmatch(r"\d+(\.\d+)?", discharge):
        raise TableError(f"{where}: {discharge!r} is not a number")
    return River(
        line=line,
        label=cells["label"],
        alt=_split_list(cells["alt"]),
        mouth=cells["mouth"],
        source=cells["source"],
        countries=_split_list(cells["countries"]),
        length_km=_parse_integer(cells["length_km"], where),
        discharge_m3s=Decimal(discharge) if discharge else None,
        source_m=_parse_integer(cells["source_m"], where),
        mouth_m=_parse_integer(cells["mouth_m"], where),
        not_in=_split_list(cells["not_in"]),
        not_into=_split_list(cells["not_into"]),
    )


def _read_rows(path: Path, key: str) -> list[tuple[int, dict[str, str]]]:
    rows: list[tuple[int, dict[str, str]]] = []
    line_by_key: dict[str, int] = {}
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, strict=True)
        header = next(reader)
        for cells in reader:
            where = f"{path.name}:{reader.line_num}"
            if len(cells) != len(header):
                raise TableError(f"{where}: {len(cells)} cells, {len(header)} expected")
            row = dict(zip(header, cells, strict=True))
            if any(cell != cell.strip() for cell in cells) or not row[key]:
                raise TableError(f"{where}: empty {key} or space around a cell")
            if row[key] in line_by_key:
                raise TableError(
                    f"{where}: {row[key]!r} is in line {line_by_key[row[key]]} already"
                )
            line_by_key[row[key]] = reader.line_num
            rows.append((reader.line_num, row))
    return rows


def _split_list(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()


def _parse_integer(cell: str, where: str) -> int | None:
    if not cell:
        return None
    if not re.fullmatch(r"-?\d+", cell):
        raise TableError(f"{where}: {cell!r} is not a whole number")
    return int(cell)


def compute_source_elevation(river: River, tables: Tables) -> int | None:
    """Returns the elevation of the source in metres; if unknown, that of the source lake."""
    waterbody = tables.waterbodies.get(river.source)
    return (
        river.source_m if river.source_m is not None or waterbody is None else waterbody.elevation_m
    )


def compute_mouth_elevation(river: River, tables: Tables) -> int | None:
    """Returns the elevation of the mouth in metres; if unknown, that of the sea or lake there."""
    if river.mouth_m is not None:
        return river.mouth_m
    waterbody = tables.waterbodies.get(river.mouth)
    if waterbody is None:
        return None
    return 0 if waterbody.kind == "Sea" else waterbody.elevation_m
