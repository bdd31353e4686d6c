"""The second, blind entry of the rivers tables: the documented agreement is recomputed.

``second_entry.csv`` has what the second person entered, unchanged. ``adjudication.csv`` has each
cell that differed between the two entries or was changed afterwards, with the first person's
value. Together with today's tables they give back the tables as they were compared.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.domains.rivers.tables import (
    FOLDER,
    Tables,
    list_names,
    make_slug,
    read_tables,
    strip_qualifier,
)

PAGE = Path(__file__).parents[2] / "docs" / "domains" / "rivers.md"
Cells = dict[str, str]


def read_csv(name: str) -> list[Cells]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, strict=True))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables()


@pytest.fixture(scope="module")
def second_entry() -> dict[str, Cells]:
    return {row["id"]: row for row in read_csv("second_entry.csv")}


@pytest.fixture(scope="module")
def rulings() -> dict[tuple[str, str], Cells]:
    return {(row["id"], row["column"]): row for row in read_csv("adjudication.csv")}


@pytest.fixture(scope="module")
def first_entry(tables: Tables, rulings: dict[tuple[str, str], Cells]) -> dict[str, Cells]:
    """The first entry as it was compared: today's tables without the rulings."""
    renamed = {
        make_slug(row["reason"]): row["id"] for row in rulings.values() if row["column"] == "label"
    }
    found = {
        renamed.get(river.id, river.id): {
            "mouth": river.mouth,
            "countries": ";".join(river.countries),
            "length_km": "" if river.length_km is None else str(river.length_km),
        }
        for river in tables.rivers.values()
    }
    for (name, column), row in rulings.items():
        if column != "label":
            found.setdefault(name, {"mouth": "", "countries": "", "length_km": ""})
            found[name][column] = row["first"]
    return found


def is_same_water(first: str, second: str, tables: Tables) -> bool:
    """Whether a label of the tables and a freely written name mean the same water."""
    river, water = tables.rivers.get(first), tables.waterbodies.get(first)
    alt = list_names(river) if river else water.alt if water else ()
    known = {make_slug(name) for name in (first, strip_qualifier(first), *alt)}
    return bool({make_slug(second), make_slug(strip_qualifier(second))} & known)


def find_differences(
    first_entry: dict[str, Cells], second_entry: dict[str, Cells], tables: Tables
) -> Iterator[tuple[str, str]]:
    """Cells, by river and column, in which the two entries differ."""
    for name, cells in first_entry.items():
        other = second_entry.get(name)
        if other is None:
            continue  # Added after the comparison.
        if not is_same_water(cells["mouth"], other["mouth"], tables):
            yield name, "mouth"
        if set(cells["countries"].split(";")) != set(other["countries"].split(";")):
            yield name, "countries"
        if (
            cells["length_km"]
            and other["length_km"]
            and abs(int(other["length_km"]) / int(cells["length_km"]) - 1) > 0.10
        ):
            yield name, "length_km"


def test_exactly_the_differences_are_adjudicated(
    first_entry: dict[str, Cells],
    second_entry: dict[str, Cells],
    rulings: dict[tuple[str, str], Cells],
    tables: Tables,
) -> None:
    differing = set(find_differences(first_entry, second_entry, tables))
    ruled = {key for key, row in rulings.items() if row["kind"] in ("hard", "nested", "name")}
    assert differing == ruled


def test_rulings_are_applied_to_the_tables(
    tables: Tables, second_entry: dict[str, Cells], rulings: dict[tuple[str, str], Cells]
) -> None:
    ids = {river.id: river for river in tables.rivers.values()}
    for (name, column), row in rulings.items():
        outcome = row["outcome"]
        river = ids.get(name)
        if column == "label":
            assert outcome == "renamed", name
            assert river is None, name
            assert strip_qualifier(row["reason"]) == row["first"], name
            assert row["reason"] in tables.rivers, name
        elif outcome == "removed":
            assert river is None, name
        elif outcome == "blank":
            assert column == "length_km", name
            assert river is not None, name
            assert river.length_km is None, name
        elif outcome == "second":
            assert column == "countries", name
            assert river is not None, name
            assert set(river.countries) == set(second_entry[name]["countries"].split(";")), name
        else:
            assert outcome in ("first", "neither"), name


def test_documentation_states_the_measured_agreement(
    first_entry: dict[str, Cells],
    second_entry: dict[str, Cells],
    rulings: dict[tuple[str, str], Cells],
    tables: Tables,
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    compared = [name for name in first_entry if name in second_entry]
    both = [n for n in compared if first_entry[n]["length_km"] and second_entry[n]["length_km"]]
    differing = Counter(
        column for _name, column in find_differences(first_entry, second_entry, tables)
    )
    kinds = Counter((row["column"], row["kind"]) for row in rulings.values())
    outcomes = Counter((row["column"], row["outcome"]) for row in rulings.values())
    assert f"{len(second_entry):,} rivers were entered twice" in text
    for column, pairs in (("mouth", compared), ("countries", compared), ("length_km", both)):
        total, out = len(pairs), differing[column]
        cells = (
            f"| `{column}` | {total:,} | {total - out:,} ({100 * (total - out) / total:.1f} %) "
            f"| {out} | {kinds[column, 'hard']} |"
        )
        assert cells in text, cells
    assert f"{outcomes['mouth', 'removed']} rivers were removed" in text
    assert f"{outcomes['countries', 'second']} lists of countries were corrected" in text
    assert f"{outcomes['length_km', 'blank']} lengths were blanked" in text
    assert f"{outcomes['label', 'renamed']} rivers got a qualifier" in text


def test_documentation_states_the_number_of_filled_cells(tables: Tables) -> None:
    rivers = list(tables.rivers.values())
    text = PAGE.read_text(encoding="utf-8")
    assert (
        f"{sum(r.length_km is not None for r in rivers)} lengths, "
        f"{sum(r.discharge_m3s is not None for r in rivers)} discharges, "
        f"{sum(r.source_m is not None for r in rivers)} source and "
        f"{sum(r.mouth_m is not None for r in rivers)} mouth elevations are filled"
    ) in text
