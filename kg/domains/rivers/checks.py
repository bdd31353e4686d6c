"""Checks that the values in the rivers tables fit together, wherever they were taken from.

The checks cannot prove that a value is right, but a wrong one usually violates a check: a
tributary with more water than its river, a mouth above its source, or a last country that the next
river does not reach.
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

# Slightly beyond the extremes on Earth: the length of the Nile, the discharge of the Amazon, the
# shore of the Dead Sea and the highest sources.
MAX_LENGTH_KM = 7_000
MAX_DISCHARGE_M3S = 215_000
ELEVATION_RANGE_M = (-430, 6_500)
LAKE_TOLERANCE_M = 15
"""Maximum difference in metres between a river's mouth and the lake or sea it reaches."""
KINDS = ("Lake", "Sea", "Wetland")
"""Classes of bodies of water in the vocabulary."""

COUNTRY_EXCEPTIONS: frozenset[str] = frozenset()
"""Labels of rivers that end in a country where the river they flow into does not flow. Give the
reason for each in a comment."""

DISCHARGE_EXCEPTIONS: frozenset[str] = frozenset()
"""Labels of tributaries with more water than their river has at its mouth. Give the reason for each
in a comment."""


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
    label_by_slug: dict[str, str] = {}
    labels = [
        *(c.label for c in tables.countries.values()),
        *tables.waterbodies,
        *tables.rivers,
    ]
    for label in labels:
        slug = make_slug(label)
        if not slug:
            yield f"{label!r} has no ASCII name"
        elif slug in label_by_slug:
            yield f"{label!r} and {label_by_slug[slug]!r} share the name {slug!r}"
        label_by_slug[slug] = label
    # A label must name one entity only, or a question that uses it would be ambiguous. Other names
    # of entities may be the same: such homonyms are intended. A river or lake may also be called
    # like a country, as the Jordan is.
    countries = {country.label for country in tables.countries.values()}
    names_by_label = {river.label: list_names(river) for river in tables.rivers.values()}
    names_by_label |= {
        w.label: (*w.alt, strip_qualifier(w.label)) for w in tables.waterbodies.values()
    }
    for label, names in names_by_label.items():
        for slug in map(make_slug, names):
            owner = label_by_slug.get(slug, label)
            if owner != label and owner not in countries:
                yield f"{label!r} is also called {slug!r}, the label of {owner!r}"
    for waterbody in tables.waterbodies.values():
        if waterbody.kind not in KINDS:
            yield f"waterbodies.csv: {waterbody.label}: unknown class {waterbody.kind!r}"
        if waterbody.outlet and waterbody.outlet not in tables.rivers:
            yield (
                f"waterbodies.csv: {waterbody.label}: "
                f"outlet {waterbody.outlet!r} is not in rivers.csv"
            )


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
    next_river = tables.rivers.get(river.mouth)
    while next_river is not None:
        if next_river.label in visited:
            yield f"flows in a circle: {' → '.join([*visited, next_river.label])}"
            return
        visited.append(next_river.label)
        next_river = tables.rivers.get(next_river.mouth)
    source_m, mouth_m = (
        compute_source_elevation(river, tables),
        compute_mouth_elevation(river, tables),
    )
    if source_m is not None and mouth_m is not None and source_m <= mouth_m:
        yield f"source at {source_m} m is not above the mouth at {mouth_m} m"
    waterbody = tables.waterbodies.get(river.mouth)
    if waterbody is not None:
        level = 0 if waterbody.kind == "Sea" else waterbody.elevation_m
        if mouth_m is not None and level is not None and abs(mouth_m - level) > LAKE_TOLERANCE_M:
            yield f"mouth at {mouth_m} m, but {waterbody.label} lies at {level} m"
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
    parent_mouth_m = _find_mouth_level(parent, tables)
    if parent_mouth_m is not None:
        if mouth_m is not None and mouth_m < parent_mouth_m:
            yield f"mouth at {mouth_m} m, below that of {parent.label} at {parent_mouth_m} m"
        if source_m is not None and source_m <= parent_mouth_m:
            yield f"source at {source_m} m, not above the mouth of {parent.label}"
    parent_source_m = compute_source_elevation(parent, tables)
    if mouth_m is not None and parent_source_m is not None and mouth_m > parent_source_m:
        yield f"mouth at {mouth_m} m, above the source of {parent.label}"


def _find_mouth_level(river: River, tables: Tables) -> int | None:
    """Finds the elevation of the first known mouth downstream, starting with ``river`` itself."""
    while True:
        level = compute_mouth_elevation(river, tables)
        if level is not None or river.mouth not in tables.rivers:
            return level
        river = tables.rivers[river.mouth]
