"""A question of the SynthLink catalogue: expected answer, sources and reasoning steps."""

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
"""Category code, as in ids and folder names → name of the category, in the catalogue's order."""

ID: Final = re.compile(r"(HIA|EIS|EEC|STE|PSM|SFT)-[0-9]{2}")
"""Pattern of an id: the code of its category and a number of two digits."""

Triple = tuple[str, str, str]
"""Subject, predicate and object in Turtle's own notation, with the graph's prefixes."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page that the answer can be traced to."""

    title: str
    url: str = ""
    """Empty if the catalogue names topics only, as the published one does."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reasoning step towards the answer."""

    instruction: str
    """What to do: "Confirm who invented it."."""
    fact: str = ""
    """Result of the step, as a sentence that an answer can be checked against. Empty if the
    catalogue has instructions only."""
    keywords: tuple[str, ...] = ()
    """Words or phrases of the fact that any correct answer contains."""
    triples: tuple[Triple, ...] = ()
    """The graph's triples for the fact, as prefixed names and literals."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the catalogue; its field names are the keys of ``catalog.jsonl``."""

    id: str
    """For example ``HIA-01``."""
    category: str
    """A key of ``CATEGORIES``; ``id`` begins with it."""
    question: str
    answer: str
    """A summary of the expected answer."""
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    hops: int = 0
    """Number of facts to link; 0 if the catalogue does not give it."""
    aliases: tuple[str, ...] = ()
    """Other correct answers."""
    extra: dict[str, Any] = {}
    """Further data of the catalogue; not used for scoring."""

    @property
    def triples(self) -> tuple[Triple, ...]:
        """Supporting triples of all steps in order, each once."""
        return tuple(dict.fromkeys(triple for step in self.steps for triple in step.triples))
