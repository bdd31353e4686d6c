"""Opens shipped domains for tests; a domain that is built, not shipped, is built small."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import msgspec

from kg.domain import load_domain
from kg.domains.geonames.build import GeoNamesData, render_turtle
from kg.knowledge import KnowledgeBase

CITY_STEP = 40
"""The small geonames has every n-th of the larger cities, and all capitals."""


def build_small_world() -> GeoNamesData:
    """All countries, and some of the cities of at least 15,000 inhabitants."""
    world = GeoNamesData(15_000)
    capitals = set(world.find_capitals().values())
    world.cities = {
        key: city
        for number, (key, city) in enumerate(world.cities.items())
        if number % CITY_STEP == 0 or key in capitals
    }
    return world


@cache
def open_shipped(name: str) -> KnowledgeBase:
    """Opens the knowledge base of a shipped domain."""
    if name != "geonames":
        return KnowledgeBase.open_cached(None if name == "rivers" else name)
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "geonames.ttl"
        graph.write_text("".join(render_turtle(build_small_world())), encoding="utf-8")
        domain = msgspec.structs.replace(load_domain(name), graph_files=(graph,))
        return KnowledgeBase.open(domain)
