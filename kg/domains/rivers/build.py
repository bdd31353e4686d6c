"""Builds ``rivers.ttl`` from the source tables: ``python -m kg.domains.rivers.build [--check]``.

The graph asserts only part of the tables' data: a share of every column is withheld, so that there
are claims the graph cannot decide. The withheld values are sampled by a hash of the river's id,
independent of how well known the river is, so that a name does not reveal whether the graph asserts
its mouth (a mouth that is part of the river's name is always asserted). Facts that entail a
withheld mouth are not written either: no inverse, no ``drainsInto``. (A river system does not
entail a mouth: dozens of rivers share one.)
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from pathlib import Path

from kg.base.console import print_text, wrap_command
from kg.base.errors import DomainError
from kg.base.files import write_text_atomic
from kg.domains.rivers.checks import find_problems
from kg.domains.rivers.tables import (
    FOLDER,
    River,
    TableError,
    Tables,
    compute_mouth_elevation,
    compute_source_elevation,
    list_names,
    make_slug,
    read_tables,
    strip_qualifier,
)

SALT = "epoche rivers 1"

WITHHELD = {
    "flowsInto": 0.36,
    "hasSource": 0.30,
    "traverses": 0.15,
    "partOfSystem": 0.45,
    "length": 0.30,
    "discharge": 0.30,
    "sourceElevation": 0.30,
    "mouthElevation": 0.30,
}
"""Share of each property that the graph does not assert (of ``traverses``: of each country)."""

STATED_AS_INFLOW = 0.25
"""Share of the asserted river mouths that are written inversely, as ``hasTributary``."""

DENIED_GRANDPARENT = 0.30
"""Share of tributaries for which the graph denies that they flow into their river's own mouth."""


