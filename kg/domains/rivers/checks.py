"""Mechanical checks of the rivers tables: what must hold whatever the source of a figure.

They cannot prove a figure right, but a wrong one usually breaks something: a tributary longer on
water than its river, a mouth above its source, a last country its river never sees.
"""

from __future__ import annotations

from collections.abc import Iterator

from kg.domains.rivers.tables import (
    River,
    Tables,
    bare,
    mouth_elevation,
    names_of,
    slug,
    source_elevation,
)

MAX_LENGTH_KM = 7_000
MAX_DISCHARGE_M3S = 215_000
ELEVATION_RANGE_M = (-430, 6_500)
LAKE_TOLERANCE_M = 15
"""How far a river's mouth may lie from the level of the lake or sea it reaches."""
KINDS = ("Lake", "Sea", "Wetland")

COUNTRY_EXCEPTIONS: frozenset[str] = frozenset()
"""Rivers whose last country their river does not share, with the reason beside each."""

DISCHARGE_EXCEPTIONS: frozenset[str] = frozenset()
"""Tributaries with more water than their river shows at its mouth, with the reason beside each."""


def problems(tables: Tables) -> list[str]:
    """Every inconsistency found, one sentence each, in table order; empty when all is well."""
    found = [*_names(tables)]
    for river in tables.rivers.values():
        found.extend(f"rivers.csv:{river.line}: {river.label}: {p}" for p in _own(river, tables))
    if not found:  # The checks below follow mouths, which must exist first.
        for river in tables.rivers.values():
            at = f"rivers.csv:{river.line}: {river.label}: "
            found.extend(at + problem for problem in _downstream(river, tables))
    return found


def _names(tables: Tables) -> Iterator[str]:
    owners: dict[str, str] = {}
    everything = [
        *(c.label for c in tables.countries.values()),
        *tables.waterbodies,
        *tables.rivers,
    ]
    for label in everything:
        name = slug(label)
        if not name:
            yield f"{label!r} has no ASCII name"
        elif name in owners:
            yield f"{label!r} and {owners[name]!r} share the name {name!r}"
        owners[name] = label
    # A label must name one thing only, or a question that uses it would have two meanings; that
    # shorter names are shared (homonyms) is wanted.
    countries = {country.label for country in tables.countries.values()}
    named = {river.label: names_of(river) for river in tables.rivers.values()}
    named |= {w.label: (*w.alt, bare(w.label)) for w in tables.waterbodies.values()}
    for label, names in named.items():
        for name in map(slug, names):
            owner = owners.get(name, label)
            if owner != label and owner not in countries:
                yield f"{label!r} is also called {name!r}, the label of {owner!r}"
    for water in tables.waterbodies.values():
        if water.kind not in KINDS:
            yield f"waterbodies.csv: {water.label}: unknown class {water.kind!r}"
        if water.outlet and water.outlet not in tables.rivers:
            yield f"waterbodies.csv: {water.label}: outlet {water.outlet!r} is no river here"


def _own(river: River, tables: Tables) -> Iterator[str]:
    """What can be seen from the row alone."""
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
        yield "a country stands twice"
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


def _downstream(river: River, tables: Tables) -> Iterator[str]:
    """What can be seen from the row together with what it flows into."""
    seen = [river.label]
    following = tables.rivers.get(river.mouth)
    while following is not None:
        if following.label in seen:
            yield f"flows round in a circle: {' → '.join([*seen, following.label])}"
            return
        seen.append(following.label)
        following = tables.rivers.get(following.mouth)
    source, mouth = source_elevation(river, tables), mouth_elevation(river, tables)
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
    floor = _level_of_mouth(parent, tables)
    if floor is not None:
        if mouth is not None and mouth < floor:
            yield f"mouth at {mouth} m, below that of {parent.label} at {floor} m"
        if source is not None and source <= floor:
            yield f"source at {source} m, not above the mouth of {parent.label}"
    spring = source_elevation(parent, tables)
    if mouth is not None and spring is not None and mouth > spring:
        yield f"mouth at {mouth} m, above the source of {parent.label}"


def _level_of_mouth(river: River, tables: Tables) -> int | None:
    """Elevation of the nearest known mouth downstream, that of ``river`` included."""
    while True:
        level = mouth_elevation(river, tables)
        if level is not None or river.mouth not in tables.rivers:
            return level
        river = tables.rivers[river.mouth]
