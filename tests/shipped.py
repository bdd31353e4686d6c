"""Shipped domains ready for tests: those that are built rather than shipped are built small."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import msgspec

from kg.domain import load_domain
from kg.domains.geonames.build import World, turtle
from kg.knowledge import KnowledgeBase

EVERY = 40
"""Of the larger cities, one in so many is taken into the small geonames, and all capitals."""


def small_world() -> World:
    """All countries, and some of the cities of 15,000 inhabitants or more."""
    world = World(15_000)
    capitals = set(world.capitals().values())
    world.cities = {
        key: city
        for number, (key, city) in enumerate(world.cities.items())
        if number % EVERY == 0 or key in capitals
    }
    return world


@cache
def open_shipped(name: str) -> KnowledgeBase:
    """A shipped domain's knowledge base."""
    if name != "geonames":
        return KnowledgeBase.shared(None if name == "rivers" else name)
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "geonames.ttl"
        graph.write_text("".join(turtle(small_world())), encoding="utf-8")
        domain = msgspec.structs.replace(load_domain(name), graph_files=(graph,))
        return KnowledgeBase.open(domain)
