"""A question of the SynthLink catalogue: its answer, where that stands, and how one gets there."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

CATEGORIES: Final = {
    "HIA": "Historical Impact Analysis",
    "EIS": "Economic and Industrial Shifts",
    "EEC": "Environmental and Ecological Consequences",
    "STE": "Scientific and Technological Evolution",
    "PSM": "Policy and Social Movements",
    "SFT": "STEM and Future Tech",
}
"""The six categories by the letters that ids and folders begin with, in the catalogue's order."""

ID: Final = re.compile(r"(HIA|EIS|EEC|STE|PSM|SFT)-[0-9]{2}")
"""What an id looks like: its category and a number of two digits."""

Triple = tuple[str, str, str]
"""Subject, predicate and object in Turtle's own notation, with the graph's prefixes."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page that the answer can be traced to."""

    title: str
    url: str = ""
    """Empty where the catalogue names topics only, as the published one does."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of the way to the answer."""

    instruction: str
    """What to do: "Confirm who invented it."."""
    fact: str = ""
    """What is known once it is done, as a sentence that an answer can be checked against. Empty
    where the catalogue states the process only."""
    keywords: tuple[str, ...] = ()
    """Words or phrases of the fact that no answer can do without."""
    triples: tuple[Triple, ...] = ()
    """What the graph holds of the fact, in prefixed names and literals."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the catalogue; its field names are the keys of ``catalog.jsonl``."""

    id: str
    """Such as ``HIA-01``."""
    category: str
    """Letters of one of ``CATEGORIES``, with which ``id`` begins."""
    question: str
    answer: str
    """The expected answer in brief."""
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    hops: int = 0
    """Facts that have to be linked; 0 where the catalogue does not say."""
    aliases: tuple[str, ...] = ()
    """Other answers that are as right."""
    extra: dict[str, Any] = {}
    """What else the catalogue holds of it; never read by any score."""

    @property
    def triples(self) -> tuple[Triple, ...]:
        """Supporting triples of all steps in order, each once."""
        return tuple(dict.fromkeys(triple for step in self.steps for triple in step.triples))
