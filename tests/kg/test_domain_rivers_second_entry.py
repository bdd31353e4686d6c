"""Tests that the documented agreement with the second entry of the rivers tables is right.

A second person entered the tables without seeing the first entry: ``second_entry.csv``.
``adjudication.csv`` has each cell that differed between the two entries or was changed afterwards,
with the first person's value. With it, the first entry can be restored from today's tables.
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

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "domains.md"
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
    """Today's tables with the rulings undone, as they were when the entries were compared."""
    # For a renamed river, the column ``reason`` has the new label.
    renamed = {
        make_slug(row["reason"]): row["id"] for row in rulings.values() if row["column"] == "label"
    }
    cells_by_river = {
        renamed.get(river.id, river.id): {
            "mouth": river.mouth,
            "countries": ";".join(river.countries),
            "length_km": "" if river.length_km is None else str(river.length_km),
        }
        for river in tables.rivers.values()
    }
    for (name, column), row in rulings.items():
        if column != "label":
            cells_by_river.setdefault(name, {"mouth": "", "countries": "", "length_km": ""})
            cells_by_river[name][column] = row["first"]
    return cells_by_river


def is_same_water(label: str, entered_name: str, tables: Tables) -> bool:
    """Returns whether a label of the tables and an entered name mean the same water."""
    river, water = tables.rivers.get(label), tables.waterbodies.get(label)
    alternative_names = list_names(river) if river else water.alt if water else ()
    known_slugs = {make_slug(name) for name in (label, strip_qualifier(label), *alternative_names)}
    return bool({make_slug(entered_name), make_slug(strip_qualifier(entered_name))} & known_slugs)


def find_differences(
    first_entry: dict[str, Cells], second_entry: dict[str, Cells], tables: Tables
) -> Iterator[tuple[str, str]]:
    """Yields river and column of each cell in which the two entries differ."""
    for name, cells in first_entry.items():
        second_cells = second_entry.get(name)
        if second_cells is None:
            continue  # The river was added after the comparison.
        if not is_same_water(cells["mouth"], second_cells["mouth"], tables):
            yield name, "mouth"
        if set(cells["countries"].split(";")) != set(second_cells["countries"].split(";")):
            yield name, "countries"
        # Lengths count as equal within 10 %, as the documentation says.
        if (
            cells["length_km"]
            and second_cells["length_km"]
            and abs(int(second_cells["length_km"]) / int(cells["length_km"]) - 1) > 0.10
        ):
            yield name, "length_km"


def test_every_difference_is_adjudicated_and_nothing_else(
    first_entry: dict[str, Cells],
    second_entry: dict[str, Cells],
    rulings: dict[tuple[str, str], Cells],
    tables: Tables,
) -> None:
    differing_cells = set(find_differences(first_entry, second_entry, tables))
    adjudicated_cells = {
        key for key, row in rulings.items() if row["kind"] in ("hard", "nested", "name")
    }
    assert differing_cells == adjudicated_cells


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
    shared_ids = [name for name in first_entry if name in second_entry]
    ids_with_two_lengths = [
        river_id
        for river_id in shared_ids
        if first_entry[river_id]["length_km"] and second_entry[river_id]["length_km"]
    ]
    difference_counts = Counter(
        column for _name, column in find_differences(first_entry, second_entry, tables)
    )
    kind_counts = Counter((row["column"], row["kind"]) for row in rulings.values())
    outcome_counts = Counter((row["column"], row["outcome"]) for row in rulings.values())
    assert f"{len(second_entry):,} rivers were entered twice" in text
    for column, compared_ids in (
        ("mouth", shared_ids),
        ("countries", shared_ids),
        ("length_km", ids_with_two_lengths),
    ):
        total, difference_count = len(compared_ids), difference_counts[column]
        equal_count = total - difference_count
        table_row = (
            f"| `{column}` | {total:,} | {equal_count:,} ({100 * equal_count / total:.1f} %) "
            f"| {difference_count} | {kind_counts[column, 'hard']} |"
        )
        assert table_row in text, table_row
    assert f"{outcome_counts['mouth', 'removed']} rivers were removed" in text
    assert f"{outcome_counts['countries', 'second']} lists of countries were corrected" in text
    assert f"{outcome_counts['length_km', 'blank']} lengths were blanked" in text
    assert f"{outcome_counts['label', 'renamed']} rivers got a qualifier" in text


def test_documentation_states_the_number_of_filled_cells(tables: Tables) -> None:
    rivers = list(tables.rivers.values())
    text = PAGE.read_text(encoding="utf-8")
    assert (
        f"{sum(r.length_km is not None for r in rivers)} lengths, "
        f"{sum(r.discharge_m3s is not None for r in rivers)} discharges, "
        f"{sum(r.source_m is not None for r in rivers)} source and "
        f"{sum(r.mouth_m is not None for r in rivers)} mouth elevations are filled"
    ) in text