def hash_to_unit(*key: str) -> float:
    """Returns a pseudo-random number in [0, 1) that depends on ``key`` only."""
    digest = hashlib.sha256("|".join((SALT, *key)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def is_stated(prop: str, *key: str) -> bool:
    """Returns whether the graph asserts property ``prop`` of the entity that ``key`` names."""
    return hash_to_unit(prop, *key) >= WITHHELD[prop]


def is_mouth_stated(river: River) -> bool:
    """Returns whether the graph asserts a river's mouth.

    Always true if the river's name contains its mouth, as in "Tara (Drina)": the mouth of such a
    river cannot count as unknown.
    """
    qualifier = river.label.partition(" (")[2].rstrip(")")
    return is_stated("flowsInto", river.id) or bool(qualifier and qualifier in river.mouth)


def find_main_river(river: River, tables: Tables) -> River:
    """Finds the main river of ``river``'s system, also through lakes that have an outlet."""
    visited: set[str] = set()
    while river.label not in visited:
        visited.add(river.label)
        water = tables.waterbodies.get(river.mouth)
        following = tables.rivers.get(water.outlet if water else river.mouth)
        if following is None:
            break
        river = following
    return river


def render_turtle(tables: Tables) -> str:
    """Renders the whole graph as Turtle."""
    inflows = _find_inflows(tables)
    members = Counter(find_main_river(river, tables).label for river in tables.rivers.values())
    blocks = [
        (FOLDER / "ontology.ttl").read_text(encoding="utf-8"),
        "# Everything below is written by build.py from the CSV tables; edit those.\n",
    ]
    blocks.extend(
        _render_block(make_slug(country.label), "Country", country.label, country.alt, [])
        for country in sorted(tables.countries.values(), key=lambda c: make_slug(c.label))
    )
    for water in sorted(tables.waterbodies.values(), key=lambda w: make_slug(w.label)):
        alt = (*water.alt, strip_qualifier(water.label))
        blocks.append(_render_block(make_slug(water.label), water.kind, water.label, alt, []))
    for place in sorted(
        {r.source for r in tables.rivers.values()} - {""} - set(tables.waterbodies)
    ):
        label = place.removeprefix("the ")
        kind = "Place" if label == place else "NaturalFeature"
        blocks.append(_render_block(_make_place_name(place), kind, label, (), []))
    blocks.extend(
        _render_block(_make_system_name(label), "RiverSystem", _make_system_label(label), (), [])
        for label in sorted(members)
        if members[label] > 1
    )
    # "Niger" alone means the country: a river named after a country keeps its "River".
    countries = {name for c in tables.countries.values() for name in (c.label, *c.alt)}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        alt = tuple(name for name in list_names(river) if name not in countries)
        blocks.append(
            _render_block(
                river.id, "River", river.label, alt, _list_facts(river, tables, members, inflows)
            )
        )
        blocks.extend(_render_denials(river, tables))
    return "\n".join(blocks)


def _find_inflows(tables: Tables) -> dict[str, list[str]]:
    """Finds the ids of rivers whose mouth is asserted inversely, by the label of that mouth."""
    inflows: dict[str, list[str]] = {}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        if is_mouth_stated(river) and _is_stated_as_inflow(river, tables):
            inflows.setdefault(river.mouth, []).append(river.id)
    return inflows


def _list_facts(
    river: River, tables: Tables, members: Counter[str], inflows: dict[str, list[str]]
) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if is_mouth_stated(river) and not _is_stated_as_inflow(river, tables):
        facts.append(("wm:flowsInto", f":{make_slug(river.mouth)}"))
    if river.source and is_stated("hasSource", river.id):
        lake = river.source in tables.waterbodies
        facts.append(
            (
                "wm:hasSource",
                f":{make_slug(river.source) if lake else _make_place_name(river.source)}",
            )
        )
    facts.extend(
        ("wm:traverses", f":{make_slug(tables.countries[code].label)}")
        for code in river.countries
        if is_stated("traverses", river.id, code)
    )
    main = find_main_river(river, tables).label
    # That the Rhine belongs to the Rhine system is obvious from the name alone.
    if members[main] > 1 and main != river.label and is_stated("partOfSystem", river.id):
        facts.append(("wm:partOfSystem", f":{_make_system_name(main)}"))
    measures = (
        ("length", river.length_km, "integer"),
        ("discharge", river.discharge_m3s, "decimal"),
        ("sourceElevation", compute_source_elevation(river, tables), "integer"),
        ("mouthElevation", compute_mouth_elevation(river, tables), "integer"),
    )
    facts.extend(
        (f"wm:{prop}", f'"{value}"^^xsd:{datatype}')
        for prop, value, datatype in measures
        if value is not None and is_stated(prop, river.id)
    )
    facts.extend(("wm:hasTributary", f":{inflow}") for inflow in inflows.get(river.label, ()))
    return facts


def _is_stated_as_inflow(river: River, tables: Tables) -> bool:
    return river.mouth in tables.rivers and hash_to_unit("inflow", river.id) < STATED_AS_INFLOW


def _render_denials(river: River, tables: Tables) -> list[str]:
    denied = [("traverses", make_slug(tables.countries[code].label)) for code in river.not_in]
    denied += [("flowsInto", make_slug(label)) for label in river.not_into]
    following = tables.rivers.get(river.mouth)
    if following is not None and hash_to_unit("denied", river.id) < DENIED_GRANDPARENT:
        denied.append(("flowsInto", make_slug(following.mouth)))
    return [
        f":not-{river.id}-{prop.lower()}-{target} a owl:NegativePropertyAssertion ;\n"
        f"    owl:sourceIndividual :{river.id} ; owl:assertionProperty wm:{prop} ;\n"
        f"    owl:targetIndividual :{target} .\n"
        for prop, target in dict.fromkeys(denied)
    ]


def _render_block(
    name: str, kind: str, label: str, alt: tuple[str, ...], facts: list[tuple[str, str]]
) -> str:
    lines = [f":{name} a wm:{kind}", f"rdfs:label {_quote_literal(label)}@en"]
    lines += [
        f"skos:altLabel {_quote_literal(other)}" for other in dict.fromkeys(alt) if other != label
    ]
    lines += [f"{prop} {value}" for prop, value in facts]
    return " ;\n    ".join(lines) + " .\n"


def _make_place_name(text: str) -> str:
    return f"place-{make_slug(text.removeprefix('the '))}"


def _make_system_name(label: str) -> str:
    return f"{make_slug(label)}-system"


def _make_system_label(label: str) -> str:
    """``"River Don (Yorkshire)"`` → ``"Don river system (Yorkshire)"``."""
    name = strip_qualifier(label)
    qualifier = label.removeprefix(name)
    short = name.removeprefix("River ").removesuffix(" River")
    return f"{short} river system{qualifier}"


def _quote_literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(*, check: bool = False, folder: Path = FOLDER) -> None:
    """Checks the tables, then writes ``rivers.ttl`` or, with ``check``, compares it.

    Raises:
        DomainError: a table is inconsistent, or the committed graph does not match the tables.
    """
    try:
        tables = read_tables(folder)
    except TableError as error:
        raise DomainError(str(error), where=str(folder)) from error
    problems = find_problems(tables)
    if problems:
        for problem in problems:
            print_text(problem)
        raise DomainError(f"{len(problems)} problems in the tables", where=str(folder))
    text = render_turtle(tables)
    target = folder / "rivers.ttl"
    if not check:
        write_text_atomic(target, text)
        print_text(f"wrote {target.name}: {len(tables.rivers)} rivers")
    elif not target.is_file() or target.read_text(encoding="utf-8") != text:
        raise DomainError(
            "rivers.ttl does not match the tables",
            where=str(target),
            hint="Run python -m kg.domains.rivers.build.",
        )


if __name__ == "__main__":
    wrap_command(lambda: main(check="--check" in sys.argv[1:]))()
