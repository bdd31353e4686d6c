"""Builds ``rivers.ttl`` from the source tables: ``python -m kg.domains.rivers.build [--check]``.

The graph asserts only part of the tables' data: a share of every column is withheld, so that there
are claims the graph cannot decide. The withheld values are sampled by a hash of the river's id, so
that a river's name or fame does not reveal whether the graph asserts its mouth. (A mouth that is
part of the river's name is always asserted.) Facts that entail a withheld mouth are not written
either: no inverse, no ``drainsInto``. A river system may be asserted, because it does not entail a
mouth: dozens of rivers share one.
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
"""Part of every hash: with another salt, other values would be withheld."""

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

ASSERTED_AS_TRIBUTARY = 0.25
"""Share of the asserted river mouths that are written inversely, as ``hasTributary``."""

DENIED_GRANDPARENT = 0.30
"""Share of tributaries for which the graph denies that they flow into the sea, lake or river that
their parent river flows into."""


def hash_to_unit(*key: str) -> float:
    """Returns a pseudo-random number in [0, 1) that depends on ``key`` only."""
    digest = hashlib.sha256("|".join((SALT, *key)).encode()).digest()
    # The first 8 bytes are an integer below 2**64.
    return int.from_bytes(digest[:8], "big") / 2**64


def is_asserted(prop: str, *key: str) -> bool:
    """Returns whether the graph asserts property ``prop`` of the entity that ``key`` names."""
    return hash_to_unit(prop, *key) >= WITHHELD[prop]


def is_mouth_asserted(river: River) -> bool:
    """Returns whether the graph asserts a river's mouth.

    Always true if the river's name contains its mouth, as in "Tara (Drina)": the mouth of such a
    river cannot count as unknown.
    """
    qualifier = river.label.partition(" (")[2].rstrip(")")
    return is_asserted("flowsInto", river.id) or bool(qualifier and qualifier in river.mouth)


def find_main_river(river: River, tables: Tables) -> River:
    """Finds the main river of ``river``'s system, also through lakes that have an outlet."""
    visited: set[str] = set()
    while river.label not in visited:
        visited.add(river.label)
        waterbody = tables.waterbodies.get(river.mouth)
        next_river = tables.rivers.get(waterbody.outlet if waterbody else river.mouth)
        if next_river is None:
            break
        river = next_river
    return river


def render_turtle(tables: Tables) -> str:
    """Renders the whole graph as Turtle."""
    tributaries = _find_inverse_tributaries(tables)
    member_counts = Counter(
        find_main_river(river, tables).label for river in tables.rivers.values()
    )
    blocks = [
        (FOLDER / "ontology.ttl").read_text(encoding="utf-8"),
        "# Everything below is written by build.py from the CSV tables; edit those.\n",
    ]
    blocks.extend(
        _render_block(make_slug(country.label), "Country", country.label, country.alt, [])
        for country in sorted(tables.countries.values(), key=lambda c: make_slug(c.label))
    )
    for waterbody in sorted(tables.waterbodies.values(), key=lambda w: make_slug(w.label)):
        alt = (*waterbody.alt, strip_qualifier(waterbody.label))
        blocks.append(
            _render_block(make_slug(waterbody.label), waterbody.kind, waterbody.label, alt, [])
        )
    for source in sorted(
        {r.source for r in tables.rivers.values()} - {""} - set(tables.waterbodies)
    ):
        label = source.removeprefix("the ")
        class_name = "Place" if label == source else "NaturalFeature"
        blocks.append(_render_block(_make_place_name(source), class_name, label, (), []))
    blocks.extend(
        _render_block(_make_system_name(label), "RiverSystem", _make_system_label(label), (), [])
        for label in sorted(member_counts)
        if member_counts[label] > 1
    )
    # "Niger" alone means the country: a river named after a country keeps its "River".
    country_names = {name for c in tables.countries.values() for name in (c.label, *c.alt)}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        alt = tuple(name for name in list_names(river) if name not in country_names)
        blocks.append(
            _render_block(
                river.id,
                "River",
                river.label,
                alt,
                _list_facts(river, tables, member_counts, tributaries),
            )
        )
        blocks.extend(_render_denials(river, tables))
    return "\n".join(blocks)


def _find_inverse_tributaries(tables: Tables) -> dict[str, list[str]]:
    """Returns label of a river → ids of the tributaries that are asserted as ``hasTributary``."""
    tributaries: dict[str, list[str]] = {}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        if is_mouth_asserted(river) and _is_asserted_as_tributary(river, tables):
            tributaries.setdefault(river.mouth, []).append(river.id)
    return tributaries


def _list_facts(
    river: River, tables: Tables, member_counts: Counter[str], tributaries: dict[str, list[str]]
) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if is_mouth_asserted(river) and not _is_asserted_as_tributary(river, tables):
        facts.append(("wm:flowsInto", f":{make_slug(river.mouth)}"))
    if river.source and is_asserted("hasSource", river.id):
        is_waterbody = river.source in tables.waterbodies
        facts.append(
            (
                "wm:hasSource",
                f":{make_slug(river.source) if is_waterbody else _make_place_name(river.source)}",
            )
        )
    facts.extend(
        ("wm:traverses", f":{make_slug(tables.countries[code].label)}")
        for code in river.countries
        if is_asserted("traverses", river.id, code)
    )
    main_label = find_main_river(river, tables).label
    # That the Rhine belongs to the Rhine system is obvious from the name alone.
    if (
        member_counts[main_label] > 1
        and main_label != river.label
        and is_asserted("partOfSystem", river.id)
    ):
        facts.append(("wm:partOfSystem", f":{_make_system_name(main_label)}"))
    measurements = (
        ("length", river.length_km, "integer"),
        ("discharge", river.discharge_m3s, "decimal"),
        ("sourceElevation", compute_source_elevation(river, tables), "integer"),
        ("mouthElevation", compute_mouth_elevation(river, tables), "integer"),
    )
    facts.extend(
        (f"wm:{prop}", f'"{value}"^^xsd:{datatype}')
        for prop, value, datatype in measurements
        if value is not None and is_asserted(prop, river.id)
    )
    facts.extend(
        ("wm:hasTributary", f":{tributary}") for tributary in tributaries.get(river.label, ())
    )
    return facts


def _is_asserted_as_tributary(river: River, tables: Tables) -> bool:
    return river.mouth in tables.rivers and hash_to_unit("inflow", river.id) < ASSERTED_AS_TRIBUTARY


def _render_denials(river: River, tables: Tables) -> list[str]:
    denied_facts = [("traverses", make_slug(tables.countries[code].label)) for code in river.not_in]
    denied_facts += [("flowsInto", make_slug(label)) for label in river.not_into]
    parent = tables.rivers.get(river.mouth)
    if parent is not None and hash_to_unit("denied", river.id) < DENIED_GRANDPARENT:
        denied_facts.append(("flowsInto", make_slug(parent.mouth)))
    return [
        f":not-{river.id}-{prop.lower()}-{target} a owl:NegativePropertyAssertion ;\n"
        f"    owl:sourceIndividual :{river.id} ; owl:assertionProperty wm:{prop} ;\n"
        f"    owl:targetIndividual :{target} .\n"
        for prop, target in dict.fromkeys(denied_facts)
    ]


def _render_block(
    name: str, class_name: str, label: str, alt: tuple[str, ...], facts: list[tuple[str, str]]
) -> str:
    lines = [f":{name} a wm:{class_name}", f"rdfs:label {_quote_literal(label)}@en"]
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
    short_name = name.removeprefix("River ").removesuffix(" River")
    return f"{short_name} river system{qualifier}"


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
