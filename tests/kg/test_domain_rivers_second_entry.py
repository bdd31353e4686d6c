"""The rivers were entered a second time, blind; the agreement that the page states is recomputed.

``second_entry.csv`` holds what the second hand wrote, untouched. ``adjudication.csv`` holds each
cell in which the two differed, or which was changed afterwards, with the first hand's value:
together with today's tables they give back the tables as they were when the two were compared.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.domains.rivers.tables import FOLDER, Tables, bare, names_of, read_tables, slug

PAGE = Path(__file__).parents[2] / "docs" / "domains" / "rivers.md"
Cells = dict[str, str]


def read(name: str) -> list[Cells]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, strict=True))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables()


@pytest.fixture(scope="module")
def second() -> dict[str, Cells]:
    return {row["id"]: row for row in read("second_entry.csv")}


@pytest.fixture(scope="module")
def rulings() -> dict[tuple[str, str], Cells]:
    return {(row["id"], row["column"]): row for row in read("adjudication.csv")}


@pytest.fixture(scope="module")
def first(tables: Tables, rulings: dict[tuple[str, str], Cells]) -> dict[str, Cells]:
    """The first entry as it was compared: today's tables, with the rulings undone."""
    renamed = {
        slug(row["reason"]): row["id"] for row in rulings.values() if row["column"] == "label"
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


def same_water(one: str, other: str, tables: Tables) -> bool:
    """Whether a label of the tables and a name written freely name the same water."""
    river, water = tables.rivers.get(one), tables.waterbodies.get(one)
    alt = names_of(river) if river else water.alt if water else ()
    known = {slug(name) for name in (one, bare(one), *alt)}
    return bool({slug(other), slug(bare(other))} & known)


def differences(
    first: dict[str, Cells], second: dict[str, Cells], tables: Tables
) -> Iterator[tuple[str, str]]:
    """The cells, by river and column, in which two entries differ."""
    for name, cells in first.items():
        other = second.get(name)
        if other is None:
            continue  # Added after the comparison.
        if not same_water(cells["mouth"], other["mouth"], tables):
            yield name, "mouth"
        if set(cells["countries"].split(";")) != set(other["countries"].split(";")):
            yield name, "countries"
        if (
            cells["length_km"]
            and other["length_km"]
            and abs(int(other["length_km"]) / int(cells["length_km"]) - 1) > 0.10
        ):
            yield name, "length_km"


def test_every_difference_is_ruled_on_and_no_other(
    first: dict[str, Cells],
    second: dict[str, Cells],
    rulings: dict[tuple[str, str], Cells],
    tables: Tables,
) -> None:
    differing = set(differences(first, second, tables))
    ruled = {key for key, row in rulings.items() if row["kind"] in ("hard", "nested", "name")}
    assert differing == ruled


def test_rulings_were_carried_out(
    tables: Tables, second: dict[str, Cells], rulings: dict[tuple[str, str], Cells]
) -> None:
    ids = {river.id: river for river in tables.rivers.values()}
    for (name, column), row in rulings.items():
        outcome = row["outcome"]
        river = ids.get(name)
        if column == "label":
            assert outcome == "renamed", name
            assert river is None, name
            assert bare(row["reason"]) == row["first"], name
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
            assert set(river.countries) == set(second[name]["countries"].split(";")), name
        else:
            assert outcome in ("first", "neither"), name


def test_the_page_states_the_measured_agreement(
    first: dict[str, Cells],
    second: dict[str, Cells],
    rulings: dict[tuple[str, str], Cells],
    tables: Tables,
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    compared = [name for name in first if name in second]
    both = [n for n in compared if first[n]["length_km"] and second[n]["length_km"]]
    differing = Counter(column for _name, column in differences(first, second, tables))
    kinds = Counter((row["column"], row["kind"]) for row in rulings.values())
    outcomes = Counter((row["column"], row["outcome"]) for row in rulings.values())
    assert f"{len(second):,} rivers were entered twice" in text
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


def test_the_page_counts_the_filled_cells(tables: Tables) -> None:
    rivers = list(tables.rivers.values())
    text = PAGE.read_text(encoding="utf-8")
    assert (
        f"{sum(r.length_km is not None for r in rivers)} lengths, "
        f"{sum(r.discharge_m3s is not None for r in rivers)} discharges, "
        f"{sum(r.source_m is not None for r in rivers)} source and "
        f"{sum(r.mouth_m is not None for r in rivers)} mouth elevations are filled"
    ) in text
