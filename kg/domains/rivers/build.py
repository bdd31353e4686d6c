"""Writes ``rivers.ttl`` from the source tables: ``python -m kg.domains.rivers.build [--check]``.

The tables hold what is known; the graph holds what it *says*. A share of every column is withheld,
so that there are claims the graph cannot decide. What is withheld is drawn by a hash of the
river's id, never by how well known the river is: nothing about a name tells whether the graph
knows its mouth (a name that tells the mouth itself has it stated). Nothing that entails a withheld
mouth is written either: no inverse, no ``drainsInto``. (A river system does not entail a mouth:
dozens of rivers share one.)
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from pathlib import Path

from kg.base.console import guarded, say
from kg.base.errors import DomainError
from kg.base.files import write_text_atomic
from kg.domains.rivers.checks import problems
from kg.domains.rivers.tables import (
    FOLDER,
    River,
    TableError,
    Tables,
    bare,
    mouth_elevation,
    names_of,
    read_tables,
    slug,
    source_elevation,
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
"""Share of each property that the graph does not state (of ``traverses``: of each country)."""

STATED_AS_INFLOW = 0.25
"""Share of the stated river mouths written from the other end, as ``hasTributary``."""

DENIED_GRANDPARENT = 0.30
"""Share of tributaries of which the graph says that they do *not* flow into the next river on."""


def draw(*key: str) -> float:
    """A number in [0, 1) that depends on nothing but ``key``."""
    digest = hashlib.sha256("|".join((SALT, *key)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def stated(prop: str, *key: str) -> bool:
    """Whether the graph states property ``prop`` of the thing that ``key`` names."""
    return draw(prop, *key) >= WITHHELD[prop]


def mouth_stated(river: River) -> bool:
    """Whether the graph states a river's mouth.

    Always where the river's own name tells it, as in "Tara (Drina)": no question about such a
    river's mouth could honestly be called unknown.
    """
    qualifier = river.label.partition(" (")[2].rstrip(")")
    return stated("flowsInto", river.id) or bool(qualifier and qualifier in river.mouth)


def trunk(river: River, tables: Tables) -> River:
    """The main river of the system ``river`` belongs to, through lakes that have an outlet."""
    seen: set[str] = set()
    while river.label not in seen:
        seen.add(river.label)
        water = tables.waterbodies.get(river.mouth)
        following = tables.rivers.get(water.outlet if water else river.mouth)
        if following is None:
            break
        river = following
    return river


def turtle(tables: Tables) -> str:
    """The whole graph as Turtle text."""
    inflows = _inflows(tables)
    members = Counter(trunk(river, tables).label for river in tables.rivers.values())
    blocks = [
        (FOLDER / "ontology.ttl").read_text(encoding="utf-8"),
        "# Everything below is written by build.py from the CSV tables; edit those.\n",
    ]
    blocks.extend(
        _block(slug(country.label), "Country", country.label, country.alt, [])
        for country in sorted(tables.countries.values(), key=lambda c: slug(c.label))
    )
    for water in sorted(tables.waterbodies.values(), key=lambda w: slug(w.label)):
        alt = (*water.alt, bare(water.label))
        blocks.append(_block(slug(water.label), water.kind, water.label, alt, []))
    for place in sorted(
        {r.source for r in tables.rivers.values()} - {""} - set(tables.waterbodies)
    ):
        label = place.removeprefix("the ")
        kind = "Place" if label == place else "NaturalFeature"
        blocks.append(_block(_place(place), kind, label, (), []))
    blocks.extend(
        _block(_system(label), "RiverSystem", _system_label(label), (), [])
        for label in sorted(members)
        if members[label] > 1
    )
    # "Niger" alone means the country: a river called after one keeps its "River".
    countries = {name for c in tables.countries.values() for name in (c.label, *c.alt)}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        alt = tuple(name for name in names_of(river) if name not in countries)
        blocks.append(
            _block(river.id, "River", river.label, alt, _facts(river, tables, members, inflows))
        )
        blocks.extend(_denials(river, tables))
    return "\n".join(blocks)


def _inflows(tables: Tables) -> dict[str, list[str]]:
    """Ids of the rivers whose mouth is stated from the other end, by the label of that end."""
    found: dict[str, list[str]] = {}
    for river in sorted(tables.rivers.values(), key=lambda r: r.id):
        if mouth_stated(river) and _from_other_end(river, tables):
            found.setdefault(river.mouth, []).append(river.id)
    return found


def _facts(
    river: River, tables: Tables, members: Counter[str], inflows: dict[str, list[str]]
) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if mouth_stated(river) and not _from_other_end(river, tables):
        facts.append(("wm:flowsInto", f":{slug(river.mouth)}"))
    if river.source and stated("hasSource", river.id):
        lake = river.source in tables.waterbodies
        facts.append(("wm:hasSource", f":{slug(river.source) if lake else _place(river.source)}"))
    facts.extend(
        ("wm:traverses", f":{slug(tables.countries[code].label)}")
        for code in river.countries
        if stated("traverses", river.id, code)
    )
    main = trunk(river, tables).label
    # That the Rhine belongs to the Rhine system goes without saying, and would give itself away.
    if members[main] > 1 and main != river.label and stated("partOfSystem", river.id):
        facts.append(("wm:partOfSystem", f":{_system(main)}"))
    measures = (
        ("length", river.length_km, "integer"),
        ("discharge", river.discharge_m3s, "decimal"),
        ("sourceElevation", source_elevation(river, tables), "integer"),
        ("mouthElevation", mouth_elevation(river, tables), "integer"),
    )
    facts.extend(
        (f"wm:{prop}", f'"{value}"^^xsd:{datatype}')
        for prop, value, datatype in measures
        if value is not None and stated(prop, river.id)
    )
    facts.extend(("wm:hasTributary", f":{inflow}") for inflow in inflows.get(river.label, ()))
    return facts


def _from_other_end(river: River, tables: Tables) -> bool:
    return river.mouth in tables.rivers and draw("inflow", river.id) < STATED_AS_INFLOW


def _denials(river: River, tables: Tables) -> list[str]:
    denied = [("traverses", slug(tables.countries[code].label)) for code in river.not_in]
    denied += [("flowsInto", slug(label)) for label in river.not_into]
    following = tables.rivers.get(river.mouth)
    if following is not None and draw("denied", river.id) < DENIED_GRANDPARENT:
        denied.append(("flowsInto", slug(following.mouth)))
    return [
        f":not-{river.id}-{prop.lower()}-{target} a owl:NegativePropertyAssertion ;\n"
        f"    owl:sourceIndividual :{river.id} ; owl:assertionProperty wm:{prop} ;\n"
        f"    owl:targetIndividual :{target} .\n"
        for prop, target in dict.fromkeys(denied)
    ]


def _block(
    name: str, kind: str, label: str, alt: tuple[str, ...], facts: list[tuple[str, str]]
) -> str:
    lines = [f":{name} a wm:{kind}", f"rdfs:label {_literal(label)}@en"]
    lines += [f"skos:altLabel {_literal(other)}" for other in dict.fromkeys(alt) if other != label]
    lines += [f"{prop} {value}" for prop, value in facts]
    return " ;\n    ".join(lines) + " .\n"


def _place(text: str) -> str:
    return f"place-{slug(text.removeprefix('the '))}"


def _system(label: str) -> str:
    return f"{slug(label)}-system"


def _system_label(label: str) -> str:
    """``"River Don (Yorkshire)"`` → ``"Don river system (Yorkshire)"``."""
    name = bare(label)
    qualifier = label.removeprefix(name)
    short = name.removeprefix("River ").removesuffix(" River")
    return f"{short} river system{qualifier}"


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(*, check: bool = False, folder: Path = FOLDER) -> None:
    """Checks the tables, then writes ``rivers.ttl`` or, with ``check``, compares it.

    Raises:
        DomainError: a table is wrong, or the committed graph is not what the tables give.
    """
    try:
        tables = read_tables(folder)
    except TableError as error:
        raise DomainError(str(error), where=str(folder)) from error
    found = problems(tables)
    if found:
        for problem in found:
            say(problem)
        raise DomainError(f"{len(found)} problems in the tables", where=str(folder))
    text = turtle(tables)
    target = folder / "rivers.ttl"
    if not check:
        write_text_atomic(target, text)
        say(f"wrote {target.name}: {len(tables.rivers)} rivers")
    elif not target.is_file() or target.read_text(encoding="utf-8") != text:
        raise DomainError(
            "rivers.ttl is not what the tables give",
            where=str(target),
            hint="Run python -m kg.domains.rivers.build.",
        )


if __name__ == "__main__":
    guarded(lambda: main(check="--check" in sys.argv[1:]))()
