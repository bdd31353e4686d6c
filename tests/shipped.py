"""Opens shipped domains for tests; geonames, which is built from data, is built small."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import msgspec

from kg.domain import load_domain
from kg.domains.geonames.build import GeoNamesData, render_turtle
from kg.knowledge import KnowledgeBase

CITY_STEP = 40
"""The small geonames domain has every 40th city above 15,000 inhabitants, and all capitals."""


def build_small_world() -> GeoNamesData:
    """Selects all countries, and some of the cities of at least 15,000 inhabitants."""
    data = GeoNamesData(15_000)
    capitals = set(data.find_capitals().values())
    data.cities = {
        key: city
        for number, (key, city) in enumerate(data.cities.items())
        if number % CITY_STEP == 0 or key in capitals
    }
    return data


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
