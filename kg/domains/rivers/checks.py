"""Checks the rivers tables for consistency, independent of the source of a figure.

The checks cannot prove a figure, but a wrong one usually violates a check: a tributary with more
water than its river, a mouth above its source, a last country that the next river does not reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from kg.domains.rivers.tables import (
    River,
    Tables,
    compute_mouth_elevation,
    compute_source_elevation,
    list_names,
    make_slug,
    strip_qualifier,
)

MAX_LENGTH_KM = 7_000
MAX_DISCHARGE_M3S = 215_000
ELEVATION_RANGE_M = (-430, 6_500)
LAKE_TOLERANCE_M = 15
"""Maximum difference in metres between a river's mouth and the lake or sea it reaches."""
KINDS = ("Lake", "Sea", "Wetland")

COUNTRY_EXCEPTIONS: frozenset[str] = frozenset()
"""Rivers whose last country the river they flow into does not touch; give each a reason."""

DISCHARGE_EXCEPTIONS: frozenset[str] = frozenset()
"""Tributaries with more water than their river has at its mouth; give each a reason."""


def find_problems(tables: Tables) -> list[str]:
    """Lists all inconsistencies, one sentence each, in table order; empty if there are none."""
    problems = [*_check_names(tables)]
    for river in tables.rivers.values():
        problems.extend(
            f"rivers.csv:{river.line}: {river.label}: {p}" for p in _check_row(river, tables)
        )
    if not problems:  # The checks below follow mouths, so first all mouths must be in the tables.
        for river in tables.rivers.values():
            location = f"rivers.csv:{river.line}: {river.label}: "
            problems.extend(location + problem for problem in _check_downstream(river, tables))
    return problems


def _check_names(tables: Tables) -> Iterator[str]:
    owners: dict[str, str] = {}
    everything = [
        *(c.label for c in tables.countries.values()),
        *tables.waterbodies,
        *tables.rivers,
    ]
    for label in everything:
        name = make_slug(label)
        if not name:
            yield f"{label!r} has no ASCII name"
        elif name in owners:
            yield f"{label!r} and {owners[name]!r} share the name {name!r}"
        owners[name] = label
    # A label must name one entity only, or a question that uses it would be ambiguous. Shorter
    # names may be shared: such homonyms are intended.
    countries = {country.label for country in tables.countries.values()}
    named = {river.label: list_names(river) for river in tables.rivers.values()}
    named |= {w.label: (*w.alt, strip_qualifier(w.label)) for w in tables.waterbodies.values()}
    for label, names in named.items():
        for name in map(make_slug, names):
            owner = owners.get(name, label)
            if owner != label and owner not in countries:
                yield f"{label!r} is also called {name!r}, the label of {owner!r}"
    for water in tables.waterbodies.values():
        if water.kind not in KINDS:
            yield f"waterbodies.csv: {water.label}: unknown class {water.kind!r}"
        if water.outlet and water.outlet not in tables.rivers:
            yield f"waterbodies.csv: {water.label}: outlet {water.outlet!r} is not in rivers.csv"


def _check_row(river: River, tables: Tables) -> Iterator[str]:
    """Checks the values of a single row."""
    if river.mouth not in tables.rivers and river.mouth not in tables.waterbodies:
        yield f"mouth {river.mouth!r} is in no table"
    if river.mouth == river.label:
        yield "flows into itself"
    for code in (*river.countries, *river.not_in):
        if code not in tables.countries:
            yield f"unknown country code {code!r}"
    for code in river.not_in:
        if code in river.countries:
            yield f"both flows and does not flow through {code}"
    if not river.countries:
        yield "flows through no country"
    if len(set(river.countries)) < len(river.countries) or len(set(river.not_in)) < len(
        river.not_in
    ):
        yield "a country is listed twice"
    for label in river.not_into:
        if label not in tables.rivers and label not in tables.waterbodies:
            yield f"denied mouth {label!r} is in no table"
        if label == river.mouth:
            yield f"both flows and does not flow into {label}"
    if river.length_km is not None and not 0 < river.length_km <= MAX_LENGTH_KM:
        yield f"length {river.length_km} km"
    if river.discharge_m3s is not None and not 0 < river.discharge_m3s <= MAX_DISCHARGE_M3S:
        yield f"discharge {river.discharge_m3s} m³/s"
    low, high = ELEVATION_RANGE_M
    for elevation in (river.source_m, river.mouth_m):
        if elevation is not None and not low <= elevation <= high:
            yield f"elevation {elevation} m"


def _check_downstream(river: River, tables: Tables) -> Iterator[str]:
    """Checks a row against the river or body of water that it flows into."""
    visited = [river.label]
    following = tables.rivers.get(river.mouth)
    while following is not None:
        if following.label in visited:
            yield f"flows in a circle: {' → '.join([*visited, following.label])}"
            return
        visited.append(following.label)
        following = tables.rivers.get(following.mouth)
    source, mouth = compute_source_elevation(river, tables), compute_mouth_elevation(river, tables)
    if source is not None and mouth is not None and source <= mouth:
        yield f"source at {source} m is not above the mouth at {mouth} m"
    water = tables.waterbodies.get(river.mouth)
    if water is not None:
        level = 0 if water.kind == "Sea" else water.elevation_m
        if mouth is not None and level is not None and abs(mouth - level) > LAKE_TOLERANCE_M:
            yield f"mouth at {mouth} m, but {water.label} lies at {level} m"
        return
    parent = tables.rivers[river.mouth]
    if river.countries[-1] not in parent.countries and river.label not in COUNTRY_EXCEPTIONS:
        yield f"ends in {river.countries[-1]}, where {parent.label} does not flow"
    if (
        river.discharge_m3s is not None
        and parent.discharge_m3s is not None
        and river.discharge_m3s > parent.discharge_m3s
        and river.label not in DISCHARGE_EXCEPTIONS
    ):
        yield (
            f"carries {river.discharge_m3s} m³/s into {parent.label}, "
            f"which carries {parent.discharge_m3s}"
        )
    floor = _find_mouth_level(parent, tables)
    if floor is not None:
        if mouth is not None and mouth < floor:
            yield f"mouth at {mouth} m, below that of {parent.label} at {floor} m"
        if source is not None and source <= floor:
            yield f"source at {source} m, not above the mouth of {parent.label}"
    spring = compute_source_elevation(parent, tables)
    if mouth is not None and spring is not None and mouth > spring:
        yield f"mouth at {mouth} m, above the source of {parent.label}"


def _find_mouth_level(river: River, tables: Tables) -> int | None:
    """Finds the elevation of the first known mouth downstream, starting with ``river`` itself."""
    while True:
        level = compute_mouth_elevation(river, tables)
        if level is not None or river.mouth not in tables.rivers:
            return level
        river = tables.rivers[river.mouth]
